"""Files of the audit that cannot be written, and what others do to them."""

import os
import random
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.story import story
from support.tampering import TAMPERS, Chain, tampered

from jupyter_pernix.audit import BREAK_FOUND, OPENED, Head, check, day_files
from jupyter_pernix.serverext.audit.trail import Trail
from jupyter_pernix.serverext.store import writer as writer_module

from .living import (
    as_if_killed,
    calls,
    faults,
    known,
    lived,
    one_life,
    only_file,
    opened,
    told,
)

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
