"""One live session: its queue of turns, its state, its kernel, its open questions. All effects pass through its log.

Rules: the state is what the log says, and changes under one lock together with the events that go with the change; storing is
never cut short by a cancellation; a turn that ends in any way is closed in the log before the next one begins.
"""

import logging
from collections import deque
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import cast

import anyio
import anyio.lowlevel
import anyio.to_thread

from ..agent.states import REASONS, Reason, advance
from ..errors import Conflict, InvalidInput, InvalidTransition, NotFound, PernixError, StoreError
from ..events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    ExecutionOutput,
    ProblemNoticed,
    SessionRenamed,
    SessionStateChanged,
    Stored,
    TurnFinished,
    TurnSubmitted,
)
from ..fold import SessionFold
from ..ids import ApprovalId, CallId, ExecutionId, SessionId, TurnId, new_approval_id, new_turn_id
from ..ports import Executor
from ..records import (
    ApprovalAnswer,
    ApprovalChoice,
    CallView,
    Origin,
    OutputOp,
    SessionState,
    SessionSummary,
    TerminalCode,
    TurnAccepted,
    Usage,
)
from . import naming
from .background import start_guarded
from .closing import closing_events, usage_of
from .incell import InCellExecutor
from .surroundings import Surroundings

log = logging.getLogger(__name__)

_RECORD_SECONDS = 20.0
_STOPPED = "the server was stopped while this turn ran; what was finished is kept"
_NOT_BEGUN = "the server was stopped before this turn began"
_WITHDRAWN = "withdrawn before it began"
_GO_ON = (
    "Go on with the previous request: its turn was interrupted before it was finished. "
    "Look at what has been done so far and do the rest."
)


@dataclass(frozen=True, kw_only=True)
class QueuedTurn:
    turn_id: TurnId
    can_ask: bool


class Question:
    """An approval that a turn waits for."""

    def __init__(self, session: "Session", event: ApprovalRequested) -> None:
        self.session = session
        self.event = event
        self.answer: ApprovalAnswer | None = None
        self.answered = anyio.Event()


