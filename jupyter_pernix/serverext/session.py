"""One live session: its queue of turns, and what the user may do to them. Its log, its questions, its kernel, its record, its pauses
and the turn that runs have files of their own.

Rules: a turn that ends in any way is closed in the log before the next one begins; a turn that an earlier server left waiting for a
person goes before those queued behind it.
"""

import logging
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread

from ..errors import Conflict, NotFound
from ..events import (
    Event,
    SessionStateChanged,
    Stored,
    TurnEdited,
    TurnFinished,
    TurnSubmitted,
)
from ..ids import ApprovalId, SessionId, TurnId, new_turn_id
from ..records import ApprovalView, Origin, SessionState, TerminalCode, TurnAccepted, TurnCreate, Usage
from .background import start_guarded
from .compacting import compact
from .going_on import request_to_go_on
from .host import Ending, Parts, QueuedTurn, Workers
from .imports import first_context
from .inputs import Inputs, OpenInputs
from .live_turn import LiveTurn, end_turn
from .notebooks.attachment import Attachment
from .notebooks.service import SessionNotebooks
from .pauses import Pauses
from .questions import Question, Questions
from .session_kernel import SessionKernel
from .session_log import SessionLog
from .session_record import SessionRecord
from .session_title import first_title, give_title
from .session_widgets import SessionWidgets
from .surroundings import Surroundings

log = logging.getLogger(__name__)

_NOT_BEGUN = "the server was stopped before this turn began"
_WITHDRAWN = "withdrawn before it began"
_STOPPED_BY_USER = Ending(code=TerminalCode.CANCELLED, detail="The user stopped the turn.")
_RUNNING = "a turn is running or waiting already"


