"""A change of a cell as a change of its notebook: lines, a diff, and where. Pure."""

from ..cells import cell_digest
from ..records import CellChange, CellSnapshot, FileChange
from .tools.textfile import unified_diff


def file_change(change: CellChange, *, space_root: str) -> FileChange:
    """``before`` and ``after`` are digests of the cell, also of one that was not there: the notebook's file is neither made nor removed
    by it. ``space_root``: the space, relative to the server's root."""
    path = space_path(change.path, space_root)
    diff, added, removed = unified_diff(_source(change.before), _source(change.after), name=path)
    return FileChange(
        path=path,
        before=_digest(change.before),
        after=_digest(change.after),
        added_lines=added,
        removed_lines=removed,
        diff=diff,
    )


def space_path(path: str, space_root: str) -> str:
    """``path``, relative to the server's root, below the space."""
    return path.removeprefix(f"{space_root}/") if space_root else path


def _source(cell: CellSnapshot | None) -> str:
    return "" if cell is None else cell.source


def _digest(cell: CellSnapshot | None) -> str:
    return cell_digest("", "") if cell is None else cell_digest(cell.cell_type, cell.source)
