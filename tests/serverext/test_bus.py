"""Who hears what, and when somebody hears nothing any more."""

from datetime import UTC, datetime

import anyio
import anyio.lowlevel
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
from jupyter_pernix.serverext.bus import CHUNK_BYTES, QUEUE_BYTES, Bus, Subscription, delta_message, event_message

NOW = datetime(2026, 5, 6, tzinfo=UTC)
ONE, OTHER = SessionId("ses_1"), SessionId("ses_2")
TURN, STEP = TurnId("trn_1"), StepId("stp_1")


def stored(seq: int, session_id: SessionId = ONE, text: str = "x") -> Stored:
    event = MessageCompleted(session_id=session_id, turn_id=TURN, step_id=STEP, text=text)
    return Stored(seq=seq, recorded_at=NOW, event=event)


def delta(text: str, offset: int = 0, session_id: SessionId = ONE) -> MessageDelta:
    return MessageDelta(session_id=session_id, turn_id=TURN, step_id=STEP, offset=offset, text=text)


def frame(one: Stored) -> bytes:
    return event_message(one.seq, encode_stored(one))


def passing(one: Delta) -> bytes:
    return delta_message(encode_delta(one))


def everything(subscription: Subscription) -> list[bytes]:
    """All that waits, as single messages."""
    taken = b""
    while piece := subscription.take():
        taken += piece
    return [message + b"\n\n" for message in taken.split(b"\n\n")[:-1]]


async def test_a_listener_gets_its_sessions_messages_in_order() -> None:
    bus = Bus(last_seq=4)
    with bus.subscribe(ONE) as mine, bus.subscribe() as all_:
        bus.publish([stored(5), stored(6, OTHER)])
        bus.pass_on(delta("a"))
        assert (mine.start, bus.last_seq) == (4, 6)
        assert everything(mine) == [frame(stored(5)), passing(delta("a"))]
        assert everything(all_) == [frame(stored(5)), frame(stored(6, OTHER)), passing(delta("a"))]


