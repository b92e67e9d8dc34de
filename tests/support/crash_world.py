"""A server's sessions without its HTTP, for a process that is to be killed: real store, tools, agent and, where wanted, kernels; a
scripted model; every acknowledged event written down outside."""

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from jupyter_pernix.agent.compaction import compact_now
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import RunSettings
from jupyter_pernix.agent.testing import FakeClock, FakeExecutor, Says, ScriptedModel, ScriptedModels, call
from jupyter_pernix.config import Compaction, Settings
from jupyter_pernix.errors import EndpointRefused
from jupyter_pernix.events import Stored, encode_stored
from jupyter_pernix.ids import ExecutionId, SessionId, TurnId
from jupyter_pernix.ports import AskInput, Executor, OutputSink, TurnHost
from jupyter_pernix.records import JSON, ExecutionResult
from jupyter_pernix.serverext.bus import Bus
from jupyter_pernix.serverext.kernels import LazyKernels
from jupyter_pernix.serverext.sessions import Sessions
from jupyter_pernix.serverext.side_files import SideFiles
from jupyter_pernix.serverext.store import EventStore
from jupyter_pernix.serverext.surroundings import OnLate, SideFile, Surroundings

from .crash_script import reply

REQUESTS = 10_000


class HereExecutor(FakeExecutor):
    """Runs the code in this process: its effect is real, its kernel costs nothing."""

    async def execute(
        self,
        code: str,
        *,
        execution_id: ExecutionId,
        on_output: OutputSink,
        deadline: float | None = None,
        ask_input: AskInput | None = None,
    ) -> ExecutionResult:
        await anyio.to_thread.run_sync(exec, code, {"print": lambda *given: None})
        return await super().execute(
            code, execution_id=execution_id, on_output=on_output, deadline=deadline, ask_input=ask_input
        )


class HereKernels:
    async def start(
        self, kernel_name: str, *, cwd: Path, side_file: SideFile, on_late: OnLate, wall: object = None
    ) -> Executor:
        return HereExecutor()


def thinks(*, primary: bool) -> Callable[[Sequence[JSON]], Says]:
    def think(messages: Sequence[JSON]) -> Says:
        said = reply(messages, primary=primary)
        if "fault" in said:
            return Says(error=EndpointRefused("the key is not accepted"))
        calls = tuple(call(one["name"], **one["arguments"]) for one in said.get("tool_calls", ()))
        return Says(text=said.get("text", ""), calls=calls)

    return think


def models() -> ScriptedModels:
    primary, backup = (
        ScriptedModel([thinks(primary=first)] * REQUESTS, endpoint=name, context_length=6_000)
        for first, name in ((True, "first"), (False, "second"))
    )
    return ScriptedModels(primary, background=ScriptedModel([thinks(primary=True)] * REQUESTS), backup=backup)


@dataclass(kw_only=True)
class World:
    """``folder`` holds the store, the server's root folder, and what is written down outside. ``kernels``: real ones."""

    folder: Path
    kernels: bool
    on_told: Callable[[], None] = lambda: None
    settings: RunSettings = field(default_factory=lambda: RunSettings(compaction=Compaction(threshold=0.7, keep=0.3)))
    count: int = 0
    """Events that were acknowledged in this process."""

    def __post_init__(self) -> None:
        self.root = self.folder / "root"
        self.ledger = self.folder / "ledger"
        self.told = self.folder / "told"
        self._changed = anyio.Event()

    @asynccontextmanager
    async def sessions(self) -> AsyncGenerator[Sessions]:
        """Recovered; left as when a server is stopped."""
        self.root.mkdir(exist_ok=True)
        late: list[Sessions] = []
        told = os.open(self.told, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

        def publish(group: list[Stored]) -> None:
            os.write(told, b"".join(encode_stored(stored) + b"\n" for stored in group))
            self.count += len(group)
            for each in late:
                each.saw(group)
            changed, self._changed = self._changed, anyio.Event()
            changed.set()
            for _ in group:
                self.on_told()

        async with AsyncExitStack() as stack:
            stack.callback(os.close, told)
            store = await EventStore.open(self.folder / "data" / "pernix.duckdb", publish=publish)
            stack.push_async_callback(store.aclose)
            kernels = self._kernels()
            if isinstance(kernels, LazyKernels):
                stack.push_async_callback(kernels.aclose)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            around = Surroundings(
                store=store,
                bus=Bus(),
                settings=Settings(),
                root=self.root.resolve(),
                side_files=SideFiles(self.folder / "data" / "side"),
                kernels=kernels,
                carry=self._carry,
                compact=self._compact,
                write_record=lambda session_id, log, path: None,
                tasks=tasks,
            )
            sessions = Sessions(around)
            late.append(sessions)
            await sessions.recover()
            yield sessions
            around.stopping = True
            tasks.cancel_scope.cancel()

    def _kernels(self) -> Any:
        if not self.kernels:
            return HereKernels()
        # Imported here: most worlds have no real kernel.
        from jupyter_pernix.kernel.provision import own_manager

        return LazyKernels(own_manager())

    async def _carry(self, host: TurnHost, turn_id: TurnId, log: Sequence[Stored]) -> None:
        await Run(host, turn_id, log, models(), self.settings, FakeClock()).carry()

    async def _compact(self, host: TurnHost, log: Sequence[Stored]) -> bool:
        return await compact_now(host, log, models(), self.settings) is not None

    async def wait(self, fact: Callable[[], bool], *, seconds: float) -> bool:
        """Until an event has made this true; false: none did."""
        with anyio.move_on_after(seconds) as scope:
            while not fact():
                await self._changed.wait()
        return not scope.cancelled_caught

    def texts(self) -> list[str]:
        """Of the ledger and of the files in which an edit leaves a line."""
        files = [self.ledger, *sorted(self.root.glob("notes-*.txt"))]
        return [file.read_text(encoding="utf-8") for file in files if file.exists()]


def rests(sessions: Sessions, session_id: SessionId) -> bool:
    """Nothing goes on in it: it is idle, or waits for a person."""
    state = sessions.summary(session_id).state
    return state in ("awaiting_user", "paused") or (state == "idle_ready" and not sessions.busy)
