import errno
import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import httpx
import pytest

from jupyter_pernix.agent.model.http import Wire, from_httpx, is_loopback, place, translated
from jupyter_pernix.errors import EndpointFailed, EndpointUnreachable, StreamBroken


def all_errors(base: type[httpx.HTTPError] = httpx.HTTPError) -> list[type[httpx.HTTPError]]:
    return [found for child in base.__subclasses__() for found in (child, *all_errors(child))]


def made(kind: type[httpx.HTTPError]) -> httpx.HTTPError:
    request = httpx.Request("POST", "http://127.0.0.1/v1")
    if kind is httpx.HTTPStatusError:
        return httpx.HTTPStatusError("status", request=request, response=httpx.Response(500, request=request))
    return kind("what happened sk-abcdefgh")


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("started", [False, True])
def test_each_error_of_httpx_has_its_error_of_ours(kind: type[httpx.HTTPError], started: bool) -> None:
    error = from_httpx(made(kind), "http://127.0.0.1/v1", started=started)
    assert type(error) in (EndpointUnreachable, EndpointFailed, StreamBroken)
    assert "sk-" not in str(error)


def test_a_read_error_is_a_broken_stream_only_after_the_answer_began() -> None:
    error = httpx.ReadError("gone")
    assert type(from_httpx(error, "http://h/v1", started=True)) is StreamBroken
    assert type(from_httpx(error, "http://h/v1", started=False)) is EndpointUnreachable


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "https://127.0.0.1:9/v1"])
async def test_a_refused_connection_names_its_address_once(url: str) -> None:
    wire = Wire(url, key="", connect=5)
    with pytest.raises(EndpointUnreachable) as caught, translated(url):
        await wire.client.get(url)
    await wire.aclose()
    assert str(caught.value) == f"nothing listens at {url}"
    assert caught.value.hint == "check that the server runs, and its address"


def joined(*numbers: int) -> OSError:
    """What asyncio raises for a name that leads to several addresses."""
    told = ", ".join(f"[Errno {number}] Connect call failed ('::{number}', 9)" for number in numbers)
    return OSError(f"Multiple exceptions: {told}")


@pytest.mark.parametrize(
    ("cause", "refused"),
    [
        (joined(errno.ECONNREFUSED, errno.ECONNREFUSED), True),
        (joined(errno.ECONNREFUSED, errno.ENETUNREACH), False),
        (ExceptionGroup("all", [ConnectionRefusedError(), ConnectionRefusedError()]), True),
        (ExceptionGroup("all", [ConnectionRefusedError(), OSError(errno.ENETUNREACH, "no way")]), False),
    ],
)
def test_a_name_of_several_addresses_is_refused_when_all_of_them_refuse(cause: Exception, refused: bool) -> None:
    error = httpx.ConnectError("All connection attempts failed")
    error.__cause__ = cause
    said = str(from_httpx(error, "http://localhost:9/v1"))
    assert (said == "nothing listens at http://localhost:9/v1") is refused
    assert ("All connection attempts failed" in said) is not refused


def test_another_reason_for_no_connection_is_kept() -> None:
    error = httpx.ConnectError("[Errno -2] Name or service not known")
    error.__cause__ = OSError(-2, "Name or service not known")
    assert str(from_httpx(error, "http://h/v1")) == "no connection to http://h/v1: [Errno -2] Name or service not known"


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://model.localhost/v1", True),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://localhost.example.org/v1", False),
        ("https://api.openai.com/v1", False),
        ("http://10.0.0.1/v1", False),
    ],
)
async def test_proxies_are_for_other_machines_only(url: str, own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_loopback(url) is own
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example.org:3128")
    monkeypatch.setenv("NO_PROXY", "")
    wire = Wire(url, key="", connect=1)
    routes = wire.client._mounts  # type: ignore[attr-defined]
    await wire.aclose()
    assert bool(routes) is not own


def test_a_shown_address_has_neither_password_nor_query() -> None:
    assert place("https://user:secret@host:8443/v1?key=1") == "https://host:8443/v1"


# ---- connections that are used again ---------------------------------------------------------------------------------------

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 4\r\n\r\nword"


class Fickle:
    """A server that answers the first request of each connection that ``answers`` names, and does as told with the others."""

    def __init__(self, *, answers: int, closes: bool = False) -> None:
        self.connections = 0
        self.requests = 0
        self.closed = anyio.Event()
        self.request = ""
        self.answer = ANSWER
        self._answers, self._closes = answers, closes

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        self.connections += 1
        async with stream:
            try:
                while True:
                    await self._read(stream)
                    self.requests += 1
                    if self.requests > self._answers and self.requests != 3:
                        break
                    await stream.send(self.answer)
                    if self._closes:
                        break
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass
        self.closed.set()

    async def _read(self, stream: anyio.abc.SocketStream) -> None:
        data = b""
        while not data.endswith(b"body"):
            data += await stream.receive()
        self.request = data.decode()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Wire]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        wire = Wire(f"http://127.0.0.1:{port}/v1", key="", connect=5)
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, self.serve)
            with anyio.fail_after(10):
                yield wire
            await wire.aclose()
            group.cancel_scope.cancel()


async def posted(wire: Wire) -> bytes:
    response = await wire.post(b"body", {"x-conversation-id": "ses_1"})
    try:
        return b"".join([piece async for piece in response.aiter_bytes()])
    finally:
        await response.aclose()


async def test_requests_one_after_another_share_a_connection() -> None:
    server = Fickle(answers=9)
    async with server.running() as wire:
        assert [await posted(wire) for _ in range(3)] == [b"word"] * 3
    assert (server.connections, server.requests) == (1, 3)


async def test_a_connection_that_the_server_has_closed_is_not_used_again() -> None:
    server = Fickle(answers=9, closes=True)
    async with server.running() as wire:
        await posted(wire)
        await server.closed.wait()
        await posted(wire)
    assert (server.connections, server.requests) == (2, 2)


async def test_a_request_that_meets_a_closing_connection_is_sent_once_more() -> None:
    server = Fickle(answers=1)
    async with server.running() as wire:
        await posted(wire)
        assert await posted(wire) == b"word"
    assert (server.connections, server.requests) == (2, 3)


async def test_a_request_on_a_new_connection_is_never_sent_twice() -> None:
    server = Fickle(answers=0)
    async with server.running() as wire:
        with pytest.raises(httpx.RemoteProtocolError):
            await posted(wire)
    assert (server.connections, server.requests) == (1, 1)


async def test_a_request_has_its_headers_once_and_the_length_of_its_body() -> None:
    server = Fickle(answers=1)
    async with server.running() as wire:
        assert await posted(wire) == b"word"
        line, *fields = server.request.removesuffix("\r\n\r\nbody").split("\r\n")
        named = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
        assert line == "POST /v1/chat/completions HTTP/1.1"
        assert len(named) == len(fields)
        assert named["host"].startswith("127.0.0.1:")
        assert named["content-length"] == "4"
        assert named["content-type"] == "application/json"
        assert named["x-conversation-id"] == "ses_1"


async def test_an_answer_that_is_encoded_all_the_same_is_decoded() -> None:
    server = Fickle(answers=1)
    packed = gzip.compress(b"word")
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    server.answer = head + packed
    async with server.running() as wire:
        assert await posted(wire) == b"word"
