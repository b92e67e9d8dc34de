"""What agents did to the cells of notebooks, over all sessions: listed for a page, kept or undone by the user.

An undo is made by whoever holds the notebook now, and only if the cell still is as the agent left it. It is found out from the notebook
what is to be done, so one that was cut short is finished by asking for it again.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import anyio
from msgspec.structs import replace

from ...cells import found, inverse, standing
from ...errors import Conflict, NotebookRefused, NotFound
from ...events import CellChangeResolved
from ...fold import SessionFold
from ...ids import ChangeId, ExecutionId, SessionId, TurnId, new_change_id
from ...records import JSON, CellChange, CellChangeView, CellSnapshot, ChangeDecision, ExecutionView, PageAnswer
from ..session_log import turn_of_execution
from ..session_widgets import widgets_of
from ..surroundings import Surroundings
from .hub import NotebookHub

if TYPE_CHECKING:
    from ..session import Session

_OPEN = ("requested", "made")
_STAYS_IN_KERNEL = "What ran in the kernel is not undone: its variables and files stay as the code left them."
_AT_THE_END = "The cell that it stood behind is gone, so it stands at the end now."


class CellExecutions(NamedTuple):
    """``seqs``: for each execution the last event of its session that its view contains, as long as nothing is awaited."""

    views: list[ExecutionView]
    seqs: dict[ExecutionId, int]


class SessionCells:
    def __init__(self, around: Surroundings, session: "Callable[[SessionId], Session]") -> None:
        self._around = around
        self._session = session
        self._deciding = anyio.Lock()

    # ---- listing --------------------------------------------------------------------------------------------------------

    async def changes(self, path: str) -> list[CellChangeView]:
        """What is neither refused nor decided about of the notebook at ``path``, relative to the server's root; oldest first."""
        found_ = [
            view
            for _, fold in await self._folds()
            for view in fold.changes()
            if view.status in _OPEN and self._is_of(fold, view.change.path, path)
        ]
        return sorted(found_, key=lambda view: view.change.change_id)

    async def executions(self, path: str) -> CellExecutions:
        """Cells of the notebook that run, or whose outputs do not stand in it yet; of each cell the last, oldest first."""
        folds = dict(await self._folds())
        # nothing is awaited from here on: views and seqs are of one moment
        open_ = [(session_id, view) for session_id, view in self._last(folds, path) if not view.mirrored]
        return CellExecutions(
            views=[view for _, view in open_],
            seqs={view.execution_id: folds[session_id].view.last_seq for session_id, view in open_},
        )

    async def owed(self, path: str) -> list[tuple[SessionId, ExecutionView]]:
        """Those that have ended and whose outputs do not stand in the notebook yet."""
        return [
            (owner, view)
            for owner, view in self._last(dict(await self._folds()), path)
            if view.status is not None and not view.mirrored
        ]

    async def owed_paths(self) -> set[str]:
        """The notebooks that such are owed to."""
        return {
            self.path_now(fold, view.notebook)
            for _, fold in await self._folds()
            for view in fold.executions()
            if view.cell_id and view.status not in (None, "not_run") and not view.mirrored
        }

    async def superseded(self, view: ExecutionView, path: str) -> bool:
        """The cell was run again since."""
        last = {one.cell_id: one.execution_id for _, one in self._last(dict(await self._folds()), path)}
        return last.get(view.cell_id, view.execution_id) != view.execution_id

    async def execution(self, session_id: SessionId, execution_id: ExecutionId) -> tuple[ExecutionView | None, str]:
        """The execution, and where its notebook is now."""
        await self._hub.traces.sessions()
        fold = await self._session(session_id).log.fold()
        view = fold.execution(execution_id)
        return view, "" if view is None else self.path_now(fold, view.notebook)

    async def widgets(self, session_id: SessionId, view: ExecutionView) -> dict[str, JSON]:
        """The state of the widgets that the execution shows, as it was stored last."""
        return widgets_of(view.outputs, (await self._session(session_id).log.fold()).view.widgets)

    async def turn_of(self, session_id: SessionId, execution_id: ExecutionId) -> TurnId | None:
        fold = await self._session(session_id).log.fold()
        return turn_of_execution(fold, execution_id)

    def _last(self, folds: dict[SessionId, SessionFold], path: str) -> list[tuple[SessionId, ExecutionView]]:
        """The last execution of each cell of the notebook that was run, oldest first."""
        last: dict[str, tuple[SessionId, ExecutionView]] = {}
        for session_id, fold in folds.items():
            for view in fold.executions():
                if not view.cell_id or view.status == "not_run" or not self._is_of(fold, view.notebook, path):
                    continue
                before = last.get(view.cell_id)
                if before is None or before[1].execution_id < view.execution_id:
                    last[view.cell_id] = session_id, view
        return sorted(last.values(), key=lambda one: one[1].execution_id)

    async def _folds(self) -> list[tuple[SessionId, SessionFold]]:
        return [(session.session_id, await self._followed(session)) for session in await self._sessions()]

    async def _followed(self, session: "Session") -> SessionFold:
        """The session, which has noticed if its notebook was renamed since it last looked."""
        with suppress(NotebookRefused):  # it is attached to none
            await session.attachment.path()
        return await session.log.fold()

    async def _sessions(self) -> "list[Session]":
        hub = self._hub
        ids = await hub.traces.sessions()
        return [self._session(session_id) for session_id in sorted(ids) if self._around.store.summary(session_id)]

    def _is_of(self, fold: SessionFold, recorded: str, path: str) -> bool:
        return self._hub.same(self.path_now(fold, recorded), path)

    def path_now(self, fold: SessionFold, recorded: str) -> str:
        """Where a notebook is now that was at ``recorded`` when something was stored about it: what the session is attached to may have
        been renamed since."""
        return self._hub.traces.renamed(fold.view.session_id, recorded)

    @property
    def _hub(self) -> NotebookHub:
        if self._around.notebooks is None:
            raise NotebookRefused("this server has no notebooks")
        return self._around.notebooks

    async def answered(self, page_id: str, answer: PageAnswer) -> None:
        """What became of a request to a page. An answer about a change that an earlier server asked for counts if that change is known
        to have been made.

        :raises Conflict: if it counts no more: the page must take back what it did
        """
        try:
            self._hub.pages.answered(page_id, answer)
        except Conflict:
            if answer.refused or not await self._was_made(ChangeId(answer.request_id)):
                raise

    async def _was_made(self, change_id: ChangeId) -> bool:
        if not change_id.startswith("chg_"):
            return False
        session_id = await self._hub.traces.session_of_change(change_id)
        if session_id is None:
            return False
        view = (await self._session(session_id).log.fold()).change(change_id)
        return view is not None and view.status in ("made", "kept")

    # ---- keeping and undoing --------------------------------------------------------------------------------------------

    async def decide(self, change_id: ChangeId, decision: ChangeDecision, *, by: str) -> CellChangeView:
        """Keep or undo one change; once it is so, asking for the same again changes nothing.

        :raises NotFound: if there is no such change
        :raises Conflict: if it was not made, or decided otherwise, or the cell is not as the agent left it
        """
        session_id = await self._hub.traces.session_of_change(change_id)
        if session_id is None:
            raise NotFound("change", change_id)
        async with self._deciding:
            fold = await self._followed(self._session(session_id))
            view = fold.change(change_id)
            if view is None:
                raise NotFound("change", change_id)
            await self._decide(session_id, fold, view, decision, by)
            return view

    async def decide_turn(
        self, session_id: SessionId, turn_id: TurnId, decision: ChangeDecision, *, by: str
    ) -> list[CellChangeView]:
        """All changes of a turn that nothing was decided about, the newest first. The first one that cannot be undone ends it; those
        before stay undone.

        :raises Conflict: naming that one and why
        """
        async with self._deciding:
            fold = await self._followed(self._session(session_id))
            if fold.turn(turn_id) is None:
                raise NotFound("turn", turn_id)
            views = [view for view in fold.changes() if view.turn_id == turn_id and view.status == "made"]
            for done, view in enumerate(reversed(views)):
                try:
                    await self._decide(session_id, fold, view, decision, by)
                except Conflict as exc:
                    before = f" {done} later changes were undone." if done else ""
                    raise Conflict(f"{exc}.{before}".replace("..", ".")) from exc
            return list(reversed(views))

    async def _decide(
        self, session_id: SessionId, fold: SessionFold, view: CellChangeView, decision: ChangeDecision, by: str
    ) -> None:
        done = "kept" if decision == "keep" else "undone"
        if view.status == done:
            return
        if view.status != "made":
            raise Conflict(_NOT_OPEN[view.status])
        detail = "" if decision == "keep" else await self._undo(session_id, fold, view)
        await self._session(session_id).log.append(
            CellChangeResolved(
                session_id=session_id,
                turn_id=view.turn_id,
                change_id=view.change.change_id,
                decision=decision,
                by=by,
                detail=detail,
            )
        )

    async def _undo(self, session_id: SessionId, fold: SessionFold, view: CellChangeView) -> str:
        """Undo it in the notebook; the answer is what could not be undone."""
        hub, change = self._hub, view.change
        path = self.path_now(fold, change.path)
        held, _ = await hub.read(path, session_id)
        details = [_STAYS_IN_KERNEL] if _ran(fold, change) else []
        match standing(held.cells, change):
            case "before":
                return " ".join(details)  # it was undone, by an earlier attempt or by hand
            case "neither":
                raise Conflict(
                    f"the cell {change.cell_id!r} of {path!r} is not as the agent left it any more; it was not touched"
                )
            case "after":
                undo, more = _undoing(held.cells, replace(change, path=path))
                await hub.change(path, session_id, undo)
                return " ".join([*more, *details])


_NOT_OPEN = {
    "requested": "this change is still under way",
    "refused": "this change was never made",
    "kept": "this change was kept; what is there now is yours to edit",
    "undone": "this change was undone already",
}


def _undoing(cells: list[CellSnapshot], change: CellChange) -> tuple[CellChange, list[str]]:
    """The change that undoes it in these cells, and what there is to say about it."""
    undo = replace(inverse(change, found(cells, change.cell_id)), change_id=new_change_id())
    if undo.op in ("insert", "move") and undo.behind:
        others = [cell for cell in cells if cell.cell_id != undo.cell_id]
        if found(others, undo.behind) is None:
            behind = others[-1].cell_id if others else ""
            return replace(undo, behind=behind), [_AT_THE_END]
    return undo, []


def _ran(fold: SessionFold, change: CellChange) -> bool:
    """Code of this cell, as the agent had left it, went to a kernel."""
    after = change.after
    return after is not None and any(
        view.cell_id == change.cell_id and view.code == after.source and view.status not in (None, "not_run")
        for view in fold.executions()
    )
