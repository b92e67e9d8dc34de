"""Cells of a notebook as the model reads them: numbered lines under a heading with id and digest, outputs made short. Pure."""

from collections.abc import Sequence

from ...cells import digest_of
from ...ports import NotebookState
from ...records import CellSnapshot
from ..excerpt import excerpt
from .outputtext import output_text
from .textfile import lines_of, numbered

_LONGEST_OUTPUTS = 4_000
_SHORT_OUTPUTS = 400
_SHORT_LINES = 3
_LONGEST_LINE = 1_000
_HELD = {"page": "open in a browser page", "ydoc": "shared by its pages", "file": "not open anywhere"}


def about(state: NotebookState) -> str:
    """What notebook it is, in a line."""
    count = len(state.cells)
    cells = "1 cell" if count == 1 else f"{count} cells"
    kernel = ", its kernel is this session's" if state.attached else ""
    return f"{state.name}: {cells}, {state.language}, {_HELD[state.owner]}{kernel}."


def place_of(state: NotebookState, cell_id: str) -> str:
    """A cell as a person knows it, who sees no ids: by its place, counted from 1."""
    numbers = [number for number, cell in enumerate(state.cells, 1) if cell.cell_id == cell_id]
    return f"{f'cell {numbers[0]}' if numbers else 'a new cell'} of {state.name}"


def whole_cell(state: NotebookState, cell: CellSnapshot, *, longest_outputs: int = _LONGEST_OUTPUTS) -> str:
    """The cell with all of its source."""
    lines = [_shortened(line) for line in lines_of(cell.source)]
    body = numbered(lines, 1) if lines else "(empty)\n"
    return _heading(state, cell) + body + outputs_of(cell, limit=longest_outputs)


def short_cell(state: NotebookState, cell: CellSnapshot) -> str:
    """The cell with the first lines of its source, and the first words of its outputs."""
    lines = lines_of(cell.source)
    body = numbered([_shortened(line) for line in lines[:_SHORT_LINES]], 1)
    if len(lines) > _SHORT_LINES:
        body += f"[… {len(lines) - _SHORT_LINES} more lines]\n"
    return _heading(state, cell) + body + _outputs_line(cell)


def outputs_of(cell: CellSnapshot, *, limit: int = _SHORT_OUTPUTS) -> str:
    text = "".join(output_text(output) for output in cell.outputs)
    if not text:
        return ""
    short = excerpt(text, limit=limit)
    return f"[outputs]\n{short.text.rstrip()}\n"


def _outputs_line(cell: CellSnapshot) -> str:
    if not cell.outputs:
        return ""
    text = " ".join("".join(output_text(output) for output in cell.outputs[:3])[:2000].split())
    count = "1 output" if len(cell.outputs) == 1 else f"{len(cell.outputs)} outputs"
    return f"[{count}: {text[:150]}{'…' if len(text) > 150 else ''}]\n"


def _heading(state: NotebookState, cell: CellSnapshot) -> str:
    place = next((index for index, one in enumerate(state.cells, 1) if one is cell), 0)
    count = f", In [{cell.execution_count}]" if cell.execution_count is not None else ""
    return (
        f"--- cell {place} of {len(state.cells)}: id {cell.cell_id}, {cell.cell_type}{count}, base {digest_of(cell)}\n"
    )


def _shortened(line: str) -> str:
    body = line.rstrip("\r\n")
    return body if len(body) <= _LONGEST_LINE else f"{body[:_LONGEST_LINE]}[… {len(body) - _LONGEST_LINE:,} more]"


def known_from(state: NotebookState, cells: Sequence[CellSnapshot]) -> dict[str, str]:
    """What the model knows once it has read these cells: as in ``ToolCallFinished.seen``."""
    return {f"{state.name}#{cell.cell_id}": digest_of(cell) for cell in cells}
