"""The stream: nothing lost, nothing doubled, whenever one comes."""

import asyncio
import json
import re
import socket
from contextlib import suppress
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from jupyter_pernix.events import ProblemNoticed, decode_stored
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import SessionId
from jupyter_pernix.serverext import bus as bus_module
from jupyter_pernix.serverext.bus import Subscription
from jupyter_pernix.serverext.handlers import stream as stream_module

from .carrying import Told, Turn, echo
from .conftest import Serve
from .served import TOKEN, Message, Served

pytestmark = pytest.mark.server


async def take(server: Served, count: int, *, headers: dict[str, str] | None = None, **params: object) -> list[Message]:
    found: list[Message] = []
    with anyio.fail_after(20):
        async with server.stream(headers=headers, **params) as stream:
            async for message in stream:
                found.append(message)
                if len(found) == count:
                    break
    return found


async def test_it_begins_with_hello_and_then_everything_after(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session(title="x")
        await server.submit(session, "hello")
        await server.wait_idle(session)
        log = await server.get("/events")
        messages = await take(server, len(log) + 1, after=0)
        assert (messages[0].event, messages[0].data) == ("hello", {"last_seq": log[-1]["seq"]})
        assert [(one.event, one.id, one.data) for one in messages[1:]] == [("pernix", one["seq"], one) for one in log]


async def test_the_last_event_id_goes_before_after(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        for _ in range(3):
            await server.new_session()
        messages = await take(server, 2, headers={"Last-Event-ID": "2"}, after=0)
        assert [one.id for one in messages[1:]] == [3]
        response = await server.http.get("/stream", headers={"Last-Event-ID": "soon"})
        assert (response.status_code, response.json()["place"]) == (400, "header Last-Event-ID")


async def test_without_after_it_begins_now(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        await server.new_session()
        with anyio.fail_after(20):
            async with server.stream() as stream:
                assert (await anext(stream)).event == "hello"
                await server.new_session()
                assert (await anext(stream)).id == 2


async def test_one_sessions_stream_has_no_other_sessions_events(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        mine, other = await server.new_session(), await server.new_session()
        with anyio.fail_after(20):
            async with server.stream(session=mine, after=0) as stream:
                await anext(stream)
                await server.http.patch(f"/sessions/{other}", json={"title": "other"})
                await server.http.patch(f"/sessions/{mine}", json={"title": "mine"})
                assert [(await anext(stream)).id for _ in range(2)] == [1, 4]


async def test_a_client_that_comes_back_after_any_event_folds_to_the_same_state(serve: Serve) -> None:
    async def story(turn: Turn) -> None:
        call = await turn.request()
        await turn.begin(call)
        await turn.end(call)
        await turn.say("done")

    async with serve(carry=Told(story)) as server:
        session = SessionId(await server.new_session())
        await server.submit(session, "go")
        await server.wait_idle(session)
        log = await server.log(session)
        whole = SessionFold.of(session, log).view
        for left_after in range(len(log)):
            fold = SessionFold.of(session, log[:left_after])
            # It comes back a little before where it was: what it has seen already must do no harm.
            after = max(0, fold.view.last_seq - 2)
            missed = len([one for one in log if one.seq > after])
            for message in (await take(server, missed + 1, session=session, after=after))[1:]:
                fold.add(decode_stored(json.dumps(message.data)))
            assert fold.view == whole


async def test_a_reader_that_comes_in_the_middle_gets_the_whole_text_so_far_and_then_the_rest(serve: Serve) -> None:
    wrote, go_on = anyio.Event(), anyio.Event()

    async def story(turn: Turn) -> None:
        turn.write("Hello, ")
        turn.write("wor", offset=7)
        wrote.set()
        await go_on.wait()
        turn.write("ld", offset=10)
        await turn.say("Hello, world")

    async with serve(carry=Told(story)) as server:
        session = await server.new_session()
        await server.submit(session, "go")
        with anyio.fail_after(20):
            await wrote.wait()
            async with server.stream() as stream:
                await anext(stream)
                first = (await anext(stream)).data
                assert (first["type"], first["offset"], first["text"]) == ("message.delta", 0, "Hello, wor")
                go_on.set()
                second = (await anext(stream)).data
                assert (second["offset"], second["text"]) == (10, "ld")
                assert (await anext(stream)).data["type"] == "message.completed"


async def test_what_comes_at_once_goes_out_in_one_write(serve: Serve) -> None:
    async def story(turn: Turn) -> None:
        for number in range(50):
            turn.write("x", offset=number)
        await turn.say("x" * 50)

    async with serve(carry=Told(story)) as server:
        session = await server.new_session()
        with anyio.fail_after(20):
            async with server.http.stream("GET", "/stream") as response:
                chunks = response.aiter_raw()
                await anext(chunks)
                await server.submit(session, "go")
                writes: list[int] = []
                async for chunk in chunks:
                    writes.append(chunk.count(b"event: delta"))
                    if b"message.completed" in chunk:
                        break
    # The first goes out at once, the others wait for what comes right behind them.
    assert (sum(writes), max(writes) >= 40) == (50, True)


async def test_a_quiet_stream_has_a_heartbeat(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "HEARTBEAT_SECONDS", 0.05)
    async with serve(carry=Told(echo)) as server:
        with anyio.fail_after(20):
            async with server.http.stream("GET", "/stream") as response:
                lines = response.aiter_lines()
                async for line in lines:
                    if line.startswith(":"):
                        return


async def test_a_reader_that_does_not_read_is_cut_and_does_not_grow_the_server(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_module, "QUEUE_BYTES", 1_000_000)
    monkeypatch.setattr(stream_module, "STALLED_SECONDS", 1.0)

    async def story(turn: Turn) -> None:
        for number in range(200):
            turn.write("x" * 100_000, offset=100_000 * number)
            await anyio.lowlevel.checkpoint()

    async with serve(carry=Told(story)) as server:
        session = await server.new_session()
        host, port = "127.0.0.1", server.app.port
        reader, writer = await asyncio.open_connection(host, port, limit=1024)
        path = server.url.partition(f":{port}")[2]
        writer.write(f"GET {path}/stream HTTP/1.1\r\nHost: {host}\r\nAuthorization: token {TOKEN}\r\n\r\n".encode())
        with anyio.fail_after(20):
            await reader.readuntil(b"\r\n\r\n")
            (slow,) = (await server.extension.runtime()).bus.subscriptions
            await server.submit(session, "go")
            await server.wait_idle(session)
            assert slow.cut
        writer.close()


class Slow:
    """A client by hand, which takes what the test lets it take; the kernel keeps little for it."""

    async def open(self, server: Served, query: str) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        self._socket.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self._socket, ("127.0.0.1", server.app.port))
        path = server.url.partition(f":{server.app.port}")[2]
        request = f"GET {path}/stream?{query} HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: token {TOKEN}\r\n\r\n"
        await loop.sock_sendall(self._socket, request.encode())

    async def read_until(self, mark: bytes) -> bytes:
        """Everything up to the piece with ``mark``; or all, if the server ends it before."""
        read = b""
        with anyio.fail_after(30):
            while mark not in read[-1_000_000:] and (
                piece := await asyncio.get_running_loop().sock_recv(self._socket, 65536)
            ):
                read += piece
        return read

    def close(self) -> None:
        self._socket.close()


def buffered(subscription: Subscription) -> int:
    """Bytes that the server keeps for a listener: what waits, and what the socket has not taken."""
    handler = getattr(subscription.ready, "__self__", None)
    assert isinstance(handler, stream_module.StreamHandler)
    return subscription.behind + len(handler.request.connection.stream._write_buffer)  # type: ignore[union-attr]


def noticed(session: str, text: str) -> ProblemNoticed:
    return ProblemNoticed(session_id=SessionId(session), turn_id=None, text=text)


def ids(text: bytes) -> list[int]:
    return [int(one) for one in re.findall(rb"^id: (\d+)$", text, re.MULTILINE)]


async def test_one_that_falls_behind_costs_little_and_gets_everything_from_the_store_later(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        runtime = await server.extension.runtime()
        slow, good = Slow(), Slow()
        try:
            read: dict[Slow, bytes] = {}
            for client in (slow, good):
                await client.open(server, "after=0")
                read[client] = await client.read_until(b"id: 1\n")
            with anyio.fail_after(20):
                while len(runtime.bus.subscriptions) < 2 or not all(map(follows, runtime.bus.subscriptions)):
                    await anyio.lowlevel.checkpoint()
            first = runtime.bus.subscriptions[0]
            most = 0
            for number in range(2, 82):
                await runtime.store.append([noticed(session, "x" * 100_000)])
                read[good] += await good.read_until(b"id: %d\n" % number)
                if not first.cut:
                    most = max(most, buffered(first))
            assert (first.cut, first.fell_behind) == (True, True)
            assert most < 2_000_000
            read[slow] += await slow.read_until(b"id: 81\n")
            assert {client: ids(text) for client, text in read.items()} == {key: list(range(1, 82)) for key in read}
        finally:
            slow.close()
            good.close()


def follows(subscription: Subscription) -> bool:
    return isinstance(getattr(subscription.ready, "__self__", None), stream_module.StreamHandler)


async def test_one_that_never_reads_is_ended(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "STALLED_SECONDS", 0.2)
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        runtime = await server.extension.runtime()
        slow = Slow()
        try:
            await slow.open(server, "")
            await slow.read_until(b"hello")
            with anyio.fail_after(20):
                while not runtime.bus.subscriptions:
                    await anyio.lowlevel.checkpoint()
                for _ in range(80):
                    await runtime.store.append([noticed(session, "x" * 100_000)])
                while runtime.bus.subscriptions:
                    await anyio.lowlevel.checkpoint()
            with suppress(ConnectionError):
                assert ids(await slow.read_until(b"never")) != list(range(2, 82))
        finally:
            slow.close()


async def test_one_that_comes_back_anywhere_while_events_come_gets_each_once_in_order(serve: Serve) -> None:
    last = 400
    async with serve(carry=Told(echo)) as server:
        sessions = [await server.new_session() for _ in range(10)]
        store = (await server.extension.runtime()).store

        async def work(session: str) -> None:
            for _ in range((last - len(sessions)) // len(sessions)):
                await store.append([noticed(session, "x" * 2000)])

        async def follow(*, leave_after: int) -> None:
            seen: list[int] = []
            while not seen or seen[-1] < last:
                headers = {"Last-Event-ID": str(seen[-1])} if seen else None
                came = [one.id for one in await take(server, leave_after + 1, headers=headers, after=0)]
                seen += [one for one in came if one is not None]
            assert seen == list(range(1, len(seen) + 1))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for session in sessions:
                    group.start_soon(work, session)
                # 400 is a multiple of each, so that each ends where the log does.
                for leave_after in (8, 50, 200):
                    group.start_soon(partial(follow, leave_after=leave_after))


async def test_a_stopping_server_ends_its_streams_after_the_last_event(serve: Serve) -> None:
    seen: list[Message] = []

    async def listen(server: Served, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with server.stream(after=0) as stream:
            task_status.started()
            async for message in stream:
                seen.append(message)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group, serve(carry=Told(lambda turn: anyio.sleep_forever())) as server:
            session = await server.new_session()
            turn = await server.submit(session, "go")
            await server.wait(session, lambda event: event["type"] == "turn.started" and event["turn_id"] == turn)
            await group.start(listen, server)
            await server.extension.stop_extension()
    assert [one.data["code"] for one in seen if one.data.get("type") == "turn.finished"] == ["interrupted"]
