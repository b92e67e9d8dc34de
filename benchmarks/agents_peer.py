"""One turn of the product's own parts, in this process, against a scripted model: what the whole loop costs a step.

Store (durable), bus, sessions, host, run, run notebook and the HTTP client are the real ones; the tool ``add`` is
added to the others. The environment says what to do: ``MS_URL`` and ``MS_KEY`` of the endpoint, ``MS_N`` steps,
``MS_RESULT_BYTES`` of padding in each result, ``MS_TMP`` a folder. One line ``RESULT {json}`` says what it took;
``benchmarks/agents.py`` runs it beside a floor. ``MS_VARIANT=profile`` prints where the CPU went, ``only_add`` offers no other tool,
``unaudited`` keeps no audit, ``watched`` has a listener, as a panel is one.
"""

import cProfile
import json
import os
import pstats
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

_begun = time.perf_counter()

import anyio  # noqa: E402 - what the imports take is measured
import anyio.to_thread  # noqa: E402
import httpx  # noqa: E402, F401 - loaded by a server's first turn

from jupyter_pernix.agent.model.client import ChatModel, Endpoint  # noqa: E402
from jupyter_pernix.agent.policy.broker import Targets  # noqa: E402
from jupyter_pernix.agent.run import Run  # noqa: E402
from jupyter_pernix.agent.run_settings import OneModel, RunSettings  # noqa: E402
from jupyter_pernix.agent.tools.base import Arguments, Tool, ToolContext, ToolResult  # noqa: E402
from jupyter_pernix.agent.tools.registry import TOOLS  # noqa: E402
from jupyter_pernix.config import Settings  # noqa: E402
from jupyter_pernix.events import MessageCompleted, StepStarted, Stored, TurnFinished  # noqa: E402
from jupyter_pernix.ids import SessionId, TurnId  # noqa: E402
from jupyter_pernix.kernel import record  # noqa: E402, F401 - loaded by a server's first turn
from jupyter_pernix.ports import TurnHost  # noqa: E402
from jupyter_pernix.records import Budget, SessionCreate, TurnCreate  # noqa: E402
from jupyter_pernix.serverext.audit.trail import Trail  # noqa: E402
from jupyter_pernix.serverext.bus import Bus  # noqa: E402
from jupyter_pernix.serverext.kernels import LazyKernels  # noqa: E402
from jupyter_pernix.serverext.run_notebooks import RunNotebooks  # noqa: E402
from jupyter_pernix.serverext.sessions import Sessions  # noqa: E402
from jupyter_pernix.serverext.side_files import SideFiles  # noqa: E402
from jupyter_pernix.serverext.store import EventStore  # noqa: E402
from jupyter_pernix.serverext.surroundings import Surroundings  # noqa: E402
from jupyter_pernix.serverext.warming import warm_up  # noqa: E402

IMPORT_SECONDS = time.perf_counter() - _begun

