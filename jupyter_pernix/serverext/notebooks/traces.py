"""Which sessions have to do with cells of notebooks, and which cells agents have written: read out of the store when first asked for,
kept up to date by what is committed."""

from collections.abc import Sequence
from itertools import pairwise

from ...cells import digest_of
from ...events import CellChangeRequested, ExecutionStarted, SessionAttached, Stored
from ...ids import ChangeId, SessionId
from ..store import EventStore


class Traces:
    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._sessions: set[SessionId] = set()
        self._written: set[tuple[str, str]] = set()
        self._attached: dict[SessionId, list[SessionAttached]] = {}
        self._sessions_loaded = self._written_loaded = False

    def saw(self, group: Sequence[Stored]) -> None:
        """What was committed, in order."""
        for stored in group:
            event = stored.event
            if isinstance(event, CellChangeRequested):
                self._sessions.add(event.session_id)
                change = event.change
                if change.after is not None and change.op in ("insert", "edit"):
                    self._written.add((change.cell_id, digest_of(change.after)))
            elif isinstance(event, ExecutionStarted) and event.cell_id:
                self._sessions.add(event.session_id)
            elif isinstance(event, SessionAttached):
                self._attached.setdefault(event.session_id, []).append(event)

    async def written(self) -> set[tuple[str, str]]:
        """Cell id and digest of each cell as an agent left it."""
        if not self._written_loaded:
            self._written |= {(one.cell_id, one.digest) for one in await self._store.written_cells()}
            self._written_loaded = True
        return self._written

    async def sessions(self) -> set[SessionId]:
        """Those that have changed or run cells."""
        if not self._sessions_loaded:
            sessions, attached = await self._store.cell_sessions()
            self._sessions |= sessions
            # what was committed while this was read may be in both, at the end: following it twice does no harm
            for session_id, events in attached.items():
                self._attached[session_id] = [*events, *self._attached.get(session_id, [])]
            self._sessions_loaded = True
        return set(self._sessions)

    def renamed(self, session_id: SessionId, path: str) -> str:
        """Where a notebook is now that was at ``path`` when this session was attached to it. Ask for ``sessions`` before."""
        attached = self._attached.get(session_id, [])
        for one, two in pairwise(attached):
            if one.path == path and one.kernel_id == two.kernel_id:
                path = two.path
        return path

    async def session_of_change(self, change_id: ChangeId) -> SessionId | None:
        return await self._store.session_of_change(change_id)
