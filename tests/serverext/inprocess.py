"""Sessions with a real store, real tools and the real agent, in the test's own process: no HTTP, a scripted model, a kernel that only
remembers. Cheap enough to start hundreds of times."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from jupyter_pernix.agent.compaction import compact_now
from jupyter_pernix.agent.model.parts import Model
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import RunSettings
from jupyter_pernix.agent.testing import Executes, FakeClock, FakeExecutor, Says, ScriptedModel, ScriptedModels
from jupyter_pernix.config import Settings
from jupyter_pernix.events import ApprovalRequested, Stored
from jupyter_pernix.ids import ExecutionId, SessionId, TurnId
from jupyter_pernix.ports import AskInput, OutputSink, TurnHost
from jupyter_pernix.records import JSON, ApprovalAnswer, ExecutionResult
from jupyter_pernix.serverext.bus import Bus
from jupyter_pernix.serverext.sessions import Sessions
from jupyter_pernix.serverext.side_files import SideFiles
from jupyter_pernix.serverext.store import EventStore
from jupyter_pernix.serverext.surroundings import OnLate, SideFile, Surroundings

Thinks = Callable[[Sequence[JSON]], Says]
"""A model as a function of the messages that it is sent."""


class CountingExecutor(FakeExecutor):
    """Leaves a line in a file for each execution."""

    def __init__(self, path: Path) -> None:
        super().__init__([Executes()] * 100)
        self._path = path

    async def execute(
        self,
        code: str,
        *,
        execution_id: ExecutionId,
        on_output: OutputSink,
        deadline: float | None = None,
        ask_input: AskInput | None = None,
    ) -> ExecutionResult:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(code.replace("\n", ";") + "\n")
        return await super().execute(
            code, execution_id=execution_id, on_output=on_output, deadline=deadline, ask_input=ask_input
        )


@dataclass(kw_only=True)
class World:
    """``data`` holds the store, ``root`` is the server's folder. ``think``, ``work``, ``plan``: the models of a session, of a worker, and
    of the background. ``say_yes``: whoever is asked allows it. ``seen`` is every committed event."""

    data: Path
    root: Path
    think: Thinks
    work: Thinks
    plan: Thinks
    say_yes: bool = True
    settings: RunSettings = field(default_factory=RunSettings)
    on_commit: Callable[[Sequence[Stored]], None] = lambda _: None
    seen: list[Stored] = field(default_factory=list[Stored])

    def __post_init__(self) -> None:
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def sessions(self) -> AsyncGenerator[Sessions]:
        """A server's sessions, recovered from what is in the store; left as when a server is stopped."""
        self.data.mkdir(exist_ok=True)
        self.root.mkdir(exist_ok=True)
        late: list[Sessions] = []

        def publish(group: list[Stored]) -> None:
            self.seen += group
            self.on_commit(group)
            for each in late:
                each.saw(group)
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()

        store = await EventStore.open(self.data / "pernix.duckdb", publish=publish)
        try:
            async with anyio.create_task_group() as tasks:
                around = Surroundings(
                    store=store,
                    bus=Bus(),
                    settings=Settings(),
                    root=self.root,
                    side_files=SideFiles(self.data / "side"),
                    kernels=self,
                    carry=self.carry,
                    compact=self.compact,
                    write_record=lambda session_id, log, path: None,
                    tasks=tasks,
                )
                sessions = Sessions(around)
                late.append(sessions)
                await sessions.recover()
                tasks.start_soon(self._say_yes, sessions)
                yield sessions
                around.stopping = True
                tasks.cancel_scope.cancel()
        finally:
            await store.aclose()

    async def start(
        self, kernel_name: str, *, cwd: Path, side_file: SideFile, on_late: OnLate, wall: object = None
    ) -> FakeExecutor:
        """As ``surroundings.Kernels``."""
        return CountingExecutor(self.root / "ran.txt")

    def _models(self, host: TurnHost) -> ScriptedModels:
        think = self.work if host.is_worker else self.think
        primary: Model = ScriptedModel([think] * 100)
        background: Model = ScriptedModel([self.plan] * 100)
        return ScriptedModels(primary, background=background)

    async def carry(self, host: TurnHost, turn_id: TurnId, log: Sequence[Stored]) -> None:
        await Run(host, turn_id, log, self._models(host), self.settings, FakeClock()).carry()

    async def compact(self, host: TurnHost, log: Sequence[Stored]) -> bool:
        return await compact_now(host, log, self._models(host), self.settings) is not None

    async def _say_yes(self, sessions: Sessions) -> None:
        looked = 0
        while self.say_yes:
            for stored in self.seen[looked:]:
                looked += 1
                if isinstance(stored.event, ApprovalRequested):
                    await sessions.answer(stored.event.approval_id, ApprovalAnswer(choice="allow_once"), by="test")
            await self._changed.wait()

    async def until(self, fact: Callable[[], bool]) -> None:
        """Until an event has made this true."""
        with anyio.fail_after(30):
            while not fact():
                await self._changed.wait()


def rests(sessions: Sessions, session_id: SessionId) -> bool:
    """Nothing runs in it, and nothing waits."""
    return sessions.summary(session_id).state == "idle_ready" and not sessions.busy
