"""A notebook that is a shared document of the server: every page that has it open follows, and edits of users that come at the same time
are kept. Looked at and changed at once, in one transaction; the extension that keeps the documents also saves them.

Only documents that are open are used: one that nobody has open is its file.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from ...cells import missing, outputs_differ, refusal, same_content
from ...errors import NotebookRefused
from ...ids import ExecutionId
from ...records import JSON, CellChange, CellSnapshot, NotebookOwner
from .nbcells import as_cell, snapshot
from .owners import Held, Outputs
from .trust import only_safe

EXTENSION = "jupyter_server_ydoc"
ORIGIN = "jupyter_pernix"


class SharedDocuments:
    """``extensions``: the server's extensions by name, asked when they are needed."""

    def __init__(self, extensions: Callable[[], Mapping[str, Any]]) -> None:
        self._extensions = extensions

    @property
    def enabled(self) -> bool:
        return self._keeper() is not None

    async def owner(self, path: str) -> "DocumentOwner | None":
        """``None``: it is not open as a shared document."""
        keeper = self._keeper()
        if keeper is None:
            return None
        document = await keeper.get_document(
            path=path, content_type="notebook", file_format="json", copy=False, create=False
        )
        return None if document is None else DocumentOwner(document, path)

    def _keeper(self) -> Any:
        found = self._extensions().get(EXTENSION)
        if isinstance(found, set):
            found = next(iter(cast(set[Any], found)), None)
        return None if found is None or found.disable_rtc else found


class DocumentOwner:
    """One open document, a ``YNotebook``."""

    kind: NotebookOwner = "ydoc"

    def __init__(self, document: Any, path: str) -> None:
        self._document = document
        self._path = path

    async def read(self) -> Held:
        return Held(cells=self._snapshots(), language=self._language())

    async def change(self, change: CellChange) -> None:
        with self._document.ydoc.transaction(origin=ORIGIN):
            why = refusal(self._snapshots(), change)
            if why:
                raise NotebookRefused(f"{self._path!r}: {why}")
            self._make(change)

    async def begin_run(self, cell: CellSnapshot, execution_id: ExecutionId, *, trusted: bool) -> None:
        with self._document.ydoc.transaction(origin=ORIGIN):
            index = self._index(cell.cell_id)
            if not same_content(_snapshot(self._cells[index]), cell):
                raise NotebookRefused(f"{self._path!r}: the cell {cell.cell_id!r} was changed meanwhile")
            _set_outputs(self._cells[index], [], None, state="running")

    async def put_outputs(self, outputs: Outputs) -> None:
        with self._document.ydoc.transaction(origin=ORIGIN):
            cell = self._cells[self._index(outputs.cell_id)]
            if cell["cell_type"] != "code":
                raise NotebookRefused(f"{self._path!r}: the cell {outputs.cell_id!r} is no code cell any more")
            cell["metadata"]["trusted"] = outputs.trusted or only_safe(outputs.outputs)
            _set_outputs(cell, outputs.outputs, outputs.execution_count, state="running" if outputs.running else "idle")

    def _make(self, change: CellChange) -> None:
        if change.op == "insert":
            assert change.after is not None
            self._insert(change.after, change.behind)
            return
        index = self._index(change.cell_id)
        match change.op:
            case "delete":
                del self._cells[index]
            case "move":
                # as one cell taken out and an equal one put in: the pages' library knows no move
                moved = _snapshot(self._cells[index])
                del self._cells[index]
                self._insert(moved, change.behind)
            case "edit":
                self._edit(index, change)

    def _insert(self, cell: CellSnapshot, behind: str | None) -> None:
        index = self._index(behind) + 1 if behind else 0
        self._cells.insert(index, self._document.create_ycell(as_cell(cell)))

    def _edit(self, index: int, change: CellChange) -> None:
        before, after = change.before, change.after
        assert before is not None and after is not None
        cell = self._cells[index]
        if before.cell_type != after.cell_type or before.attachments != after.attachments:
            self._cells[index] = self._document.create_ycell(as_cell(after))
            return
        source = cell["source"]
        source.clear()
        source += after.source
        if outputs_differ(change):
            _set_outputs(cell, after.outputs, after.execution_count, state="idle")
        if before.metadata != after.metadata:
            cell["metadata"].clear()
            cell["metadata"].update(after.metadata)

    @property
    def _cells(self) -> Any:
        return self._document.ycells

    def _snapshots(self) -> list[CellSnapshot]:
        return [_snapshot(cell) for cell in self._cells]

    def _index(self, cell_id: str) -> int:
        """:raises NotebookRefused: if the id names no cell"""
        snapshots = self._snapshots()
        why = missing(snapshots, cell_id)
        if why:
            raise NotebookRefused(f"{self._path!r}: {why}")
        return next(index for index, cell in enumerate(snapshots) if cell.cell_id == cell_id)

    def _language(self) -> str:
        metadata: JSON = self._document.get().get("metadata") or {}
        info, spec = metadata.get("language_info") or {}, metadata.get("kernelspec") or {}
        return str(info.get("name") or spec.get("language") or "").lower()


def _snapshot(cell: Any) -> CellSnapshot:
    return snapshot(cast(JSON, _whole(cell.to_py())))


def _whole(value: Any) -> Any:
    """Whole numbers are such again; in a document that a browser wrote all numbers have a point."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in cast(JSON, value).items()}
    if isinstance(value, list):
        return [_whole(one) for one in cast(list[Any], value)]
    return value


def _set_outputs(cell: Any, outputs: list[JSON], execution_count: int | None, *, state: str) -> None:
    # Imported here: it is there whenever there is a shared document, and only then.
    from pycrdt import Map, Text  # type: ignore[import-not-found]

    made: list[Any] = []
    for output in outputs:
        text = output.get("text")
        if output.get("output_type") == "stream":
            output = {**output, "text": Text("".join(text) if isinstance(text, list) else str(text or ""))}
        made.append(Map(output))
    cell["outputs"].clear()
    cell["outputs"].extend(made)
    cell["execution_count"] = execution_count
    cell["execution_state"] = state
