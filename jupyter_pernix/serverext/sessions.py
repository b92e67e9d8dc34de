"""All sessions: the use cases behind the HTTP API, and what is done with those that a previous server left behind."""

import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..errors import Conflict, InvalidInput, NotFound, PernixError
from ..events import (
    Event,
    SessionArchived,
    SessionConfigured,
    SessionCreated,
    SessionDetached,
    SessionRenamed,
    Stored,
    TurnSubmitted,
)
from ..fold import SessionFold
from ..ids import ApprovalId, SessionId, TurnId, new_session_id
from ..ports import Executor
from ..records import (
    ApprovalAnswer,
    ApprovalView,
    Budget,
    NotebookAttach,
    SessionCreate,
    SessionPatch,
    SessionState,
    SessionSummary,
    SessionView,
    TurnAccepted,
    TurnCreate,
    TurnPatch,
)
from . import naming
from .background import start_guarded
from .host import Host, QueuedTurn
from .inputs import OpenInputs
from .notebooks.session_cells import SessionCells
from .questions import Question
from .session import Session
from .surroundings import Surroundings
from .undo import SessionFiles
from .workers import WorkerSessions

if TYPE_CHECKING:
    from ..agent.tools.base import Tool

log = logging.getLogger(__name__)

_TITLE_LENGTH = 200
_HIGHEST_LIMIT = 2**53
"""Beyond it, browsers round."""
_FOLDS_KEPT = 48
"""So many sessions' folds stay in memory; the others are read from the log when they are asked for."""


