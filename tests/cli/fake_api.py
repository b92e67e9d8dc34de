"""An HTTP server that answers our routes from a table, for clients to be tested against without a Jupyter server."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jupyter_pernix.client import Address, Client

Answer = tuple[int, Any]
Chunks = list[bytes]


@dataclass
class FakeApi:
    """``routes``: ``"GET /sessions"`` → a status and a body, or a function of the request's body. ``streams``: what each
    connection to the stream gets, one after the other; the last one is repeated. ``seen``: requests in their order."""

    url: str = ""
    routes: dict[str, Answer | Callable[[Any], Answer]] = field(default_factory=dict)
    streams: list[Chunks] = field(default_factory=list)
    seen: list[tuple[str, str, Any, dict[str, str]]] = field(default_factory=list)
    connections: int = 0

    def client(self, token: str = "secret") -> Client:
        return Client(Address(self.url, token, 0, "/root"))

    def next_stream(self) -> Chunks:
        chunks = self.streams[min(self.connections, len(self.streams) - 1)]
        self.connections += 1
        return chunks


def sse(event: str, data: dict[str, Any], seq: int | None = None) -> bytes:
    head = f"id: {seq}\n" if seq is not None else ""
    return f"{head}event: {event}\ndata: {json.dumps(data)}\n\n".encode()


def stored(seq: int, kind: str, **fields: Any) -> bytes:
    data = {"seq": seq, "recorded_at": "2026-01-01T00:00:00Z", "type": kind, "session_id": "ses_1", **fields}
    return sse("pernix", data, seq)


@contextmanager
def fake_api() -> Iterator[FakeApi]:
    api = FakeApi()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def answer(self) -> None:
            parts = urlsplit(self.path)
            path = parts.path.removeprefix("/pernix/api")
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            api.seen.append(
                (self.command, path, body if body is not None else parse_qs(parts.query), dict(self.headers))
            )
            if path == "/stream":
                self.stream()
                return
            found = api.routes.get(f"{self.command} {path}", (404, {"message": f"no {path}"}))
            status, result = found(body) if callable(found) else found
            data = result if isinstance(result, bytes) else b"" if result is None else json.dumps(result).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def stream(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for chunk in api.next_stream():
                self.wfile.write(chunk)
                self.wfile.flush()

        do_GET = do_POST = do_PATCH = do_DELETE = answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
