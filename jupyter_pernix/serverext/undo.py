"""The files that sessions have changed: listed with their differences, and put back by the user. The wish is stored before anything is done,
and each file after it; one that was cut short is finished by asking for it again.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ..errors import NotFound, ToolError
from ..events import Event, FileRestored, FileRestoreRefused, FilesUndoRequested
from ..ids import SessionId, UndoId, new_undo_id
from ..records import ChangedFile, FilesUndo, FileUndone
from .surroundings import Surroundings

if TYPE_CHECKING:
    from ..agent.safety.undoing import Step, Undoing
    from .session import Session

log = logging.getLogger(__name__)


class SessionFiles:
    def __init__(self, around: Surroundings, session: "Callable[[SessionId], Session]") -> None:
        self._around = around
        self._session = session
        self._undoing = anyio.Lock()

    async def changed(self, session_id: SessionId, *, path: str = "", diff: bool = False) -> list[ChangedFile]:
        """All that the session has changed, in the order of the first change; with ``path`` that file alone.

        :raises NotFound: if there is no such session, or it has not changed that file
        """
        undoing = await self._files(session_id)
        found = await anyio.to_thread.run_sync(lambda: undoing.changed(path=path, diff=diff))
        if path and not found:
            raise NotFound("changed file", path)
        return found

    async def undo(self, session_id: SessionId, wanted: FilesUndo, *, by: str) -> list[FileUndone]:
        """Put files back. What cannot be is refused file by file, and the others are put back.

        :raises NotFound: if the session, or the turn in it, is not there
        :raises Conflict: if a turn runs or waits
        """
        session = self._session(session_id)
        async with session.at_rest(), self._undoing:
            if wanted.turn_id is not None and (await session.log.fold()).turn(wanted.turn_id) is None:
                raise NotFound("turn", wanted.turn_id)
            undoing = await self._files(session_id)
            steps = await anyio.to_thread.run_sync(undoing.steps, wanted.turn_id, wanted.paths)
            if not steps:
                return []
            undo_id = new_undo_id()
            await session.log.append(
                FilesUndoRequested(
                    session_id=session_id,
                    undo_id=undo_id,
                    turn_id=wanted.turn_id,
                    paths=[step.path for step in steps],
                    by=by,
                )
            )
            return [await self._one(session, undoing, step, undo_id) for step in steps]

    async def _one(self, session: "Session", undoing: "Undoing", step: "Step", undo_id: UndoId) -> FileUndone:
        """Once a file is put back, that is stored: a stop in between would leave a change that nobody knows of."""
        event: Event
        with anyio.CancelScope(shield=True):
            try:
                before, after = await anyio.to_thread.run_sync(undoing.restore, step)
            except ToolError as exc:
                reason = str(exc)
                event = FileRestoreRefused(
                    session_id=session.session_id, undo_id=undo_id, path=step.path, reason=reason
                )
            else:
                reason = ""
                event = FileRestored(
                    session_id=session.session_id,
                    undo_id=undo_id,
                    path=step.path,
                    before=before,
                    after=after,
                    call_ids=step.call_ids,
                )
            await session.log.append(event)
        return FileUndone(path=step.path, reason=reason)

    async def _files(self, session_id: SessionId) -> "Undoing":
        # Imported here: it is asked for seldom, and the server starts without it.
        from ..agent.safety.undoing import Undoing

        log_ = self._session(session_id).log
        events = await self._around.store.events(session_id)
        return Undoing(space=log_.space, kept=self._around.kept_folder, log=events)
