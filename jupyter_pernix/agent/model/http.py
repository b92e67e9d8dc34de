"""Connections to endpoints: one client an endpoint, foreign errors translated here and nowhere else. httpx loads on first use."""

import ipaddress
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...errors import EndpointFailed, EndpointRefused, EndpointUnreachable, ModelError, StreamBroken
from .faults import masked

if TYPE_CHECKING:
    import httpx


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


def new_client(base_url: str, *, key: str, connect: float) -> "httpx.AsyncClient":
    """A client for one endpoint. It has no read deadline: readers set one around each wait.

    Proxies of the environment are used for addresses outside this machine only.
    """
    import httpx  # spares the extension's import

    return httpx.AsyncClient(
        timeout=httpx.Timeout(None, connect=connect, write=60.0, pool=connect),
        trust_env=not is_loopback(base_url),
        verify=not base_url.startswith(
            "http://"
        ),  # without TLS there is nothing to verify, and loading the certificates takes long
        headers={"authorization": f"Bearer {key}"} if key else {},
        limits=_limits(base_url),
    )


def _limits(base_url: str) -> "httpx.Limits":
    """On this machine each request has a connection of its own: llama.cpp closes one after a stream without saying so, and a
    request that was sent in that moment fails. Elsewhere an idle one is given up before servers usually do it."""
    import httpx  # spares the extension's import

    if is_loopback(base_url):
        return httpx.Limits(max_keepalive_connections=0)
    return httpx.Limits(max_keepalive_connections=8, keepalive_expiry=20.0)


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
            return EndpointUnreachable(
                f"no connection to {where}: {what}", hint="check that the server runs, and its address"
            )
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


def without_key(text: str, key: str) -> str:
    """``text`` with this key, and whatever looks like one, taken out."""
    return masked(text.replace(key, "[key]") if len(key) > 3 else text)
