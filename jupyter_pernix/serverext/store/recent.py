"""The events that the database does not have yet, in memory: reading a session that is at work costs no query."""

from bisect import bisect_right
from collections.abc import Sequence

from ...events import SessionCreated, Stored
from ...ids import SessionId


class Recent:
    """Lives on the event loop. ``add`` and ``taken_in`` are called in the order in which things happened."""

    def __init__(self, taken: int) -> None:
        self.taken = taken
        """Everything up to this ``seq`` is in the database."""
        self._all: list[Stored] = []
        self._by_session: dict[SessionId, list[Stored]] = {}
        self._created: dict[SessionId, int] = {}

    def add(self, group: Sequence[Stored]) -> None:
        for stored in group:
            session_id = stored.event.session_id
            self._all.append(stored)
            self._by_session.setdefault(session_id, []).append(stored)
            if isinstance(stored.event, SessionCreated):
                self._created[session_id] = stored.seq

    def taken_in(self, seq: int) -> None:
        """The database has everything up to ``seq`` now."""
        if seq <= self.taken:
            return
        self.taken = seq
        kept = after(self._all, seq)
        self._all, self._by_session = [], {}
        self._created = {key: first for key, first in self._created.items() if first > seq}
        self.add(kept)

    def of(self, session_id: SessionId | None) -> list[Stored]:
        """Of one session or of all, in order."""
        return list(self._all if session_id is None else self._by_session.get(session_id, ()))

    def has_all(self, session_id: SessionId | None, seq: int) -> bool:
        """Whether nothing of it with a ``seq`` above this one is in the database."""
        return seq >= self.taken or (session_id is not None and session_id in self._created)


def after(stored: list[Stored], seq: int) -> list[Stored]:
    """Those above ``seq``."""
    return stored[bisect_right(stored, seq, key=lambda one: one.seq) :]
