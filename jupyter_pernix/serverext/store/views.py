"""Session summaries: what the session list shows, kept in memory beside the log and rebuilt from it at start."""

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from ...events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    InputAnswered,
    InputRequested,
    SessionArchived,
    SessionAttached,
    SessionConfigured,
    SessionCreated,
    SessionDetached,
    SessionRenamed,
    SessionStateChanged,
    Stored,
    TurnSubmitted,
    Unknown,
)
from ...ids import SessionId
from ...records import SessionState, SessionSummary

SETTING_TYPES = (
    "session.created",
    "session.renamed",
    "session.configured",
    "session.archived",
    "session.attached",
    "session.detached",
)
"""Events that a rebuild must see all of, in order; of ``session.state_changed`` the last one of a session is enough."""


def summary_after(summary: SessionSummary | None, stored: Stored) -> SessionSummary | None:
    """The summary with one more event; ``None`` stays until the session is created."""
    event = stored.event
    if isinstance(event, SessionCreated):
        return SessionSummary(
            session_id=event.session_id,
            title=event.title,
            state=SessionState.IDLE_READY,
            mode=event.mode,
            endpoint=event.endpoint,
            kernel_name=event.kernel_name,
            space_root=event.space_root,
            record_path=event.record_path,
            archived=False,
            created_at=stored.recorded_at,
            updated_at=stored.recorded_at,
            last_seq=stored.seq,
            parent=event.parent,
            sandbox=event.sandbox,
            network=event.network,
        )
    if summary is None:
        return None
    return replace(summary, last_seq=stored.seq, updated_at=stored.recorded_at, **_changes(summary, event))


def _changes(summary: SessionSummary, event: Event | Unknown) -> dict[str, object]:
    match event:
        case SessionRenamed():
            return {"title": event.title, "record_path": event.record_path or summary.record_path}
        case SessionConfigured():
            given: dict[str, object] = {
                "mode": event.mode,
                "endpoint": event.endpoint,
                "kernel_name": event.kernel_name,
                "sandbox": event.sandbox,
                "network": event.network,
            }
            return {key: value for key, value in given.items() if value is not None}
        case SessionStateChanged():
            return {"state": event.after}
        case SessionArchived():
            return {"archived": event.archived}
        case TurnSubmitted():
            return {"turns": summary.turns + 1}
        case SessionAttached():
            return {"notebook": event.path}
        case SessionDetached():
            return {"notebook": ""}
        case ApprovalRequested() | InputRequested():
            return {"open_approvals": summary.open_approvals + 1}
        case ApprovalResolved() | InputAnswered():
            return {"open_approvals": max(0, summary.open_approvals - 1)}
        case _:
            return {}


class Counts:
    """What a rebuild counts instead of folding: one line a session."""

    def __init__(
        self, *, session_id: str, last_seq: int, updated_at: datetime, turns: int, open_approvals: int
    ) -> None:
        self.session_id = SessionId(session_id)
        self.last_seq = last_seq
        self.updated_at = updated_at
        self.turns = turns
        self.open_approvals = open_approvals


class Summaries:
    """All sessions' summaries; changed only by ``add``, which the store calls once for each committed event, in order."""

    def __init__(self) -> None:
        self._summaries: dict[SessionId, SessionSummary] = {}

    @classmethod
    def rebuild(cls, settings: Iterable[Stored], counts: Iterable[Counts]) -> "Summaries":
        """From the events of ``SETTING_TYPES`` and the last state changes, in order, and what was counted over the whole log."""
        summaries = cls()
        for stored in settings:
            summaries.add(stored)
        for count in counts:
            summary = summaries.get(count.session_id)
            if summary is not None:
                summaries._summaries[count.session_id] = replace(
                    summary,
                    last_seq=count.last_seq,
                    updated_at=count.updated_at,
                    turns=count.turns,
                    open_approvals=count.open_approvals,
                )
        return summaries

    def add(self, stored: Stored) -> None:
        session_id = stored.event.session_id
        summary = summary_after(self._summaries.get(session_id), stored)
        if summary is not None:
            self._summaries[session_id] = summary

    def get(self, session_id: SessionId) -> SessionSummary | None:
        return self._summaries.get(session_id)

    def all(self) -> list[SessionSummary]:
        """Newest first, by their last event."""
        return sorted(self._summaries.values(), key=lambda summary: summary.last_seq, reverse=True)
