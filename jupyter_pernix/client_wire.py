"""How ``client.Client`` speaks: requests and the event stream over HTTP, and what their failures are in words."""

import http.client
import json
import secrets
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import urlencode, urlsplit

from .errors import RequestFailed, ServerAway, ServerRefused

JSON = dict[str, Any]

_HEARTBEAT = 15.0
_READ_TIMEOUT = 3 * _HEARTBEAT
_REQUEST_TIMEOUT = 60.0
_LOOPBACK = {"127.0.0.1", "localhost", "::1", "[::1]"}
_UNREACHABLE = (OSError, http.client.HTTPException)


class Address(NamedTuple):
    """Where a server is. ``root`` is the folder it serves; "" when that is not known."""

    url: str
    token: str
    pid: int
    root: str

    def __repr__(self) -> str:
        return f"Address(url={self.url!r}, pid={self.pid}, root={self.root!r})"


class Message(NamedTuple):
    """One message of the stream: ``pernix`` (a stored event), ``delta`` (passing text), ``hello`` or ``heartbeat``."""

    kind: str
    data: JSON


class Wire:
    """Any route of one server, over a fresh connection for each request; may be used from several threads."""

    def __init__(self, address: Address) -> None:
        self.address = address
        parts = urlsplit(address.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServerAway(f"the server's address {address.url!r} is not one that can be spoken to over HTTP")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if self._secure else 80)
        self._base = parts.path.rstrip("/") + "/pernix/api"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def request(self, method: str, path: str, body: Any = None, *, timeout: float = _REQUEST_TIMEOUT) -> Any:
        """The decoded answer; ``None`` when it has no body. Redirects are not followed: they lead to a login page.

        :raises ServerAway: if nobody answers
        :raises ServerRefused: if the token is not accepted
        :raises RequestFailed: if the answer is an error
        """
        data = self._exchange(method, path, body, timeout)
        return json.loads(data) if data else None

    def download(self, path: str, *, timeout: float = _REQUEST_TIMEOUT) -> bytes:
        """What ``path`` gives, as it is; errors as in ``request``."""
        return self._exchange("GET", path, None, timeout)

    def _exchange(self, method: str, path: str, body: Any, timeout: float) -> bytes:
        connection = self._connect(timeout)
        try:
            response = self._send(connection, method, path, body)
            data = response.read()
        except _UNREACHABLE as exc:
            raise self._away(exc) from exc
        finally:
            connection.close()
        if response.status >= 300:
            raise _failure(response.status, data, f"{method} {path}")
        return data

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        context = ssl.create_default_context()
        if self._host in _LOOPBACK:
            # A certificate for a machine's name, or a self-signed one, says nothing about loopback.
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=context)

    def _send(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any, extra: Mapping[str, str] = {}
    ) -> http.client.HTTPResponse:
        headers = {"Accept": "application/json, text/event-stream", **extra}
        if self.address.token:
            headers["Authorization"] = f"token {self.address.token}"
        else:
            # A server without a token still checks that cookie and header agree.
            twin = secrets.token_hex(16)
            headers |= {"Cookie": f"_xsrf={twin}", "X-XSRFToken": twin}
        payload = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        if payload is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, self._base + path, body=payload, headers=headers)
        return connection.getresponse()

    def _away(self, exc: BaseException) -> ServerAway:
        return ServerAway(
            f"the Jupyter server at {self.address.url} does not answer: {exc or type(exc).__name__}",
            hint="start it again, or leave it stopped and let this command start its own",
        )

    def events(self, after: int, session: str = "", *, patience: float = 30.0) -> Iterator[Message]:
        """All messages from ``after`` on, without end; after a broken connection it goes on behind the last event it gave.

        :raises ServerAway: if the server stays away for ``patience`` seconds
        """
        last, lost_since, pause = after, None, 0.1
        while True:
            try:
                for message in self._read_stream(last, session):
                    last = max(last, int(message.data.get("seq", 0)))
                    lost_since, pause = None, 0.1
                    yield message
                raise http.client.HTTPException("it closed the stream")
            except _UNREACHABLE as exc:
                lost_since = lost_since or time.monotonic()
                if time.monotonic() - lost_since > patience:
                    raise self._away(exc) from exc
            time.sleep(pause)
            pause = min(pause * 2, 2.0)

    def _read_stream(self, after: int, session: str) -> Iterator[Message]:
        query = urlencode({"after": after, **({"session": session} if session else {})})
        connection = self._connect(_READ_TIMEOUT)
        try:
            response = self._send(connection, "GET", f"/stream?{query}", None, {"Last-Event-ID": str(after)})
            if response.status >= 300:
                raise _failure(response.status, response.read(), "the event stream")
            yield from _messages(response)
        finally:
            connection.close()


def _messages(response: http.client.HTTPResponse) -> Iterator[Message]:
    """Server-sent events, decoded; an unfinished one at the end is dropped."""
    kind, data = "message", list[str]()
    while line := response.readline():
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            if data:
                yield Message(kind, json.loads("\n".join(data)))
            kind, data = "message", []
            continue
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if not name:
            yield Message("heartbeat", {})
        elif name == "event":
            kind = value
        elif name == "data":
            data.append(value)


def _failure(status: int, data: bytes, what: str) -> ServerRefused | RequestFailed:
    known = _problem(data)
    if status < 400 or status in (401, 403):
        return ServerRefused(
            f"the server refuses us ({status}): {known.get('message') or 'the token is not accepted'}",
            hint="the token in its server file may be old; restart the Jupyter server",
        )
    if status == 404 and "message" not in known:
        return RequestFailed(
            "this Jupyter server has no jupyter_pernix extension", status=status, hint="jupyter server extension list"
        )
    field = str(known.get("place") or "").removeprefix("$").removeprefix(".")
    place = f"{field}: " if field else ""
    message = known.get("message") or f"{what} was answered with HTTP {status}"
    return RequestFailed(f"{place}{message}", status=status, hint=str(known.get("hint", "")))


def _problem(data: bytes) -> JSON:
    try:
        body: Any = json.loads(data)
    except ValueError:
        return {}
    return cast(JSON, body) if isinstance(body, dict) else {}
