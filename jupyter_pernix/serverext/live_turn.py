"""One turn while this process carries it: how it is carried, stopped from outside, and closed whatever came between."""

import logging

import anyio

from ..agent.closing import closing_turn
from ..errors import PernixError, StoreError
from ..events import Event, SessionStateChanged, TurnFinished, Unknown
from ..ids import TurnId
from ..records import SessionState, TerminalCode
from .host import STOPPED, Ending, Host, Parts, QueuedTurn

log = logging.getLogger(__name__)

_CLOSE_AGAIN_SECONDS = 2.0
_NOT_STORED = "the end of this turn could not be stored when it came; what was stored before is kept"
_CANCELLED = Ending(code=TerminalCode.CANCELLED, detail="the turn was cancelled")


class LiveTurn:
    """``code``: how it ended, once that is in the log. ``settled``: the session is idle again, though the task may still be tidying up.
    ``alive_at``: the clock's time of the last sign of life."""

    def __init__(self, queued: QueuedTurn, parts: Parts) -> None:
        self.turn_id = queued.turn_id
        self.host = Host(queued, parts, alive=self.alive)
        self.settled = False
        self.code: TerminalCode | None = None
        self.over = anyio.Event()
        self._parts = parts
        self._log = parts.log
        self._clock = parts.log.around.clock
        self._scope = anyio.CancelScope()
        self.alive()

    def alive(self) -> None:
        self.alive_at = self._clock.monotonic()

    def saw(self, event: Event | Unknown) -> None:
        """A committed event of its session."""
        self.alive()
        if getattr(event, "turn_id", None) == self.turn_id:
            if isinstance(event, TurnFinished):
                self.code = event.code
            if isinstance(event, SessionStateChanged):
                self.settled = event.after is SessionState.IDLE_READY

    async def carry(self) -> None:
        """Carry the turn to its end; while the store cannot take its end, the session is busy with trying again."""
        ending = _CANCELLED
        try:
            with self._scope:
                history = await self._log.around.store.events(self._log.session_id)
                await self._log.around.carry(self.host, self.turn_id, history)
                ending = Ending(code=TerminalCode.INTERNAL_ERROR, detail=_NOT_STORED)
        except StoreError as exc:
            ending = Ending(code=TerminalCode.INTERNAL_ERROR, detail=str(exc))
            log.error("session %s: %s", self._log.session_id, exc)
        except Exception as exc:  # The edge of a turn: the session lives on.
            ending = Ending(code=TerminalCode.INTERNAL_ERROR, detail=f"an error inside jupyter_pernix: {exc!r}")
            log.exception("session %s: turn %s failed", self._log.session_id, self.turn_id)
        finally:
            with anyio.CancelScope(shield=True):
                closed = await self._close(ending)
        while not closed:
            await anyio.sleep(_CLOSE_AGAIN_SECONDS)
            closed = await self._close(ending)

    async def cancel(self, ending: Ending | None = None) -> None:
        """Stop it; ``ending`` says how it ends unless the user asked for it. Of a turn that is ending already, nothing."""
        with anyio.CancelScope(shield=True):
            async with self._log.moving:
                before = self._log.summary.state
                if self.settled or before in (SessionState.FINALIZING, SessionState.CANCELLING):
                    return
                self.host.ending = ending
                if before is not SessionState.IDLE_READY:
                    await self._log.around.store.append([self._log.change("cancel_asked", self.turn_id)])
                self._scope.cancel()

    async def force(self, ending: Ending) -> None:
        """End it without its task, which may never come back; what that still does reaches the session no more.

        :raises StoreError: if the store does not take it now
        """
        self.host.detached = True
        self._scope.cancel()
        await self._end(ending)
        self.settled = True
        self.over.set()

    async def _close(self, ending: Ending) -> bool:
        """End in the log what the turn left open, if it did; after a turn that ended well this does nothing. False: the store does
        not take it now."""
        if self.host.detached or (self.code is not None and self.settled):
            return True
        try:
            if self.host.ending is not None:
                ending = self.host.ending
            elif self._log.around.stopping and ending.code is TerminalCode.CANCELLED:
                ending = Ending(code=TerminalCode.INTERRUPTED, detail=STOPPED)
            await self._end(ending)
        except StoreError as exc:
            log.error("session %s: turn %s could not be closed: %s", self._log.session_id, self.turn_id, exc)
            return False
        except PernixError:
            log.exception("session %s: turn %s could not be closed", self._log.session_id, self.turn_id)
        return True

    async def _end(self, ending: Ending) -> None:
        await end_turn(self._parts, self.turn_id, ending)


async def end_turn(parts: Parts, turn_id: TurnId, ending: Ending) -> None:
    """Close in the log what is open in this turn, write the record, and make the session idle; nothing, if all that is so.

    :raises StoreError: if the store does not take it
    """
    log_ = parts.log
    stored = await log_.around.store.events(log_.session_id)
    events = closing_turn(stored, turn_id, code=ending.code, detail=ending.detail)
    parts.questions.drop(turn_id)
    if events:
        await log_.append(*events)
        await parts.record.write()
    if log_.summary.state is not SessionState.IDLE_READY:
        await log_.move("recovered", turn_id=turn_id)
