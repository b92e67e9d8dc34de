"""The transport to servers on this machine, against a server that says exactly what a case tells it to."""

import asyncio
import gzip
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import httpx
import pytest

from jupyter_pernix.agent.model.transport import LocalTransport

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nHell\r\n2;x=y\r\no,\r\n6\r\n you!\n\r\n0\r\nTrailer: 1\r\n\r\n"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nHello, you!\n"
UNTIL_CLOSE = b"HTTP/1.0 200 OK\r\n\r\nHello, you!\n"
CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 12\r\n\r\nHello, you!\n"


@dataclass
class Server:
    """Answers the n-th request with the n-th of ``answers``, in pieces; an empty one closes the connection."""

    answers: list[bytes]
    piece: int = 1 << 20
    hang_up: Callable[[int], bool] = lambda _: False
    """Whether the connection is closed after the n-th answer, without saying so."""
    url: str = ""
    connections: int = 0
    requests: list[bytes] = field(default_factory=list[bytes])
    closed: list[anyio.Event] = field(default_factory=list[anyio.Event])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        gone = anyio.Event()
        self.closed.append(gone)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            gone.set()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        number = len(self.requests)
        self.requests.append(head + await reader.readexactly(length))
        answer = self.answers[number]
        for at in range(0, len(answer), self.piece):
            writer.write(answer[at : at + self.piece])
            await writer.drain()
            await asyncio.sleep(0)
        if answer.endswith(b"[stays open]"):
            await reader.read()
        return bool(answer) and answer not in (UNTIL_CLOSE, CLOSING) and not self.hang_up(number)


@asynccontextmanager
async def serving(answers: Sequence[bytes], **options: object) -> AsyncGenerator[tuple[Server, httpx.AsyncClient]]:
    server = Server(list(answers), **options)  # type: ignore[arg-type]
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    async with httpx.AsyncClient(transport=LocalTransport()) as client:
        with anyio.fail_after(20):
            yield server, client
    listening.close()


@pytest.mark.parametrize("piece", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("answer", [CHUNKED, LENGTH, UNTIL_CLOSE, CLOSING])
async def test_a_body_is_read_however_it_is_framed_and_cut(answer: bytes, piece: int) -> None:
    async with serving([answer], piece=piece) as (server, client):
        response = await client.post(server.url, content=b"body")
    assert (response.status_code, response.content) == (200, b"Hello, you!\n")
    assert server.requests[0].startswith(b"POST /v1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert server.requests[0].endswith(b"\r\n\r\nbody")


@pytest.mark.parametrize(("answer", "connections"), [(CHUNKED, 1), (LENGTH, 1), (UNTIL_CLOSE, 3), (CLOSING, 3)])
async def test_a_connection_is_used_again_where_the_server_keeps_it(answer: bytes, connections: int) -> None:
    async with serving([answer] * 3) as (server, client):
        for _ in range(3):
            assert (await client.get(server.url)).content == b"Hello, you!\n"
    assert server.connections == connections


async def test_a_connection_that_the_server_closed_without_a_word_is_not_used_again() -> None:
    async with serving([CHUNKED] * 2, hang_up=lambda number: number == 0) as (server, client):
        await client.get(server.url)
        await server.closed[0].wait()
        await _seen_closed(client)
        assert (await client.get(server.url)).status_code == 200
    assert server.connections == 2


async def _seen_closed(client: httpx.AsyncClient) -> None:
    """The end of the connection has come through to this side."""
    (connection,) = client._transport._idle  # type: ignore[attr-defined]
    while connection.is_fresh:  # noqa: ASYNC110 - the loop sees it by itself, and tells nobody
        await asyncio.sleep(0)


async def test_pieces_come_while_the_answer_is_written_and_leaving_closes_the_connection() -> None:
    half = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nHell\r\n9\r\n[stays open]"
    async with serving([half]) as (server, client):
        async with client.stream("GET", server.url) as response:
            assert await anext(response.aiter_bytes()) == b"Hell[stays op"
        await server.closed[0].wait()


async def test_what_comes_before_the_answer_and_what_has_no_body_is_understood() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + LENGTH
    none = b"HTTP/1.1 204 No Content\r\n\r\n"
    async with serving([early, none, LENGTH]) as (server, client):
        assert (await client.get(server.url)).content == b"Hello, you!\n"
        assert (await client.get(server.url)).content == b""
        assert (await client.get(server.url)).content == b"Hello, you!\n"
    assert server.connections == 1


async def test_the_head_of_an_answer_alone_has_no_body_whatever_its_length_says() -> None:
    async with serving([b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", LENGTH]) as (server, client):
        assert (await client.head(server.url)).status_code == 200
        assert (await client.get(server.url)).content == b"Hello, you!\n"


async def test_a_packed_body_is_unpacked() -> None:
    packed = gzip.compress(b"Hello")
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed)
    async with serving([answer]) as (server, client):
        assert (await client.get(server.url)).content == b"Hello"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nHello\r\n0\r\n\r\n",
        CHUNKED[:-3],
        LENGTH[:-1],
        LENGTH[:20],
    ],
)
async def test_an_answer_that_is_not_whole_or_no_answer_is_an_error_of_the_protocol(answer: bytes) -> None:
    async with serving([answer], hang_up=lambda _: True) as (server, client):
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(server.url)


async def test_a_server_that_is_not_there_cannot_be_connected_to() -> None:
    async with httpx.AsyncClient(transport=LocalTransport()) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("http://127.0.0.1:1/v1")


async def test_a_request_that_is_cancelled_closes_its_connection() -> None:
    async with serving([b"HTTP/1.1 [stays open]"]) as (server, client):
        with anyio.move_on_after(0.05):
            await client.get(server.url)
        await server.closed[0].wait()


async def test_many_requests_at_once_have_connections_of_their_own() -> None:
    async with serving([LENGTH] * 20) as (server, client), anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(client.get, server.url)
    assert len(server.requests) == 20
