"""Connections to endpoints: one client an endpoint, foreign errors translated here and nowhere else. httpx loads on first use."""

import errno
import ipaddress
import re
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from ...errors import EndpointFailed, EndpointRefused, EndpointUnreachable, ModelError, StreamBroken
from .complaint import masked

if TYPE_CHECKING:
    import httpx

    from .transport import LocalTransport, PlainAnswer

    Answer = httpx.Response | PlainAnswer


def is_loopback(url: str) -> bool:
    """Whether ``url`` leads to this machine by its own name or address."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def place(url: str) -> str:
    """``url`` as it may be shown: without user, password and query."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


def checked_base_url(url: str) -> str:
    """``url`` without a slash at its end.

    :raises ModelError: if it is not an http(s) address
    """
    url = url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise EndpointFailed(
            "the base URL of the endpoint is not an http address",
            kind="protocol",
            hint="write it like http://127.0.0.1:8000/v1",
        )
    return url.removesuffix("/chat/completions")


def checked_key(key: str) -> str:
    """:raises ModelError: if it cannot stand in a header; it is not shown"""
    if not re.fullmatch(r"[!-~]*", key):
        raise EndpointRefused(
            "the API key of this endpoint holds characters that no key has, e.g. a space or a line end",
            hint="enter the key again",
        )
    return key


_IDLE = 4.5
"""Seconds that an idle connection is kept: most servers close theirs after five."""
_STALE_WITHIN = 2.0
"""Seconds after which a failure is no longer the sign of a connection that was closed already."""


class Wire:
    """The connections to one endpoint. There is no read deadline: readers set one around each wait.

    Proxies of the environment are used for addresses outside this machine only. What each request has in common is made once.
    """

    def __init__(self, base_url: str, *, key: str, connect: float) -> None:
        import httpx  # spares the extension's import

        # Without TLS there is nothing to verify, and loading the certificates takes long.
        verify = not base_url.startswith("http://")
        limits = httpx.Limits(max_keepalive_connections=8, keepalive_expiry=_IDLE)
        local = is_loopback(base_url)
        local_transport = _local_transport() if local and not verify else None
        transport = local_transport
        if local and verify:
            transport = httpx.AsyncHTTPTransport(limits=limits, trust_env=False)
        self._connect = connect
        self._timeouts: dict[str, float | None] = {"connect": connect, "read": None, "write": 60.0, "pool": connect}
        self.client = httpx.AsyncClient(
            timeout=httpx.Timeout(**self._timeouts),
            trust_env=not local,
            transport=transport,
            verify=verify,
            headers={"authorization": f"Bearer {key}"} if key else {},
            limits=limits,
        )
        self._url = httpx.URL(f"{base_url}/chat/completions")
        given = httpx.Headers(self.client.headers)
        given.update({"content-type": "application/json", "accept": "text/event-stream"})
        self._headers = given.raw
        # On this machine the client's redirects, cookies and proxies have nothing to do, and cost half of a request.
        self._local = None if self._url.userinfo else local_transport
        self._begin = _begin_of(httpx.Request("POST", self._url, headers=self._headers))

    async def aclose(self) -> None:
        await self.client.aclose()

    async def post(self, body: bytes, headers: Mapping[str, str]) -> "Answer":
        """Ask for an answer; the body of the response is not read yet.

        A connection that was idle may be closed by the server in the very moment in which it is used again. A request that met
        that is sent once more, on another connection; one that had a new connection, or waited, is never sent twice.

        :raises httpx.HTTPError: if there is no response
        """
        import httpx  # spares the extension's import

        while True:
            begun, opened = time.monotonic(), _Opened()
            try:
                return await self._posted(body, headers, opened)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if opened.new or time.monotonic() - begun > _STALE_WITHIN:
                    raise

    async def _posted(self, body: bytes, headers: Mapping[str, str], opened: "_Opened") -> "Answer":
        if self._local is not None:
            fields = [b"%b: %b\r\n" % field for field in _raw(headers)]
            request = b"%b%bContent-Length: %d\r\n\r\n%b" % (self._begin, b"".join(fields), len(body), body)
            return await self._local.post(request, self._url, trace=opened, connect=self._connect)
        import httpx  # spares the extension's import

        request = httpx.Request(
            "POST",
            self._url,
            headers=[*self._headers, *_raw(headers)],
            content=body,
            extensions={"timeout": self._timeouts, "trace": opened},
        )
        return await self.client.send(request, stream=True)


