"""Executions that happen inside the very cell that asked: the kernel is busy with that cell, so the magic in it runs the code.

The magic sees ``execution.started`` on the stream, runs the code, and sends outputs and result over HTTP; here the turn waits
for them.
"""

from collections.abc import Awaitable, Callable, Sequence

import anyio

from ..errors import Conflict, NotFound
from ..ids import ExecutionId, SessionId
from ..ports import AskInput, Executor, OutputSink, Surroundings
from ..records import ExecutionResult, OutputOp, Place, Variables

_WATCH_SECONDS = 1.0
_OPENING_SECONDS = 2.0
"""A cell sees its execution on the stream and may answer a moment before the turn waits for it."""
_CLOSED_KEPT = 1000
_ALONE_SECONDS = 20.0
"""A cell that has not been listening for this long is taken for gone."""


class _Open:
    """One execution that a cell is working on."""

    def __init__(self, sink: OutputSink) -> None:
        self.sink = sink
        self.order = anyio.Lock()
        self.finished = anyio.Event()
        self.result: ExecutionResult | None = None

    def finish(self, result: ExecutionResult) -> None:
        if self.result is None:
            self.result = result
            self.finished.set()


class InCellExecutions:
    """Those that are open now, over all sessions."""

    def __init__(self) -> None:
        self._open: dict[ExecutionId, _Open] = {}
        self._closed: dict[ExecutionId, None] = {}
        self._opened = anyio.Event()

    async def outputs(self, execution_id: ExecutionId, ops: list[OutputOp]) -> None:
        """Take outputs from the cell; returns once they are stored.

        :raises NotFound: if no such execution is open
        """
        execution = await self._of(execution_id)
        async with execution.order:
            if execution.finished.is_set():
                raise Conflict(f"the execution {execution_id!r} is finished")
            for op in ops:
                await execution.sink(op)

    async def finish(self, execution_id: ExecutionId, result: ExecutionResult) -> None:
        """:raises NotFound: if no such execution is open"""
        execution = await self._of(execution_id)
        async with execution.order:
            execution.finish(result)

    async def wait(
        self, execution_id: ExecutionId, sink: OutputSink, *, deadline: float | None, listeners: Callable[[], int]
    ) -> ExecutionResult:
        """Wait for the cell's result; ``listeners`` counts who follows the session's stream, the cell among them."""
        execution = self._open[execution_id] = _Open(sink)
        self._opened.set()
        self._opened = anyio.Event()
        try:
            with anyio.move_on_after(deadline):
                alone = 0.0
                while not execution.finished.is_set():
                    with anyio.move_on_after(_WATCH_SECONDS):
                        await execution.finished.wait()
                    alone = 0.0 if listeners() else alone + _WATCH_SECONDS
                    if alone > _ALONE_SECONDS:
                        execution.finish(
                            ExecutionResult(status="dead", detail="the cell that ran this code no longer listens")
                        )
            return execution.result or ExecutionResult(
                status="timeout", detail=f"no result came from the cell within {deadline:g} s"
            )
        finally:
            execution.finished.set()
            del self._open[execution_id]
            self._closed[execution_id] = None
            if len(self._closed) > _CLOSED_KEPT:
                del self._closed[next(iter(self._closed))]

    async def _of(self, execution_id: ExecutionId) -> _Open:
        with anyio.move_on_after(_OPENING_SECONDS):
            while execution_id not in self._open and execution_id not in self._closed:
                await self._opened.wait()
        execution = self._open.get(execution_id)
        if execution is None:
            raise NotFound("open execution", execution_id)
        return execution


class InCellExecutor:
    """``ports.Executor`` for a session whose code runs in the cell that started it."""

    def __init__(
        self,
        executions: InCellExecutions,
        session_id: SessionId,
        *,
        kernel_name: str,
        listeners: Callable[[SessionId], int],
        beside: Callable[[], Awaitable[Executor]],
    ) -> None:
        """``beside``: what looks into the same kernel, or raises ``KernelError``."""
        self._beside = beside
        self._executions = executions
        self._session_id = session_id
        self._kernel_name = kernel_name
        self._listeners = listeners

    @property
    def kernel_name(self) -> str:
        return self._kernel_name

    @property
    def place(self) -> Place:
        return "in_cell"

    @property
    def language(self) -> str:
        return "python"

    async def execute(
        self,
        code: str,
        *,
        execution_id: ExecutionId,
        on_output: OutputSink,
        deadline: float | None = None,
        ask_input: AskInput | None = None,
    ) -> ExecutionResult:
        """``ask_input`` is not used: code that asks for a line asks the cell's own front end."""
        return await self._executions.wait(
            execution_id, on_output, deadline=deadline, listeners=lambda: self._listeners(self._session_id)
        )

    async def variables(self, names: Sequence[str] | None = None) -> Variables:
        return await (await self._beside()).variables(names)

    async def surroundings(self) -> Surroundings:
        return await (await self._beside()).surroundings()

    async def interrupt(self) -> None:
        """The user interrupts the cell; the server has no other way to."""

    async def aclose(self) -> None:
        """The kernel is the user's; nothing to let go of."""
