"""Figures of the session store: one event, many at once, a start on a large log. ``python benchmarks/store.py [EVENTS] [SESSIONS]``"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from jupyter_pernix.config import Settings
from jupyter_pernix.events import (
    ApprovalRequested,
    Event,
    ExecutionOutput,
    MessageCompleted,
    SessionCreated,
    SessionStateChanged,
    StepFinished,
    ToolCallRequested,
    TurnFinished,
    TurnStarted,
    TurnSubmitted,
)
from jupyter_pernix.ids import (
    SessionId,
    new_approval_id,
    new_call_id,
    new_execution_id,
    new_session_id,
    new_step_id,
    new_turn_id,
)
from jupyter_pernix.records import Budget, SessionState, TerminalCode, Timings, Usage
from jupyter_pernix.serverext.bus import Bus
from jupyter_pernix.serverext.sessions import Sessions
from jupyter_pernix.serverext.side_files import SideFiles
from jupyter_pernix.serverext.store import EventStore
from jupyter_pernix.serverext.surroundings import Surroundings


def created(session_id: SessionId) -> SessionCreated:
    return SessionCreated(
        session_id=session_id,
        title="A session",
        space_root="",
        record_path="pernix-runs/x.ipynb",
        mode="auto",
        endpoint=None,
        kernel_name="",
        place="own",
        origin="api",
    )


def moved(session_id: SessionId, before: SessionState, after: SessionState, reason: str) -> SessionStateChanged:
    return SessionStateChanged(session_id=session_id, turn_id=None, before=before, after=after, reason=reason)


def turn(session_id: SessionId, events: int, *, ends: bool) -> list[Event]:
    """A turn with so many events of the usual kinds and sizes."""
    turn_id, execution_id, step_id = new_turn_id(), new_execution_id(), new_step_id()
    log: list[Event] = [
        TurnSubmitted(session_id=session_id, turn_id=turn_id, text="Find it.", origin="api"),
        moved(session_id, SessionState.IDLE_READY, SessionState.PROCESSING, "turn_started"),
    ]
    for number in range(events - 4):
        if number % 3 == 0:
            log.append(MessageCompleted(session_id=session_id, turn_id=turn_id, step_id=step_id, text="word " * 40))
        elif number % 3 == 1:
            log.append(
                ExecutionOutput(
                    session_id=session_id, turn_id=turn_id, execution_id=execution_id, op="append", text="line\n" * 20
                )
            )
        else:
            log.append(
                StepFinished(
                    session_id=session_id,
                    turn_id=turn_id,
                    step_id=step_id,
                    usage=Usage(prompt_tokens=900, completion_tokens=80),
                    timings=Timings(total=1.0),
                    prefix_share=0.9,
                    finish_reason="stop",
                )
            )
    if ends:
        log.append(
            TurnFinished(session_id=session_id, turn_id=turn_id, code=TerminalCode.ANSWERED, detail="", usage=Usage())
        )
        log.append(moved(session_id, SessionState.PROCESSING, SessionState.IDLE_READY, "turn_ended"))
    return log


def asking(submitted: Event) -> list[Event]:
    """A call of this turn that waits for a person."""
    assert isinstance(submitted, TurnSubmitted)
    ids: dict[str, Any] = {"session_id": submitted.session_id, "turn_id": submitted.turn_id, "call_id": new_call_id()}
    return [
        TurnStarted(
            session_id=submitted.session_id,
            turn_id=submitted.turn_id,
            mode="edit",
            endpoint="lab",
            model="m",
            protocol="tools",
            context_length=None,
            budget=Budget(),
        ),
        ToolCallRequested(
            **ids,
            step_id=new_step_id(),
            wire_id="w",
            tool="run_shell",
            kind="execute",
            title="ls",
            arguments={"command": "ls"},
        ),
        ApprovalRequested(
            **ids, approval_id=new_approval_id(), question="Run it?", detail="ls", choices=["allow_once"]
        ),
        moved(ids["session_id"], SessionState.PROCESSING, SessionState.AWAITING_USER, "approval_requested"),
    ]


async def appends(path: Path) -> None:
    store = await EventStore.open(path)
    session_id = new_session_id()
    await store.append([created(session_id)])
    (message,) = [event for event in turn(session_id, 5, ends=False) if isinstance(event, MessageCompleted)]
    times: list[float] = []
    for _ in range(200):
        begun = time.perf_counter()
        await store.append([message])
        times.append(time.perf_counter() - begun)
    times.sort()
    print(f"one event, one caller: p50 {times[100] * 1e3:.1f} ms, p99 {times[197] * 1e3:.1f} ms")
    begun = time.perf_counter()
    await asyncio.gather(*(store.append([message]) for _ in range(5000)))
    took = time.perf_counter() - begun
    print(f"5000 events of 5000 callers: {5000 / took:,.0f} events/s")
    begun = time.perf_counter()
    wire = await store.wire(limit=10_000)
    print(f"reading {len(wire)} events for the wire: {len(wire) / (time.perf_counter() - begun):,.0f} events/s")
    await store.aclose()


async def start(path: Path, events: int, sessions: int) -> None:
    """A server that died with a tenth of its sessions at work, and a fortieth waiting for an answer."""
    store = await EventStore.open(path)
    each = events // sessions
    for number in range(sessions):
        session_id = new_session_id()
        dies, asks = number % 10 == 0, number % 40 == 1
        log = [event for _ in range(max(1, each // 50)) for event in turn(session_id, 50, ends=True)]
        open_ = turn(session_id, 50, ends=False) if dies or asks else []
        await store.append([created(session_id), *log, *open_, *(asking(open_[0]) if asks else [])])
    last = store.last_seq
    await store.aclose()
    times: list[float] = []
    for _ in range(3):
        begun, cpu = time.perf_counter(), time.process_time()
        store = await EventStore.open(path)
        opened = time.perf_counter() - begun
        recovered = await Sessions(surroundings(store, path.parent)).recover()
        times.append(time.perf_counter() - begun)
        print(
            f"start on {last:,} events of {sessions} sessions, {len(recovered)} interrupted: "
            f"open {opened:.2f} s, open and recover {times[-1]:.2f} s, {time.process_time() - cpu:.2f} s of CPU"
        )
        await store.aclose()
    print(f"median start {statistics.median(times):.2f} s")


def surroundings(store: EventStore, folder: Path) -> Surroundings:
    async def carry(*_: object) -> None: ...

    nothing: object = None
    return Surroundings(
        store=store,
        bus=Bus(),
        settings=Settings(),
        root=folder,
        side_files=SideFiles(folder / "side"),
        kernels=nothing,  # type: ignore[arg-type]
        carry=carry,
        write_record=lambda *_: None,
        tasks=nothing,  # type: ignore[arg-type]
    )


async def main() -> None:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    sessions = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as folder:
        await appends(Path(folder) / "appends.duckdb")
        await start(Path(folder) / "start.duckdb", events, sessions)
        print(f"that file has {(Path(folder) / 'start.duckdb').stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    asyncio.run(main())
