"""Servers that live for a few calls, and what they leave."""

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import duckdb
from support.story import SESSION

import jupyter_pernix
from jupyter_pernix.audit import check, day_files, lines_of
from jupyter_pernix.events import Event, ToolCallStarted
from jupyter_pernix.ids import CallId, TurnId
from jupyter_pernix.serverext.audit.trail import Trail
from jupyter_pernix.serverext.store import EventStore
from jupyter_pernix.serverext.store.audit_peek import Peek, peek

ACTING = Path(__file__).with_name("acting.py")


def started(number: int) -> ToolCallStarted:
    return ToolCallStarted(session_id=SESSION, turn_id=TurnId("trn_1"), call_id=CallId(f"cal_{number}"))


def calls(*numbers: int) -> list[Event]:
    return [started(number) for number in numbers]


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


def acting(data: Path) -> subprocess.Popen[str]:
    environ = os.environ | {"PYTHONPATH": str(Path(jupyter_pernix.__file__).parents[1])}
    return subprocess.Popen([sys.executable, str(ACTING), str(data)], env=environ, stdout=subprocess.PIPE, text=True)
