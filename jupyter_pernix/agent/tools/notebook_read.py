"""``read_notebook``: the cells of a notebook, by their ids, through whoever has it open."""

from typing import Annotated

from msgspec import Meta

from ...cells import found, missing
from ...errors import NotebookRefused, ToolFailed, ToolRetry
from ...ports import NotebookState, TurnHost
from ...records import CellSnapshot
from ..policy.broker import Targets
from .base import RESULT_LIMIT, Arguments, PrepareContext, Prepared, Tool, ToolContext, ToolResult
from .celltext import about, known_from, short_cell, whole_cell
from .pictures import pictures_note, pictures_of
from .sidefile import keep

NotebookPath = Annotated[
    str,
    Meta(description="Path relative to the space's folder; without it, the notebook that the session is attached to."),
]
_SHORT_OUTPUTS = 600
_MOST_IDS = 40


class ReadNotebook(Arguments, frozen=True):
    path: NotebookPath = ""
    cells: Annotated[list[str], Meta(description="Ids of the cells to read; without it, all of them.")] = []


async def state_of(host: TurnHost, path: str) -> NotebookState:
    """:raises ToolFailed: if it cannot be read"""
    try:
        return await host.notebooks.read(path)
    except NotebookRefused as exc:
        raise ToolFailed(f"Not done: {exc}.") from exc


def cell_of(state: NotebookState, cell_id: str) -> CellSnapshot:
    """:raises ToolRetry: if the id names none, with those that there are"""
    cell = found(state.cells, cell_id)
    if cell is None:
        ids = ", ".join(one.cell_id for one in state.cells[:_MOST_IDS])
        more = f" and {len(state.cells) - _MOST_IDS} more" if len(state.cells) > _MOST_IDS else ""
        raise ToolRetry(f"Not done: {missing(state.cells, cell_id)}. The cells of {state.name} are: {ids}{more}.")
    return cell


async def _prepare(context: PrepareContext, args: ReadNotebook) -> Prepared:
    state = await state_of(context.host, args.path)
    return Prepared(
        targets=Targets(reads=(state.name,)), question="", carry_out=lambda context: _read(context, state, args)
    )


async def _carry_out(context: ToolContext, args: ReadNotebook) -> ToolResult:
    return await _read(context, await state_of(context.host, args.path), args)


async def _read(context: ToolContext, state: NotebookState, args: ReadNotebook) -> ToolResult:
    asked = [cell_of(state, cell_id) for cell_id in dict.fromkeys(args.cells)]
    cells = asked or state.cells
    whole = [whole_cell(state, cell) for cell in cells]
    texts = whole if asked else [whole_cell(state, cell, longest_outputs=_SHORT_OUTPUTS) for cell in cells]
    head = f"{about(state)}\n"
    if sum(map(len, texts)) + len(head) <= RESULT_LIMIT:
        outputs = [output for cell in cells for output in cell.outputs]
        note = pictures_note(outputs)
        text = head + "".join(texts) + (f"{note}\n" if note else "")
        return ToolResult(text=text.rstrip("\n"), seen=known_from(state, cells), pictures=pictures_of(outputs))
    return await _long(context, state, cells, texts, "".join(whole))


async def _long(
    context: ToolContext, state: NotebookState, cells: list[CellSnapshot], texts: list[str], whole: str
) -> ToolResult:
    """Of a notebook that is too long, the first cells in full as far as fits, and the others' beginnings."""
    head = f"{about(state)} It is long: of the cells that are cut, read what you need by id.\n"
    shorts = [short_cell(state, cell) for cell in cells]
    room = RESULT_LIMIT - len(head) - sum(map(len, shorts))
    shown: list[str] = []
    seen: list[CellSnapshot] = []
    for cell, text, short in zip(cells, texts, shorts, strict=True):
        if len(text) - len(short) <= room:
            room -= len(text) - len(short)
            shown.append(text)
            seen.append(cell)
        else:
            shown.append(short)
    text, left = _fitting(head, shown)
    note = f"[… {left} more cells; read them by id: {', '.join(cell.cell_id for cell in cells[-left:][:_MOST_IDS])}]\n"
    seen = [cell for cell in seen if not left or cell in cells[:-left]]
    side_file = await keep(context, whole)
    return ToolResult(text=text + (note if left else ""), seen=known_from(state, seen), side_file=side_file)


def _fitting(head: str, parts: list[str]) -> tuple[str, int]:
    """As many parts as a result may have, and how many are left."""
    used = len(head)
    for count, part in enumerate(parts):
        used += len(part)
        if used > RESULT_LIMIT:
            return head + "".join(parts[:count]), len(parts) - count
    return head + "".join(parts), 0


TOOL = Tool(
    name="read_notebook",
    description="Read cells of a notebook, as it is open now: sources with line numbers, each cell's id and base, outputs made short.",
    kind="read",
    action="read",
    arguments=ReadNotebook,
    title=lambda args: f"Read {args.path or 'the notebook'}",
    targets=lambda args: Targets(reads=(args.path,) if args.path else ()),
    prepare=_prepare,
    carry_out=_carry_out,
)
