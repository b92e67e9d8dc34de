"""The kernel of one session: started on first use, let go of when the session is archived or takes another."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import anyio
import anyio.to_thread

from ..errors import KernelError, NotebookRefused
from ..events import ExecutionOutput, KernelRestarted, ProblemNoticed
from ..ids import ExecutionId
from ..ports import Executor
from ..records import JSON, OutputOp, Place
from .incell import InCellExecutor
from .notebooks.attachment import Attachment
from .session_log import SessionLog, turn_of_execution

if TYPE_CHECKING:
    from ..kernel.sandbox import Wall

_MOST_SURVIVORS = 10

NOT_FOR_NOTEBOOKS = (
    "The sandbox is not for the notebook's kernel, which is your own: code that runs there has your rights. "
    "Commands of this session run in the sandbox."
)


@runtime_checkable
class TellsOfRestarts(Protocol):
    """An executor that tells as soon as the variables of its kernel are gone, and why."""

    on_restart: Callable[[str], Awaitable[None]] | None


@runtime_checkable
class NamesSurvivors(Protocol):
    """An executor that knows, once it is closed, which processes outlive its kernel."""

    survivors: list[str]


@runtime_checkable
class KnowsWidgets(Protocol):
    """An executor that keeps the state of its kernel's widgets."""

    def widget_state(self) -> JSON: ...


class SessionKernel:
    def __init__(self, log: SessionLog, attachment: Attachment) -> None:
        self._log = log
        self._attachment = attachment
        self._executor: Executor | None = None
        self._executor_for = ""
        self._lock = anyio.Lock()
        self.cells_kernel_id = ""
        """The kernel of the cell that asked last, in a session whose code runs there; "" if it is not known."""
        self._beside: tuple[str, Executor] | None = None
        self._told_not_walled = False

    @property
    def started(self) -> bool:
        """There is one, with whatever earlier code left in its memory."""
        return self._executor is not None

    def widgets(self) -> dict[str, JSON]:
        """The state of the kernel's widgets now, by the id of the model."""
        executor = self._executor
        return executor.widget_state()["state"] if isinstance(executor, KnowsWidgets) else {}

    async def executor(self) -> Executor:
        """The session's kernel; started on first use, and again after the session was given another kernel.

        :raises KernelError: if it cannot be had
        """
        async with self._lock:
            view = (await self._log.fold()).view
            wanted = view.kernel_name or self._log.around.settings.kernel_name
            if view.place == "attached":
                wanted = await self._attached_kernel()
            walled = view.place == "own" and view.sandbox
            key = f"{view.place} {walled} {walled and view.network} {wanted}"
            if self._executor is not None and self._executor_for == key:
                return self._executor
            await self._let_go()
            wall = await self._wall(view.network) if walled else None
            self._executor = await self._made(view.place, wanted, wall)
            if view.sandbox and not walled:
                await self._tell_not_walled()
            if isinstance(self._executor, TellsOfRestarts):
                self._executor.on_restart = self._restarted
            self._executor_for = key
            return self._executor

    async def _attached_kernel(self) -> str:
        """The id of the notebook's kernel now."""
        try:
            return (await self._attachment.now()).kernel_id
        except NotebookRefused as exc:
            raise KernelError(str(exc)) from exc

    async def _wall(self, network: bool) -> "Wall":
        """:raises KernelError: if there can be none here"""
        around, log = self._log.around, self._log
        return await anyio.to_thread.run_sync(
            partial(around.sandboxes.wall, log.session_id, log.space, network=network)
        )

    async def _tell_not_walled(self) -> None:
        if not self._told_not_walled:
            self._told_not_walled = True
            said = ProblemNoticed(session_id=self._log.session_id, turn_id=None, text=NOT_FOR_NOTEBOOKS)
            await self._log.append(said)

    async def _made(self, place: Place, wanted: str, wall: "Wall | None") -> Executor:
        around = self._log.around
        match place:
            case "in_cell":
                return InCellExecutor(
                    around.executions,
                    self._log.session_id,
                    kernel_name=wanted,
                    listeners=around.bus.listeners,
                    beside=self._beside_cell,
                )
            case "attached":
                hub = self._attachment.hub
                return await hub.attach(wanted, side_file=self.side_file, on_late=self._late_output)
            case "own":
                return await around.kernels.start(
                    wanted, cwd=self._log.space, side_file=self.side_file, on_late=self._late_output, wall=wall
                )

    async def _beside_cell(self) -> Executor:
        """What looks into the kernel of the cell that asked, beside that cell.

        :raises KernelError: if this server has no such kernel
        """
        wanted = self.cells_kernel_id
        if not wanted:
            raise KernelError("the kernel is busy with the cell that asked, and not known to this server")
        if self._beside is not None and self._beside[0] == wanted:
            return self._beside[1]
        await self._leave_cell()
        try:
            executor = await self._attachment.hub.attach(wanted, side_file=self.side_file, on_late=self._late_output)
        except NotebookRefused as exc:
            raise KernelError(str(exc)) from exc
        self._beside = wanted, executor
        return executor

    async def _leave_cell(self) -> None:
        beside, self._beside = self._beside, None
        if beside is not None:
            await beside[1].aclose()

    async def running(self) -> Executor | None:
        """The kernel if there is one without starting it."""
        view = (await self._log.fold()).view
        if view.place == "attached" and not await self._attachment.has_kernel():
            return None
        if view.place != "own":
            return await self.executor()
        wanted = view.kernel_name or self._log.around.settings.kernel_name
        return self._executor if self._executor_for.split(" ", 3)[-1] == wanted else None

    async def begin_anew(self, text: str) -> None:
        """End the session's own kernel, if there is one, and tell why its variables are gone."""
        executor = self._executor
        if executor is None or (await self._log.fold()).view.place != "own":
            return
        await self._restarted(text)
        await self.release()

    async def release(self) -> None:
        """Shut down the session's kernel, if it has one."""
        async with self._lock:
            await self._let_go()

    async def _let_go(self) -> None:
        await self._leave_cell()
        executor, self._executor = self._executor, None
        if executor is None:
            return
        await executor.aclose()
        if isinstance(executor, NamesSurvivors) and executor.survivors:
            left = ", ".join(executor.survivors[:_MOST_SURVIVORS])
            text = f"The kernel was shut down. Processes that its code started still run: {left}."
            await self._log.append(ProblemNoticed(session_id=self._log.session_id, turn_id=None, text=text))

    def side_file(self, name: str) -> tuple[Path, str]:
        return self._log.around.side_files.new(self._log.session_id, name)

    async def _late_output(self, execution_id: ExecutionId, op: OutputOp) -> None:
        """What code printed after its execution had ended: a thread, a timer."""
        turn_id = turn_of_execution(await self._log.fold(), execution_id)
        if turn_id is not None:
            await self._log.append(
                ExecutionOutput(
                    session_id=self._log.session_id,
                    turn_id=turn_id,
                    execution_id=execution_id,
                    op=op.op,
                    index=op.index,
                    output=op.output,
                    text=op.text,
                )
            )

    async def _restarted(self, text: str) -> None:
        executor = self._executor
        turns = (await self._log.fold()).view.turns
        running = next((turn for turn in turns if turn.started_at is not None and turn.code is None), None)
        restarted = KernelRestarted(
            session_id=self._log.session_id,
            turn_id=None if running is None else running.turn_id,
            kernel_name="" if executor is None else executor.kernel_name,
            text=text,
        )
        await self._log.append(restarted)
