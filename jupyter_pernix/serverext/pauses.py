"""The user's wish that a session pause: kept until it can be met, which is between two steps of a turn."""

import anyio

from ..errors import InvalidTransition
from ..ids import TurnId
from ..records import SessionState
from .session_log import SessionLog


class Pauses:
    """Those of one session. ``wanted`` outlasts states that cannot show it (a question, a compaction), and the end of a turn when
    another one waits behind it."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self.wanted = False
        self._resumed = anyio.Event()
        self._lock = anyio.Lock()

    async def want(self, turn_id: TurnId | None) -> None:
        """Asked twice, it is wanted once."""
        async with self._lock:
            self.wanted = True
            await self._show(turn_id)

    async def show(self, turn_id: TurnId | None) -> None:
        """Make a wish that is still to be met visible in the session's state, where the table has one for it."""
        if self.wanted:
            async with self._lock:
                await self._show(turn_id)

    async def _show(self, turn_id: TurnId | None) -> None:
        if self.wanted and self._log.summary.state is SessionState.PROCESSING:
            await self._log.move("pause_asked", turn_id=turn_id)

    async def wait(self, turn_id: TurnId) -> None:
        """Be paused until ``resume``; returns at once when no pause is wanted."""
        async with self._lock:
            if not self.wanted:
                return
            await self._show(turn_id)
            self._resumed = anyio.Event()
            await self._log.move("step_ended", turn_id=turn_id)
            self.wanted = False
        await self._resumed.wait()

    async def resume(self, turn_id: TurnId | None) -> int | None:
        """Take the wish back, or let a paused turn go on; the ``seq`` of the change of state, ``None`` when there was none."""
        async with self._lock:
            self.wanted = False
            try:
                stored = await self._log.move("resumed", turn_id=turn_id)
            except InvalidTransition:
                return None
            self._resumed.set()
            return stored[-1].seq
