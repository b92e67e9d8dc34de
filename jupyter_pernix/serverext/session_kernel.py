"""The kernel of one session: started on first use, let go of when the session is archived or takes another."""

from pathlib import Path

import anyio

from ..events import ExecutionOutput
from ..fold import SessionFold
from ..ids import ExecutionId, TurnId
from ..ports import Executor
from ..records import CallView, OutputOp
from .incell import InCellExecutor
from .session_log import SessionLog


class SessionKernel:
    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._executor: Executor | None = None
        self._executor_for = ""
        self._lock = anyio.Lock()

    @property
    def started(self) -> bool:
        """There is one, with whatever earlier code left in its memory."""
        return self._executor is not None

    async def executor(self) -> Executor:
        """The session's kernel; started on first use, and again after the session was given another kernel.

        :raises KernelError: if it cannot be had
        """
        async with self._lock:
            view = (await self._log.fold()).view
            wanted = view.kernel_name or self._log.around.settings.kernel_name
            if self._executor is not None and self._executor_for == wanted:
                return self._executor
            await self._let_go()
            if view.place == "in_cell":
                self._executor = InCellExecutor(
                    self._log.around.executions,
                    self._log.session_id,
                    kernel_name=wanted,
                    listeners=self._log.around.bus.listeners,
                )
            else:
                self._executor = await self._log.around.kernels.start(
                    wanted, cwd=self._log.space, side_file=self.side_file, on_late=self._late_output
                )
            self._executor_for = wanted
            return self._executor

    async def running(self) -> Executor | None:
        """The kernel if there is one without starting it."""
        view = (await self._log.fold()).view
        if view.place != "own":
            return await self.executor()
        wanted = view.kernel_name or self._log.around.settings.kernel_name
        return self._executor if self._executor_for.split(" ")[-1] == wanted else None

    async def release(self) -> None:
        """Shut down the session's kernel, if it has one."""
        async with self._lock:
            await self._let_go()

    async def _let_go(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            await executor.aclose()

    def side_file(self, name: str) -> tuple[Path, str]:
        return self._log.around.side_files.new(self._log.session_id, name)

    async def _late_output(self, execution_id: ExecutionId, op: OutputOp) -> None:
        """What code printed after its execution had ended: a thread, a timer."""
        turn_id = self._turn_of(await self._log.fold(), execution_id)
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

    def _turn_of(self, fold: SessionFold, execution_id: ExecutionId) -> TurnId | None:
        for turn in reversed(fold.view.turns):
            for item in turn.items:
                if isinstance(item, CallView) and item.execution and item.execution.execution_id == execution_id:
                    return turn.turn_id
        return None
