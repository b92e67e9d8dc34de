"""Notebooks in memory."""

from collections.abc import Callable, Sequence

import anyio.lowlevel
from msgspec.structs import replace

from ...cells import applied, found, missing, refusal, same_content
from ...errors import NotebookMissing, NotebookRefused
from ...ids import ExecutionId
from ...ports import NotebookState
from ...records import JSON, CellChange, CellSnapshot, NotebookOwner


class MemoryNotebooks:
    """``cells`` of each notebook by path. ``attached``: the one that the session is attached to. ``by_hand`` is called before anything is
    done, with what is about to be done (``read``, ``change``, ``run``, ``outputs``): a user at work, or a ``NotebookRefused``."""

    def __init__(self, notebooks: dict[str, Sequence[CellSnapshot]] | None = None, *, attached: str = "") -> None:
        self.cells: dict[str, list[CellSnapshot]] = {path: list(cells) for path, cells in (notebooks or {}).items()}
        self.attached = attached
        self.owner: NotebookOwner = "file"
        self.language = "python"
        self.written: set[str] = set()
        self.running: dict[str, ExecutionId] = {}
        self.done: list[str] = []
        """What was done, in order."""
        self.by_hand: Callable[[str], None] = lambda what: None

    async def read(self, path: str, *, from_root: bool = False) -> NotebookState:
        where = await self._at(path, "read")
        return NotebookState(
            path=where,
            owner=self.owner,
            language=self.language,
            cells=list(self.cells[where]),
            name=where,
            written=frozenset(self.written),
            attached=where == self.attached,
        )

    async def create(self, path: str) -> None:
        await anyio.lowlevel.checkpoint()
        self.by_hand("create")
        if path in self.cells:
            raise NotebookRefused(f"there is something at {path!r} already")
        self.cells[path] = []
        self.done.append("create")

    async def change(self, change: CellChange) -> NotebookOwner:
        where = await self._at(change.path, "change")
        why = refusal(self.cells[where], change)
        if why:
            raise NotebookRefused(why)
        self.cells[where] = applied(self.cells[where], change)
        if change.op in ("insert", "edit"):
            self.written.add(change.cell_id)
        return self.owner

    async def begin_run(
        self, path: str, cell: CellSnapshot, execution_id: ExecutionId, *, trusted: bool
    ) -> NotebookOwner:
        where = await self._at(path, "run")
        if not same_content(self._cell(where, cell.cell_id), cell):
            raise NotebookRefused(f"the cell {cell.cell_id!r} was changed meanwhile")
        self._put(where, cell.cell_id, [], None)
        self.running[cell.cell_id] = execution_id
        return self.owner

    async def put_outputs(
        self,
        path: str,
        cell_id: str,
        execution_id: ExecutionId,
        outputs: list[JSON],
        execution_count: int | None,
        *,
        trusted: bool,
    ) -> NotebookOwner:
        where = await self._at(path, "outputs")
        self._cell(where, cell_id)
        self._put(where, cell_id, outputs, execution_count)
        self.running.pop(cell_id, None)
        return self.owner

    async def _at(self, path: str, what: str) -> str:
        await anyio.lowlevel.checkpoint()
        self.by_hand(what)
        where = path or self.attached
        if where not in self.cells:
            if not where:
                raise NotebookRefused("the session is not attached")
            raise NotebookMissing(f"there is no notebook {where!r}")
        self.done.append(what)
        return where

    def _cell(self, where: str, cell_id: str) -> CellSnapshot:
        cell = found(self.cells[where], cell_id)
        if cell is None:
            raise NotebookRefused(missing(self.cells[where], cell_id))
        return cell

    def _put(self, where: str, cell_id: str, outputs: list[JSON], execution_count: int | None) -> None:
        self.cells[where] = [
            replace(cell, outputs=list(outputs), execution_count=execution_count) if cell.cell_id == cell_id else cell
            for cell in self.cells[where]
        ]
