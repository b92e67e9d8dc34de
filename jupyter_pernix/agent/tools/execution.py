"""Code that a tool runs in a kernel: stored when it begins, while it prints, and when it ends, whatever ends it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
import msgspec

from ...errors import KernelError, NotebookRefused
from ...events import ExecutionFinished, ExecutionOutput, ExecutionStarted
from ...fold import apply_output
from ...ids import ExecutionId, new_execution_id
from ...masking import OutputPieces
from ...ports import Executor
from ...records import JSON, ExecutionResult, OutputOp
from ..wellformed import wellformed, wellformed_json
from .base import ToolContext


@dataclass(kw_only=True)
class Execution:
    """One execution under way: stores its output steps, without their secrets, and folds them. ``notebook``, ``cell_id``, ``trusted``: as in
    ``ExecutionStarted``."""

    context: ToolContext
    notebook: str = ""
    cell_id: str = ""
    trusted: bool = False
    execution_id: ExecutionId = field(default_factory=new_execution_id)
    outputs: list[JSON] = field(default_factory=list[JSON])

    def __post_init__(self) -> None:
        self._masked = OutputPieces(self.context.host.masker)

    async def on_output(self, op: OutputOp) -> None:
        op = msgspec.structs.replace(op, output=wellformed_json(op.output), text=wellformed(op.text))
        for masked in self._masked.take(op, self.outputs):
            await self._put(masked)

    async def tell_rest(self) -> None:
        """Nothing comes for now: what was held back, since it might have gone on as a secret, is told."""
        for masked in self._masked.rest(self.outputs):
            await self._put(masked)

    async def _put(self, op: OutputOp) -> None:
        await self.context.store(
            ExecutionOutput(
                session_id=self.context.host.session_id,
                turn_id=self.context.turn_id,
                execution_id=self.execution_id,
                op=op.op,
                index=op.index,
                output=op.output,
                text=op.text,
            )
        )
        apply_output(self.outputs, op)

    async def ask_input(self, prompt: str, password: bool) -> str | None:
        """As ``ports.AskInput``."""
        await self.tell_rest()
        return await self.context.host.ask_input(self.execution_id, prompt, password)

    async def started(self, executor: Executor, code: str) -> None:
        await self.context.store(
            ExecutionStarted(
                session_id=self.context.host.session_id,
                turn_id=self.context.turn_id,
                call_id=self.context.call_id,
                execution_id=self.execution_id,
                place=executor.place,
                kernel_name=executor.kernel_name,
                code=code,
                notebook=self.notebook,
                cell_id=self.cell_id,
                trusted=self.trusted,
            )
        )

    async def finished(self, result: ExecutionResult, duration: float) -> None:
        await self.context.store(
            ExecutionFinished(
                session_id=self.context.host.session_id,
                turn_id=self.context.turn_id,
                execution_id=self.execution_id,
                status=result.status,
                execution_count=result.execution_count,
                ename=result.ename,
                evalue=result.evalue,
                detail=result.detail,
                duration=duration,
            )
        )


Begin = Callable[[], Awaitable[object]]
"""What is to be done once it is stored that the code runs; raises ``NotebookRefused`` if it must not run."""


async def execute(
    execution: Execution, executor: Executor, code: str, *, begin: Begin | None = None
) -> ExecutionResult:
    """Run ``code`` to its end; what happens is stored around the effect."""
    context = execution.context
    started = context.clock.monotonic()
    result = ExecutionResult(status="cancelled", detail="it was stopped before it ended")
    await execution.started(executor, code)
    try:
        if begin is not None:
            await begin()
        result = await executor.execute(
            code,
            execution_id=execution.execution_id,
            on_output=execution.on_output,
            deadline=context.deadline(context.deadlines.execution),
            ask_input=execution.ask_input if context.host.can_ask else None,
        )
    except NotebookRefused as exc:
        result = ExecutionResult(status="not_run", detail=str(exc))
    except KernelError as exc:
        result = ExecutionResult(status="dead", detail=str(exc))
    finally:
        with anyio.CancelScope(shield=True):
            await execution.tell_rest()
            await execution.finished(result, context.clock.monotonic() - started)
    return result
