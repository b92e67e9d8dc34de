"""Run code in one kernel, to its end and with everything it shows.

An execution ends when the kernel has replied *and* is idle, in either order, however long that takes; or when its process is
gone, which is looked at twice a second. Outputs are read by one task and told by another, so that a slow listener never makes
the kernel's messages pile up. What an execution put out so far is kept, however it ends.
"""

import contextlib
import math
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import anyio
import zmq.asyncio

from ..errors import KernelDied, KernelError
from ..ids import ExecutionId
from ..ports import AskInput, OutputSink
from ..records import JSON, ExecutionResult, OutputOp, Place
from .bundles import Caps
from .connection import Connection, Message
from .execution import BELOW_PYTHON, EXIT_CODE, SHELL_LINE, Execution
from .outputs import Displays, OutputFold, Spill, Step
from .process import KernelProcess

SideFile = Callable[[str], tuple[Path, str]]
"""Name of a side file → its absolute path, and the path a reader is told."""

OnLate = Callable[[ExecutionId, OutputOp], Awaitable[None]]
"""Told of a change to the outputs of an execution that has ended."""

_POLL = 0.5
_FLUSH = 0.25
_REWRITE_FLUSH = 5.0
_NUDGE = 1.0
_SETTLE = 0.25
_DELIVERY = 30.0
_REMEMBERED = 50
_AUTORESTART = 10.0
_LATE_STEPS = 200

FRESH = "The kernel was started afresh before this: all variables and imports of earlier code are gone."


