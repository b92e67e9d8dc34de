"""One session's log, live: what it folds into, and the one way in which it grows.

Rules: the state is what the log says, and changes under one lock together with the events that go with the change; storing is
never cut short by a cancellation.
"""

import logging
from pathlib import Path
from typing import cast

import anyio
import anyio.lowlevel

from ..agent.states import REASONS, Reason, advance
from ..errors import Conflict, InvalidTransition
from ..events import Event, SessionStateChanged, Stored
from ..fold import SessionFold
from ..ids import ExecutionId, SessionId, TurnId
from ..records import CallView, SessionState, SessionSummary
from .surroundings import Surroundings

log = logging.getLogger(__name__)


class SessionLog:
    """Give it every committed event of the session (``saw``), in order."""

    def __init__(self, session_id: SessionId, around: Surroundings) -> None:
        self.session_id = session_id
        self.around = around
        self.moving = anyio.Lock()
        """Held while the state changes."""
        self.inputs = 0
        """Lines that code waits for now; it ends with this server."""
        self._fold: SessionFold | None = None
        self._missed: list[Stored] | None = None
        self._loading = anyio.Lock()

    @property
    def summary(self) -> SessionSummary:
        summary = self.around.store.summary(self.session_id)
        assert summary is not None
        return summary

    @property
    def stays_waiting(self) -> bool:
        """The server stops, and this session waits for a person: the next server finds it so, and goes on with it. A worker does not:
        the turn that it works for ends."""
        summary = self.summary
        waits = summary.state in (SessionState.AWAITING_USER, SessionState.PAUSED)
        return self.around.stopping and waits and summary.parent is None and not self.inputs

    @property
    def space(self) -> Path:
        """:raises Conflict: if a link leads out of the server's root by now"""
        return self.inside(self.summary.space_root)

    def inside(self, relative: str) -> Path:
        """A path below the server's root, links resolved; it need not exist.

        :raises Conflict: if links lead out of the root
        """
        path = (self.around.root / relative).resolve()
        if not path.is_relative_to(self.around.root):
            raise Conflict(f"{relative!r} leads out of the server's root by a link")
        return path

    def saw(self, stored: Stored) -> None:
        if self._fold is not None:
            self._fold.add(stored)
        elif self._missed is not None:
            self._missed.append(stored)

    async def fold(self) -> SessionFold:
        """The session as the whole log tells it; kept up to date from now on."""
        async with self._loading:
            if self._fold is None:
                missed = self._missed = []
                try:
                    fold = SessionFold.of(self.session_id, await self.around.store.events(self.session_id))
                finally:
                    self._missed = None
                for stored in missed:
                    fold.add(stored)
                self._fold = fold
            return self._fold

    def forget_fold(self) -> None:
        """Free the memory; the next ``fold`` reads the log again."""
        if not self._loading.locked():
            self._fold = None

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
                async with self.moving:
                    stored = await self.around.store.append([*events, self.change(reason, turn_id)])
        except InvalidTransition:
            log.info("session %s: %r was refused in state %s", self.session_id, reason, self.summary.state)
            # A turn that was cancelled meanwhile shall see the cancellation, not the refusal that came of it.
            await anyio.lowlevel.checkpoint()
            raise
        return stored

    def change(self, reason: Reason, turn_id: TurnId | None) -> SessionStateChanged:
        """The event of a change of state; store it while holding ``moving``.

        :raises InvalidTransition: if the table has no entry
        """
        before = self.summary.state
        return SessionStateChanged(
            session_id=self.session_id, turn_id=turn_id, before=before, after=advance(before, reason), reason=reason
        )


def known_reason(reason: str) -> Reason:
    """:raises InvalidTransition: if no state has such a reason"""
    if reason not in REASONS:
        raise InvalidTransition("in any state", reason)
    return cast(Reason, reason)


def turn_of_execution(fold: SessionFold, execution_id: ExecutionId) -> TurnId | None:
    """The turn in which this code ran."""
    for turn in reversed(fold.view.turns):
        for item in turn.items:
            ran = (*item.earlier, item.execution) if isinstance(item, CallView) else ()
            if any(one is not None and one.execution_id == execution_id for one in ran):
                return turn.turn_id
    return None