URL = os.environ.get("MS_URL", "http://127.0.0.1:8900/v1")
KEY = os.environ.get("MS_KEY", "conv-x")
STEPS = int(os.environ.get("MS_N", "20"))
VARIANT = os.environ.get("MS_VARIANT", "")
PADDING = ("lorem ipsum dolor sit amet " * (int(os.environ.get("MS_RESULT_BYTES", "0")) // 27 + 1))[
    : int(os.environ.get("MS_RESULT_BYTES", "0"))
]
FOLDER = Path(os.environ.get("MS_TMP", "/tmp"))


class Add(Arguments, frozen=True):
    a: int
    b: int


marks: list[float] = []
"""CPU seconds of this process at each call."""


async def _add(context: ToolContext, args: Add) -> ToolResult:
    marks.append(time.process_time())
    return ToolResult(text=f"{args.a + args.b} {PADDING}" if PADDING else str(args.a + args.b))


ADD = Tool(
    name="add",
    description="Add two numbers",
    kind="other",
    action="none",
    arguments=Add,
    title=lambda args: f"{args.a} + {args.b}",
    targets=lambda args: Targets(),
    carry_out=_add,
)
# The scripted model would call ``finish`` in a form that this one does not take.
_OTHERS = {} if VARIANT == "only_add" else {name: tool for name, tool in TOOLS.items() if name != "finish"}
OFFERED: dict[str, Tool[Any]] = {**_OTHERS, ADD.name: ADD}


class Keyed(Endpoint):
    """The scripted server tells conversations apart by the header that otherwise names the session."""

    def post(self, body: bytes, *, tools: Any = None, session_id: str = "") -> Any:
        return super().post(body, tools=tools, session_id=KEY)


class Turns:
    """``surroundings.Carry`` with one model; ``ended`` is set after each turn."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.ended = anyio.Event()

    async def carry(self, host: TurnHost, turn_id: TurnId, log: Sequence[Stored]) -> None:
        try:
            settings = RunSettings(budget=Budget(rounds=None, seconds=None))
            await Run(host, turn_id, log, OneModel(self.model), settings, tools=OFFERED).carry()
        finally:
            self.ended.set()


def _cpu_at(step: int) -> float | None:
    """Milliseconds of CPU a step, over the last fifth before ``step``."""
    if len(marks) < step:
        return None
    low = max(1, int(step * 0.8) - 1)
    return (marks[step - 1] - marks[low]) * 1e3 / (step - 1 - low)


def _stored_bytes(folder: Path) -> int:
    """The audit's files are beside the store, and hold no messages."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.parent.name != "audit")


async def _work(data: Path, root: Path) -> dict[str, object]:
    setup = time.perf_counter()
    bus = Bus()
    late: list[Sessions] = []

    def publish(group: list[Stored]) -> None:
        for sessions in late:
            sessions.saw(group)
        bus.publish(group)

    auditor = None if VARIANT == "unaudited" else Trail(data / "audit", on=True)
    store = await EventStore.open(data / "pernix.duckdb", publish=publish, auditor=auditor)
    endpoint = Keyed(URL, key=KEY)
    turns = Turns(ChatModel(endpoint, name="scripted-1", endpoint_name="scripted"))
    kernels = LazyKernels(None)
    async with anyio.create_task_group() as tasks:
        around = Surroundings(
            store=store,
            bus=bus,
            settings=Settings(),
            root=root,
            side_files=SideFiles(data / "side"),
            kernels=kernels,
            carry=turns.carry,
            write_record=RunNotebooks(kernels).write,
            tasks=tasks,
        )
        sessions = Sessions(around)
        late.append(sessions)
        with bus.subscribe() if VARIANT == "watched" else nullcontext() as listener:
            if listener is not None:
                tasks.start_soon(_listen, listener)
            session = await sessions.create(SessionCreate(mode="auto"))
            await _once(endpoint, store, around, session.session_id)
            setup = time.perf_counter() - setup
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            cpu, wall = time.process_time(), time.perf_counter()
            request = f"Call the tool add {STEPS} times, as you see fit, then answer."
            await sessions.submit(session.session_id, TurnCreate(text=request))
            await turns.ended.wait()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        events = [stored.event for stored in await store.events(session.session_id)]
        tasks.cancel_scope.cancel()
    await endpoint.aclose()
    closing = time.process_time()
    await store.aclose()
    closing = time.process_time() - closing
    finished = [event for event in events if isinstance(event, TurnFinished)]
    answers = [event.text for event in events if isinstance(event, MessageCompleted)]
    stored, messages = (
        _stored_bytes(data),
        max(event.prompt_bytes for event in events if isinstance(event, StepStarted)),
    )
    return {
        "answer": answers[-1] if answers else f"no answer: {finished}",
        "calls": len(marks),
        "import_s": IMPORT_SECONDS,
        "setup_s": setup,
        "run_s": wall,
        "cpu_s": cpu,
        "closing_cpu_s": closing,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rss_start_mb": before / 1024,
        "events": len(events),
        "db_mb": stored / 1e6,
        "stored_bytes": stored,
        "message_bytes": messages,
        "cpu_ms_at": {str(step): _cpu_at(step) for step in (20, 100, 400)},
    }


async def _once(endpoint: Endpoint, store: EventStore, around: Surroundings, session_id: SessionId) -> None:
    """What a process does once, however many turns follow: a server does it when a session is made. Here the client and the tool
    ``add``, which no server has, are made too."""
    await warm_up()
    assert endpoint.client
    assert all(tool.spec for tool in OFFERED.values())
    log = await store.events(session_id)
    await anyio.to_thread.run_sync(around.write_record, session_id, log, FOLDER / "once.ipynb")


async def _listen(listener: Any) -> None:
    while not listener.cut:
        await listener.wait()
        listener.take()


def main() -> None:
    root = FOLDER / "root"
    root.mkdir(exist_ok=True)
    profile = cProfile.Profile() if VARIANT == "profile" else None
    if profile is not None:
        profile.enable()
    result = anyio.run(_work, FOLDER / "data", root)
    if profile is not None:
        profile.disable()
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(60)
    print("RESULT " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