class KernelExecutor:
    """Implements ``ports.Executor``; made by ``provision.Kernels``."""

    def __init__(
        self,
        process: KernelProcess,
        connection: Connection,
        *,
        context: zmq.asyncio.Context,
        place: Place = "own",
        interrupt_grace: float = 5.0,
        caps: Caps | None = None,
        side_file: SideFile | None = None,
        on_late: OnLate | None = None,
    ) -> None:
        """``interrupt_grace``: seconds that code has to end after an interrupt before the next, stronger measure."""
        self.on_late = on_late
        self._process = process
        self._connection: Connection | None = connection
        self._identity = process.identity
        self._context = context
        self._place: Place = place
        self._grace = interrupt_grace
        self._caps = caps if caps is not None else Caps()
        self._side_file = side_file
        self._lock = anyio.Lock()
        self._displays = Displays()
        self._past: OrderedDict[str, OutputFold] = OrderedDict()
        self._late_steps: Counter[ExecutionId] = Counter()
        self._news = ""
        self._running: Execution | None = None
        self._closed = False

    @property
    def kernel_name(self) -> str:
        return self._process.name

    @property
    def kernel_id(self) -> str:
        """The id under which the Jupyter server lists the kernel."""
        return self._process.kernel_id

    @property
    def place(self) -> Place:
        return self._place

    @property
    def language(self) -> str:
        return self._process.language

    @property
    def closed(self) -> bool:
        return self._closed

    async def execute(
        self,
        code: str,
        *,
        execution_id: ExecutionId,
        on_output: OutputSink,
        deadline: float | None = None,
        ask_input: AskInput | None = None,
    ) -> ExecutionResult:
        """As ``ports.Executor.execute``; calls wait for each other. The deadline counts from when the kernel takes it up.

        :raises KernelError: if there is no kernel and none can be started
        """
        async with self._lock:
            prologue = await self._make_ready()
            fold = OutputFold(execution_id, displays=self._displays, caps=self._caps, place=self._place_of())
            execution = Execution(execution_id, code, fold=fold, on_output=on_output)
            execution.deadline = deadline
            asks = EXIT_CODE if self.language == "python" and SHELL_LINE.search(code) else None
            execution.request_id = self._connected().send_code(code, asks)
            self._running = execution
            try:
                await self._carry(execution, deadline)
            except anyio.get_cancelled_exc_class():
                with anyio.move_on_after(3 * self._grace + _DELIVERY, shield=True):
                    await self._carry(execution, 0.0, interrupter="cancel")
                raise
            finally:
                self._running = None
                self._remember(execution)
            return execution.result(prologue)

    async def interrupt(self) -> None:
        """Interrupt the code that runs here now, if any; its result then says ``cancelled``."""
        execution = self._running
        if execution is not None and self._may_interrupt(execution) and self._connection is not None:
            execution.interrupter = execution.interrupter or "request"
            await self._process.interrupt()
            self._connection.ask_info()

    @property
    def busy(self) -> bool:
        """Code runs in the kernel, for us or, if it is an attached one, for somebody else."""
        return self._running is not None or (self._connection is not None and self._connection.busy)

    async def inspect_expression(self, expression: str, *, deadline: float = 5.0) -> JSON:
        """The value of a Python ``expression`` that is a ``str`` of a JSON object, parsed; evaluated in the user's namespace,
        beside running code where the kernel has subshells. Nothing is counted, shown or kept of it.

        :raises KernelError: if there is no kernel, no answer within ``deadline`` seconds, an error, or the kernel is busy and has
            no subshells
        """
        connection = self._connection
        if self._closed or connection is None or not await self._process.is_alive():
            raise KernelError("there is no running kernel to look into")
        return await connection.side.evaluate(expression, busy=self.busy, cell=connection.cell, deadline=deadline)

    async def attend(self) -> None:
        """Pass late outputs on while nothing runs; for a task of the owner. Without it they wait for the next execution."""
        while not self._closed:
            connection = self._connection
            if connection is None or not await connection.readable(1.0):
                await anyio.sleep(0.05)
                continue
            async with self._lock:
                if self._connection is connection:
                    await self._drain(connection)

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        busy = self._running is not None
        with anyio.move_on_after(15, shield=True):
            self._disconnect()
            await self._process.shutdown(now=busy)

    # ---- the kernel -----------------------------------------------------------------------------------------------------

    async def _make_ready(self) -> str:
        """See to it that there is a kernel and a connection to it; what has to be said about that."""
        if self._closed:
            raise KernelDied(self.kernel_name, "it was shut down")
        alive = await self._process.is_alive()
        same = self._process.identity == self._identity
        if alive and same and self._connection is not None:
            await self._drain(self._connection)
            news, self._news = self._news, ""
            return news
        how = "" if alive else f" The one before: it {await self._process.exit_sentence()}."
        await self._renew(start=not alive or same)
        self._news = ""
        return FRESH + how

    async def _renew(self, *, start: bool) -> None:
        """Connect to a process that is not the one before; ``start`` it unless somebody else did."""
        self._disconnect()
        if start and self._place == "own":
            self._connection = await self._process.restart(self._context)
        else:
            with anyio.move_on_after(_AUTORESTART):
                while not await self._process.is_alive():  # noqa: ASYNC110 - the owner's restarter tells nobody
                    await anyio.sleep(_POLL)
            self._connection = await self._process.connect(self._context)
        self._identity = self._process.identity

    def _connected(self) -> Connection:
        assert self._connection is not None
        return self._connection

    def _disconnect(self) -> None:
        """Whatever comes next is another process: nothing of the old one is waited for any more."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._past.clear()
        self._displays = Displays()

    # ---- one execution --------------------------------------------------------------------------------------------------

    async def _carry(
        self, execution: Execution, deadline: float | None, interrupter: Literal["deadline", "cancel"] = "deadline"
    ) -> None:
        """Read, watch and tell until the execution has ended and everything is told. May be entered again after a cancellation."""
        connection = self._connected()
        execution.changed.set()
        async with anyio.create_task_group() as telling:
            telling.start_soon(self._tell, execution)
            async with anyio.create_task_group() as reading:
                reading.start_soon(self._read_iopub, execution, connection)
                reading.start_soon(self._read_shell, execution, connection)
                reading.start_soon(self._watch, execution)
                if not await self._wait_ended(execution, deadline):
                    execution.interrupter = interrupter
                    await self._stop(execution, connection)
                await self._settle(execution)
                reading.cancel_scope.cancel()
            if execution.ending == "stuck" and self._place == "own":
                await self._replace()
            execution.close()
        if execution.stopped_kernel and self._place == "own":
            self._disconnect()
        if execution.failure is not None:
            raise execution.failure

    async def _wait_ended(self, execution: Execution, deadline: float | None) -> bool:
        """False when the deadline has passed."""
        if deadline and self._place == "attached":
            await execution.began.wait()
        with anyio.move_on_after(deadline):
            await execution.ended.wait()
        return execution.ended.is_set()

    def _may_interrupt(self, execution: Execution) -> bool:
        """An interrupt would hit this execution, not what a user runs in their kernel before it."""
        return execution.began.is_set() or self._place == "own"

    async def _stop(self, execution: Execution, connection: Connection) -> None:
        """Interrupt, nudge, interrupt again; then give it up."""
        with anyio.move_on_after(_NUDGE):
            await execution.began.wait()
        if not self._may_interrupt(execution):
            execution.end("stuck", "It waits behind other code in this kernel and may still run.")
            return
        for _ in range(2):
            await self._process.interrupt()
            until = anyio.current_time() + self._grace
            while anyio.current_time() < until and not execution.ended.is_set():
                connection.ask_info()
                with anyio.move_on_after(min(_NUDGE, self._grace)):
                    await execution.ended.wait()
            if execution.ended.is_set():
                return
        own = self._place == "own"
        consequence = "The kernel was restarted: all variables are gone." if own else "It still runs."
        execution.end("stuck", f"It did not heed interrupts. {consequence}")

    async def _replace(self) -> None:
        """End the process that cannot be interrupted, and have the next execution know."""
        with contextlib.suppress(KernelError):  # the next execution tries again, and tells
            await self._renew(start=True)
            self._news = FRESH

    async def _settle(self, execution: Execution) -> None:
        """Wait for what the kernel still publishes of output that went past it."""
        if execution.failure is None and BELOW_PYTHON.search(execution.code):
            await anyio.sleep(_SETTLE)

    async def _read_iopub(self, execution: Execution, connection: Connection) -> None:
        async for message in connection.messages("iopub"):
            if message.parent_id == execution.request_id:
                execution.on_iopub(message)
            elif self._late(message):
                execution.changed.set()

    async def _read_shell(self, execution: Execution, connection: Connection) -> None:
        async for message in connection.messages("shell"):
            if message.parent_id == execution.request_id:
                execution.on_shell(message)

    async def _watch(self, execution: Execution) -> None:
        while not execution.ended.is_set():
            self._process.trim_log()
            alive = await self._process.is_alive()
            if not alive or self._process.identity != self._identity:
                await anyio.sleep(_SETTLE)  # what it still had sent is on its way
                if alive:
                    execution.end("restarted", "The kernel was restarted while the code ran; all variables are gone.")
                else:
                    await self._tell_of_death(execution)
            await anyio.sleep(_POLL)

    async def _tell_of_death(self, execution: Execution) -> None:
        how = await self._process.exit_sentence()
        tail = self._process.log_tail()
        wrote = f" It wrote: {tail[-1000:]}" if tail else ""
        execution.end(
            "dead",
            f"The kernel died: it {how}. All variables are gone; the next code will run in a fresh kernel.{wrote}",
        )

    # ---- telling --------------------------------------------------------------------------------------------------------

    async def _tell(self, execution: Execution) -> None:
        """The first of a stream at once, the rest bundled; what repeats earlier text ever more rarely as time goes by."""
        began, last = anyio.current_time(), -math.inf
        while True:
            await execution.changed.wait()
            fold = execution.fold
            if not execution.closing and not (fold.urgent and not fold.rewrites):
                elapsed = anyio.current_time() - began
                pause = min(max(_FLUSH, elapsed / 200), _REWRITE_FLUSH) if fold.rewrites else _FLUSH
                await self._pause(execution, last + pause - anyio.current_time())
            execution.changed = anyio.Event()
            closing = execution.closing
            try:
                await self._deliver(execution)
            except Exception as exc:  # the edge of this task: execute() raises it in the caller's
                execution.fail(exc)
                return
            last = anyio.current_time()
            if closing:
                return

    async def _pause(self, execution: Execution, seconds: float) -> None:
        """Wait, but not beyond something urgent or the end."""
        until = anyio.current_time() + seconds
        while (left := until - anyio.current_time()) > 0 and not execution.closing:
            if execution.fold.urgent and not execution.fold.rewrites:
                return
            with anyio.move_on_after(left):
                execution.changed = anyio.Event()
                await execution.changed.wait()

    async def _deliver(self, execution: Execution) -> None:
        execution.outbox.extend(execution.fold.take())
        self._collect_late(execution.outbox)
        await self._put_aside(execution.fold.take_spills())
        while execution.outbox:
            step = execution.outbox.popleft()
            # Half a delivery is worse than a late stop: the listener stores it.
            with anyio.CancelScope(shield=True), anyio.fail_after(_DELIVERY):
                if step.execution_id == execution.execution_id:
                    await execution.on_output(step.op)
                elif self.on_late is not None:
                    await self.on_late(step.execution_id, step.op)

    async def _put_aside(self, spills: list[Spill]) -> None:
        side_file = self._side_file
        if side_file is None or not spills:
            return

        def write() -> None:
            for spill in spills:
                path = side_file(spill.name)[0]
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a", encoding="utf-8") as file:
                    file.write(spill.text)

        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(write)

    def _place_of(self) -> Callable[[str], str] | None:
        side_file = self._side_file
        return None if side_file is None else lambda name: side_file(name)[1]

    # ---- after the end --------------------------------------------------------------------------------------------------

    def _remember(self, execution: Execution) -> None:
        if self._connection is not None:
            self._past[execution.request_id] = execution.fold
            if len(self._past) > _REMEMBERED:
                self._past.popitem(last=False)

    def _late(self, message: Message) -> bool:
        """Take a message of an execution that has ended; whether it was one."""
        fold = self._past.get(message.parent_id)
        if fold is not None:
            fold.add(message.type, message.content)
        return fold is not None

    def _collect_late(self, steps: deque[Step]) -> None:
        """What changed in executions that have ended; one that never stops putting out is forgotten."""
        for request_id, fold in list(self._past.items()):
            new = fold.take()
            steps.extend(new)
            self._late_steps[fold.execution_id] += len(new)
            if self._late_steps[fold.execution_id] > _LATE_STEPS:
                del self._past[request_id]

    async def _drain(self, connection: Connection) -> None:
        async for _ in connection.waiting("shell"):
            pass
        async for message in connection.waiting("iopub"):
            self._late(message)
        steps: deque[Step] = deque()
        self._collect_late(steps)
        for step in steps:
            if self.on_late is not None:
                await self.on_late(step.execution_id, step.op)
