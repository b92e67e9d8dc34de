"""The stream: nothing lost, nothing doubled, whenever one comes."""

import asyncio
import json

import anyio
import anyio.lowlevel
import pytest

from jupyter_pernix.events import decode_stored
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import SessionId
from jupyter_pernix.serverext import bus as bus_module
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


async def test_events_that_wait_go_out_in_one_write(serve: Serve) -> None:
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
                async for chunk in chunks:
                    if chunk.count(b"event: delta") > 1:
                        assert chunk.count(b"event: delta") == 50
                        return
    raise AssertionError("no write held more than one delta")


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
