"""All sessions: the use cases behind the HTTP API, and what is done with those that a previous server left behind."""

import logging
import os
from pathlib import Path

from ..errors import Conflict, InvalidInput, NotFound
from ..events import Event, SessionArchived, SessionConfigured, SessionCreated, SessionRenamed, Stored
from ..fold import SessionFold
from ..ids import ApprovalId, SessionId, TurnId, new_session_id
from ..records import (
    ApprovalAnswer,
    ApprovalView,
    SessionCreate,
    SessionPatch,
    SessionSummary,
    SessionView,
    TurnAccepted,
    TurnCreate,
)
from . import naming
from .background import start_guarded
from .closing import recovery_events
from .questions import Question
from .session import Session
from .surroundings import Surroundings

log = logging.getLogger(__name__)

_TITLE_LENGTH = 200
_FOLDS_KEPT = 48
"""So many sessions' folds stay in memory; the others are read from the log when they are asked for."""


class Sessions:
    """Every session by its id; live ones are made when they are first needed."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self._live: dict[SessionId, Session] = {}
        self._questions: dict[ApprovalId, Question] = {}

    def saw(self, group: list[Stored]) -> None:
        """For the store: what was committed, in order."""
        for stored in group:
            session = self._live.get(stored.event.session_id)
            if session is not None:
                session.saw(stored)

    # ---- reading --------------------------------------------------------------------------------------------------------

    def listed(self, *, archived: bool | None = False) -> list[SessionSummary]:
        """Newest first; ``archived`` ``None``: all."""
        return [
            summary for summary in self.around.store.summaries() if archived is None or summary.archived is archived
        ]

    def summary(self, session_id: SessionId) -> SessionSummary:
        """:raises NotFound: if there is no such session"""
        summary = self.around.store.summary(session_id)
        if summary is None:
            raise NotFound("session", session_id)
        return summary

    async def view(self, session_id: SessionId) -> SessionView:
        """:raises NotFound: if there is no such session"""
        return (await self._session(session_id).log.fold()).view

    async def approvals(self, session_id: SessionId | None = None) -> list[ApprovalView]:
        """Questions that wait for an answer, oldest first."""
        found: list[ApprovalView] = []
        for summary in [self.summary(session_id)] if session_id is not None else self.listed(archived=None):
            if summary.open_approvals:
                found += (await self._session(summary.session_id).log.fold()).open_approvals()
        return sorted(found, key=lambda approval: approval.requested_at)

    @property
    def busy(self) -> int:
        """How many sessions have a turn that runs or waits."""
        return sum(session.busy for session in self._live.values())

    # ---- changing -------------------------------------------------------------------------------------------------------

    async def create(self, wanted: SessionCreate) -> SessionSummary:
        """:raises InvalidInput: if the space is not a folder below the server's root, or a name is too long"""
        space_root = self._space_root(wanted.space_root)
        title = self._title(wanted.title)
        session_id = new_session_id()
        session = Session(session_id, self.around, self._questions)
        async with self.around.naming:
            created = SessionCreated(
                session_id=session_id,
                title=title,
                space_root=space_root,
                record_path=session.record.free_path(space_root, title or "session"),
                mode=wanted.mode or self.around.settings.mode,
                endpoint=wanted.endpoint or None,
                kernel_name=wanted.kernel_name,
                place=wanted.place,
                origin=wanted.origin,
            )
            await session.log.append(created)
            self._live[session_id] = session
        return self.summary(session_id)

    async def patch(self, session_id: SessionId, wanted: SessionPatch) -> SessionSummary:
        """:raises Conflict: if a session is archived while a turn runs or waits"""
        session = self._session(session_id)
        summary = session.log.summary
        events: list[Event] = []
        if wanted.title is not None and wanted.title != summary.title:
            events.append(SessionRenamed(session_id=session_id, title=self._title(wanted.title)))
        if wanted.mode is not None or wanted.endpoint is not None or wanted.kernel_name is not None:
            events.append(
                SessionConfigured(
                    session_id=session_id,
                    mode=wanted.mode,
                    endpoint=wanted.endpoint,
                    kernel_name=wanted.kernel_name,
                )
            )
        if wanted.archived is not None and wanted.archived is not summary.archived:
            if wanted.archived and session.busy:
                raise Conflict("a turn is running or waiting; stop it before archiving the session")
            events.append(SessionArchived(session_id=session_id, archived=wanted.archived))
        if events:
            await session.log.append(*events)
        if session.log.summary.archived:
            start_guarded(self.around.tasks, session.kernel.release)
        return session.log.summary

    async def submit(self, session_id: SessionId, wanted: TurnCreate) -> TurnAccepted:
        """:raises InvalidInput: if there is no text"""
        if not wanted.text.strip():
            raise InvalidInput("$.text", "the message is empty")
        return await self._session(session_id).submit(wanted.text, origin=wanted.origin, can_ask=wanted.can_ask)

    async def resume(self, session_id: SessionId) -> TurnAccepted:
        return await self._session(session_id).resume()

    async def cancel(self, session_id: SessionId, turn_id: TurnId) -> None:
        await self._session(session_id).cancel(turn_id)

    async def answer(self, approval_id: ApprovalId, answer: ApprovalAnswer, *, by: str) -> ApprovalView:
        """Answer a question that is open in our own log.

        :raises NotFound: if there was no such question
        :raises Conflict: if it has been answered, or its turn is over
        """
        question = self._questions.get(approval_id)
        if question is None:
            found = await self.around.store.approval(approval_id)
            if found is None:
                raise NotFound("approval", approval_id)
            raise Conflict("the question has been answered already" if found[1] else "the turn that asked is over")
        await question.asker.answer(question, answer, by=by)
        call = (await question.asker.log.fold()).call(question.event.call_id)
        assert call is not None and call.approval is not None
        return call.approval

    # ---- start and stop -------------------------------------------------------------------------------------------------

    async def recover(self) -> list[SessionId]:
        """Close what a previous server left open: turns without an end, and sessions that are not idle. Returns those sessions."""
        left = await self.around.store.unfinished()
        events: list[Event] = []
        for session_id, stored in left.items():
            summary = self.around.store.summary(session_id)
            if summary is not None:
                turns = SessionFold.of(session_id, stored).view.turns
                events += recovery_events(session_id, turns, summary.state)
        await self.around.store.append(events)
        if left:
            log.warning("%d sessions were interrupted when the last server ended; they are idle now", len(left))
        return list(left)

    async def write_records(self, session_ids: list[SessionId]) -> None:
        for session_id in session_ids:
            await self._session(session_id).record.write()

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _session(self, session_id: SessionId) -> Session:
        session = self._live.get(session_id)
        if session is None:
            self.summary(session_id)
            session = self._live[session_id] = Session(session_id, self.around, self._questions)
        else:
            self._live[session_id] = self._live.pop(session_id)
        for old in list(self._live.values())[:-_FOLDS_KEPT]:
            old.forget_fold()
        return session

    def _space_root(self, given: str) -> str:
        """The folder relative to the server's root, links resolved, with forward slashes; "" is the root itself."""
        root = self.around.root
        if "\0" in given or len(given) > 4096:
            raise InvalidInput("$.space_root", "this is not the path of a folder")
        try:
            folder = (root / given.lstrip("/")).resolve(strict=True)
        except (OSError, RuntimeError) as exc:
            reason = os.strerror(exc.errno) if isinstance(exc, OSError) and exc.errno else "its links lead in a circle"
            raise InvalidInput("$.space_root", f"{given[:200]!r} is not a folder here: {reason}") from exc
        if not folder.is_relative_to(root) or not folder.is_dir():
            raise InvalidInput("$.space_root", f"{given[:200]!r} is not a folder below the server's root")
        relative = folder.relative_to(root).as_posix()
        return "" if relative == "." else relative

    def _title(self, given: str) -> str:
        if len(given) > _TITLE_LENGTH:
            raise InvalidInput("$.title", f"a title has at most {_TITLE_LENGTH} characters")
        return naming.plain_line(given)


def resolved_root(path: str | Path) -> Path:
    return Path(path).expanduser().resolve()