class Session:
    """One durable conversation, live in this process."""

    def __init__(
        self,
        session_id: SessionId,
        around: Surroundings,
        *,
        questions: dict[ApprovalId, Question],
        inputs: OpenInputs,
        workers: Workers,
    ) -> None:
        self.session_id = session_id
        self.around = around
        self.log = SessionLog(session_id, around)
        self.attachment = Attachment(self.log, around.notebooks)
        self.kernel = SessionKernel(self.log, self.attachment)
        self.record = SessionRecord(self.log)
        self.questions = Questions(self.log, questions, go_on=self._go_on)
        self.pauses = Pauses(self.log)
        self.parts = Parts(
            log=self.log,
            questions=self.questions,
            inputs=Inputs(self.log, inputs),
            kernel=self.kernel,
            widgets=SessionWidgets(self.log, self.kernel),
            record=self.record,
            pauses=self.pauses,
            workers=workers,
            notebooks=SessionNotebooks(self.log, self.attachment, widgets=self.kernel.widgets),
        )
        self.live: LiveTurn | None = None
        self.moved_at = self.used_at = around.clock.monotonic()
        """The clock's time of the last change of state, and of the last use of any kind."""
        self._submitting = anyio.Lock()
        self._queue: deque[QueuedTurn] = deque()
        self._waiting: QueuedTurn | None = None
        self._runner: object | None = None
        self._compacting: anyio.CancelScope | None = None
        self._title_tried = False
        self._ends: dict[TurnId, anyio.Event] = {}

    @property
    def busy(self) -> bool:
        """Work goes on, or a turn waits for its place. It is over once the session is idle, though its task may still be tidying up."""
        running = self.live is not None and not self.live.settled
        compacting = self._compacting is not None and self.log.summary.state is not SessionState.IDLE_READY
        return bool(self._queue) or running or compacting

    @property
    def waits(self) -> bool:
        """A turn that an earlier server began waits for a person."""
        return self._waiting is not None

    @property
    def attended(self) -> bool:
        """A task of this process works on it."""
        return self._runner is not None or self._compacting is not None

    def saw(self, stored: Stored) -> None:
        """A committed event of this session, in order."""
        event, live, now = stored.event, self.live, self.around.clock.monotonic()
        self.used_at = now
        if isinstance(event, SessionStateChanged):
            self.moved_at = now
        if live is not None:
            live.saw(event)
        self.log.saw(stored)

    async def put_away(self) -> None:
        """The session is archived: let go of all that it has of the machine."""
        await self.kernel.release()
        await anyio.to_thread.run_sync(self.around.sandboxes.let_go, self.session_id)

    def forget_fold(self) -> None:
        """Free the memory; the next ``fold`` reads the log again."""
        if self._runner is None:
            self.log.forget_fold()

    @asynccontextmanager
    async def at_rest(self) -> AsyncGenerator[None]:
        """No turn begins while this is open.

        :raises Conflict: if one runs or waits
        """
        async with self._submitting:
            if self.busy or self.waits:
                raise Conflict("a turn is running or waiting; stop it, or wait for its end")
            yield

    # ---- turns ----------------------------------------------------------------------------------------------------------

    async def submit(self, wanted: TurnCreate) -> TurnAccepted:
        """Store the user's message and queue its turn; a session without a title gets one from it.

        :raises Conflict: if the session is archived
        """
        async with self._submitting:
            if self.log.summary.archived:
                raise Conflict("the session is archived; take it out of the archive first")
            if self.around.stopping:
                raise Conflict("the server is stopping")
            turn_id = new_turn_id()
            self.kernel.cells_kernel_id = wanted.kernel_id
            submitted = TurnSubmitted(
                session_id=self.session_id,
                turn_id=turn_id,
                text=wanted.text,
                origin=wanted.origin,
                can_ask=wanted.can_ask,
                budget=wanted.budget,
                mentions=wanted.mentions,
            )
            async with self.around.naming:
                stored = await self.log.append(submitted, *self._first(turn_id, wanted.text))
            self._ends[turn_id] = anyio.Event()
            self._queue.append(QueuedTurn(turn_id=turn_id, can_ask=wanted.can_ask))
            self._start()
            return TurnAccepted(turn_id=turn_id, seq=stored[0].seq)

    def _first(self, turn_id: TurnId, text: str) -> list[Event]:
        """What the first message of a session brings with it: a title, and what a record has left that the session was begun from."""
        told = [] if self.log.summary.turns else first_context(self.around.side_files, self.session_id, turn_id)
        return [*first_title(self.log, self.record, text), *told]

    async def wait_end(self, turn_id: TurnId) -> None:
        """Until this turn, which was submitted here, has ended in the log."""
        end = self._ends.get(turn_id)
        if end is not None:
            await end.wait()

    async def edit(self, turn_id: TurnId, text: str) -> TurnAccepted:
        """Give a message that still waits for its turn another text.

        :raises NotFound: if the session has no such turn
        :raises Conflict: if the turn has begun, or ended
        """
        async with self._submitting:
            if any(queued.turn_id == turn_id for queued in self._queue):
                edited = TurnEdited(session_id=self.session_id, turn_id=turn_id, text=text)
                stored = await self.log.append(edited)
                return TurnAccepted(turn_id=turn_id, seq=stored[0].seq)
        turn = (await self.log.fold()).turn(turn_id)
        if turn is None:
            raise NotFound("turn", turn_id)
        raise Conflict("the turn has ended" if turn.code is not None else "the turn has begun")

    async def resume(self, *, origin: Origin = "api") -> TurnAccepted:
        """Let a paused turn go on, take back a pause that was asked for, or submit a turn that goes on after the last one.

        :raises Conflict: if there is nothing to go on with
        """
        current = self._current
        if current is not None and (self.pauses.wanted or self.log.summary.state is SessionState.PAUSED):
            seq = await self.pauses.resume(current.turn_id)
            if self._waiting is not None and seq is not None:
                self._go_on(current.turn_id)
            return TurnAccepted(turn_id=current.turn_id, seq=seq or self.log.summary.last_seq)
        view = (await self.log.fold()).view
        turns = view.turns
        if turns and turns[-1].code is None:
            raise Conflict(_RUNNING)
        if not turns or turns[-1].code is TerminalCode.ANSWERED:
            raise Conflict("the last turn was not interrupted; there is nothing to go on with")
        text = request_to_go_on(view, kernel_is_new=not self.kernel.started)
        return await self.submit(TurnCreate(text=text, origin=origin))

    async def pause(self) -> None:
        """Ask the running turn to pause at its next step; asked again, it changes nothing.

        :raises Conflict: if no turn runs
        """
        current = self._current
        if current is None:
            raise Conflict("no turn is running, so there is nothing to pause")
        if self.log.summary.state is not SessionState.PAUSED:
            await self.pauses.want(current.turn_id)

    @property
    def _current(self) -> QueuedTurn | None:
        """The turn that runs, waits for a person, or is about to begin."""
        if self.live is not None and not self.live.settled:
            return self.live.host.turn
        return self._waiting or (self._queue[0] if self._queue else None)

    # ---- stopping -------------------------------------------------------------------------------------------------------

    async def cancel(self, turn_id: TurnId, ending: Ending | None = None) -> None:
        """Stop a running turn, withdraw a waiting one; of one that is ending already, nothing. ``ending``: how it ends unless the user
        asked for it.

        :raises NotFound: if the session has no such turn
        :raises Conflict: if it has ended
        """
        for queued in self._queue:
            if queued.turn_id == turn_id:
                self._queue.remove(queued)
                await self.log.append(self._ended(turn_id, TerminalCode.CANCELLED, _WITHDRAWN))
                self._over(turn_id)
                return
        if self.live is not None and self.live.turn_id == turn_id and not self.live.settled:
            self.pauses.wanted = False
            await self.live.cancel(ending)
            return
        if self._waiting is not None and self._waiting.turn_id == turn_id:
            await self._cancel_waiting(turn_id, ending or _STOPPED_BY_USER)
            return
        turn = (await self.log.fold()).turn(turn_id)
        if turn is None:
            raise NotFound("turn", turn_id)
        if turn.code is not None:
            raise Conflict("the turn has ended")

    async def stop(self) -> None:
        """Stop whatever runs: the turn, or a compaction between turns. Messages that wait go on waiting for their turn.

        :raises Conflict: if nothing runs
        """
        if self._compacting is not None:
            with anyio.CancelScope(shield=True):
                await self.log.move("cancel_asked")
                self._compacting.cancel()
        elif self.live is not None and not self.live.settled:
            await self.cancel(self.live.turn_id)
        elif self._waiting is not None:
            await self.cancel(self._waiting.turn_id)
        else:
            raise Conflict("nothing is running")

    async def _cancel_waiting(self, turn_id: TurnId, ending: Ending) -> None:
        self._waiting, self._runner = None, object()
        self.pauses.wanted = False
        self.questions.drop(turn_id)
        with anyio.CancelScope(shield=True):
            try:
                await self.log.move("cancel_asked", turn_id=turn_id)
                await end_turn(self.parts, turn_id, ending)
            finally:
                self._runner = None
        self._start()

    async def force(self, ending: Ending) -> None:
        """End the turn without waiting for its task, let go of its kernel, and go on with the queue.

        :raises StoreError: if the store does not take the end now
        """
        live = self.live
        if live is None:
            return
        with anyio.CancelScope(shield=True):
            await live.force(ending)
        self._over(live.turn_id)
        self.live, self._runner = None, None
        start_guarded(self.around.tasks, self.kernel.release)
        self._start()

    async def sweep(self, ending: Ending) -> None:
        """Make the session idle after its task has gone without doing so.

        :raises StoreError: if the store does not take it now
        """
        turns = (await self.log.fold()).view.turns
        open_ = [turn.turn_id for turn in turns if turn.code is None] or [turn.turn_id for turn in turns[-1:]]
        for turn_id in open_:
            await end_turn(self.parts, turn_id, ending)
            self._over(turn_id)

    def _ended(self, turn_id: TurnId, code: TerminalCode, detail: str) -> TurnFinished:
        return TurnFinished(session_id=self.session_id, turn_id=turn_id, code=code, detail=detail, usage=Usage())

    def _over(self, turn_id: TurnId) -> None:
        end = self._ends.pop(turn_id, None)
        if end is not None:
            end.set()

    # ---- carrying -------------------------------------------------------------------------------------------------------

    def restore(self, waiting: QueuedTurn, queued: list[QueuedTurn], questions: list[ApprovalView]) -> None:
        """Take over from an earlier server: a turn that waits for a person, its question, and the turns behind it."""
        self._waiting = waiting
        self._queue.extend(queued)
        for approval in questions:
            self.questions.restore(approval)

    def _go_on(self, turn_id: TurnId) -> None:
        """Carry on with the turn that waited."""
        waiting = self._waiting
        if waiting is not None and waiting.turn_id == turn_id:
            self._waiting = None
            self._queue.appendleft(waiting)
            self._start()

    def _start(self) -> None:
        if self._runner is None and self._waiting is None and (self._queue or self._compacting is not None):
            self._runner = runner = object()
            start_guarded(self.around.tasks, self._run_queue, runner)

    async def _run_queue(self, runner: object) -> None:
        try:
            while self._runner is runner:
                async with self._submitting:
                    compacting = self._compacting
                    if compacting is None and not self._queue:
                        break
                    live = None if compacting is not None else LiveTurn(self._queue.popleft(), self.parts)
                    self.live = live or self.live
                if compacting is not None:
                    await self._compact(compacting)
                if live is None:
                    continue
                await live.carry()
                if self._runner is runner:
                    self._over(live.turn_id)
                    self._after(live)
        finally:
            if self._runner is runner:
                left_waiting = self.live is not None and self.live.host.detached
                self.live, self._runner = None, None
                await self._drop_queue(left_waiting=left_waiting)

    def _after(self, live: LiveTurn) -> None:
        if not self._queue:
            self.pauses.wanted = False
        wanted = live.code is TerminalCode.ANSWERED and not self._title_tried and not self.around.stopping
        if wanted and self.around.title is not None:
            self._title_tried = True
            start_guarded(self.around.tasks, give_title, self.log, self.around.title)

    async def _drop_queue(self, *, left_waiting: bool) -> None:
        """What is still queued when the server stops has no turn any more, unless it waits behind one that goes on in the next server."""
        if left_waiting and self.around.stopping:
            return
        left = [self._ended(turn.turn_id, TerminalCode.INTERRUPTED, _NOT_BEGUN) for turn in self._queue]
        self._queue.clear()
        if left:
            await self.log.append(*left)

    # ---- compaction -----------------------------------------------------------------------------------------------------

    async def compact(self) -> None:
        """Begin to make the conversation shorter for the model; turns that are submitted meanwhile wait.

        :raises Conflict: if a turn runs or waits
        """
        async with self._submitting:
            if self.busy or self.waits:
                raise Conflict(
                    "a turn is running or waiting; it makes the conversation shorter by itself when that is needed"
                )
            if self.log.summary.turns == 0:
                raise Conflict("there is no conversation yet that could be made shorter")
            self._compacting = anyio.CancelScope()
            try:
                await self.log.move("compaction_started")
            except BaseException:
                self._compacting = None
                raise
            self._start()

    async def _compact(self, scope: anyio.CancelScope) -> None:
        try:
            await compact(self.parts, scope)
        finally:
            # Another one may have been asked for since the session is idle.
            if self._compacting is scope:
                self._compacting = None
