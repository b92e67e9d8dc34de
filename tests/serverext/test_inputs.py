"""Lines that running code asks for: stored before they are asked, answered once, closed when the code ends first."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.agent.recovery import settle
from jupyter_pernix.events import ExecutionFinished, ExecutionStarted, InputAnswered, Stored
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import ExecutionId, new_execution_id

from .carrying import Told, Turn
from .conftest import Serve
from .served import JSON, Served

pytestmark = pytest.mark.server

TYPED = "typed by the user"


@asynccontextmanager
async def code(turn: Turn) -> AsyncGenerator[ExecutionId]:
    """A call whose code runs; both end as a Run ends them."""
    call = await turn.request()
    await turn.begin(call)
    execution_id = new_execution_id()
    started = ExecutionStarted(
        **turn.ids, call_id=call, execution_id=execution_id, place="own", kernel_name="python3", code="input()"
    )
    await turn.host.append(started)
    try:
        yield execution_id
    finally:
        with anyio.CancelScope(shield=True):
            result: dict[str, Any] = {"execution_count": 1, "ename": "", "evalue": "", "detail": "", "duration": 0.1}
            await turn.host.append(ExecutionFinished(**turn.ids, execution_id=execution_id, status="ok", **result))
            await turn.end(call)


async def asks(turn: Turn) -> None:
    async with code(turn) as execution_id:
        line = await turn.host.ask_input(execution_id, "name? ", False)
    await turn.say(f"got {line}")


async def asks_password(turn: Turn) -> None:
    async with code(turn) as execution_id:
        line = await turn.host.ask_input(execution_id, "PW: ", True)
    await turn.say(f"got {len(line or '')} characters")


async def gives_up(turn: Turn) -> None:
    """Its code ends before anybody has answered."""
    async with code(turn) as execution_id:
        with anyio.move_on_after(0.05):
            await turn.host.ask_input(execution_id, "name? ", False)
    await turn.say("went on")


async def asked(server: Served) -> tuple[str, str, str]:
    """Session, turn and id of a line that is asked for."""
    session = await server.new_session()
    turn = await server.submit(session, "go")
    events = await server.wait(session, lambda event: event.get("after") == "awaiting_user")
    (wanted,) = [event for event in events if event["type"] == "input.requested"]
    return session, turn, wanted["input_id"]


async def answered(server: Served, input_id: str, body: Any) -> tuple[int, JSON]:
    response = await server.http.post(f"/inputs/{input_id}", json=body)
    return response.status_code, response.json()


def files_with(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


def said(events: list[JSON]) -> list[str]:
    return [event["text"] for event in events if event["type"] == "message.completed"]


async def test_a_line_is_stored_and_reaches_the_code(serve: Serve) -> None:
    async with serve(carry=Told(asks)) as server:
        session, _, input_id = await asked(server)
        status, view = await answered(server, input_id, {"text": TYPED})
        assert (status, view["text"], view["by"], view["prompt"]) == (200, TYPED, "user", "name? ")
        assert said(await server.wait_idle(session)) == [f"got {TYPED}"]
        assert illegalities(await server.log(session)) == []


async def test_a_password_reaches_the_code_and_nothing_else(serve: Serve, tmp_path: Path) -> None:
    async with serve(carry=Told(asks_password)) as server:
        session, _, input_id = await asked(server)
        status, view = await answered(server, input_id, {"text": "hunter2-secret"})
        assert (status, view["text"], view["by"]) == (200, None, "user")
        assert said(await server.wait_idle(session)) == ["got 14 characters"]
    assert files_with(tmp_path, b"hunter2-secret") == []


async def test_no_line_is_an_answer_too(serve: Serve) -> None:
    async with serve(carry=Told(asks)) as server:
        session, _, input_id = await asked(server)
        assert (await answered(server, input_id, {"text": None}))[0] == 200
        assert said(await server.wait_idle(session)) == ["got None"]


async def test_of_two_answers_at_once_one_counts(serve: Serve) -> None:
    async with serve(carry=Told(asks)) as server:
        session, _, input_id = await asked(server)
        statuses: list[int] = []

        async def answer(text: str) -> None:
            statuses.append((await answered(server, input_id, {"text": text}))[0])

        async with anyio.create_task_group() as group:
            group.start_soon(answer, "one")
            group.start_soon(answer, "two")
        events = await server.wait_idle(session)
        assert sorted(statuses) == [200, 409]
        assert len([event for event in events if event["type"] == "input.answered"]) == 1


async def test_an_unknown_input_is_not_found_and_a_bad_answer_is_refused(serve: Serve) -> None:
    async with serve(carry=Told(asks)) as server:
        _, _, input_id = await asked(server)
        assert (await answered(server, "inp_none", {"text": "x"}))[0] == 404
        assert (await answered(server, input_id, {"text": 3}))[0] == 400
        assert (await answered(server, input_id, {"text": "fine"}))[0] == 200


async def test_code_that_ends_first_closes_what_it_asked_and_its_turn_goes_on(serve: Serve) -> None:
    async with serve(carry=Told(gives_up)) as server:
        session, _, input_id = await asked(server)
        events = await server.wait_idle(session)
        (closed,) = [event for event in events if event["type"] == "input.answered"]
        assert (closed["by"], closed["text"], said(events)) == ("host", None, ["went on"])
        assert (await answered(server, input_id, {"text": "late"}))[0] == 409
        assert illegalities(await server.log(session)) == []


async def test_a_stopped_turn_takes_what_its_code_asked_with_it(serve: Serve) -> None:
    async with serve(carry=Told(asks)) as server:
        session, turn, input_id = await asked(server)
        await server.post(f"/sessions/{session}/turns/{turn}/cancel", status=202)
        events = await server.wait_idle(session)
        (closed,) = [event for event in events if event["type"] == "input.answered"]
        assert closed["by"] == "host"
        assert (await answered(server, input_id, {"text": "late"}))[0] == 409


async def test_a_server_that_stops_leaves_no_code_waiting(serve: Serve) -> None:
    async with serve(carry=Told(asks)) as server:
        session, _, input_id = await asked(server)
    async with serve(carry=Told(asks)) as server:
        log = await server.log(session)
        assert illegalities(log) == []
        fold = SessionFold.of(log[0].event.session_id, log)
        assert (fold.open_inputs(), fold.view.state, fold.view.turns[0].code) == ([], "idle_ready", "interrupted")
        assert (await answered(server, input_id, {"text": "late"}))[0] == 409


async def test_what_a_server_that_died_left_open_is_closed_by_the_next(serve: Serve, tmp_path: Path) -> None:
    async with serve(carry=Told(asks)) as server:
        session, _, _ = await asked(server)
        log = await server.log(session)
    events = await settle(log, tmp_path)
    (closed,) = [event for event in events if isinstance(event, InputAnswered)]
    assert (closed.by, closed.text) == ("host", None)
    settled = [
        *log,
        *(Stored(seq=log[-1].seq + n, recorded_at=log[-1].recorded_at, event=each) for n, each in enumerate(events, 1)),
    ]
    assert illegalities(settled) == []
