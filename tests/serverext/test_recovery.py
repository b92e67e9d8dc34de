"""What a server that died leaves behind, and what the next one makes of it. A crash is a log that simply stops."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support.story import APPROVAL, SESSION, TURN, story

from jupyter_pernix.agent.closing import BEGUN, NOT_BEGUN, WORKER_LOST
from jupyter_pernix.agent.recovery import settle
from jupyter_pernix.agent.testing import Says
from jupyter_pernix.events import (
    ApprovalRequested,
    Event,
    MessageCompleted,
    SessionCreated,
    SessionStateChanged,
    StepFinished,
    StepStarted,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    TurnFinished,
    TurnSubmitted,
    Unknown,
    WorkerReported,
    WorkerSpawned,
)
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import SessionId
from jupyter_pernix.records import CallView, SessionState, SessionView, TerminalCode
from jupyter_pernix.serverext.store import EventStore

from .carrying import Told, echo
from .conftest import Serve
from .inprocess import World

STORY = story()
WAITING = {SessionState.AWAITING_USER, SessionState.PAUSED}


def grown(log: Sequence[Stored], events: Sequence[Event]) -> list[Stored]:
    last = log[-1]
    return [
        *log,
        *(Stored(seq=last.seq + n, recorded_at=last.recorded_at, event=event) for n, event in enumerate(events, 1)),
    ]


@pytest.mark.parametrize("length", range(1, len(STORY) + 1))
async def test_a_log_cut_anywhere_is_settled_and_settling_it_twice_changes_nothing(length: int, tmp_path: Path) -> None:
    log = STORY[:length]
    settled = grown(log, await settle(log, tmp_path))
    fold = SessionFold.of(SESSION, settled)
    view = fold.view
    calls = [item for turn in view.turns for item in turn.items if isinstance(item, CallView)]
    if view.state in WAITING:
        (open_,) = [turn for turn in view.turns if turn.code is None]
        asked = [APPROVAL] if view.state is SessionState.AWAITING_USER else []
        assert (open_.turn_id, [each.approval_id for each in fold.open_approvals()]) == (TURN, asked)
    else:
        assert view.state is SessionState.IDLE_READY
        assert fold.open_approvals() == []
        assert [turn for turn in view.turns if turn.code is None] == []
        assert {call.status for call in calls} <= {"completed", "failed", "cancelled", "unknown"}
    assert [call for call in calls if call.status == "in_progress"] == []
    assert [call for call in calls if call.execution is not None and call.execution.status is None] == []
    assert [call for call in calls if call.worker is not None and call.worker.code is None] == []
    assert await settle(settled, tmp_path) == []


def cut_after(kind: type, count: int = 1) -> list[Stored]:
    """The story up to and with the ``count``-th event of this kind."""
    index = [index for index, stored in enumerate(STORY) if isinstance(stored.event, kind)][count - 1]
    return STORY[: index + 1]


async def recovered(log: Sequence[Stored], space: Path) -> tuple[SessionView, list[Event]]:
    events = await settle(log, space)
    return SessionFold.of(SESSION, grown(log, events)).view, events


async def test_what_became_of_a_call_that_had_begun_is_not_known(tmp_path: Path) -> None:
    _, events = await recovered(cut_after(ToolCallStarted), tmp_path)
    (call,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert (call.status, call.result) == ("unknown", BEGUN)


async def test_a_call_that_had_not_begun_is_cancelled(tmp_path: Path) -> None:
    _, events = await recovered(cut_after(ToolCallRequested), tmp_path)
    (call,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert (call.status, call.result) == ("cancelled", NOT_BEGUN)


async def test_a_worker_that_ran_is_reported_as_interrupted(tmp_path: Path) -> None:
    _, events = await recovered(cut_after(WorkerSpawned), tmp_path)
    (report,) = [event for event in events if isinstance(event, WorkerReported)]
    (call,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert (report.code, report.answer) == (TerminalCode.INTERRUPTED, WORKER_LOST)
    assert (call.status, call.result) == ("unknown", WORKER_LOST)


async def test_a_worker_that_had_answered_did(tmp_path: Path) -> None:
    log = cut_after(WorkerReported)
    _, events = await recovered(log, tmp_path)
    (call,) = [event for event in events if isinstance(event, ToolCallFinished)]
    told = log[-1].event
    assert isinstance(told, WorkerReported)
    assert (call.status, call.result) == ("completed", told.answer)


async def test_a_request_that_was_cut_off_is_given_up(tmp_path: Path) -> None:
    _, events = await recovered(cut_after(StepStarted), tmp_path)
    (step,) = [event for event in events if isinstance(event, StepFinished)]
    assert step.finish_reason == "failed"


async def test_a_finished_call_stays_as_it_was(tmp_path: Path) -> None:
    log = cut_after(ToolCallFinished)
    before = SessionFold.of(SESSION, log).view.turns[0].items
    after = (await recovered(log, tmp_path))[0].turns[0].items
    assert after[: len(before)] == before


async def test_the_last_event_makes_the_session_idle_and_says_why(tmp_path: Path) -> None:
    _, events = await recovered(cut_after(ToolCallStarted), tmp_path)
    assert isinstance(events[-1], SessionStateChanged)
    assert (events[-1].reason, events[-1].after) == ("recovered", SessionState.IDLE_READY)


def moved(before: SessionState, after: SessionState, reason: str) -> SessionStateChanged:
    return SessionStateChanged(session_id=SESSION, turn_id=TURN, before=before, after=after, reason=reason)


PROCESSING, FINALIZING, CANCELLING = SessionState.PROCESSING, SessionState.FINALIZING, SessionState.CANCELLING


async def test_a_turn_that_was_about_to_end_with_its_answer_is_answered(tmp_path: Path) -> None:
    said = cut_after(ToolCallFinished)
    step = next(each.event for each in STORY if isinstance(each.event, MessageCompleted))
    log = grown(said, [step, moved(PROCESSING, FINALIZING, "turn_ending")])
    assert (await recovered(log, tmp_path))[0].turns[0].code is TerminalCode.ANSWERED
    unsaid = grown(said, [moved(PROCESSING, FINALIZING, "turn_ending")])
    assert (await recovered(unsaid, tmp_path))[0].turns[0].code is TerminalCode.INTERRUPTED


async def test_a_turn_that_the_user_had_stopped_is_cancelled(tmp_path: Path) -> None:
    log = grown(cut_after(ToolCallStarted), [moved(PROCESSING, CANCELLING, "cancel_asked")])
    assert (await recovered(log, tmp_path))[0].turns[0].code is TerminalCode.CANCELLED
    further = grown(log, [moved(CANCELLING, FINALIZING, "turn_ending")])
    assert (await recovered(further, tmp_path))[0].turns[0].code is TerminalCode.CANCELLED


async def test_a_file_that_was_written_right_before_the_end_is_known_to_be(tmp_path: Path) -> None:
    *before, last = cut_after(ToolCallRequested)
    assert isinstance(last.event, ToolCallRequested)
    call = replace(last.event, tool="write_file", arguments={"path": "new.txt", "content": "hello\n"})
    begun = ToolCallStarted(session_id=SESSION, turn_id=TURN, call_id=call.call_id)
    log = grown([*before, replace(last, event=call)], [begun])
    results = {}
    for there in (False, True):
        if there:
            (tmp_path / "new.txt").write_text("hello\n")
        view, _ = await recovered(log, tmp_path)
        (item,) = [item for item in view.turns[0].items if isinstance(item, CallView)]
        results[there] = (item.status, [change.path for change in item.files])
    assert results == {False: ("failed", []), True: ("completed", ["new.txt"])}


async def left_behind(path: Path, events: Sequence[Event | Unknown]) -> None:
    store = await EventStore.open(path / "pernix.duckdb")
    await store.append(events)
    await store.aclose()


@pytest.mark.server
@pytest.mark.parametrize("kind", [TurnSubmitted, ToolCallRequested, ToolCallStarted, TurnFinished])
async def test_the_next_server_finds_an_interrupted_turn_and_the_user_can_go_on(
    serve: Serve, tmp_path: Path, root: Path, kind: type
) -> None:
    (root / "csv_import").mkdir()
    await left_behind(tmp_path / "data", [stored.event for stored in cut_after(kind)])
    async with serve(carry=Told(echo)) as server:
        view = await server.get(f"/sessions/{SESSION}")
        first = view["turns"][0]
        assert view["state"] == "idle_ready"
        assert first["code"] == ("interrupted" if kind is not TurnFinished else first["code"])
        if kind is not TurnFinished:
            assert first["detail"].startswith("the server ended")
        turn = await server.submit(SESSION, "go on")
        events = await server.wait(SESSION, lambda event: event["type"] == "turn.finished" and event["turn_id"] == turn)
        assert events[-1]["code"] == "answered"


@pytest.mark.server
async def test_the_next_server_writes_the_record_of_the_interrupted_turn(
    serve: Serve, tmp_path: Path, root: Path
) -> None:
    (root / "csv_import").mkdir()
    await left_behind(tmp_path / "data", [stored.event for stored in cut_after(ToolCallStarted)])
    async with serve(carry=Told(echo)) as server:
        path = server.root / (await server.get(f"/sessions/{SESSION}"))["record_path"]
        await server.submit(SESSION, "go on")
        await server.wait_idle(SESSION, after=(await server.get("/"))["last_seq"] - 1)
        assert "interrupted" in path.read_text()


@pytest.mark.server
async def test_recovering_again_after_a_second_crash_adds_nothing(serve: Serve, tmp_path: Path) -> None:
    await left_behind(tmp_path / "data", [stored.event for stored in cut_after(ToolCallStarted)])
    async with serve(carry=Told(echo)) as server:
        once = (await server.get("/"))["last_seq"]
    async with serve(carry=Told(echo)) as server:
        assert (await server.get("/"))["last_seq"] - once <= 1, "at most the problem of a record that has no folder"


async def test_turns_that_ended_well_need_nothing(tmp_path: Path) -> None:
    idle = [index for index, each in enumerate(STORY) if getattr(each.event, "after", None) == "idle_ready"]
    assert await settle(STORY[: idle[0] + 1], tmp_path) == []


async def test_a_workers_question_does_not_outlive_its_server(tmp_path: Path) -> None:
    index = len(cut_after(ApprovalRequested)) + 1
    created = STORY[0].event
    assert isinstance(created, SessionCreated)
    child = replace(STORY[0], event=replace(created, parent=SessionId("ses_parent")))
    log = [child, *STORY[1:index]]
    assert SessionFold.of(SESSION, log).view.state is SessionState.AWAITING_USER
    view, _ = await recovered(log, tmp_path)
    assert (view.state, view.turns[0].code) == (SessionState.IDLE_READY, TerminalCode.INTERRUPTED)


async def test_sessions_are_settled_without_a_query_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(data=tmp_path / "data", root=tmp_path / "root", think=_says, work=_says, plan=_says)
    sessions = [SessionId(f"ses_{number}") for number in range(4)]
    asks = cut_after(ApprovalRequested)
    async with world.sessions() as before:
        for number, session_id in enumerate(sessions):
            log = asks if number % 2 else cut_after(ToolCallRequested)
            events = [replace(stored.event, session_id=session_id) for stored in log]
            state = SessionFold.of(session_id, log).view.state
            if number % 2 and state is not SessionState.AWAITING_USER:
                events.append(
                    SessionStateChanged(
                        session_id=session_id,
                        turn_id=TURN,
                        before=state,
                        after=SessionState.AWAITING_USER,
                        reason="approval_requested",
                    )
                )
            await before.around.store.append(events)
        before.around.stopping = True
    queries: list[object] = []
    read = EventStore._read_until

    async def counted(self: EventStore, *args: Any, **kwargs: Any) -> Any:
        queries.append(args)
        return await read(self, *args, **kwargs)

    monkeypatch.setattr(EventStore, "_read_until", counted)
    async with world.sessions() as after:
        states = [after.summary(session_id).state for session_id in sessions]
        assert states == [SessionState.IDLE_READY, SessionState.AWAITING_USER] * 2
        assert len(queries) == 3
        assert after.busy == 0


def test_a_session_without_a_call_that_had_begun_is_settled_without_loading_the_tools() -> None:
    script = """
import asyncio, sys
from pathlib import Path
from support.story import SESSION, story
from jupyter_pernix.events import ToolCallRequested
from jupyter_pernix.agent.recovery import settle
log = story()
end = next(index for index, stored in enumerate(log) if isinstance(stored.event, ToolCallRequested)) + 1
events = asyncio.run(settle(log[:end], Path()))
print(len(events) > 2, "jupyter_pernix.agent.tools.registry" in sys.modules)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[1], check=True
    )
    assert ran.stdout.split() == ["True", "False"]


def _says(*_: object) -> Says:
    return Says(text="Done.")
