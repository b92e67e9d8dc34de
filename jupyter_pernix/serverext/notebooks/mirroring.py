"""Outputs that do not stand in their notebook yet, put there when that may succeed: when a page opens or closes the notebook, when more
comes after an execution has ended, and after the server was started anew.

A page mirrors what runs in a notebook that it has open by itself, from the stream. A shared document is kept up to date from here while
the code runs; a file gets what comes late a moment after it has come.
"""

import logging
from collections.abc import Sequence

import anyio

from ...cells import found
from ...errors import NotebookRefused, PernixError
from ...events import ExecutionFinished, ExecutionMirrored, ExecutionOutput, ExecutionStarted, Stored
from ...ids import ExecutionId, SessionId
from ...records import ExecutionView, NotebookOwner
from ..background import start_guarded
from ..surroundings import Surroundings
from .hub import NotebookHub
from .owners import Outputs
from .pages import GRACE_SECONDS
from .session_cells import SessionCells

log = logging.getLogger(__name__)

LATER_SECONDS = 1.0
"""So long it is waited for more before outputs are put again."""


class Mirroring:
    """``saw`` is given what is committed."""

    def __init__(self, around: Surroundings, hub: NotebookHub, cells: SessionCells) -> None:
        self._around = around
        self._hub = hub
        self._cells = cells
        self._running: set[ExecutionId] = set()
        self._ended: set[ExecutionId] = set()
        """Executions of cells that were begun in this process, and have ended."""
        self._waiting: set[ExecutionId] = set()
        self._wanted: dict[ExecutionId, SessionId] = {}
        self._paths: set[str] = set()
        self._wake: anyio.Event | None = None
        self._putting = anyio.Lock()
        hub.pages.on_change = self.owner_changed

    def saw(self, group: Sequence[Stored]) -> None:
        for stored in group:
            event = stored.event
            match event:
                case ExecutionStarted() if event.cell_id:
                    self._running.add(event.execution_id)
                case ExecutionFinished() if event.execution_id in self._running:
                    self._running.discard(event.execution_id)
                    self._ended.add(event.execution_id)
                case ExecutionOutput() if event.execution_id in self._ended or (
                    event.execution_id in self._running and self._hub.shares
                ):
                    self._put_later(event.session_id, event.execution_id)
                case _:
                    pass

    async def run(self) -> None:
        """Does what ``saw`` and the pages give cause to, until it is cancelled."""
        while True:
            self._wake = anyio.Event()
            paths, self._paths = self._paths, set()
            for path in paths:
                start_guarded(self._around.tasks, self.settle, path)
            wanted, self._wanted = self._wanted, {}
            for execution_id, session_id in wanted.items():
                start_guarded(self._around.tasks, self._later, session_id, execution_id)
            await self._wake.wait()

    def _put_later(self, session_id: SessionId, execution_id: ExecutionId) -> None:
        if execution_id not in self._waiting:
            self._waiting.add(execution_id)
            self._wanted[execution_id] = session_id
            self._stir()

    def _stir(self) -> None:
        # what is committed is told outside of any task, where none can be started
        if self._wake is not None:
            self._wake.set()

    async def _later(self, session_id: SessionId, execution_id: ExecutionId) -> None:
        await self._around.clock.sleep(LATER_SECONDS)
        self._waiting.discard(execution_id)
        view, path = await self._cells.execution(session_id, execution_id)
        if view is None or await self._cells.superseded(view, path):
            return
        # A page that was there before shows them already; one that was reloaded since has not heard of the execution.
        if view.status is None and not await self._hub.is_shared(path):
            return
        try:
            await self._put(session_id, view, path)
        except NotebookRefused as exc:
            log.info("late outputs of the cell %s of %r were not put: %s", view.cell_id, path, exc)

    # ---- what is owed ---------------------------------------------------------------------------------------------------

    def owner_changed(self, paths: set[str]) -> None:
        self._paths |= paths
        self._stir()

    async def settle(self, path: str) -> None:
        """Put what is owed to the notebook, as far as its owner takes it."""
        if not await self._hub.traces.sessions():
            return
        async with self._putting:
            for session_id, view in await self._cells.owed(path):
                try:
                    await self._settle(session_id, view, path)
                except PernixError as exc:
                    log.info("outputs of the cell %s of %r are still owed: %s", view.cell_id, path, exc)

    async def after_start(self) -> None:
        """Put what is owed from before, once pages have had time to tell what they have open."""
        await self._around.clock.sleep(GRACE_SECONDS)
        for path in await self._cells.owed_paths():
            await self.settle(path)

    async def _settle(self, session_id: SessionId, view: ExecutionView, path: str) -> None:
        held, owner = await self._hub.read(path, session_id)
        cell = found(held.cells, view.cell_id)
        if cell is None:
            raise NotebookRefused(f"the cell {view.cell_id!r} is gone")
        anew = (cell.execution_count or 0) > (view.execution_count or 0)
        if not anew:
            owner = await self._put(session_id, view, path)
        turn_id = await self._cells.turn_of(session_id, view.execution_id)
        if turn_id is not None:
            await self._around.store.append(
                [ExecutionMirrored(session_id=session_id, turn_id=turn_id, execution_id=view.execution_id, owner=owner)]
            )

    async def _put(self, session_id: SessionId, view: ExecutionView, path: str) -> NotebookOwner:
        outputs = Outputs(
            view.cell_id,
            view.execution_id,
            [dict(output) for output in view.outputs],
            view.execution_count,
            view.trusted,
            running=view.status is None,
            widgets=await self._cells.widgets(session_id, view),
        )
        return await self._hub.put_outputs(path, session_id, outputs)
