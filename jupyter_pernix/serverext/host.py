"""``ports.TurnHost``: what a Run may do to its session."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import anyio
import msgspec

from ..errors import Conflict, KernelError, ToolFailed
from ..events import Delta, Event, Stored, TurnFinished
from ..ids import CallId, ExecutionId, SessionId, TurnId
from ..ports import Executor, Notebooks, WorkerAnswer
from ..records import ApprovalAnswer, ApprovalChoice, Budget, Mode, TerminalCode
from .inputs import Inputs
from .pauses import Pauses
from .questions import Questions
from .session_kernel import SessionKernel
from .session_log import SessionLog, known_reason
from .session_record import SessionRecord
from .session_widgets import SessionWidgets

if TYPE_CHECKING:
    from ..masking import Masker

T = TypeVar("T")

STOPPED = "the server was stopped while this turn ran; what was finished is kept"


@dataclass(frozen=True, kw_only=True)
class QueuedTurn:
    """``reopened``: an earlier server began it."""

    turn_id: TurnId
    can_ask: bool
    reopened: bool = False


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a turn ends that is stopped from outside."""

    code: TerminalCode
    detail: str


class Workers(Protocol):
    """Carries out a part of a session's work in another one; see ``workers.py``."""

    async def delegate(
        self, host: "Host", call_id: CallId, *, title: str, task: str, budget: Budget
    ) -> WorkerAnswer: ...


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of a session that its turns work with."""

    log: SessionLog
    questions: Questions
    inputs: Inputs
    kernel: SessionKernel
    widgets: SessionWidgets
    record: SessionRecord
    pauses: Pauses
    workers: Workers
    notebooks: Notebooks


class Host:
    """One turn's view of its session. ``alive`` is called at each sign of life."""

    def __init__(self, turn: QueuedTurn, parts: Parts, *, alive: Callable[[], None]) -> None:
        self.turn = turn
        self.ending: Ending | None = None
        """Set before the turn is cancelled for another reason than the user's wish."""
        self.detached = False
        """Nothing that the Run still does reaches the session: it is left as it is for the next server, or has been closed."""
        self._parts = parts
        self._log = parts.log
        with suppress(Conflict):  # a space that a link leads out of has no files for us
            parts.log.around.secrets.watch(parts.log.space)
        self._alive = alive
        self._workers = 0
        self._delegating = anyio.Lock()

    @property
    def session_id(self) -> SessionId:
        return self._log.session_id

    @property
    def turn_id(self) -> TurnId:
        return self.turn.turn_id

    @property
    def space(self) -> Path:
        return self._log.space

    @property
    def mode(self) -> Mode:
        return self._log.summary.mode

    @property
    def can_ask(self) -> bool:
        return self.turn.can_ask

    @property
    def is_worker(self) -> bool:
        return self._log.summary.parent is not None

    @property
    def instructions_folder(self) -> Path | None:
        return self._log.around.instructions_folder

    @property
    def permissions_folder(self) -> Path | None:
        return self._log.around.permissions_folder

    @property
    def kept_folder(self) -> Path | None:
        return self._log.around.kept_folder

    @property
    def home(self) -> Path:
        return self._log.around.home

    @property
    def sandbox(self) -> bool:
        return self._log.summary.sandbox

    @property
    def network(self) -> bool:
        return self._log.summary.network

    def sandboxed(self, command: Sequence[str], *, network: bool) -> list[str]:
        log = self._log
        try:
            return log.around.sandboxes.command(log.session_id, log.space, command, network=network and self.network)
        except KernelError as exc:
            raise ToolFailed(f"Not run: {exc}") from exc

    @property
    def masker(self) -> "Masker":
        return self._log.around.secrets.masker

    async def append(self, *events: Event) -> list[Stored]:
        if self.detached:
            seq, now = self._log.summary.last_seq, datetime.now(UTC)
            return [Stored(seq=seq, recorded_at=now, event=event) for event in events]
        return await self._log.append(*(self._ended(event) for event in events))

    def pass_on(self, delta: Delta) -> None:
        self._alive()
        if not self.detached:
            self._log.around.bus.pass_on(delta)

    async def move(self, reason: str) -> None:
        if self.detached:
            return
        if reason == "turn_ending":
            await self._parts.widgets.save(self.turn_id)
        if reason == "turn_ended":
            # Whoever waits for the session to be idle finds the run notebook written.
            await self._parts.record.write()
        await self._log.move(known_reason(reason), turn_id=self.turn_id)
        await self._parts.pauses.show(self.turn_id)

    # ---- waiting --------------------------------------------------------------------------------------------------------

    async def ask(
        self,
        *,
        call_id: str,
        question: str,
        detail: str,
        choices: list[ApprovalChoice],
        why: str = "",
        rules: Sequence[str] = (),
        effects: Sequence[str] = (),
    ) -> ApprovalAnswer:
        answer = None
        if self.turn.reopened:
            answer = await self._waiting(lambda: self._parts.questions.ask_again(call_id))
        if answer is None:
            answer = await self._waiting(
                lambda: self._parts.questions.ask(
                    self.turn_id,
                    call_id=call_id,
                    question=question,
                    detail=detail,
                    choices=choices,
                    why=why,
                    rules=rules,
                    effects=effects,
                )
            )
        await self._parts.pauses.show(self.turn_id)
        return answer

    async def ask_input(self, execution_id: ExecutionId, prompt: str, password: bool) -> str | None:
        text = await self._parts.inputs.ask(self.turn_id, execution_id, prompt, password)
        await self._parts.pauses.show(self.turn_id)
        return text

    @property
    def pause_wanted(self) -> bool:
        return self._parts.pauses.wanted

    async def pause(self) -> None:
        await self._waiting(lambda: self._parts.pauses.wait(self.turn_id))

    async def _waiting(self, wait: Callable[[], Awaitable[T]]) -> T:
        """A turn that waits for a person when the server stops goes on waiting, for the next server."""
        try:
            return await wait()
        except anyio.get_cancelled_exc_class():
            self.detached = self.detached or self._log.stays_waiting
            raise

    # ---- workers --------------------------------------------------------------------------------------------------------

    async def delegate(self, *, call_id: str, title: str, task: str, budget: Budget) -> WorkerAnswer:
        if self.is_worker:
            raise ToolFailed("Not done: a worker cannot have workers of its own. Do it yourself.")
        async with self._delegating:
            if self._workers == 0:
                await self.move("workers_started")
            self._workers += 1
        try:
            return await self._parts.workers.delegate(self, CallId(call_id), title=title, task=task, budget=budget)
        finally:
            with anyio.CancelScope(shield=True):
                await self._worker_done()

    async def _worker_done(self) -> None:
        async with self._delegating:
            self._workers -= 1
            if self._workers == 0 and self._log.summary.state == "awaiting_workers":
                await self.move("workers_done")

    # ---- the world ------------------------------------------------------------------------------------------------------

    async def executor(self) -> Executor:
        return await self._parts.kernel.executor()

    async def running_executor(self) -> Executor | None:
        return await self._parts.kernel.running()

    @property
    def notebooks(self) -> Notebooks:
        return self._parts.notebooks

    def side_file(self, name: str) -> tuple[Path, str]:
        """The second is the path below ``/pernix/api/``."""
        return self._parts.kernel.side_file(name)

    def _ended(self, event: Event) -> Event:
        """A turn that is cancelled for another reason than the user's wish says which."""
        if not isinstance(event, TurnFinished) or event.code is not TerminalCode.CANCELLED:
            return event
        ending = self.ending
        if ending is None and self._log.around.stopping:
            ending = Ending(code=TerminalCode.INTERRUPTED, detail=STOPPED)
        if ending is None:
            return event
        return msgspec.structs.replace(event, code=ending.code, detail=ending.detail)
