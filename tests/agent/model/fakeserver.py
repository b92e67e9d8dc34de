"""A server on loopback whose every route is given by the test: for what the scripted model server does not play."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    body: bytes
    status: int = 200
    content_type: str = "application/json"


Route = Callable[[dict[str, Any]], Answer]


def as_json(value: Any, status: int = 200) -> Route:
    return lambda request: Answer(json.dumps(value).encode(), status)


def stream(message: dict[str, Any]) -> Answer:
    """A whole message as one delta."""
    chunk = {"choices": [{"index": 0, "delta": message, "finish_reason": "stop"}]}
    return Answer(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(), content_type="text/event-stream")


@dataclass
class FakeServer:
    """``routes`` by ``"METHOD /path"``; what is not there is a 404. ``requests`` are the JSON bodies that came."""

    routes: dict[str, Route]
    port: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    @contextmanager
    def running(self) -> "Iterator[FakeServer]":
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                text = self.rfile.read(int(self.headers.get("content-length") or 0))
                body = json.loads(text) if text else {}
                if text:
                    fake.requests.append(body)
                route = fake.routes.get(f"{self.command} {self.path}", as_json({"error": "not found"}, 404))
                answer = route(body)
                with suppress(BrokenPipeError, ConnectionResetError):  # some tests do not wait for the answer
                    self.send_response(answer.status)
                    self.send_header("content-type", answer.content_type)
                    self.send_header("content-length", str(len(answer.body)))
                    self.end_headers()
                    self.wfile.write(answer.body)

            do_GET = do_POST = answer

            def log_message(self, *args: object) -> None:
                pass

        return Handler