class Session:
    """One durable conversation, live in this process."""

    def __init__(self, session_id: SessionId, around: Surroundings, questions: dict[ApprovalId, Question]) -> None:
        self.session_id = session_id
        self.around = around
        self._questions = questions
        self._fold: SessionFold | None = None
        self._missed: list[Stored] | None = None
        self._loading = anyio.Lock()
        self._moving = anyio.Lock()
        self._submitting = anyio.Lock()
        self._queue: deque[QueuedTurn] = deque()
        self._active = False
        self._settled = False
        self._current: QueuedTurn | None = None
        self._scope: anyio.CancelScope | None = None
        self._executor: Executor | None = None
        self._executor_for = ""
        self._executor_lock = anyio.Lock()

    # ---- what is --------------------------------------------------------------------------------------------------------

    @property
    def summary(self) -> SessionSummary:
        summary = self.around.store.summary(self.session_id)
        assert summary is not None
        return summary

    @property
    def busy(self) -> bool:
        """A turn runs or waits. It is over once the session is idle, though its task may still be tidying up."""
        return bool(self._queue) or (self._active and not self._settled)

    @property
    def space(self) -> Path:
        return (self.around.root / self.summary.space_root).resolve()

    def saw(self, stored: Stored) -> None:
        """A committed event of this session, in order."""
        event = stored.event
        if isinstance(event, SessionStateChanged) and event.after is SessionState.IDLE_READY:
            self._settled = self._current is not None and event.turn_id == self._current.turn_id
        if self._fold is not None:
            self._fold.add(stored)
        elif self._missed is not None:
            self._missed.append(stored)

    async def fold(self) -> SessionFold:
        """The session as the whole log tells it; kept up to date from now on."""
        async with self._loading:
            if self._fold is None:
                missed = self._missed = []
                fold = SessionFold.of(self.session_id, await self.around.store.events(self.session_id))
                for stored in missed:
                    fold.add(stored)
                self._fold, self._missed = fold, None
            return self._fold

    def forget_fold(self) -> None:
        """Free the memory; the next ``fold`` reads the log again."""
        if not self._active and not self._loading.locked():
            self._fold = None

    # ---- storing --------------------------------------------------------------------------------------------------------

    async def append(self, *events: Event) -> list[Stored]:
        with anyio.CancelScope(shield=True):
            return await self.around.store.append(events)
        raise AssertionError("a shield by itself cancels nothing")

    async def move(self, reason: Reason, *events: Event, turn_id: TurnId | None = None) -> list[Stored]:
        """Store ``events`` and the change of state as one.

        :raises InvalidTransition: if the table has no entry; nothing is stored then
        """
        stored: list[Stored] = []
        try:
            with anyio.CancelScope(shield=True):
                async with self._moving:
                    stored = await self.around.store.append([*events, self._change(reason, turn_id)])
        except InvalidTransition:
            log.info("session %s: %r was refused in state %s", self.session_id, reason, self.summary.state)
            # A turn that was cancelled meanwhile shall see the cancellation, not the refusal that came of it.
            await anyio.lowlevel.checkpoint()
            raise
        return stored

    def _change(self, reason: Reason, turn_id: TurnId | None) -> SessionStateChanged:
        before = self.summary.state
        return SessionStateChanged(
            session_id=self.session_id, turn_id=turn_id, before=before, after=advance(before, reason), reason=reason
        )

    # ---- turns ----------------------------------------------------------------------------------------------------------

    async def submit(self, text: str, *, origin: Origin, can_ask: bool) -> TurnAccepted:
        """Store the user's message and queue its turn; a session without a title gets one from it.

        :raises Conflict: if the session is archived
        """
        async with self._submitting:
            if self.summary.archived:
                raise Conflict("the session is archived; take it out of the archive first")
            if self.around.stopping:
                raise Conflict("the server is stopping")
            turn_id = new_turn_id()
            submitted = TurnSubmitted(session_id=self.session_id, turn_id=turn_id, text=text, origin=origin)
            async with self.around.naming:
                stored = await self.append(submitted, *self._first_title(text))
            self._queue.append(QueuedTurn(turn_id=turn_id, can_ask=can_ask))
            if not self._active:
                self._active = True
                start_guarded(self.around.tasks, self._run_queue)
            return TurnAccepted(turn_id=turn_id, seq=stored[0].seq)

    def _first_title(self, text: str) -> list[Event]:
        summary = self.summary
        if summary.title:
            return []
        title = naming.title_from(text)
        path = summary.record_path
        if summary.turns == 0:
            path = self.free_record_path(summary.space_root, title)
        return [SessionRenamed(session_id=self.session_id, title=title, record_path=path)]

    def free_record_path(self, space_root: str, title: str) -> str:
        around = self.around
        used = {summary.record_path for summary in around.store.summaries()}
        return naming.record_path(
            space_root=space_root,
            records_dir=around.settings.records_dir,
            title=title,
            day=date.today(),
            taken=lambda path: path in used or (around.root / path).exists(),
        )

    async def resume(self, *, origin: Origin = "api") -> TurnAccepted:
        """Submit a turn that goes on after the last one.

        :raises Conflict: if there is nothing to go on with
        """
        turns = (await self.fold()).view.turns
        if turns and turns[-1].code is None:
            raise Conflict("a turn is running or waiting already")
        if not turns or turns[-1].code is TerminalCode.ANSWERED:
            raise Conflict("the last turn was not interrupted; there is nothing to go on with")
        return await self.submit(_GO_ON, origin=origin, can_ask=True)

    async def cancel(self, turn_id: TurnId) -> None:
        """Stop a running turn, withdraw a waiting one; of one that is ending already, nothing.

        :raises NotFound: if the session has no such turn
        :raises Conflict: if it has ended
        """
        for queued in self._queue:
            if queued.turn_id == turn_id:
                self._queue.remove(queued)
                await self.append(self._ended(turn_id, TerminalCode.CANCELLED, _WITHDRAWN))
                return
        if self._current is not None and self._current.turn_id == turn_id and not self._settled:
            await self._cancel_current(turn_id)
            return
        turn = (await self.fold()).turn(turn_id)
        if turn is None:
            raise NotFound("turn", turn_id)
        if turn.code is not None:
            raise Conflict("the turn has ended")

    async def _cancel_current(self, turn_id: TurnId) -> None:
        with anyio.CancelScope(shield=True):
            async with self._moving:
                if self._current is None or self._current.turn_id != turn_id or self._scope is None:
                    return
                before = self.summary.state
                if before in (SessionState.FINALIZING, SessionState.CANCELLING):
                    return
                if before is not SessionState.IDLE_READY:
                    await self.around.store.append([self._change("cancel_asked", turn_id)])
                self._scope.cancel()

    def _ended(self, turn_id: TurnId, code: TerminalCode, detail: str) -> TurnFinished:
        return TurnFinished(session_id=self.session_id, turn_id=turn_id, code=code, detail=detail, usage=Usage())

    async def _run_queue(self) -> None:
        try:
            while self._queue:
                self._current, self._settled = self._queue.popleft(), False
                await self._carry(self._current)
        finally:
            self._active, self._current = False, None
            left = [self._ended(turn.turn_id, TerminalCode.INTERRUPTED, _NOT_BEGUN) for turn in self._queue]
            self._queue.clear()
            if left:
                await self.append(*left)

    async def _carry(self, queued: QueuedTurn) -> None:
        # Imported here: the host refers to the session, and the session makes the host.
        from .host import Host

        detail = "the turn was cancelled"
        code = TerminalCode.CANCELLED
        try:
            with anyio.CancelScope() as self._scope:
                history = await self.around.store.events(self.session_id)
                await self.around.carry(Host(self, queued), queued.turn_id, history)
                code, detail = TerminalCode.INTERNAL_ERROR, "the turn ended without saying how"
        except StoreError as exc:
            code, detail = TerminalCode.INTERNAL_ERROR, str(exc)
            log.error("session %s: %s", self.session_id, exc)
        except Exception as exc:  # The edge of a turn: the session lives on.
            code, detail = TerminalCode.INTERNAL_ERROR, f"an error inside jupyter_pernix: {exc!r}"
            log.exception("session %s: turn %s failed", self.session_id, queued.turn_id)
        finally:
            self._scope = None
            with anyio.CancelScope(shield=True):
                await self._close(queued.turn_id, code=code, detail=detail)

    async def _close(self, turn_id: TurnId, *, code: TerminalCode, detail: str) -> None:
        """End in the log what the turn left open, if it did; after a turn that ended well this does nothing."""
        try:
            turn = (await self.fold()).turn(turn_id)
            assert turn is not None
            for approval_id in [key for key, asked in self._questions.items() if asked.event.turn_id == turn_id]:
                del self._questions[approval_id]
            if self.around.stopping and code is TerminalCode.CANCELLED:
                code, detail = TerminalCode.INTERRUPTED, _STOPPED
            events = closing_events(self.session_id, turn, code=code, detail=detail, execution="cancelled")
            state = self.summary.state
            if events:
                await self.append(*events)
                await self.write_record()
            if state is not SessionState.IDLE_READY:
                await self.move("recovered", turn_id=turn_id)
        except PernixError:  # The store is gone; the next start closes the turn.
            log.exception("session %s: turn %s could not be closed", self.session_id, turn_id)

    def as_stopped(self, event: Event) -> Event:
        """A turn that is cancelled because the server stops was interrupted, not cancelled."""
        if self.around.stopping and isinstance(event, TurnFinished) and event.code is TerminalCode.CANCELLED:
            return TurnFinished(
                session_id=event.session_id,
                turn_id=event.turn_id,
                code=TerminalCode.INTERRUPTED,
                detail=_STOPPED,
                usage=event.usage,
            )
        return event

    # ---- the record -----------------------------------------------------------------------------------------------------

    async def write_record(self) -> None:
        """Write the run notebook from the log; a failure is noticed in the log and on the screen, nothing more."""
        path = self.around.root / self.summary.record_path
        with anyio.CancelScope(shield=True):
            try:
                with anyio.fail_after(_RECORD_SECONDS):
                    if not self.space.is_dir():
                        # A space that the user has removed is not made again for the sake of its record.
                        raise NotFound("folder", str(self.space))
                    history = await self.around.store.events(self.session_id)
                    await anyio.to_thread.run_sync(
                        self.around.write_record, self.session_id, history, path, abandon_on_cancel=True
                    )
            except StoreError:
                log.exception("session %s: its log could not be read for the record", self.session_id)
            except (
                Exception
            ) as exc:  # The edge of foreign code on the user's files; the session matters more than its copy.
                log.warning("session %s: the run notebook was not written", self.session_id, exc_info=True)
                await self._record_failed(exc)

    async def _record_failed(self, exc: Exception) -> None:
        reason = str(exc) or type(exc).__name__
        fold = await self.fold()
        await self.append(
            ProblemNoticed(
                session_id=self.session_id,
                turn_id=fold.view.turns[-1].turn_id if fold.view.turns else None,
                text=f"The run notebook {self.summary.record_path!r} could not be written: {reason}",
                hint="The session itself is safe. Check that the folder can be written and has room; "
                "the notebook is written again after the next turn.",
            )
        )

    # ---- questions ------------------------------------------------------------------------------------------------------

    async def ask(
        self, turn_id: TurnId, *, call_id: str, question: str, detail: str, choices: list[ApprovalChoice]
    ) -> ApprovalAnswer:
        """Store the question and wait for its answer, which ``answer`` stores."""
        event = ApprovalRequested(
            session_id=self.session_id,
            turn_id=turn_id,
            call_id=CallId(call_id),
            approval_id=new_approval_id(),
            question=question,
            detail=detail,
            choices=choices,
        )
        # Known before it is stored: whoever sees it on the stream may answer at once.
        waiting = self._questions[event.approval_id] = Question(self, event)
        try:
            await self.move("approval_requested", event, turn_id=turn_id)
            await waiting.answered.wait()
        except BaseException:
            if self._questions.pop(event.approval_id, None) is not None and await self._is_open(event.approval_id):
                await self.append(self._resolved(event, ApprovalAnswer(choice="reject_once"), by="host"))
            raise
        assert waiting.answer is not None
        return waiting.answer

    async def _is_open(self, approval_id: ApprovalId) -> bool:
        with anyio.CancelScope(shield=True):
            fold = await self.fold()
        return any(approval.approval_id == approval_id for approval in fold.open_approvals())

    async def answer(self, question: Question, answer: ApprovalAnswer, *, by: str) -> None:
        """Store the answer, then let the turn go on.

        :raises InvalidInput: if the choice was not offered
        :raises Conflict: if the turn does not wait for it any more
        """
        event = question.event
        if answer.choice not in event.choices:
            raise InvalidInput("$.choice", f"{answer.choice!r} was not offered; choices: {', '.join(event.choices)}")
        if self._questions.pop(event.approval_id, None) is None:
            raise Conflict("the question has been answered already")
        try:
            await self.move("approval_resolved", self._resolved(event, answer, by=by), turn_id=event.turn_id)
        except BaseException:
            self._questions[event.approval_id] = question
            raise
        question.answer = answer
        question.answered.set()

    def _resolved(self, event: ApprovalRequested, answer: ApprovalAnswer, *, by: str) -> ApprovalResolved:
        return ApprovalResolved(
            session_id=self.session_id,
            turn_id=event.turn_id,
            call_id=event.call_id,
            approval_id=event.approval_id,
            choice=answer.choice,
            text=answer.text,
            by=by,
        )

    # ---- the kernel -----------------------------------------------------------------------------------------------------

    async def executor(self) -> Executor:
        """The session's kernel; started on first use, and again after the session was given another kernel.

        :raises KernelError: if it cannot be had
        """
        async with self._executor_lock:
            view = (await self.fold()).view
            wanted = view.kernel_name or self.around.settings.kernel_name
            if self._executor is not None and self._executor_for == wanted:
                return self._executor
            await self._let_go()
            if view.place == "in_cell":
                self._executor = InCellExecutor(
                    self.around.executions,
                    self.session_id,
                    kernel_name=wanted,
                    listeners=self.around.bus.listeners,
                )
            else:
                self._executor = await self.around.kernels.start(
                    wanted, cwd=self.space, side_file=self.side_file, on_late=self._late_output
                )
            self._executor_for = wanted
            return self._executor

    def side_file(self, name: str) -> tuple[Path, str]:
        return self.around.side_files.new(self.session_id, name)

    async def _late_output(self, execution_id: ExecutionId, op: OutputOp) -> None:
        """What code printed after its execution had ended: a thread, a timer."""
        turn_id = self._turn_of(await self.fold(), execution_id)
        if turn_id is not None:
            await self.append(
                ExecutionOutput(
                    session_id=self.session_id,
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

    async def release_kernel(self) -> None:
        """Shut down the session's kernel, if it has one."""
        async with self._executor_lock:
            await self._let_go()

    async def _let_go(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            await executor.aclose()


def known_reason(reason: str) -> Reason:
    """:raises InvalidTransition: if no state has such a reason"""
    if reason not in REASONS:
        raise InvalidTransition("in any state", reason)
    return cast(Reason, reason)


__all__ = ["Question", "QueuedTurn", "Session", "known_reason", "usage_of"]
