"""The audit of a real store: through restarts, crashes at any moment, midnight, and what others do to its files."""

import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pytest
from support.story import SESSION, story
from support.tampering import TAMPERS, Chain, tampered

import jupyter_pernix
from jupyter_pernix.audit import BREAK_FOUND, OPENED, SWITCHED_OFF, SWITCHED_ON, Head, check, day_files, lines_of
from jupyter_pernix.errors import StoreLocked
from jupyter_pernix.events import Event, ToolCallStarted
from jupyter_pernix.ids import CallId, TurnId
from jupyter_pernix.serverext.audit.due import compare, due_lines
from jupyter_pernix.serverext.audit.files import behind
from jupyter_pernix.serverext.audit.trail import Trail
from jupyter_pernix.serverext.store import EventStore
from jupyter_pernix.serverext.store import writer as writer_module
from jupyter_pernix.serverext.store.audit_peek import Peek, peek

ACTING = Path(__file__).with_name("acting.py")


def started(number: int) -> ToolCallStarted:
    return ToolCallStarted(session_id=SESSION, turn_id=TurnId("trn_1"), call_id=CallId(f"cal_{number}"))


def calls(*numbers: int) -> list[Event]:
    return [started(number) for number in numbers]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@asynccontextmanager
async def opened(data: Path, **options: Any) -> AsyncGenerator[tuple[EventStore, Trail]]:
    trail = Trail(data / "audit", **{"on": True, **options})
    store = await EventStore.open(data / "pernix.duckdb", auditor=trail)
    try:
        yield store, trail
    finally:
        await store.aclose()


async def one_life(data: Path, *numbers: int, **options: Any) -> str:
    """A server that lives for a few calls; what it says is wrong."""
    async with opened(data, **options) as (store, trail):
        await store.append(calls(*numbers))
        return trail.problem


def known(data: Path) -> Peek:
    found = peek(data / "pernix.duckdb")
    assert found is not None
    return found


def faults(data: Path) -> list[str]:
    return [str(fault) for fault in check(day_files(data / "audit"), known=known(data).state.head).faults]


def told(data: Path) -> list[str]:
    """Each line: the call that it is about, else its kind."""
    return [str(line.fields.get("call", line.kind)) for line in lines_of(day_files(data / "audit"))]


