"""Run code in one kernel, to its end and with everything it shows.

How one execution is carried to its end is told in ``supervision.py``, how its outputs reach the listener in ``telling.py``, and what
still comes of it afterwards in ``late.py``. Here: one execution after the other, and what becomes of the kernel's process.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

import anyio

from ..errors import KernelDied, KernelError
from ..ids import ExecutionId
from ..ports import AskInput, OutputSink, Surroundings
from ..records import JSON, ExecutionResult, Place, Variables
from . import inspection
from .automagic import without_automagic
from .bundles import Caps
from .connection import Connection, Context
from .execution import EXIT_CODE, SHELL_LINE, Execution
from .late import OnLate, Past
from .outputs import OutputFold
from .process import KernelProcess
from .supervision import Supervision
from .survivors import sentence
from .telling import DELIVERY, MaskerNow, SideFile, Telling

log = logging.getLogger(__name__)

__all__ = ["FRESH", "KernelExecutor", "OnLate", "OnRestart", "SideFile"]

OnRestart = Callable[[str], Awaitable[None]]
"""Told, once for each loss and as soon as it is noticed, that the variables of the kernel are gone, and why."""

_POLL = 0.5
_AUTORESTART = 10.0

FRESH = "The kernel was started afresh before this: all variables and imports of earlier code are gone."
GONE = "All variables and imports of earlier code are gone."


class KernelExecutor:
    """Implements ``ports.Executor``; made by ``provision.Kernels``."""

    def __init__(
        self,
        process: KernelProcess,
        connection: Connection,
        *,
        context: Context,
        place: Place = "own",
        interrupt_grace: float = 5.0,
        patience: float = 120.0,
        caps: Caps | None = None,
        side_file: SideFile | None = None,
        masker: MaskerNow | None = None,
        on_late: OnLate | None = None,
        on_restart: OnRestart | None = None,
        automagic: bool = False,
    ) -> None:
        """``interrupt_grace``: seconds that code has to end after an interrupt before the next, stronger measure. ``patience``:
        seconds that code waits for the user's own code in an attached kernel. ``automagic``: as the kernel is set; else never.
        ``masker``: what no side file may hold."""
        self._automagic = automagic
        self.on_restart = on_restart
        self._process = process
        self._connection: Connection | None = connection
        self._identity = process.identity
        self._context = context
        self._place: Place = place
        self._grace = interrupt_grace
        self.patience = patience
        self._caps = caps if caps is not None else Caps()
        self._side_file = side_file
        self._masker = masker
        self._lock = anyio.Lock()
        self._past = Past(on_late)
        connection.listener = self._past.hear
        self._news = ""
        self._generation = 0
        """Counts the processes."""
        self._told_loss_of = -1
        self.survivors: list[str] = []
        """Processes that outlive the kernel, known once it was shut down."""
        self._running: Execution | None = None
        self._asks = False
        """The code that runs may ask for lines."""
        self._supervision: Supervision | None = None
        self._turn: anyio.CancelScope | None = None
        """In which an execution waits for code of others in an attached kernel to end."""
        self._closed = False

    @property
    def on_late(self) -> OnLate | None:
        return self._past.on_late

    @on_late.setter
    def on_late(self, told: OnLate | None) -> None:
        self._past.on_late = told

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
        """As ``ports.Executor.execute``; calls wait for each other. The deadline counts from when the kernel takes it up. In an attached
        kernel the code is handed over when nobody else's runs; when that takes too long it is not run.

        :raises KernelError: if there is no kernel and none can be started
        """
        async with self._lock:
            prologue = await self._make_ready()
            if self._place == "attached" and self._connected().busy:
                waited = await self._wait_turn(self._connected())
                if waited is not None:
                    return waited
                prologue = await self._make_ready() or prologue
            self._asks = ask_input is not None
            execution = self._send(code, execution_id, on_output, deadline)
            supervision = self._supervision = Supervision(
                execution,
                self._process,
                self._connected(),
                place=self._place,
                past=self._past,
                grace=self._grace,
                ask_input=ask_input,
            )
            self._connected().listener = supervision.take
            telling = Telling(execution, self._past, self._side_file, self._masker)
            try:
                await supervision.carry(telling, deadline, when_stuck=self._replace)
            except anyio.get_cancelled_exc_class():
                with anyio.move_on_after(3 * self._grace + DELIVERY, shield=True):
                    await supervision.carry(telling, 0.0, interrupter="cancel", when_stuck=self._replace)
                raise
            finally:
                self._running = self._supervision = None
                if self._connection is not None:
                    self._connection.listener = self._past.hear
                    self._past.remember(execution.request_id, execution.fold)
            await self._after(execution)
            return execution.result(prologue)

    async def interrupt(self) -> None:
        """Interrupt the code that runs here now, if any; its result then says ``cancelled``. Code of others is left alone."""
        if self._turn is not None:
            self._turn.cancel()
        execution, supervision = self._running, self._supervision
        if execution is not None and supervision is not None and supervision.may_interrupt:
            execution.interrupter = execution.interrupter or "request"
            await supervision.interrupt()

    @property
    def waits(self) -> bool:
        """Code waits here for other code in an attached kernel to end."""
        return self._turn is not None

    @property
    def busy(self) -> bool:
        """Code runs in the kernel, for us or, if it is an attached one, for somebody else."""
        return self._running is not None or (self._connection is not None and self._connection.busy)

    async def inspect_expression(self, expression: str, *, before: str = "", deadline: float = 5.0) -> JSON:
        """The value of a Python ``expression`` that is a ``str`` of a JSON object, parsed; evaluated in the user's namespace,
        beside running code where the kernel has subshells. Nothing is counted, shown or kept of it. ``before``: code to be run before.

        :raises KernelError: if there is no kernel, no answer within ``deadline`` seconds, an error, or the kernel is busy and has
            no subshells
        """
        connection = self._connection
        if self._closed or connection is None or not await self._process.is_alive():
            raise KernelError("there is no running kernel to look into")
        asks = self._asks or self._running is None  # a cell of somebody else's usually may
        return await connection.side.evaluate(
            expression, busy=self.busy, cell=connection.cell, deadline=deadline, before=before, asks=asks
        )

    async def variables(self, names: Sequence[str] | None = None) -> Variables:
        """As ``ports.Executor.variables``."""
        looking = inspection.of(self.language)
        busy = self.busy
        answer = await self.inspect_expression(looking.variables(names), before=looking.before)
        total, variables = inspection.read_variables(answer)
        return Variables(
            kernel_name=self.kernel_name, language=self.language, busy=busy, total=total, variables=variables
        )

    async def surroundings(self) -> Surroundings:
        """As ``ports.Executor.surroundings``; of a kernel that cannot be looked into only the language."""
        if not inspection.is_known(self.language):
            return Surroundings(self.kernel_name, self.language, "", "", "", {})
        looking = inspection.of(self.language)
        answer = await self.inspect_expression(looking.surroundings(), before=looking.before)
        return inspection.read_surroundings(answer, language=self.language, kernel_name=self.kernel_name)

    def widget_state(self) -> JSON:
        """The state of the kernel's widgets, for a notebook's metadata under ``widgetstate.WIDGET_STATE``; without models, ``state``
        is empty. Of an attached kernel: of those that were opened since."""
        return self._process.widgets.saved()

    async def attend(self) -> None:
        """Pass late outputs on while nothing runs, and notice when the process is gone or another one; for a task of the owner.
        Without it that waits for the next execution."""
        while not self._closed:
            with anyio.move_on_after(1.0):
                await self._past.arrived.wait()
            async with self._lock:
                if not self._closed:
                    if self._connection is not None:
                        await self._past.drain(self._connection)
                    # who closes their notebook with its kernel is told at the next use what stands in its place
                    if self._place == "own" or not self._process.is_leaving:
                        await self._notice_loss()

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        busy = self._running is not None
        with anyio.move_on_after(15, shield=True):
            self._disconnect()
            await self._process.shutdown(now=busy)
            self.survivors = await self._process.survivors()
        if self.survivors:
            log.warning("kernel %r was shut down. %s", self.kernel_name, sentence(self.survivors))

    # ---- the kernel -----------------------------------------------------------------------------------------------------

    async def _make_ready(self) -> str:
        """See to it that there is a kernel and a connection to it; what has to be said about that."""
        if self._closed:
            raise KernelDied(self.kernel_name, "it was shut down")
        if await self._is_the_same() and self._connection is not None:
            await self._past.drain(self._connection)
            news, self._news = self._news, ""
            return news
        await self._notice_loss()
        alive, same = await self._process.is_alive(), self._process.identity == self._identity
        how = "" if alive else f" The one before: it {await self._process.exit_sentence()}."
        self._news = ""
        return await self._renew(start=not alive or same, how=how)

    async def _is_the_same(self) -> bool:
        """The process that has the variables runs."""
        return await self._process.is_alive() and self._process.identity == self._identity

    async def _renew(self, *, start: bool, how: str = "") -> str:
        """Connect to a process that is not the one before; ``start`` it unless somebody else did. What has to be said about that."""
        self._disconnect()
        if start and self._place == "own":
            self._connection = await self._process.restart(self._context)
        else:
            with anyio.move_on_after(_AUTORESTART):
                while not await self._process.is_alive():  # noqa: ASYNC110 - the owner's restarter tells nobody
                    await anyio.sleep(_POLL)
            self._connection = await self._process.connect(self._context)
        self._connection.listener = self._past.hear
        self._identity = self._process.identity
        self._generation += 1
        return f"{FRESH}{how} {sentence(await self._process.survivors())}".strip()

    async def _notice_loss(self) -> None:
        """Tell when the process that had the variables is gone, or another one has taken its place."""
        if self._told_loss_of >= self._generation or self._closed:
            return
        if not await self._process.is_alive():
            await self._tell_loss(f"The kernel died: it {await self._process.exit_sentence()}.")
        elif self._process.identity != self._identity:
            await self._tell_loss("The kernel was restarted.")

    async def _tell_loss(self, why: str, lost: int | None = None) -> None:
        """``lost``: which process, if it is not the last one."""
        lost = self._generation if lost is None else lost
        if self._told_loss_of < lost:
            self._told_loss_of = lost
            if self.on_restart is not None:
                left = sentence(await self._process.survivors())
                await self.on_restart(f"{why} {GONE} {left}".strip())

    def _connected(self) -> Connection:
        assert self._connection is not None
        return self._connection

    def _disconnect(self) -> None:
        """Whatever comes next is another process: nothing of the old one is waited for any more."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._past.forget()

    # ---- one execution --------------------------------------------------------------------------------------------------

    async def _wait_turn(self, connection: Connection) -> ExecutionResult | None:
        """Until nobody else's code runs, or the process is another; a result when the wait was too long or was ended."""
        limit = anyio.move_on_after(self.patience)
        with anyio.CancelScope() as self._turn, limit:
            while connection.busy and await self._is_the_same():
                await connection.heard(1.0)
                await self._past.drain(connection)
        stopped, self._turn = self._turn.cancelled_caught, None
        if stopped:
            detail = "It was stopped while it waited for other code in this kernel to end; it was not run."
            return ExecutionResult(status="cancelled", detail=detail)
        if limit.cancelled_caught:
            detail = f"Other code has been running in this kernel for more than {self.patience:g} s; it was not run."
            return ExecutionResult(status="not_run", detail=detail)
        return None

    def _send(self, code: str, execution_id: ExecutionId, on_output: OutputSink, deadline: float | None) -> Execution:
        fold = OutputFold(execution_id, displays=self._past.displays, caps=self._caps, place=self._place_of())
        execution = Execution(execution_id, code, fold=fold, on_output=on_output)
        execution.deadline = deadline
        python = self.language == "python"
        values = EXIT_CODE if python and SHELL_LINE.search(code) else None
        sent = without_automagic(code) if python and not self._automagic else code
        execution.request_id = self._connected().send_code(sent, values, asks=self._asks)
        self._running = execution
        return execution

    async def _after(self, execution: Execution) -> None:
        """The process may not have outlived it."""
        if execution.stopped_kernel and self._place == "own":
            self._disconnect()
            await self._tell_loss("The code ended the kernel.")
        elif execution.ending in ("dead", "restarted"):
            await self._notice_loss()

    async def _replace(self) -> None:
        """End the process that cannot be interrupted, and have the next execution know."""
        if self._place != "own":
            return
        lost = self._generation
        with contextlib.suppress(KernelError):  # the next execution tries again, and tells
            self._news = await self._renew(start=True)
        await self._tell_loss("The kernel was restarted, because code in it did not heed interrupts.", lost)

    def _place_of(self) -> Callable[[str], str] | None:
        side_file = self._side_file
        return None if side_file is None else lambda name: side_file(name)[1]
