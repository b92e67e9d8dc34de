"""What became of a change of a cell during which the program ended: told from the notebook's file.

A browser page whose change the server had not heard of takes it back once it learns that; so what stands in the file is what holds.
"""

import json
from typing import Any, cast

import anyio.to_thread

from ...cells import cell_digest, standing
from ...errors import ToolError
from ...records import JSON, CellChange, CellChangeView, CellSnapshot, CellType
from ..cellchange import space_path
from ..policy.opening import read_if_there
from .base import ReconcileContext, ToolResult

_LARGEST = 200_000_000
_TYPES: dict[str, CellType] = {"code": "code", "markdown": "markdown", "raw": "raw"}
CARRIED_OUT = (
    "Was carried out: the program ended right after it. The cell {cell!r} of {name!r} is as this call was to leave it."
)
NOT_CARRIED_OUT = "Was not carried out: the program ended before it. The cell {cell!r} of {name!r} is as it was before."
NOT_BEGUN = "Was not carried out: the program ended before anything was changed."


async def reconcile_edit(arguments: JSON, context: ReconcileContext) -> ToolResult | None:
    if not context.cells:
        return ToolResult(text=NOT_BEGUN, failed=True)
    return await anyio.to_thread.run_sync(_became, context.cells[-1], context)


def _became(view: CellChangeView, context: ReconcileContext) -> ToolResult | None:
    change = view.change
    name = space_path(change.path, context.space_root)
    if view.status == "refused":
        return ToolResult(text=f"Not done: {view.detail}.", failed=True)
    if view.status == "requested":
        cells = _cells(name, context)
        match None if cells is None else standing(cells, change):
            case "after":
                pass
            case "before":
                return ToolResult(text=NOT_CARRIED_OUT.format(cell=change.cell_id, name=name), failed=True)
            case _:
                return None
    return ToolResult(text=CARRIED_OUT.format(cell=change.cell_id, name=name), seen=_seen(change, name))


def _seen(change: CellChange, name: str) -> dict[str, str]:
    after = change.after
    return {} if after is None else {f"{name}#{change.cell_id}": cell_digest(after.cell_type, after.source)}


def _cells(name: str, context: ReconcileContext) -> list[CellSnapshot] | None:
    try:
        content = read_if_there(context.scope.locate(name), limit=_LARGEST)
        loaded: Any = None if content is None else json.loads(content)
        cells: Any = cast(JSON, loaded).get("cells") if isinstance(loaded, dict) else None
    except (ToolError, OSError, ValueError, RecursionError):
        return None
    if not isinstance(cells, list):
        return None
    return [_snapshot(cast(JSON, cell)) for cell in cast(list[Any], cells) if isinstance(cell, dict)]


def _snapshot(cell: JSON) -> CellSnapshot:
    source = cell.get("source")
    text = "".join(map(str, cast(list[Any], source))) if isinstance(source, list) else str(source or "")
    return CellSnapshot(
        cell_id=str(cell.get("id", "")), cell_type=_TYPES.get(str(cell.get("cell_type")), "raw"), source=text
    )