def _begin_of(request: "httpx.Request") -> bytes:
    """The request line and all headers but the body's length."""
    lines = [b"%b %b HTTP/1.1\r\n" % (request.method.encode("ascii"), request.url.raw_path)]
    lines += [b"%b: %b\r\n" % field for field in request.headers.raw if field[0].lower() != b"content-length"]
    return b"".join(lines)


def _local_transport() -> "LocalTransport":
    # Imported here: it needs httpx.
    from .transport import LocalTransport

    return LocalTransport()


class _Opened:
    """Listens to one request: whether a connection was opened for it."""

    new = False

    async def __call__(self, event: str, info: Mapping[str, object]) -> None:
        if event.startswith("connection.connect"):
            self.new = True


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]


@contextmanager
def translated(base_url: str, *, key: str = "", started: bool = False) -> Generator[None]:
    """Errors of httpx become ours. ``started``: the answer had begun, so what breaks now is the stream."""
    import httpx  # spares the extension's import

    try:
        yield
    except httpx.InvalidURL as exc:
        raise EndpointFailed(
            "the base URL of the endpoint is not a URL", kind="protocol", hint="correct its base URL"
        ) from exc
    except httpx.HTTPError as exc:
        raise from_httpx(exc, base_url, key=key, started=started) from exc


def from_httpx(exc: "httpx.HTTPError", base_url: str, *, key: str = "", started: bool = False) -> ModelError:
    """Which error of ours an error of httpx is."""
    import httpx  # spares the extension's import

    what = without_key(str(exc), key) or type(exc).__name__
    where = place(base_url)
    match exc:
        case httpx.UnsupportedProtocol() | httpx.TooManyRedirects() | httpx.LocalProtocolError():
            return EndpointFailed(
                f"{where} cannot be asked: {what}", kind="protocol", hint="check the base URL and the key"
            )
        case httpx.ConnectTimeout() | httpx.PoolTimeout():
            return EndpointUnreachable(
                f"{where} did not take the connection in time", hint="check that the server runs and can be reached"
            )
        case httpx.ConnectError():
            said = f"nothing listens at {where}" if _is_refused(exc) else f"no connection to {where}: {what}"
            return EndpointUnreachable(said, hint="check that the server runs, and its address")
        case httpx.ProxyError():
            return EndpointUnreachable(
                f"the proxy refused the way to {where}: {what}", hint="check HTTPS_PROXY and NO_PROXY"
            )
        case httpx.HTTPStatusError():
            return EndpointFailed(f"{where} answered HTTP {exc.response.status_code}", status=exc.response.status_code)
        case httpx.TimeoutException() | httpx.TransportError() | httpx.RequestError():
            if started:
                return StreamBroken(f"the connection to {where} broke in the middle of the answer: {what}")
            return EndpointUnreachable(f"the connection to {where} broke: {what}")
        case _:
            return EndpointFailed(f"{where}: {what}")


def _is_refused(exc: BaseException) -> bool:
    """Whether every address that was tried refused the connection."""
    inner = exc.__cause__ or exc.__context__
    if inner is not None:
        return _is_refused(inner)
    if isinstance(exc, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", exc)
        return all(_is_refused(each) for each in group.exceptions)
    # asyncio joins the reasons of several addresses into one sentence, and keeps nothing else of them
    joined = re.findall(r"\[Errno (-?\d+)\]", str(exc)) if str(exc).startswith("Multiple exceptions: ") else []
    return isinstance(exc, ConnectionRefusedError) or set(joined) == {str(errno.ECONNREFUSED)}


def without_key(text: str, key: str) -> str:
    """``text`` with this key, and whatever looks like one, taken out."""
    return masked(text.replace(key, "[key]") if len(key) > 3 else text)
