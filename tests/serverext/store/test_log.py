"""The store as the event loop sees it."""

import os
import resource
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC
from pathlib import Path

import anyio
import duckdb
import pytest
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from support.story import SESSION, story

import jupyter_pernix
from jupyter_pernix.errors import StoreError, StoreLocked, StoreTooNew
from jupyter_pernix.events import (
    Event,
    MessageCompleted,
    SessionCreated,
    SessionStateChanged,
    StepFinished,
    Stored,
    TurnFinished,
    TurnSubmitted,
    Unknown,
    decode_stored,
    encode_event,
    encode_stored,
    event_type,
)
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import ApprovalId, SessionId, StepId, TurnId
from jupyter_pernix.records import SessionState, TerminalCode, Usage
from jupyter_pernix.serverext.store import EventStore

APPENDING = Path(__file__).with_name("appending.py")


def created(session_id: SessionId) -> SessionCreated:
    return SessionCreated(
        session_id=session_id,
        title="",
        space_root="",
        record_path="pernix-runs/x.ipynb",
        mode="edit",
        endpoint=None,
        kernel_name="",
        place="own",
        origin="api",
    )


def message(text: str, session_id: SessionId = SESSION) -> MessageCompleted:
    return MessageCompleted(session_id=session_id, turn_id=TurnId("trn_1"), step_id=StepId("stp_1"), text=text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "pernix.duckdb"


def told() -> list[Event | Unknown]:
    return [stored.event for stored in story()]


async def test_what_was_appended_is_read_back_the_same_by_the_next_store(path: Path) -> None:
    store = await EventStore.open(path)
    stored = await store.append(told())
    await store.aclose()
    again = await EventStore.open(path)
    try:
        assert await again.events(SESSION) == stored
        assert [one.seq for one in stored] == list(range(1, len(stored) + 1))
        assert all(one.recorded_at.tzinfo is UTC for one in stored)
        assert again.last_seq == stored[-1].seq
    finally:
        await again.aclose()


async def test_the_wire_form_is_what_encoding_the_event_gives(path: Path) -> None:
    store = await EventStore.open(path)
    stored = await store.append(told())
    wire = await store.wire(SESSION)
    await store.aclose()
    assert [one.data for one in wire] == [encode_stored(one) for one in stored]
    assert [decode_stored(one.data) for one in wire] == stored


async def test_reading_goes_by_session_after_until_and_limit(path: Path) -> None:
    store = await EventStore.open(path)
    one, other = SessionId("ses_a"), SessionId("ses_b")
    await store.append([message("1", one), message("2", other), message("3", one), message("4", one)])
    assert [stored.seq for stored in await store.events(one)] == [1, 3, 4]
    assert [stored.seq for stored in await store.events(one, after=1, limit=1)] == [3]
    assert [wire.seq for wire in await store.wire(after=1, until=3)] == [2, 3]
    await store.aclose()


async def test_reading_joins_what_the_database_has_and_what_it_has_not_yet(path: Path) -> None:
    store = await EventStore.open(path)
    one, other = SessionId("ses_a"), SessionId("ses_b")
    for number in range(6):
        await store.append([message(f"{number}", one), message(f"{number}", other)])
        if number == 2:
            await store._read(lambda connection: connection.execute("SELECT 1"))
    assert store._recent.taken == 6
    everything = [stored.seq for stored in await store.events()]
    assert everything == list(range(1, 13))
    assert [stored.seq for stored in await store.events(other)] == everything[1::2]
    for after in range(13):
        for limit in (1, 4, 20):
            assert [wire.seq for wire in await store.wire(after=after, limit=limit)] == everything[after:][:limit]
        assert [wire.seq for wire in await store.wire(one, after=after, until=9)] == [
            seq for seq in everything[::2] if after < seq <= 9
        ]
    wire = [one.data for one in await store.wire()]
    await store._read(lambda connection: connection.execute("SELECT 1"))
    assert [one.data for one in await store.wire()] == wire
    await store.aclose()


async def test_a_query_sees_everything_that_is_acknowledged_while_others_go_on_appending(path: Path) -> None:
    store = await EventStore.open(path)
    going_on = True

    async def append(lane: int) -> None:
        while going_on:
            await store.append([message(f"{lane}")])

    async with anyio.create_task_group() as group:
        for lane in range(8):
            group.start_soon(append, lane)
        for _ in range(10):
            (mine,) = await store.append([message("mine")])
            ((count, last),) = await store._read(
                lambda connection: connection.execute("SELECT count(*), max(seq) FROM events").fetchall()
            )
            assert count == last >= mine.seq
            seqs = [wire.seq for wire in await store.wire(after=mine.seq - 1)]
            assert seqs == list(range(mine.seq, mine.seq + len(seqs)))
        going_on = False
    await store.aclose()
    again = await EventStore.open(path)
    assert [stored.seq for stored in await again.events()] == list(range(1, store.last_seq + 1))
    await again.aclose()


async def test_events_are_taken_in_by_themselves_once_there_are_many(path: Path) -> None:
    store = await EventStore.open(path)
    await store.append([message("x")] * 6000)
    with anyio.fail_after(20):
        while store._recent.taken < 6000:  # noqa: ASYNC110 - the store tells nobody
            await anyio.sleep(0.01)
    assert len(await store.events()) == 6000
    await store.aclose()


async def test_the_columns_tell_what_sql_is_asked_for(path: Path) -> None:
    store = await EventStore.open(path)
    await store.append(told())
    rows = await store._read(
        lambda connection: connection.execute(
            "SELECT seq, session_id, turn_id, step_id, call_id, execution_id, type, body FROM events ORDER BY seq"
        ).fetchall()
    )
    assert [row[-1].encode() for row in rows] == [encode_event(event) for event in told()]
    names = ("session_id", "turn_id", "step_id", "call_id", "execution_id")
    for event, (_, *ids, type_, _) in zip(told(), rows, strict=True):
        if not isinstance(event, Unknown):
            assert (ids, type_) == ([getattr(event, name, None) for name in names], event_type(event))
    sums = await store._read(
        lambda connection: connection.execute(
            "SELECT type, model IS NOT NULL, sum(prompt_tokens) FROM events WHERE prompt_tokens IS NOT NULL GROUP BY ALL"
        ).fetchall()
    )
    spent = sum(event.usage.prompt_tokens or 0 for event in told() if isinstance(event, StepFinished))
    assert sums == [("step.finished", True, spent)]
    await store.aclose()


async def test_many_writers_get_one_unbroken_sequence_and_hear_of_it_in_order(path: Path) -> None:
    published: list[Stored] = []
    store = await EventStore.open(path, publish=published.extend)
    answers: dict[int, list[Stored]] = {}

    async def write(number: int) -> None:
        answers[number] = await store.append([message(f"{number} a"), message(f"{number} b")])
        assert answers[number][-1] in published

    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(write, number)
    assert [stored.seq for stored in published] == list(range(1, 401))
    assert all(pair[1].seq == pair[0].seq + 1 for pair in answers.values())
    await store.aclose()


async def test_a_cancelled_append_is_stored_all_the_same(path: Path) -> None:
    store = await EventStore.open(path)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.append([message("kept")])
    await store.append([message("next")])
    assert [getattr(stored.event, "text", "") for stored in await store.events()] == ["kept", "next"]
    await store.aclose()


async def test_a_listener_that_fails_keeps_nobody_from_hearing_that_events_are_stored(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(group: list[Stored]) -> None:
        raise RuntimeError("a fault of the listener")

    store = await EventStore.open(path, publish=fails)
    with anyio.fail_after(10):
        await store.append([message("one")])
        await store.append([message("two")])
    assert [getattr(stored.event, "text", "") for stored in await store.events()] == ["one", "two"]
    assert "a fault of the listener" in caplog.text
    await store.aclose()


@contextmanager
def no_room(path: Path) -> Generator[None]:
    """No file of this process grows any more, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_record_that_cannot_be_written_is_told_to_all_its_callers_and_later_ones_are_stored(path: Path) -> None:
    published: list[Stored] = []
    store = await EventStore.open(path, publish=published.extend)
    await store.append([message("before")])
    failures: list[StoreError] = []

    async def write() -> None:
        with pytest.raises(StoreError, match="could not write") as caught:
            await store.append([message("lost" * 200_000)])
        failures.append(caught.value)

    with no_room(path):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(write)
    assert len(failures) == 3
    await store.append([message("after")])
    expected = [(1, "before"), (2, "after")]
    assert [(one.seq, getattr(one.event, "text", "")) for one in await store.events()] == expected
    assert [one.seq for one in published] == [1, 2]
    await store.aclose()
    again = await EventStore.open(path)
    assert [(one.seq, getattr(one.event, "text", "")) for one in await again.events()] == expected
    await again.aclose()


async def test_half_a_surrogate_pair_becomes_the_replacement_character_for_every_reader(path: Path) -> None:
    store = await EventStore.open(path)
    (stored,) = await store.append([message("a\ud83db\0c")])
    assert getattr(stored.event, "text", "") == "a\ufffdb\0c"
    assert await store.events() == [stored]
    await store.aclose()


async def test_a_closed_store_says_so(path: Path) -> None:
    store = await EventStore.open(path)
    await store.aclose()
    await store.aclose()
    with pytest.raises(StoreError, match="closed"):
        await store.append([message("too late")])
    with pytest.raises(StoreError, match="closed"):
        await store.events()


async def test_summaries_are_the_same_after_a_restart(path: Path) -> None:
    store = await EventStore.open(path)
    await store.append([*told(), created(SessionId("ses_newer"))])
    before = store.summaries()
    await store.aclose()
    again = await EventStore.open(path)
    assert again.summaries() == before
    assert [summary.session_id for summary in before] == ["ses_newer", SESSION]
    await again.aclose()


async def test_summaries_agree_with_the_folded_sessions(path: Path) -> None:
    store = await EventStore.open(path)
    stored = await store.append(told())
    view, summary = SessionFold.of(SESSION, stored).view, store.summary(SESSION)
    assert summary is not None
    names = ("title", "state", "mode", "endpoint", "kernel_name", "space_root", "record_path", "archived", "last_seq")
    assert {name: getattr(summary, name) for name in names} == {name: getattr(view, name) for name in names}
    assert summary.turns == len(view.turns)
    await store.aclose()


async def test_sessions_with_a_turn_without_an_end_are_unfinished_and_told_whole(path: Path) -> None:
    store = await EventStore.open(path)
    one, other = SessionId("ses_a"), SessionId("ses_b")
    ended, open_ = TurnId("trn_ended"), TurnId("trn_open")
    finished = TurnFinished(session_id=one, turn_id=ended, code=TerminalCode.ANSWERED, detail="", usage=Usage())
    await store.append(
        [
            created(one),
            created(other),
            TurnSubmitted(session_id=one, turn_id=ended, text="x", origin="api"),
            finished,
            TurnSubmitted(session_id=one, turn_id=open_, text="y", origin="api"),
        ]
    )
    assert {key: [stored.seq for stored in log] for key, log in (await store.unfinished()).items()} == {
        one: [1, 3, 4, 5]
    }
    last = TurnFinished(session_id=one, turn_id=open_, code=TerminalCode.CANCELLED, detail="", usage=Usage())
    moved = SessionStateChanged(
        session_id=other, turn_id=None, before=SessionState.IDLE_READY, after=SessionState.COMPACTING, reason="x"
    )
    await store.append([last, moved])
    assert {key: [stored.seq for stored in log] for key, log in (await store.unfinished()).items()} == {other: [2, 7]}
    await store.aclose()


async def test_a_session_that_is_not_idle_is_unfinished_even_without_an_open_turn(path: Path) -> None:
    store = await EventStore.open(path)
    events = told()
    last = next(index for index, event in enumerate(events) if getattr(event, "after", None) is SessionState.PROCESSING)
    await store.append([event for event in events[: last + 1] if not isinstance(event, TurnSubmitted)])
    assert list(await store.unfinished()) == [SESSION]
    await store.aclose()


async def test_an_approval_is_found_by_its_id(path: Path) -> None:
    store = await EventStore.open(path)
    events = told()
    asked = next(index for index, event in enumerate(events) if type(event).__name__ == "ApprovalRequested")
    approval_id = ApprovalId(str(getattr(events[asked], "approval_id", "")))
    await store.append(events[: asked + 1])
    assert await store.approval(approval_id) == (SESSION, False)
    await store.append(events[asked + 1 :])
    assert await store.approval(approval_id) == (SESSION, True)
    assert await store.approval(ApprovalId("apr_none")) is None
    await store.aclose()


async def test_a_file_of_a_newer_program_is_refused_and_left_as_it_was(path: Path) -> None:
    store = await EventStore.open(path)
    await store.append([message("kept")])
    await store.aclose()
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO schema_steps VALUES (99, now()::TIMESTAMP)")
    with pytest.raises(StoreTooNew, match=r"newer jupyter_pernix \(schema 99, this version knows 3\)"):
        await EventStore.open(path)
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (1,)


async def test_a_file_that_is_no_database_is_refused_with_its_name(path: Path) -> None:
    await anyio.Path(path.parent).mkdir(parents=True)
    await anyio.Path(path).write_bytes(b"not a database, but long enough to be read as one" * 200)
    with pytest.raises(StoreError, match=r"pernix\.duckdb") as caught:
        await EventStore.open(path)
    assert caught.value.hint.startswith(f"Move {path} (and ")


async def test_a_folder_in_the_place_of_the_file_is_said_to_be_in_the_way(path: Path) -> None:
    await anyio.Path(path).mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        await EventStore.open(path)
    assert str(path) in caught.value.hint


@asynccontextmanager
async def appending(path: Path) -> AsyncGenerator[tuple[Process, TextReceiveStream]]:
    """Another process that appends to the store; killed in the end."""
    environ = os.environ | {"PYTHONPATH": str(Path(jupyter_pernix.__file__).parents[1])}
    async with await anyio.open_process(
        [sys.executable, str(APPENDING), str(path)], env=environ, stderr=None
    ) as process:
        assert process.stdout is not None
        try:
            yield process, TextReceiveStream(process.stdout)
        finally:
            if process.returncode is None:
                process.kill()


async def test_a_file_that_another_process_holds_is_refused_with_its_pid(path: Path) -> None:
    async with appending(path) as (process, told):
        await told.receive()
        with pytest.raises(StoreLocked, match=f"process {process.pid} has it open"):
            await EventStore.open(path)


@pytest.mark.parametrize("acknowledged", [1, 7, 40])
async def test_a_killed_process_loses_nothing_that_it_acknowledged(path: Path, acknowledged: int) -> None:
    text = ""
    async with appending(path) as (process, told):
        while text.count("\n") < acknowledged:
            text += await told.receive()
        process.kill()
        async for piece in told:
            text += piece
    seqs = [int(line) for line in text.split("\n")[:-1]]
    store = await EventStore.open(path)
    stored = await store.events()
    await store.aclose()
    assert [one.seq for one in stored] == list(range(1, len(stored) + 1))
    assert len(stored) % 2 == 0, "the two events of one request are stored together or not at all"
    assert len(stored) >= max(seqs)


async def test_a_start_after_a_kill_leaves_nothing_to_be_read_again(path: Path) -> None:
    wal, journals = Path(f"{path}.wal"), [path.with_suffix(suffix) for suffix in (".journal", ".journal2")]
    async with appending(path) as (process, told):
        await told.receive()
        process.kill()
        await process.wait()
    assert any(journal.stat().st_size > 0 for journal in journals)
    store = await EventStore.open(path)
    left = [file.stat().st_size for file in (wal, *journals) if file.exists()]
    stored = await store.events()
    await store.aclose()
    assert (sum(left), bool(stored)) == (0, True)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
