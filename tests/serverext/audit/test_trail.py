"""The audit of a real store: through restarts, midnight and crashes at any moment."""

from pathlib import Path

import duckdb
import pytest
from support.story import story

from jupyter_pernix.audit import OPENED, SWITCHED_OFF, SWITCHED_ON, Head, check, day_files, lines_of
from jupyter_pernix.errors import StoreLocked
from jupyter_pernix.serverext.audit.due import compare, due_lines
from jupyter_pernix.serverext.audit.files import behind
from jupyter_pernix.serverext.store import EventStore
from jupyter_pernix.serverext.store import writer as writer_module
from jupyter_pernix.serverext.store.audit_peek import peek

from .living import acting, calls, faults, known, lived, one_life, only_file, opened, told, until

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
