"""Run the code cells of a notebook in one kernel, with the rules that nbclient and papermill have.

A cell with the tag ``skip-execution`` is left as it is. One with the tag ``raises-exception`` may fail, and so may all if that is
allowed; any other failure is the last cell that runs.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from ..fold import apply_output
from ..ids import ExecutionId, new_execution_id
from ..records import JSON, ExecutionResult, OutputOp
from .bundles import Caps, clean_output
from .executor import KernelExecutor

WHOLE = Caps(
    stream=10**9,
    outputs=10**6,
    total=10**9,
    text=10**8,
    html=10**8,
    image=10**8,
    json=10**8,
    evalue=10**6,
    traceback=10**6,
)
"""Nearly everything, for a notebook that is itself the record."""

SKIP, RAISES = "skip-execution", "raises-exception"

Changed = Callable[[int, OutputOp], Awaitable[None]]
"""Told after each change to the outputs of the cell with this index, also when it has ended."""


@dataclass(frozen=True, kw_only=True)
class CellOutcome:
    """How one cell went. ``result`` ``None``: it was not run. ``failed``: and may not; ``seconds`` of wall clock."""

    index: int
    status: Literal["ran", "skipped", "empty"]
    result: ExecutionResult | None = None
    failed: bool = False
    seconds: float = 0.0


class NotebookRunner:
    """``cells`` are nbformat 4 cells; ``outputs`` and ``execution_count`` of those that run are replaced in place, while they run."""

    def __init__(
        self,
        executor: KernelExecutor,
        cells: Sequence[JSON],
        *,
        deadline: float | None = None,
        allow_errors: bool = False,
        changed: Changed | None = None,
    ) -> None:
        """``deadline``: seconds for each cell. Takes over ``executor.on_late``."""
        self._executor = executor
        self._cells = cells
        self._deadline = deadline
        self._allow_errors = allow_errors
        self._changed = changed
        self._index: dict[ExecutionId, int] = {}
        executor.on_late = self._output

    async def run(self) -> AsyncIterator[CellOutcome]:
        """One outcome for each code cell, up to the first that failed.

        :raises KernelError: if there is no kernel to run it in
        """
        for index, cell in enumerate(self._cells):
            if cell.get("cell_type") == "code":
                outcome = await self.run_cell(index)
                yield outcome
                if outcome.failed:
                    return

    async def run_cell(self, index: int) -> CellOutcome:
        cell = self._cells[index]
        if SKIP in tags_of(cell):
            return CellOutcome(index=index, status="skipped")
        source = cell.get("source")
        code = "".join(cast(list[str], source)) if isinstance(source, list) else str(source or "")
        cell["outputs"], cell["execution_count"] = [], None
        if not code.strip():
            return CellOutcome(index=index, status="empty")
        execution_id = new_execution_id()
        self._index[execution_id] = index
        began = time.monotonic()

        async def on_output(op: OutputOp) -> None:
            await self._output(execution_id, op)

        result = await self._executor.execute(
            code, execution_id=execution_id, on_output=on_output, deadline=self._deadline
        )
        cell["execution_count"] = result.execution_count
        for output in cast(list[JSON], cell["outputs"]):
            if output["output_type"] == "execute_result":
                output["execution_count"] = result.execution_count
        return CellOutcome(
            index=index,
            status="ran",
            result=result,
            failed=self._failed(cell, result),
            seconds=time.monotonic() - began,
        )

    def _failed(self, cell: JSON, result: ExecutionResult) -> bool:
        """What broke the kernel, or was stopped, is a failure whatever is allowed."""
        if result.status == "error":
            return not self._allow_errors and RAISES not in tags_of(cell)
        return result.status != "ok"

    async def _output(self, execution_id: ExecutionId, op: OutputOp) -> None:
        index = self._index.get(execution_id)
        if index is None:
            return
        cell = self._cells[index]
        if op.output is not None:
            op = OutputOp(op=op.op, index=op.index, output=clean_output(op.output, caps=WHOLE), text=op.text)
        apply_output(cast(list[JSON], cell["outputs"]), op)
        if self._changed is not None:
            await self._changed(index, op)


def tags_of(cell: JSON) -> frozenset[str]:
    """The tags of a cell; metadata of a wrong shape has none."""
    metadata: Any = cell.get("metadata")
    tags: Any = cast(JSON, metadata).get("tags") if isinstance(metadata, dict) else None
    return frozenset(str(tag) for tag in cast(list[Any], tags)) if isinstance(tags, list) else frozenset()