async def until(fact: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not fact():  # noqa: ASYNC110 - another thread makes it true
            await anyio.sleep(0.02)


def only_file(data: Path) -> Path:
    (path,) = day_files(data / "audit")
    return path


# ---- in order ---------------------------------------------------------------------------------------------------------------


async def test_all_that_was_done_is_in_the_files_and_their_end_in_the_store(data: Path) -> None:
    async with opened(data) as (store, trail):
        await store.append([one.event for one in story()])
        state = await store.settle_audit()
        assert state is not None
        assert check(day_files(data / "audit"), known=state.head).faults == []
        assert (trail.problem, state.seq > 0) == ("", True)
    assert (known(data).state, known(data).events) == (state, [])
    assert told(data)[0] == OPENED


async def test_lines_are_written_soon_without_being_asked_for(data: Path) -> None:
    async with opened(data) as (store, _):
        await store.append(calls(1))
        await until(lambda: "cal_1" in told(data))


async def test_the_files_are_for_their_user_alone(data: Path) -> None:
    await one_life(data, 1)
    modes = [oct(path.stat().st_mode & 0o777) for path in (data / "audit", only_file(data))]
    assert modes == ["0o700", "0o600"]


async def test_the_next_server_goes_on_with_the_chain(data: Path) -> None:
    for number in (1, 2, 3):
        assert await one_life(data, number) == ""
    assert told(data) == [OPENED, "cal_1", "cal_2", "cal_3"]
    assert faults(data) == []


async def test_a_store_that_is_older_than_its_audit_begins_where_it_is(data: Path) -> None:
    store = await EventStore.open(data / "pernix.duckdb")
    await store.append(calls(1, 2))
    await store.aclose()
    await one_life(data, 3)
    assert told(data) == [OPENED, "cal_3"]


async def test_midnight_begins_a_file_and_a_clock_that_is_set_back_does_not(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = 86_400 * 10**9
    clock = [20_000 * day - 10**9]
    monkeypatch.setattr(writer_module.time, "time_ns", lambda: clock[0])
    async with opened(data, now=lambda: "2024-10-03T23:59:00.000000Z") as (store, _):
        await store.append(calls(1))
        clock[0] += 2 * 10**9
        await store.append(calls(2))
        clock[0] -= 3 * 10**9
        await store.append(calls(3))
        clock[0] += 2 * day
        await store.append(calls(4))
    held = {
        path.stem: [line.fields.get("call", line.kind) for line in lines_of([path])]
        for path in day_files(data / "audit")
    }
    assert held == {"2024-10-03": [OPENED, "cal_1"], "2024-10-04": ["cal_2", "cal_3"], "2024-10-05": ["cal_4"]}
    assert faults(data) == []


# ---- off and on -------------------------------------------------------------------------------------------------------------


async def test_without_an_audit_nothing_is_written(data: Path) -> None:
    assert await one_life(data, 1, on=False) == ""
    assert not (data / "audit").exists()
    assert peek(data / "pernix.duckdb") is None


async def test_switching_it_off_and_on_is_in_it(data: Path) -> None:
    await one_life(data, 1)
    await one_life(data, 2, on=False)
    await one_life(data, 3, on=False)
    await one_life(data, 4)
    assert told(data) == [OPENED, "cal_1", SWITCHED_OFF, SWITCHED_ON, "cal_4"]
    line = next(line for line in lines_of(day_files(data / "audit")) if line.kind == SWITCHED_ON)
    assert (line.fields["seq_before"], line.fields["seq_now"]) == (1, 3)
    assert faults(data) == []


# ---- crashes ----------------------------------------------------------------------------------------------------------------


async def lived(data: Path) -> bytes:
    """What the file of a server held that was ended in order."""
    await one_life(data, 1, 2)
    return only_file(data).read_bytes()


@contextmanager
def as_if_killed(data: Path) -> Iterator[None]:
    """What happens within was stored, but the database does not know how far the audit goes: as after a kill."""
    before = known(data).state
    yield
    with duckdb.connect(str(data / "pernix.duckdb")) as connection:
        connection.execute(
            "UPDATE audit_state SET n = ?, hash = ?, seq = ?", [before.head.n, before.head.hash, before.seq]
        )


async def test_a_file_that_was_cut_off_at_any_byte_by_a_crash_is_completed_as_it_was(data: Path) -> None:
    before = await lived(data)
    state = known(data).state
    await one_life(data, 3, 4)
    whole = only_file(data).read_bytes()
    for cut in [len(before), len(before) + 1, *range(len(before) + 7, len(whole), 41), len(whole) - 1, len(whole)]:
        only_file(data).write_bytes(whole[:cut])
        with duckdb.connect(str(data / "pernix.duckdb")) as connection:
            connection.execute(
                "UPDATE audit_state SET n = ?, hash = ?, seq = ?", [state.head.n, state.head.hash, state.seq]
            )
        assert await one_life(data) == ""
        assert only_file(data).read_bytes() == whole
        assert faults(data) == []


async def test_a_first_line_that_a_crash_kept_from_being_noted_is_not_written_twice(data: Path) -> None:
    await one_life(data)
    whole = only_file(data).read_bytes()
    for kept in (whole, whole[:30], b""):
        only_file(data).write_bytes(kept)
        with duckdb.connect(str(data / "pernix.duckdb")) as connection:
            connection.execute("UPDATE audit_state SET n = 0, hash = ?, day = '', seq = 0", [Head().hash])
        assert await one_life(data) == ""
        assert only_file(data).read_bytes() == whole


async def test_lines_of_every_kind_of_event_come_back_from_the_database_as_they_were(data: Path) -> None:
    await one_life(data)
    state, first = known(data).state, only_file(data).read_bytes()
    async with opened(data) as (store, _):
        await store.append([one.event for one in story()])
    whole = only_file(data).read_bytes()
    only_file(data).write_bytes(first)
    with duckdb.connect(str(data / "pernix.duckdb")) as connection:
        values = [state.head.n, state.head.hash, state.seq]
        connection.execute("UPDATE audit_state SET n = ?, hash = ?, seq = ?", values)
    assert await one_life(data) == ""
    assert only_file(data).read_bytes() == whole


async def test_a_line_that_no_event_gives_comes_back_at_its_place(data: Path) -> None:
    await one_life(data, 1)
    state, first = known(data).state, only_file(data).read_bytes()
    async with opened(data) as (store, _):
        await store.append(calls(2))
        await store.note_audit("rule.saved", lambda digests: {"rule": digests.rule("cargo test")})
        await store.append(calls(3))
    whole = only_file(data).read_bytes()
    only_file(data).write_bytes(first)
    with duckdb.connect(str(data / "pernix.duckdb")) as connection:
        values = [state.head.n, state.head.hash, state.seq]
        connection.execute("UPDATE audit_state SET n = ?, hash = ?, seq = ?", values)
    assert await one_life(data) == ""
    assert only_file(data).read_bytes() == whole
    assert told(data) == [OPENED, "cal_1", "cal_2", "rule.saved", "cal_3"]


async def test_a_second_server_on_the_same_data_leaves_the_audit_alone(data: Path) -> None:
    with acting(data) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        with pytest.raises(StoreLocked):
            await one_life(data, 1)
        process.kill()
    assert await one_life(data) == ""
    assert (told(data).count("cal_0"), faults(data)) == (1, [])


def acting(data: Path) -> subprocess.Popen[str]:
    environ = os.environ | {"PYTHONPATH": str(Path(jupyter_pernix.__file__).parents[1])}
    return subprocess.Popen([sys.executable, str(ACTING), str(data)], env=environ, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("acknowledged", [1, 40, 700])
async def test_a_server_that_is_killed_loses_no_line(data: Path, acknowledged: int) -> None:
    with acting(data) as process:
        assert process.stdout is not None
        for _ in range(acknowledged):
            assert process.stdout.readline()
        process.kill()
        told_of = acknowledged + sum(line.endswith("\n") for line in process.stdout)
    state = known(data)
    due = due_lines(state.state, state.marks, state.events)
    found = compare(due, behind(data / "audit", state.state.head).lines)
    assert found.strange == "", "what the files hold is what the store gives, before anything was repaired"
    assert await one_life(data) == ""
    assert faults(data) == []
    numbers = [call for call in told(data) if call != OPENED]
    assert numbers == [f"cal_{number}" for number in range(len(numbers))]
    assert len(numbers) >= told_of


# ---- what cannot be written -------------------------------------------------------------------------------------------------


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


async def test_a_folder_that_cannot_be_written_stops_no_event_is_said_and_made_up_for(data: Path) -> None:
    async with opened(data) as (store, trail):
        await store.append(calls(1))
        await store.settle_audit()
        with without_folder(data, trail):
            await store.append(calls(2, 3))
            await store.settle_audit()
            assert "cannot be written" in trail.problem
        await store.append(calls(4))
        await store.settle_audit()
        assert trail.problem == ""
    assert told(data) == [OPENED, "cal_1", "cal_2", "cal_3", "cal_4"]
    assert faults(data) == []


@contextmanager
def without_folder(data: Path, trail: Trail) -> Iterator[None]:
    """Nothing can be created or written where the files are."""
    folder, away = data / "audit", data / "away"
    trail._files.close()
    folder.rename(away)
    folder.write_text("no folder")
    try:
        yield
    finally:
        folder.unlink()
        away.rename(folder)


async def test_an_audit_that_cannot_be_read_stops_no_server_and_is_caught_up_by_the_next(data: Path) -> None:
    await one_life(data, 1)
    path, away = only_file(data), data / "away"
    path.rename(away)
    path.mkdir()
    async with opened(data) as (store, trail):
        assert len(await store.append(calls(2))) == 1
        assert "the audit cannot be read" in trail.problem
        assert await store.settle_audit() is None
    path.rmdir()
    away.rename(path)
    assert await one_life(data, 3) == ""
    assert (told(data), faults(data)) == ([OPENED, "cal_1", "cal_2", "cal_3"], [])


async def test_half_a_line_that_had_no_room_is_taken_back(data: Path) -> None:
    await one_life(data, 1)
    size = only_file(data).stat().st_size
    trail = Trail(data / "audit", on=True)
    day = only_file(data).stem
    with files_no_longer_than(size + 10), pytest.raises(OSError, match="too large"):
        trail._files.append(day, b"x" * 100)
    assert only_file(data).stat().st_size == size
    trail._files.append(day, b"y\n")
    trail.close()
    assert only_file(data).read_bytes().endswith(b"}\ny\n")


async def test_a_server_whose_audit_could_not_be_written_at_all_is_caught_up_by_the_next(data: Path) -> None:
    await one_life(data, 1)
    (data / "audit").rename(data / "away")
    (data / "audit").write_text("no folder")
    assert "audit" in await one_life(data, 2)
    (data / "audit").unlink()
    (data / "away").rename(data / "audit")
    # the server without a folder has found the file gone: that stands in the chain, with all that was done
    await one_life(data, 3)
    assert [one for one in told(data) if one.startswith("cal")] == ["cal_1", "cal_2", "cal_3"]


# ---- what others do to the files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cut off", "changed", "gone", "put in", "half a line more"])
async def test_what_was_done_to_the_files_is_not_repaired_but_said(data: Path, how: str) -> None:
    whole = await lived(data)
    path = only_file(data)
    match how:
        case "cut off":
            path.write_bytes(whole[: whole[:-1].rindex(b"\n") + 1])
        case "changed":
            path.write_bytes(whole.replace(b"cal_2", b"cal_9"))
        case "gone":
            path.unlink()
        case "put in":
            path.write_bytes(whole + whole.splitlines(keepends=True)[-1])
        case _:
            path.write_bytes(whole + b'{"n":4')
    assert faults(data) != []
    assert "changed by somebody else" in await one_life(data, 3)
    assert told(data)[-2:] == [BREAK_FOUND, "cal_3"]
    assert any("found the files changed" in fault for fault in faults(data))
    assert await one_life(data, 4) == "", "it is said once, and stands in the chain"
    assert told(data)[-2:] == ["cal_3", "cal_4"]
    assert any("found the files changed" in fault for fault in faults(data))


async def test_a_change_of_lines_that_a_crash_had_kept_from_being_noted_is_found(data: Path) -> None:
    await lived(data)
    with as_if_killed(data):
        await one_life(data, 3, 4)
    path = only_file(data)
    path.write_bytes(path.read_bytes().replace(b"cal_4", b"cal_9"))
    assert "changed by somebody else" in await one_life(data)
    assert told(data) == [OPENED, "cal_1", "cal_2", "cal_3", "cal_9", BREAK_FOUND, "cal_4"]


@pytest.mark.parametrize("how", ["removed", "replaced", "cut off"])
async def test_what_is_done_to_a_file_while_it_is_written_is_said_and_found(data: Path, how: str) -> None:
    async with opened(data) as (store, trail):
        await store.append(calls(1, 2))
        await store.settle_audit()
        path = only_file(data)
        if how == "removed":
            path.unlink()
        elif how == "replaced":
            path.rename(path.with_suffix(".old"))
            path.write_bytes(path.with_suffix(".old").read_bytes())
        else:
            os.truncate(path, path.stat().st_size - 20)
        await store.append(calls(3))
        state = await store.settle_audit()
        assert state is not None
        assert "while the server wrote it" in trail.problem
        assert how == "replaced" or check(day_files(data / "audit"), known=state.head).faults != []
    assert told(data)[-1] == "cal_3"


async def test_a_new_store_goes_on_behind_the_lines_of_another(data: Path) -> None:
    await one_life(data, 1)
    (data / "pernix.duckdb").unlink()
    assert await one_life(data, 2) == ""
    assert told(data) == [OPENED, "cal_1", OPENED, "cal_2"]
    assert faults(data) == []


async def real_chain(data: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Chain, Head]:
    """Of a store with every kind of event, over three days."""
    clock = [1_800_000_000 * 10**9]
    monkeypatch.setattr(writer_module.time, "time_ns", lambda: clock[0])
    async with opened(data, now=lambda: "2027-01-15T08:00:00.000000Z") as (store, _):
        for _ in range(3):
            await store.append([one.event for one in story()])
            clock[0] += 86_400 * 10**9
    chain = {path.name: path.read_bytes().splitlines(keepends=True) for path in day_files(data / "audit")}
    assert (len(chain), sum(len(lines) for lines in chain.values())) == (3, known(data).state.head.n)
    return chain, known(data).state.head


async def test_whatever_is_done_to_the_files_of_a_real_store_is_found(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, head = await real_chain(data, monkeypatch)
    for seed in range(12):
        for name in TAMPERS:
            copy = {day: list(lines) for day, lines in chain.items()}
            tampered(name, random.Random(f"{name}{seed}"), copy, head, tmp_path / "audit")
