"""The kernel of one session: started on first use, let go of when the session is archived or takes another."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

import anyio

from ..errors import KernelError, NotebookRefused
from ..events import ExecutionOutput, KernelRestarted, ProblemNoticed
from ..ids import ExecutionId
from ..ports import Executor
from ..records import JSON, OutputOp, Place
from .incell import InCellExecutor
from .notebooks.attachment import Attachment
from .session_log import SessionLog, turn_of_execution

_MOST_SURVIVORS = 10


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
            key = f"{view.place} {wanted}"
            if self._executor is not None and self._executor_for == key:
                return self._executor
            await self._let_go()
            self._executor = await self._made(view.place, wanted)
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

    async def _made(self, place: Place, wanted: str) -> Executor:
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
                    wanted, cwd=self._log.space, side_file=self.side_file, on_late=self._late_output
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
        return self._executor if self._executor_for.split(" ")[-1] == wanted else None

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
