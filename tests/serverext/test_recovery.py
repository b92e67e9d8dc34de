"""What a server that died leaves behind, and what the next one makes of it. A crash is a log that simply stops."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.story import SESSION, story

from jupyter_pernix.events import (
    Event,
    SessionStateChanged,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    TurnFinished,
    TurnSubmitted,
    Unknown,
)
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.records import CallView, SessionState, SessionView, TerminalCode
from jupyter_pernix.serverext.closing import BEGUN, NOT_BEGUN, recovery_events
from jupyter_pernix.serverext.store import EventStore

from .carrying import Told, echo
from .conftest import Serve

STORY = story()


def folded(log: Sequence[Stored], events: Sequence[Event]) -> SessionFold:
    fold = SessionFold.of(SESSION, log)
    for seq, event in enumerate(events, start=fold.view.last_seq + 1):
        fold.add(Stored(seq=seq, recorded_at=log[-1].recorded_at, event=event))
    return fold


@pytest.mark.parametrize("length", range(1, len(STORY) + 1))
def test_a_log_cut_anywhere_is_closed_and_closing_it_twice_changes_nothing(length: int) -> None:
    log = STORY[:length]
    left = SessionFold.of(SESSION, log).view
    fold = folded(log, recovery_events(SESSION, left.turns, left.state))
    view = fold.view
    assert view.state is SessionState.IDLE_READY
    assert fold.open_approvals() == []
    assert [turn for turn in view.turns if turn.code is None] == []
    calls = [item for turn in view.turns for item in turn.items if isinstance(item, CallView)]
    assert {call.status for call in calls} <= {"completed", "failed", "cancelled"}
    assert [call for call in calls if call.execution is not None and call.execution.status is None] == []
    assert recovery_events(SESSION, view.turns, view.state) == []


def cut_after(kind: type, count: int = 1) -> list[Stored]:
    """The story up to and with the ``count``-th event of this kind."""
    index = [index for index, stored in enumerate(STORY) if isinstance(stored.event, kind)][count - 1]
    return STORY[: index + 1]


def recovered(log: Sequence[Stored]) -> tuple[SessionView, list[Event]]:
    left = SessionFold.of(SESSION, log).view
    events = recovery_events(SESSION, left.turns, left.state)
    return folded(log, events).view, events


def test_a_call_that_had_begun_failed_and_may_have_had_its_effect() -> None:
    _, events = recovered(cut_after(ToolCallStarted))
    (call,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert (call.status, call.result) == ("failed", BEGUN)


def test_a_call_that_had_not_begun_is_cancelled() -> None:
    _, events = recovered(cut_after(ToolCallRequested))
    (call,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert (call.status, call.result) == ("cancelled", NOT_BEGUN)


def test_a_finished_call_stays_as_it_was() -> None:
    log = cut_after(ToolCallFinished)
    before = SessionFold.of(SESSION, log).view.turns[0].items
    after = recovered(log)[0].turns[0].items
    assert after[: len(before)] == before


def test_the_last_event_makes_the_session_idle_and_says_why() -> None:
    _, events = recovered(cut_after(ToolCallStarted))
    assert isinstance(events[-1], SessionStateChanged)
    assert (events[-1].reason, events[-1].after) == ("recovered", SessionState.IDLE_READY)


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


def test_turns_that_ended_well_need_nothing() -> None:
    view = SessionFold.of(SESSION, STORY).view
    ended = [turn for turn in view.turns if turn.code is not None]
    assert recovery_events(SESSION, ended, SessionState.IDLE_READY) == []
    assert {turn.code for turn in ended} <= set(TerminalCode)
