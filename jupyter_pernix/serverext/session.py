"""One live session: its queue of turns. Its log, its questions, its kernel and its record have files of their own.

Rule: a turn that ends in any way is closed in the log before the next one begins.
"""

import logging
from collections import deque

import anyio

from ..errors import Conflict, NotFound, PernixError, StoreError
from ..events import Event, SessionRenamed, SessionStateChanged, Stored, TurnFinished, TurnSubmitted
from ..ids import ApprovalId, SessionId, TurnId, new_turn_id
from ..records import Origin, SessionState, TerminalCode, TurnAccepted, Usage
from . import naming
from .background import start_guarded
from .closing import closing_events
from .host import STOPPED, Host, QueuedTurn
from .questions import Question, Questions
from .session_kernel import SessionKernel
from .session_log import SessionLog
from .session_record import SessionRecord
from .surroundings import Surroundings

log = logging.getLogger(__name__)

_CLOSE_AGAIN_SECONDS = 2.0
_NOT_BEGUN = "the server was stopped before this turn began"
_WITHDRAWN = "withdrawn before it began"
_GO_ON = (
    "Go on with the previous request: its turn was interrupted before it was finished. "
    "Look at what has been done so far and do the rest."
)


class Session:
    """One durable conversation, live in this process."""

    def __init__(self, session_id: SessionId, around: Surroundings, questions: dict[ApprovalId, Question]) -> None:
        self.session_id = session_id
        self.around = around
        self.log = SessionLog(session_id, around)
        self.questions = Questions(self.log, questions)
        self.kernel = SessionKernel(self.log)
        self.record = SessionRecord(self.log)
        self._submitting = anyio.Lock()
        self._queue: deque[QueuedTurn] = deque()
        self._active = False
        self._settled = False
        self._current: QueuedTurn | None = None
        self._scope: anyio.CancelScope | None = None

    @property
    def busy(self) -> bool:
        """A turn runs or waits. It is over once the session is idle, though its task may still be tidying up."""
        return bool(self._queue) or (self._active and not self._settled)

    def saw(self, stored: Stored) -> None:
        """A committed event of this session, in order."""
        event = stored.event
        if isinstance(event, SessionStateChanged) and event.after is SessionState.IDLE_READY:
            self._settled = self._current is not None and event.turn_id == self._current.turn_id
        self.log.saw(stored)

    def forget_fold(self) -> None:
        """Free the memory; the next ``fold`` reads the log again."""
        if not self._active:
            self.log.forget_fold()

    # ---- turns ----------------------------------------------------------------------------------------------------------

    async def submit(self, text: str, *, origin: Origin, can_ask: bool) -> TurnAccepted:
        """Store the user's message and queue its turn; a session without a title gets one from it.

        :raises Conflict: if the session is archived
        """
        async with self._submitting:
            if self.log.summary.archived:
                raise Conflict("the session is archived; take it out of the archive first")
            if self.around.stopping:
                raise Conflict("the server is stopping")
            turn_id = new_turn_id()
            submitted = TurnSubmitted(session_id=self.session_id, turn_id=turn_id, text=text, origin=origin)
            async with self.around.naming:
                stored = await self.log.append(submitted, *self._first_title(text))
            self._queue.append(QueuedTurn(turn_id=turn_id, can_ask=can_ask))
            if not self._active:
                self._active = True
                start_guarded(self.around.tasks, self._run_queue)
            return TurnAccepted(turn_id=turn_id, seq=stored[0].seq)

    def _first_title(self, text: str) -> list[Event]:
        summary = self.log.summary
        if summary.title:
            return []
        title = naming.title_from(text)
        path = summary.record_path
        if summary.turns == 0:
            path = self.record.free_path(summary.space_root, title)
        return [SessionRenamed(session_id=self.session_id, title=title, record_path=path)]

    async def resume(self, *, origin: Origin = "api") -> TurnAccepted:
        """Submit a turn that goes on after the last one.

        :raises Conflict: if there is nothing to go on with
        """
        turns = (await self.log.fold()).view.turns
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
                await self.log.append(self._ended(turn_id, TerminalCode.CANCELLED, _WITHDRAWN))
                return
        if self._current is not None and self._current.turn_id == turn_id and not self._settled:
            await self._cancel_current(turn_id)
            return
        turn = (await self.log.fold()).turn(turn_id)
        if turn is None:
            raise NotFound("turn", turn_id)
        if turn.code is not None:
            raise Conflict("the turn has ended")

    async def _cancel_current(self, turn_id: TurnId) -> None:
        with anyio.CancelScope(shield=True):
            async with self.log.moving:
                if self._current is None or self._current.turn_id != turn_id or self._scope is None:
                    return
                before = self.log.summary.state
                if before in (SessionState.FINALIZING, SessionState.CANCELLING):
                    return
                if before is not SessionState.IDLE_READY:
                    await self.around.store.append([self.log.change("cancel_asked", turn_id)])
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
                await self.log.append(*left)

    async def _carry(self, queued: QueuedTurn) -> None:
        """Carry the turn to its end; while the store cannot take its end, the session is busy with trying again."""
        detail = "the turn was cancelled"
        code = TerminalCode.CANCELLED
        try:
            with anyio.CancelScope() as self._scope:
                history = await self.around.store.events(self.session_id)
                await self.around.carry(self._host(queued), queued.turn_id, history)
                code, detail = (
                    TerminalCode.INTERNAL_ERROR,
                    "the end of this turn could not be stored when it came; what was stored before is kept",
                )
        except StoreError as exc:
            code, detail = TerminalCode.INTERNAL_ERROR, str(exc)
            log.error("session %s: %s", self.session_id, exc)
        except Exception as exc:  # The edge of a turn: the session lives on.
            code, detail = TerminalCode.INTERNAL_ERROR, f"an error inside jupyter_pernix: {exc!r}"
            log.exception("session %s: turn %s failed", self.session_id, queued.turn_id)
        finally:
            self._scope = None
            with anyio.CancelScope(shield=True):
                closed = await self._close(queued.turn_id, code=code, detail=detail)
        while not closed:
            await anyio.sleep(_CLOSE_AGAIN_SECONDS)
            closed = await self._close(queued.turn_id, code=code, detail=detail)

    def _host(self, queued: QueuedTurn) -> Host:
        return Host(queued, log=self.log, questions=self.questions, kernel=self.kernel, record=self.record)

    async def _close(self, turn_id: TurnId, *, code: TerminalCode, detail: str) -> bool:
        """End in the log what the turn left open, if it did; after a turn that ended well this does nothing. False: the store does
        not take it now."""
        try:
            turn = (await self.log.fold()).turn(turn_id)
            assert turn is not None
            self.questions.drop(turn_id)
            if self.around.stopping and code is TerminalCode.CANCELLED:
                code, detail = TerminalCode.INTERRUPTED, STOPPED
            events = closing_events(self.session_id, turn, code=code, detail=detail, execution="cancelled")
            state = self.log.summary.state
            if events:
                await self.log.append(*events)
                await self.record.write()
            if state is not SessionState.IDLE_READY:
                await self.log.move("recovered", turn_id=turn_id)
        except StoreError as exc:
            log.error("session %s: turn %s could not be closed: %s", self.session_id, turn_id, exc)
            return False
        except PernixError:
            log.exception("session %s: turn %s could not be closed", self.session_id, turn_id)
        return True
