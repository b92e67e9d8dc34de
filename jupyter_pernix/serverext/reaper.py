"""Looks after what hangs: a turn without a sign of life, an end that does not come, a session whose task is gone.

One task for all sessions; it also frees the memory of those that nobody has used for a while.
"""

import logging
from collections.abc import Callable, Iterable

from ..errors import PernixError
from ..events import ProblemNoticed
from ..ids import TurnId
from ..records import CallView, SessionState, TerminalCode
from .host import Ending
from .live_turn import LiveTurn
from .session import Session
from .surroundings import Surroundings

log = logging.getLogger(__name__)

INTERVAL = 5.0
ENDING_SECONDS = 60.0
"""A turn may take so long to end after it was told to."""
CELL_SECONDS = 30.0
"""A cell that asked something may be away so long, e.g. while the server restarts, before its question is given up."""
_UNUSED_SECONDS = 120.0

_FORCED = Ending(
    code=TerminalCode.INTERRUPTED,
    detail="the turn did not end by itself and was closed; what was stored before is kept",
)
_LOST = Ending(code=TerminalCode.INTERRUPTED, detail="the work on this turn ended without a result")
_CELL_GONE = Ending(
    code=TerminalCode.INTERRUPTED,
    detail="the cell that asked is gone, and with it the kernel that the code was for; run the cell again",
)
_HINT = "What was finished is kept. Resume the turn to go on, or send a new message."


class Reaper:
    """``sessions`` gives those that are live."""

    def __init__(self, around: Surroundings, sessions: Callable[[], Iterable[Session]]) -> None:
        self._around = around
        self._sessions = sessions
        self._alone_since: dict[TurnId, float] = {}

    async def run(self) -> None:
        while True:
            await self._around.clock.sleep(INTERVAL)
            await self.look()

    async def look(self) -> None:
        """Look at each session once."""
        for session in list(self._sessions()):
            try:
                await self._look_at(session)
            except PernixError as exc:
                # The store does not take it now; the next look tries again.
                log.error("session %s: what hangs could not be ended: %s", session.session_id, exc)

    async def _look_at(self, session: Session) -> None:
        now, state = self._around.clock.monotonic(), session.log.summary.state
        if state is SessionState.AWAITING_USER and await self._cell_is_gone(session, now):
            return
        if not session.attended:
            if state is not SessionState.IDLE_READY and not session.waits:
                await session.sweep(_LOST)
            elif now - session.used_at > _UNUSED_SECONDS:
                session.forget_fold()
            return
        live = session.live
        if live is None or live.settled:
            return
        if state in (SessionState.CANCELLING, SessionState.FINALIZING):
            if now - session.moved_at > ENDING_SECONDS:
                log.error("session %s: turn %s does not end; it is closed", session.session_id, live.turn_id)
                await session.force(live.host.ending or _FORCED)
        elif state not in (SessionState.AWAITING_USER, SessionState.PAUSED):
            await self._listen(session, live, now - live.alive_at)

    async def _cell_is_gone(self, session: Session, now: float) -> bool:
        """End a turn whose question nobody's answer could help: its code can run in the cell that asked alone, and that cell has not
        listened for a while. True: it was ended."""
        view = (await session.log.fold()).view
        turn = next((turn for turn in view.turns if turn.code is None and turn.started_at is not None), None)
        if turn is None or view.place != "in_cell" or turn.origin != "magic":
            return False
        if self._around.bus.listeners(session.session_id):
            self._alone_since.pop(turn.turn_id, None)
            return False
        if now - self._alone_since.setdefault(turn.turn_id, now) < CELL_SECONDS:
            return False
        del self._alone_since[turn.turn_id]
        await session.cancel(turn.turn_id, _CELL_GONE)
        return True

    async def _listen(self, session: Session, live: LiveTurn, silent: float) -> None:
        if silent <= self._around.settings.deadlines.silence or await self._has_deadline(session, live):
            return
        text = f"The turn has shown no sign of life for {silent:.0f} s, so it was ended."
        await session.log.append(
            ProblemNoticed(session_id=session.session_id, turn_id=live.turn_id, text=text, hint=_HINT)
        )
        await live.cancel(Ending(code=TerminalCode.INTERRUPTED, detail="hung: " + text[0].lower() + text[1:]))

    async def _has_deadline(self, session: Session, live: LiveTurn) -> bool:
        """Something runs that is ended by a deadline of its own: code, a command, a worker."""
        turn = (await session.log.fold()).turn(live.turn_id)
        running = [item for item in turn.items if isinstance(item, CallView)] if turn is not None else []
        return any(
            call.status == "in_progress" and (call.kind == "execute" or call.worker is not None) for call in running
        )
