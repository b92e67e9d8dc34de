"""Cells as nbformat has them ↔ ``CellSnapshot``; and changes of a list of such cells, in place. Pure.

What we do not know of a cell stays as it is.
"""

from typing import Any, cast

from ...cells import outputs_differ
from ...records import JSON, CellChange, CellSnapshot, CellType

_TYPES: dict[str, CellType] = {"code": "code", "markdown": "markdown", "raw": "raw"}


def snapshot(cell: JSON) -> CellSnapshot:
    """One cell; a type that nbformat does not know counts as ``raw``."""
    count = cell.get("execution_count")
    return CellSnapshot(
        cell_id=str(cell.get("id", "")),
        cell_type=_TYPES.get(str(cell.get("cell_type")), "raw"),
        source=joined(cell.get("source")),
        outputs=[dict(output) for output in _dicts(cell.get("outputs"))],
        execution_count=count if isinstance(count, int) else None,
        metadata=dict(cast(JSON, cell.get("metadata") or {})),
        attachments=dict(cast(JSON, cell.get("attachments") or {})),
    )


def as_cell(cell: CellSnapshot) -> JSON:
    made: JSON = {
        "id": cell.cell_id,
        "cell_type": cell.cell_type,
        "source": cell.source,
        "metadata": dict(cell.metadata),
    }
    if cell.cell_type == "code":
        made |= {"outputs": [dict(output) for output in cell.outputs], "execution_count": cell.execution_count}
    elif cell.attachments:
        made["attachments"] = dict(cell.attachments)
    return made


def change_cells(cells: list[JSON], change: CellChange) -> None:
    """Make the change, which ``cells.refusal`` must not refuse."""
    place = next((index for index, cell in enumerate(cells) if cell.get("id") == change.cell_id), None)
    if change.op == "edit":
        assert place is not None
        edit_cell(cells[place], change)
        return
    taken = cells.pop(place) if place is not None else None
    if change.op == "delete":
        return
    if change.op == "insert":
        assert change.after is not None
        taken = as_cell(change.after)
    assert taken is not None
    behind = next((index + 1 for index, cell in enumerate(cells) if cell.get("id") == change.behind), 0)
    cells.insert(behind, taken)


def edit_cell(cell: JSON, change: CellChange) -> None:
    before, after = change.before, change.after
    assert before is not None and after is not None
    cell["cell_type"], cell["source"] = after.cell_type, after.source
    if after.cell_type != "code":
        cell.pop("outputs", None)
        cell.pop("execution_count", None)
    elif outputs_differ(change):
        set_outputs(cell, after.outputs, after.execution_count)
    if before.metadata != after.metadata:
        cell["metadata"] = dict(after.metadata)
    if after.cell_type == "code":
        cell.pop("attachments", None)
    elif before.attachments != after.attachments:
        cell["attachments"] = dict(after.attachments)


def set_outputs(cell: JSON, outputs: list[JSON], execution_count: int | None) -> None:
    cell["outputs"] = [dict(output) for output in outputs]
    cell["execution_count"] = execution_count


def joined(text: object) -> str:
    return "".join(map(str, cast(list[Any], text))) if isinstance(text, list) else str(text or "")


def _dicts(value: object) -> list[JSON]:
    return (
        [cast(JSON, one) for one in cast(list[Any], value) if isinstance(one, dict)] if isinstance(value, list) else []
    )