class Sessions:
    """Every session by its id; live ones are made when they are first needed."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self._live: dict[SessionId, Session] = {}
        self._questions: dict[ApprovalId, Question] = {}
        self.inputs = OpenInputs(around.store)
        workers = WorkerSessions(around, self._open_worker)
        self._make = partial(Session, around=around, questions=self._questions, inputs=self.inputs, workers=workers)
        self._warmed = False
        self.cells = SessionCells(around, self._session)
        self.files = SessionFiles(around, self._session)

    def saw(self, group: list[Stored]) -> None:
        """For the store: what was committed, in order."""
        for stored in group:
            session = self._live.get(stored.event.session_id)
            if session is not None:
                session.saw(stored)

    # ---- reading --------------------------------------------------------------------------------------------------------

    @property
    def live(self) -> Iterable[Session]:
        """Those that have been used in this process."""
        return self._live.values()

    def listed(
        self, *, archived: bool | None = False, parent: SessionId | None = None, workers: bool = False
    ) -> list[SessionSummary]:
        """Newest first; ``archived`` ``None``: all. Workers only with ``workers``, or those of one ``parent``. The questions of a
        session's workers count as its own."""
        summaries = self.around.store.summaries()
        asked = Counter[SessionId]()
        for summary in summaries:
            if summary.parent is not None and summary.open_approvals:
                asked[summary.parent] += summary.open_approvals
        return [
            replace(summary, open_approvals=summary.open_approvals + asked[summary.session_id])
            if summary.session_id in asked
            else summary
            for summary in summaries
            if (archived is None or summary.archived is archived)
            and (workers or parent is not None or summary.parent is None)
            and (parent is None or summary.parent == parent)
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
        """Questions that wait for an answer, oldest first; with a session's own those of its workers."""
        if session_id is not None:
            self.summary(session_id)
        found: list[ApprovalView] = []
        for summary in self.around.store.summaries():
            wanted = session_id is None or session_id in (summary.session_id, summary.parent)
            if wanted and summary.open_approvals:
                found += (await self._session(summary.session_id).log.fold()).open_approvals()
        return sorted(found, key=lambda approval: approval.requested_at)

    @property
    def busy(self) -> int:
        """How many sessions have a turn that runs or waits for its place. One that an earlier server left waiting for a person needs
        no server until it is answered."""
        return sum(session.busy and not session.waits for session in self._live.values())

    # ---- changing -------------------------------------------------------------------------------------------------------

    async def create(self, wanted: SessionCreate) -> SessionSummary:
        """:raises InvalidInput: if the space is not a folder below the server's root, or a name is too long"""
        space_root = self._space_root(wanted.space_root)
        _check_budget(wanted.budget)
        if wanted.notebook and wanted.place == "in_cell":
            raise Conflict("code that runs in the cell that asks needs no notebook to be attached to")
        self._warm_up()
        session = await self._created(
            title=self._title(wanted.title),
            space_root=space_root,
            mode=wanted.mode or self.around.settings.mode,
            endpoint=wanted.endpoint or None,
            kernel_name=wanted.kernel_name,
            place=wanted.place,
            origin=wanted.origin,
            budget=wanted.budget,
            sandbox=self.around.settings.sandbox.on if wanted.sandbox is None else wanted.sandbox,
            network=self.around.settings.sandbox.network if wanted.network is None else wanted.network,
        )
        if wanted.notebook:
            await self._attach_new(session, wanted)
        return self.summary(session.session_id)

    async def _attach_new(self, session: Session, wanted: SessionCreate) -> None:
        """A session that was asked for with a notebook which it cannot have is not left in the list."""
        try:
            await session.attachment.attach(wanted.notebook, wanted.kernel_name)
        except PernixError:
            await session.log.append(SessionArchived(session_id=session.session_id, archived=True))
            raise

    async def attach(self, session_id: SessionId, wanted: NotebookAttach) -> SessionSummary:
        """:raises Conflict: if a turn runs, or the session cannot be attached"""
        session = self._at_rest(session_id)
        await session.attachment.attach(wanted.path, wanted.kernel_name)
        await session.kernel.release()
        return session.log.summary

    async def detach(self, session_id: SessionId) -> SessionSummary:
        """:raises Conflict: if a turn runs, or it is not attached"""
        session = self._at_rest(session_id)
        await session.attachment.detach()
        await session.kernel.release()
        return session.log.summary

    def _at_rest(self, session_id: SessionId) -> Session:
        session = self._session(session_id)
        if session.log.summary.archived:
            raise Conflict("the session is archived; take it out of the archive first")
        if session.busy or session.waits:
            raise Conflict("a turn is running or waiting; stop it, or wait for its end")
        return session

    def _warm_up(self) -> None:
        """Somebody is about to write a first message; a server that nobody asks anything never loads the agent."""
        if self.around.warm is not None and not self._warmed:
            self._warmed = True
            start_guarded(self.around.tasks, self.around.warm)

    async def _created(self, *, title: str, space_root: str, parent: SessionId | None = None, **fields: Any) -> Session:
        session_id = new_session_id()
        session = self._make(session_id)
        async with self.around.naming:
            path = session.record.free_path(space_root, title or "session")
            created = SessionCreated(
                session_id=session_id, title=title, space_root=space_root, record_path=path, parent=parent, **fields
            )
            await session.log.append(created)
            self._live[session_id] = session
        return session

    async def _open_worker(self, host: Host, title: str) -> Session:
        """A session that does a part of another's work: in its folder, with its mode and its kernelspec."""
        parent = self.summary(host.session_id)
        return await self._created(
            title=title,
            space_root=parent.space_root,
            mode=parent.mode,
            endpoint=parent.endpoint,
            kernel_name=parent.kernel_name,
            place="own",
            origin="api",
            budget=None,
            sandbox=parent.sandbox,
            network=parent.network,
            parent=parent.session_id,
        )

    async def patch(self, session_id: SessionId, wanted: SessionPatch) -> SessionSummary:
        """:raises Conflict: if a session is archived while a turn runs or waits"""
        session = self._session(session_id)
        _check_budget(wanted.budget)
        summary = session.log.summary
        events: list[Event] = []
        if wanted.title is not None and wanted.title != summary.title:
            events.append(SessionRenamed(session_id=session_id, title=self._title(wanted.title)))
        configured = (wanted.mode, wanted.endpoint, wanted.kernel_name, wanted.budget, wanted.sandbox, wanted.network)
        if any(value is not None for value in configured):
            events.append(
                SessionConfigured(
                    session_id=session_id,
                    mode=wanted.mode,
                    endpoint=wanted.endpoint,
                    kernel_name=wanted.kernel_name,
                    budget=wanted.budget,
                    sandbox=wanted.sandbox,
                    network=wanted.network,
                )
            )
        if wanted.archived is not None and wanted.archived is not summary.archived:
            if wanted.archived and (session.busy or session.waits):
                raise Conflict("a turn is running or waiting; stop it before archiving the session")
            events.append(SessionArchived(session_id=session_id, archived=wanted.archived))
            if wanted.archived and summary.notebook:
                events.append(SessionDetached(session_id=session_id, reason="The session was archived."))
        if events:
            await session.log.append(*events)
        if session.log.summary.archived:
            start_guarded(self.around.tasks, session.put_away)
        elif moved := _moved(summary, session.log.summary):
            start_guarded(self.around.tasks, session.kernel.begin_anew, moved)
        return session.log.summary

    async def submit(self, session_id: SessionId, wanted: TurnCreate) -> TurnAccepted:
        """:raises InvalidInput: if there is no text, or a limit that nothing could keep"""
        _check_text(wanted.text)
        _check_budget(wanted.budget)
        return await self._session(session_id).submit(wanted)

    async def edit(self, session_id: SessionId, turn_id: TurnId, wanted: TurnPatch) -> TurnAccepted:
        """:raises InvalidInput: if there is no text"""
        _check_text(wanted.text)
        return await self._session(session_id).edit(turn_id, wanted.text)

    async def resume(self, session_id: SessionId) -> TurnAccepted:
        return await self._session(session_id).resume()

    async def pause(self, session_id: SessionId) -> SessionSummary:
        await self._session(session_id).pause()
        return self.summary(session_id)

    async def compact(self, session_id: SessionId) -> SessionSummary:
        await self._session(session_id).compact()
        return self.summary(session_id)

    async def cancel(self, session_id: SessionId, turn_id: TurnId) -> None:
        await self._session(session_id).cancel(turn_id)

    async def stop(self, session_id: SessionId) -> SessionSummary:
        await self._session(session_id).stop()
        return self.summary(session_id)

    async def running_executor(self, session_id: SessionId) -> Executor | None:
        """The session's kernel, if it has one already."""
        return await self._session(session_id).kernel.running()

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

    async def recover(self, tools: "Mapping[str, Tool[Any]] | None" = None) -> list[SessionId]:
        """Bring each session that a previous server left behind to a legal state: idle, or still waiting for a person. Returns those
        in which something was closed. ``tools``: those that its turns had, which tell what became of their calls; ``None``: the
        agent's own."""
        left = await self.around.store.unfinished()
        if not left:
            return []
        # Imported here: most servers find nothing to settle.
        from ..agent.recovery import settle

        events: list[Event] = []
        for session_id, log_ in left.items():
            events += await settle(log_, self.around.root / self.summary(session_id).space_root, tools)
        for stored in await self.around.store.append(events):
            left[stored.event.session_id].append(stored)
        for session_id, log_ in left.items():
            if self.summary(session_id).state is not SessionState.IDLE_READY:
                self._keep(session_id, log_)
        closed = list(dict.fromkeys(event.session_id for event in events))
        if closed:
            log.warning("%d sessions were interrupted when the last server ended", len(closed))
        return closed

    def _keep(self, session_id: SessionId, log_: Sequence[Stored]) -> None:
        """Take over a session that waits for a person."""
        from ..agent.recovery import kept_turn

        fold = SessionFold.of(session_id, log_)
        kept = kept_turn(fold.view)
        if kept is None:
            return
        queued = [
            QueuedTurn(turn_id=event.turn_id, can_ask=event.can_ask, reopened=event.turn_id == kept.turn_id)
            for event in (each.event for each in log_)
            if isinstance(event, TurnSubmitted) and _is_open(fold, event.turn_id)
        ]
        waiting = next(turn for turn in queued if turn.reopened)
        self._session(session_id).restore(
            waiting, [turn for turn in queued if turn is not waiting], fold.open_approvals()
        )

    async def write_records(self, session_ids: list[SessionId]) -> None:
        for session_id in session_ids:
            await self._session(session_id).record.write()

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _session(self, session_id: SessionId) -> Session:
        session = self._live.get(session_id)
        if session is None:
            self.summary(session_id)
            session = self._live[session_id] = self._make(session_id)
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


def _check_text(text: str) -> None:
    if not text.strip():
        raise InvalidInput("$.text", "the message is empty")


def _moved(before: SessionSummary, now: SessionSummary) -> str:
    """What is told of the kernel of a session that goes into the sandbox, out of it, or gets another wall; "" if it may go on."""
    if before.sandbox == now.sandbox and (not now.sandbox or before.network == now.network):
        return ""
    if not now.sandbox:
        said = "The session left the sandbox"
    elif not before.sandbox:
        said = "The session is in the sandbox now"
    else:
        said = f"The sandbox {'lets the network through' if now.network else 'keeps the network out'} now"
    return f"{said}, and its kernel was ended: all variables are gone. The next code runs in a fresh one."


def _check_budget(budget: Budget | None) -> None:
    """The same bounds as in the settings."""
    if budget is None:
        return
    for name, least in (("rounds", 1), ("tokens", 1), ("changed_lines", 0)):
        value = getattr(budget, name)
        if value is not None and not least <= value <= _HIGHEST_LIMIT:
            raise InvalidInput(f"$.budget.{name}", f"a whole number from {least} up, or null for no limit")
    for name in ("seconds", "cost"):
        value = getattr(budget, name)
        if value is not None and value <= 0:
            raise InvalidInput(f"$.budget.{name}", "a number above 0, or null for no limit")


def _is_open(fold: SessionFold, turn_id: TurnId) -> bool:
    turn = fold.turn(turn_id)
    return turn is not None and turn.code is None


def resolved_root(path: str | Path) -> Path:
    return Path(path).expanduser().resolve()
