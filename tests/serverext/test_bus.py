"""Who hears what, and when somebody hears nothing any more."""

from datetime import UTC, datetime

import anyio
import msgspec
import pytest

from jupyter_pernix.events import (
    Delta,
    MessageCompleted,
    MessageDelta,
    StepFinished,
    Stored,
    ThoughtCompleted,
    ThoughtDelta,
    ToolCallDelta,
    TurnFinished,
    encode_delta,
    encode_stored,
)
from jupyter_pernix.ids import SessionId, StepId, TurnId
from jupyter_pernix.records import TerminalCode, Timings, Usage
from jupyter_pernix.serverext.bus import QUEUE_BYTES, QUEUE_FRAMES, Bus, Frame

NOW = datetime(2026, 5, 6, tzinfo=UTC)
ONE, OTHER = SessionId("ses_1"), SessionId("ses_2")
TURN, STEP = TurnId("trn_1"), StepId("stp_1")


def stored(seq: int, session_id: SessionId = ONE, text: str = "x") -> Stored:
    event = MessageCompleted(session_id=session_id, turn_id=TURN, step_id=STEP, text=text)
    return Stored(seq=seq, recorded_at=NOW, event=event)


def delta(text: str, offset: int = 0, session_id: SessionId = ONE) -> MessageDelta:
    return MessageDelta(session_id=session_id, turn_id=TURN, step_id=STEP, offset=offset, text=text)


def frame(one: Stored) -> Frame:
    return Frame(one.seq, one.event.session_id, encode_stored(one))


def passing(one: Delta) -> Frame:
    return Frame(None, one.session_id, encode_delta(one))


async def test_a_listener_gets_its_sessions_frames_in_order() -> None:
    bus = Bus(last_seq=4)
    with bus.subscribe(ONE) as mine, bus.subscribe() as all_:
        bus.publish([stored(5), stored(6, OTHER)])
        bus.pass_on(delta("a"))
        assert (mine.start, bus.last_seq) == (4, 6)
        assert await mine.frames() == [frame(stored(5)), passing(delta("a"))]
        assert await all_.frames() == [frame(stored(5)), frame(stored(6, OTHER)), passing(delta("a"))]


async def test_waiting_ends_when_a_frame_comes() -> None:
    bus = Bus()
    got: list[list[Frame]] = []

    async def listen(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        with bus.subscribe() as subscription:
            task_status.started()
            got.append(await subscription.frames())

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            await group.start(listen)
            bus.publish([stored(1)])
    assert got == [[frame(stored(1))]]


async def test_a_new_listener_starts_with_the_whole_text_that_is_being_written() -> None:
    bus = Bus()
    bus.pass_on(delta("Hel"))
    bus.pass_on(delta("lo", 3))
    bus.pass_on(delta("elsewhere", session_id=OTHER))
    with bus.subscribe(ONE) as subscription:
        bus.pass_on(delta("!", 5))
        assert await subscription.frames() == [passing(delta("Hello")), passing(delta("!", 5))]


async def test_offset_zero_starts_afresh_and_a_repeated_piece_does_no_harm() -> None:
    bus = Bus()
    for piece in (delta("first try"), delta("sec"), delta("ond", 3), delta("ond", 3)):
        bus.pass_on(piece)
    with bus.subscribe() as subscription:
        assert await subscription.frames() == [passing(delta("second"))]


IDS = {"session_id": ONE, "turn_id": TURN, "step_id": STEP}
THOUGHT = ThoughtDelta(**IDS, offset=0, text="hm")
CALL = ToolCallDelta(**IDS, offset=0, text="{", index=0, tool="run_code")


@pytest.mark.parametrize(
    ("event", "left"),
    [
        (MessageCompleted(**IDS, text="x"), [THOUGHT, CALL]),
        (ThoughtCompleted(**IDS, text="x"), [delta("x"), CALL]),
        (
            StepFinished(**IDS, usage=Usage(), timings=Timings(), prefix_share=None, finish_reason="stop"),
            [],
        ),
        (TurnFinished(session_id=ONE, turn_id=TURN, code=TerminalCode.CANCELLED, detail="", usage=Usage()), []),
    ],
    ids=["message", "thought", "step", "turn"],
)
async def test_a_text_is_forgotten_when_its_stored_event_has_passed(event: msgspec.Struct, left: list[Delta]) -> None:
    bus = Bus()
    for piece in (delta("x"), THOUGHT, CALL):
        bus.pass_on(piece)
    bus.publish([Stored(seq=1, recorded_at=NOW, event=event)])  # type: ignore[arg-type]
    bus.pass_on(MessageDelta(session_id=OTHER, turn_id=TURN, step_id=STEP, offset=0, text="end"))
    with bus.subscribe() as subscription:
        assert [one.data for one in await subscription.frames()][:-1] == [encode_delta(one) for one in left]


@pytest.mark.parametrize("flood", ["frames", "bytes"])
async def test_a_listener_that_does_not_read_is_cut_and_the_others_go_on(flood: str) -> None:
    bus = Bus()
    count, text = (QUEUE_FRAMES + 1, "x") if flood == "frames" else (40, "x" * (QUEUE_BYTES // 32))
    with bus.subscribe() as slow, bus.subscribe() as good:
        for seq in range(1, count + 1):
            bus.publish([stored(seq, text=text)])
            assert [one.seq for one in await good.frames()] == [seq]
        assert slow.cut
        assert await slow.frames() == []
        assert not good.cut


async def test_a_closed_bus_ends_every_listener_now_and_later() -> None:
    bus = Bus()
    with bus.subscribe() as early:
        bus.publish([stored(1)])
        bus.close()
        assert (early.cut, await early.frames()) == (True, [])
    with bus.subscribe() as late:
        assert (late.cut, await late.frames()) == (True, [])
