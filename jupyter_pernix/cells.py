"""Cells of a notebook and changes of them: the rules that every owner of a notebook, and every test's, carries out. Pure.

A cell is named by its id, never by its place. A change is made only to what it was asked for: type and source are compared, outputs are
not, since running a cell does not change what it is. An id that two cells have names neither.
"""

import hashlib
from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from .records import CellChange, CellSnapshot

Standing = Literal["before", "after", "neither"]
"""How a notebook stands to a change: as it was before it, as it is after it, or as somebody else has made it."""


def cell_digest(cell_type: str, source: str) -> str:
    """What a cell is known by: 12 hex digits of its type and source."""
    return hashlib.sha256(f"{cell_type}\n{source}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


def digest_of(cell: CellSnapshot) -> str:
    return cell_digest(cell.cell_type, cell.source)


def found(cells: Sequence[CellSnapshot], cell_id: str) -> CellSnapshot | None:
    """The one cell with this id."""
    same = [cell for cell in cells if cell.cell_id == cell_id]
    return same[0] if len(same) == 1 else None


def place_behind(cells: Sequence[CellSnapshot], cell_id: str) -> str | None:
    """The id of the cell that stands before this one, "" for the first; ``None``: there is no such cell."""
    for index, cell in enumerate(cells):
        if cell.cell_id == cell_id:
            return cells[index - 1].cell_id if index else ""
    return None


def same_content(one: CellSnapshot, two: CellSnapshot) -> bool:
    return one.cell_type == two.cell_type and one.source == two.source


def missing(cells: Sequence[CellSnapshot], cell_id: str) -> str:
    """Why this id names no cell, "" if it names one."""
    count = sum(cell.cell_id == cell_id for cell in cells)
    if count == 1:
        return ""
    if count:
        return f"{count} cells have the id {cell_id!r}, so it names none of them"
    return f"there is no cell {cell_id!r}; it may have been deleted"


def refusal(cells: Sequence[CellSnapshot], change: CellChange) -> str:
    """Why the change cannot be made to these cells, "" if it can."""
    cell_id, behind = change.cell_id, change.behind
    if change.op == "insert":
        if any(cell.cell_id == cell_id for cell in cells):
            return f"there is a cell {cell_id!r} already"
    else:
        why = missing(cells, cell_id)
        if why:
            return why
        now = found(cells, cell_id)
        assert now is not None and change.before is not None
        if not same_content(now, change.before):
            return f"the cell {cell_id!r} was changed meanwhile"
    if change.op in ("insert", "move"):
        if behind is None or behind == cell_id:
            return f"the cell {cell_id!r} cannot stand behind itself"
        if behind:
            return missing(cells, behind)
    return ""


def standing(cells: Sequence[CellSnapshot], change: CellChange) -> Standing:
    """Whether the notebook is as before the change or as after it. Where both are true, nothing was to be changed: ``after``."""
    before, after = change.before, change.after
    if sum(cell.cell_id == change.cell_id for cell in cells) > 1:
        return "neither"
    now = found(cells, change.cell_id)
    if now is None:
        return "after" if after is None else "before" if before is None else "neither"
    if after is not None and same_content(now, after):
        behind = place_behind(cells, change.cell_id)
        if change.op != "move" or behind == change.behind:
            return "after"
        return "before" if behind == change.was_behind else "neither"
    return "before" if before is not None and same_content(now, before) else "neither"


def outputs_differ(change: CellChange) -> bool:
    """Whether an edit sets the outputs too: that of an undo does, or one that makes another type of the cell."""
    before, after = change.before, change.after
    if before is None or after is None:
        return True
    return (
        before.cell_type != after.cell_type
        or before.outputs != after.outputs
        or before.execution_count != after.execution_count
    )


def applied(cells: Sequence[CellSnapshot], change: CellChange) -> list[CellSnapshot]:
    """The cells with the change made. It must not be refused by ``refusal``."""
    now = found(cells, change.cell_id)
    rest = list(cells)
    if change.op == "edit":
        assert now is not None and change.after is not None
        return [edited(cell, change) if cell is now else cell for cell in cells]
    if now is not None:
        rest.remove(now)
    if change.op == "delete":
        return rest
    put = now if change.op == "move" else change.after
    assert put is not None
    place = next((index + 1 for index, cell in enumerate(rest) if cell.cell_id == change.behind), 0)
    return [*rest[:place], put, *rest[place:]]


def edited(cell: CellSnapshot, change: CellChange) -> CellSnapshot:
    """What an edit makes of the cell as it is now: outputs that came meanwhile stay unless the edit is about them."""
    before, after = change.before, change.after
    assert before is not None and after is not None
    result = replace(cell, cell_type=after.cell_type, source=after.source)
    if outputs_differ(change):
        result = replace(result, outputs=after.outputs, execution_count=after.execution_count)
    if before.metadata != after.metadata:
        result = replace(result, metadata=after.metadata)
    if before.attachments != after.attachments:
        result = replace(result, attachments=after.attachments)
    return result


def inverse(change: CellChange, now: CellSnapshot | None) -> CellChange:
    """What undoes the change, given the cell as it is now; the id stays the change's own, and its owner knows it by another."""
    match change.op:
        case "insert":
            return replace(change, op="delete", before=now, after=None, behind=None, was_behind=change.behind)
        case "delete":
            return replace(
                change, op="insert", before=None, after=change.before, behind=change.was_behind, was_behind=None
            )
        case "move":
            return replace(change, before=now, after=now, behind=change.was_behind, was_behind=change.behind)
        case "edit":
            return replace(change, before=now, after=change.before)