async def test_waiting_ends_when_a_message_comes() -> None:
    bus = Bus()
    got: list[bytes] = []

    async def listen(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        with bus.subscribe() as subscription:
            task_status.started()
            await subscription.wait()
            got.append(subscription.take())

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            await group.start(listen)
            bus.publish([stored(1)])
    assert got == [frame(stored(1))]


async def test_a_new_listener_starts_with_the_whole_text_that_is_being_written() -> None:
    bus = Bus()
    bus.pass_on(delta("Hel"))
    bus.pass_on(delta("lo", 3))
    bus.pass_on(delta("elsewhere", session_id=OTHER))
    with bus.subscribe(ONE) as subscription:
        bus.pass_on(delta("!", 5))
        assert everything(subscription) == [passing(delta("Hello")), passing(delta("!", 5))]


async def test_a_long_text_in_many_pieces_is_kept_whole() -> None:
    bus = Bus()
    for number in range(1000):
        bus.pass_on(delta(f"{number:04}", 4 * number))
    with bus.subscribe() as subscription:
        assert everything(subscription) == [passing(delta("".join(f"{number:04}" for number in range(1000))))]


async def test_offset_zero_starts_afresh_and_a_repeated_piece_does_no_harm() -> None:
    bus = Bus()
    for piece in (delta("first try"), delta("sec"), delta("ond", 3), delta("ond", 3)):
        bus.pass_on(piece)
    with bus.subscribe() as subscription:
        assert everything(subscription) == [passing(delta("second"))]


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
        assert everything(subscription)[:-1] == [passing(one) for one in left]


async def until_told(subscription: Subscription) -> None:
    with anyio.fail_after(5):
        await subscription.wait()


async def test_a_listener_that_does_not_read_is_cut_and_the_others_go_on() -> None:
    bus = Bus()
    text, seq = "x" * (QUEUE_BYTES // 8), 0
    with bus.subscribe() as slow, bus.subscribe() as good:
        seen: list[bytes] = []
        good.ready = lambda: seen.extend(everything(good))
        while not slow.cut:
            seq += 1
            bus.publish([stored(seq, text=text)])
            behind = slow.behind
            with anyio.fail_after(5):
                while len(seen) < seq:
                    await anyio.lowlevel.checkpoint()
            assert behind < QUEUE_BYTES + 2 * len(text)
        assert (slow.fell_behind, slow.take(), slow.seen) == (True, b"", 0)
        bus.publish([stored(seq + 1)])
        with anyio.fail_after(5):
            while len(seen) <= seq:
                await anyio.lowlevel.checkpoint()
        assert seen == [frame(stored(one, text=text)) for one in range(1, seq + 1)] + [frame(stored(seq + 1))]
        assert bus.subscriptions == [good]


async def test_what_all_have_taken_is_not_kept() -> None:
    bus = Bus()
    text = "x" * (QUEUE_BYTES // 2)
    with bus.subscribe() as one, bus.subscribe() as other:
        for seq in range(1, 9):
            bus.publish([stored(seq, text=text)])
            for listener in (one, other):
                await until_told(listener)
                assert everything(listener) == [frame(stored(seq, text=text))]
        assert not (one.cut or other.cut)
        assert (one.behind, other.behind) == (0, 0)


async def test_a_listener_knows_the_last_event_that_it_has_taken() -> None:
    bus = Bus(last_seq=2)
    with bus.subscribe(ONE) as mine:
        bus.publish([stored(3), stored(4, OTHER), stored(5)])
        bus.pass_on(delta("a"))
        assert mine.seen == 2
        everything(mine)
        assert mine.seen == 5


async def test_a_hundred_listeners_are_given_the_same_bytes() -> None:
    bus = Bus()
    texts = ["x" * size for size in (10, CHUNK_BYTES, 3, CHUNK_BYTES // 2, CHUNK_BYTES // 2, 7, 5 * CHUNK_BYTES)]
    listeners = [bus.subscribe() for _ in range(100)]
    bus.publish([stored(seq, text=text) for seq, text in enumerate(texts, start=1)])
    taken = [[listener.take() for _ in range(10)] for listener in listeners[:50]]
    turns = [[listener.take() for listener in listeners[50:]] for _ in range(10)]
    taken += [[turn[number] for turn in turns] for number in range(50)]
    assert {b"".join(pieces) for pieces in taken} == {
        b"".join(frame(stored(seq, text=text)) for seq, text in enumerate(texts, start=1))
    }
    for turn in range(10):
        # Those who take in turn share what was joined.
        assert len({id(pieces[turn]) for pieces in taken[50:]}) == 1


async def test_the_events_of_fifty_sessions_keep_their_order_for_every_filter() -> None:
    bus = Bus()
    sessions = [SessionId(f"ses_{number}") for number in range(50)]
    with bus.subscribe() as all_:
        single = [bus.subscribe(session_id) for session_id in sessions]
        got: dict[SessionId, list[bytes]] = {session_id: [] for session_id in sessions}
        for seq in range(1, 1001):
            number = seq * 7 % 50
            bus.publish([stored(seq, sessions[number])])
            if seq % 3 == 0:
                got[sessions[number]] += everything(single[number])
        for session_id, listener in zip(sessions, single, strict=True):
            got[session_id] += everything(listener)
        assert everything(all_) == [frame(stored(seq, sessions[seq * 7 % 50])) for seq in range(1, 1001)]
    assert got == {
        session_id: [frame(stored(seq, session_id)) for seq in range(1, 1001) if seq * 7 % 50 == number]
        for number, session_id in enumerate(sessions)
    }


async def test_a_listener_that_fails_is_cut_and_the_next_one_hears_all_the_same() -> None:
    bus = Bus()

    def fail() -> None:
        raise ValueError("broken")

    with bus.subscribe() as broken, bus.subscribe() as good:
        broken.ready = fail
        bus.publish([stored(1)])
        with anyio.fail_after(5):
            while not broken.cut:
                await anyio.lowlevel.checkpoint()
        assert bus.subscriptions == [good]
        assert everything(good) == [frame(stored(1))]


async def test_a_closed_bus_ends_every_listener_now_and_later() -> None:
    bus = Bus()
    seen: list[bytes] = []
    with bus.subscribe() as early:
        early.ready = lambda: seen.extend(everything(early))
        bus.publish([stored(1)])
        bus.close()
        assert (early.cut, early.take(), seen) == (True, b"", [frame(stored(1))])
    with bus.subscribe() as late:
        assert (late.cut, late.take()) == (True, b"")
        await until_told(late)
