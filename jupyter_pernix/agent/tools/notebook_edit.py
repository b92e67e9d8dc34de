"""``edit_notebook``: one change of one cell, made by whoever holds the notebook, and only to the cell as the model knows it."""

import secrets
from typing import Annotated, Any, Literal

import anyio
from msgspec import Meta
from msgspec.structs import replace

from ...cells import applied, digest_of, place_behind, same_content
from ...errors import NotebookMissing, NotebookRefused, ToolFailed, ToolRetry
from ...events import CellChanged, CellChangeRefused, CellChangeRequested
from ...ids import new_change_id
from ...masking import MARK, has_mark
from ...ports import NotebookState, TurnHost
from ...records import CellChange, CellSnapshot, CellType
from ..policy.broker import Targets
from .base import Arguments, PrepareContext, Prepared, Tool, ToolContext, ToolResult
from .celltext import known_from, place_of, whole_cell
from .notebook_read import NotebookPath, cell_of, state_of
from .notebook_reconcile import reconcile_edit
from .textfile import unified_diff

_WORD = {"type": "string"}
TOP = "top"
"""As ``behind``: before all cells."""


class EditNotebook(Arguments, frozen=True):
    op: Annotated[Literal["insert", "edit", "delete", "move"], Meta(description="What to do.", extra_json_schema=_WORD)]
    path: NotebookPath = ""
    cell_id: Annotated[str, Meta(description="The cell to edit, delete or move; insert makes a new id.")] = ""
    base: Annotated[str, Meta(description="The cell's base as last read or changed; for edit, delete and move.")] = ""
    behind: Annotated[
        str, Meta(description="Insert, move: id of the cell to put it behind, or top. Insert without it: at the end.")
    ] = ""
    cell_type: Annotated[
        Literal["", "code", "markdown", "raw"],
        Meta(description="Type of a new cell (else code), or a new type.", extra_json_schema=_WORD),
    ] = ""
    source: Annotated[str, Meta(description="Insert, edit: the whole new source of the cell.")] = ""


# ---- what is asked for --------------------------------------------------------------------------------------------------


async def _prepare(context: PrepareContext, args: EditNotebook) -> Prepared | ToolResult:
    state = await _state_of(context.host, args)
    wanted = _wanted(state, args)
    if isinstance(wanted, ToolResult):
        return wanted
    change = wanted
    now = change.before
    return Prepared(
        targets=Targets(
            writes=(state.name,),
            cells=(f"{state.name}#{change.cell_id} {digest_of(now) if now is not None else 'new'}",)
            if change.op != "insert"
            else (),
            shown=_shown(state, change),
        ),
        question="Create this notebook?" if _is_new(state) else "Change this notebook?",
        carry_out=lambda context: _make(context, change, state),
    )


async def _state_of(host: TurnHost, args: EditNotebook) -> NotebookState:
    """As ``state_of``; of a notebook that an insert is to create, one without a path or cells."""
    if args.op != "insert" or not args.path:
        return await state_of(host, args.path)
    try:
        return await host.notebooks.read(args.path)
    except NotebookMissing:
        return NotebookState(path="", owner="file", language="python", cells=[], name=args.path)
    except NotebookRefused as exc:
        raise ToolFailed(f"Not done: {exc}.") from exc


def _is_new(state: NotebookState) -> bool:
    return not state.path


def _wanted(state: NotebookState, args: EditNotebook) -> CellChange | ToolResult:
    """The change; a result if the cell is not as the model knows it.

    :raises ToolRetry: if the arguments do not fit together
    """
    if args.op == "insert":
        return _insert(state, args)
    if not args.cell_id:
        raise ToolRetry(f"Not done: {args.op} needs cell_id. read_notebook shows the ids.")
    cell = cell_of(state, args.cell_id)
    if args.base != digest_of(cell):
        return stale(state, cell, args.base)
    change = CellChange(
        change_id=new_change_id(),
        path=state.path,
        op=args.op,
        cell_id=cell.cell_id,
        before=cell,
        after=cell,
        behind=place_behind(state.cells, cell.cell_id),
        was_behind=place_behind(state.cells, cell.cell_id),
    )
    match args.op:
        case "edit":
            return replace(change, after=_edited(cell, args))
        case "delete":
            return replace(change, after=None, behind=None)
        case "move":
            return replace(change, behind=_behind(state, args, cell.cell_id))


def _insert(state: NotebookState, args: EditNotebook) -> CellChange:
    if args.cell_id:
        raise ToolRetry("Not done: a new cell gets a new id, so insert takes no cell_id. behind says where it goes.")
    if not args.source:
        raise ToolRetry("Not done: insert needs the source of the new cell.")
    _refuse_mark(args.source, "")
    taken = {cell.cell_id for cell in state.cells}
    cell_id = next(one for one in iter(lambda: secrets.token_hex(4), "") if one not in taken)
    last = state.cells[-1].cell_id if state.cells else ""
    behind = _place(state, args.behind) if args.behind else last
    return CellChange(
        change_id=new_change_id(),
        path=state.path,
        op="insert",
        cell_id=cell_id,
        before=None,
        after=CellSnapshot(cell_id=cell_id, cell_type=args.cell_type or "code", source=args.source),
        behind=behind,
    )


def _edited(cell: CellSnapshot, args: EditNotebook) -> CellSnapshot:
    if not args.source and not args.cell_type:
        raise ToolRetry("Not done: edit needs the whole new source. To remove a cell, delete it.")
    cell_type: CellType = args.cell_type or cell.cell_type
    source = args.source or cell.source
    _refuse_mark(source, cell.source)
    after = replace(cell, cell_type=cell_type, source=source)
    if same_content(after, cell):
        raise ToolRetry("Not done: the cell has exactly this source and type already; nothing was written.")
    if cell_type != cell.cell_type:
        after = replace(after, outputs=[], execution_count=None)
    return after


def _refuse_mark(source: str, before: str) -> None:
    """:raises ToolRetry: if a mark that stands for a secret would take the secret's place"""
    if has_mark(source) and source.count(f"{MARK}(") > before.count(f"{MARK}("):
        raise ToolRetry(
            f"Not done: {MARK}(…) stands for a secret that is not shown to you; in the cell it would take the secret's place. "
            "Have the value read from the environment instead, or leave this cell to the user."
        )


def _behind(state: NotebookState, args: EditNotebook, cell_id: str) -> str:
    if not args.behind:
        raise ToolRetry(f"Not done: move needs behind, the id of the cell to put it behind, or {TOP}.")
    if args.behind == cell_id:
        raise ToolRetry("Not done: a cell cannot stand behind itself.")
    behind = _place(state, args.behind)
    if place_behind(state.cells, cell_id) == behind:
        raise ToolRetry("Not done: the cell stands there already; nothing was written.")
    return behind


def _place(state: NotebookState, behind: str) -> str:
    """As in ``CellChange``: an id, or "" for the top."""
    if behind == TOP and all(cell.cell_id != TOP for cell in state.cells):
        return ""
    return cell_of(state, behind).cell_id


def stale(state: NotebookState, cell: CellSnapshot, base: str) -> ToolResult:
    """A refusal that carries the cell as it is now."""
    why = f"base {base!r} is not its base: it has changed since it was read" if base else "base is missing"
    text = f"Not done: of the cell {cell.cell_id} {why}. It is now:\n{whole_cell(state, cell)}"
    return ToolResult(text=text.rstrip("\n"), failed=True, seen=known_from(state, [cell]))


def _shown(state: NotebookState, change: CellChange) -> str:
    """What a person is shown of it: the difference, and where."""
    name = place_of(state, change.cell_id)
    match change.op:
        case "move":
            assert change.after is not None
            where = f"behind {place_of(state, change.behind)}" if change.behind else "to the top"
            return f"Move {name} {where}:\n{change.after.source}"
        case _:
            before, after = change.before, change.after
            diff, _, _ = unified_diff(before.source if before else "", after.source if after else "", name=name)
            types = {one.cell_type for one in (before, after) if one is not None}
            heading = f"{change.op.capitalize()} {' → '.join(sorted(types))} cell\n"
            if _is_new(state):
                heading = f"Create the notebook {state.name} with one {after.cell_type if after else 'code'} cell\n"
            return heading + diff


# ---- making it ----------------------------------------------------------------------------------------------------------


async def _carry_out(context: ToolContext, args: EditNotebook) -> ToolResult:
    wanted = _wanted(state := await _state_of(context.host, args), args)
    return wanted if isinstance(wanted, ToolResult) else await _make(context, wanted, state)


async def _make(context: ToolContext, change: CellChange, state: NotebookState) -> ToolResult:
    """Make the change; what it is is stored before, and what became of it after, whatever comes between."""
    about: dict[str, Any] = {
        "session_id": context.host.session_id,
        "turn_id": context.turn_id,
        "call_id": context.call_id,
    }
    created = _is_new(state)
    if created:
        state = await _create(context, state.name)
        change = replace(change, path=state.path)
    await context.store(CellChangeRequested(**about, change=change))
    # A stop waits for this: whether the cell was changed is known then. The owner's own deadlines bound it.
    with anyio.CancelScope(shield=True):
        try:
            owner = await context.host.notebooks.change(change)
        except NotebookRefused as exc:
            await context.store(CellChangeRefused(**about, change_id=change.change_id, reason=str(exc)))
            raise ToolFailed(f"Not done: {exc}. Read the notebook again before you try something else.") from exc
        await context.store(CellChanged(**about, change_id=change.change_id, owner=owner))
        return _made(state._replace(cells=applied(state.cells, change), owner=owner), change, created=created)
    raise AssertionError("a shield by itself cancels nothing")


async def _create(context: ToolContext, name: str) -> NotebookState:
    notebooks = context.host.notebooks
    try:
        await notebooks.create(name)
        return await notebooks.read(name)
    except NotebookRefused as exc:
        raise ToolFailed(f"Not done: {exc}.") from exc


def _made(state: NotebookState, change: CellChange, *, created: bool = False) -> ToolResult:
    cell = next((one for one in state.cells if one.cell_id == change.cell_id), None)
    if cell is None:
        return ToolResult(text=f"Deleted the cell {change.cell_id} of {state.name}.")
    done = {"insert": "Inserted", "edit": "Changed", "move": "Moved", "delete": "Deleted"}[change.op]
    where = f", behind {change.behind}" if change.behind else ", at the top"
    where += ", at the end" if change.behind and cell is state.cells[-1] else ""
    place = where if change.op in ("insert", "move") else ""
    stays = " Its outputs are still those of the old source." if change.op == "edit" and cell.outputs else ""
    text = (
        f"{done} the {cell.cell_type} cell {cell.cell_id} of {state.name}{place}; its base is {digest_of(cell)}.{stays}"
    )
    if created:
        text = f"Created the notebook {state.name}. {text}"
    return ToolResult(text=text, seen=known_from(state, [cell]))


TOOL = Tool(
    name="edit_notebook",
    description="Insert, edit, delete or move one cell, named by its id and base (the state you know). Inserting at a new path makes a notebook.",
    kind="edit",
    action="write",
    arguments=EditNotebook,
    title=lambda args: f"{args.op.capitalize()} a cell{' of ' + args.path if args.path else ''}",
    targets=lambda args: Targets(writes=(args.path,) if args.path else ()),
    prepare=_prepare,
    carry_out=_carry_out,
    text_field="source",
    reconcile=reconcile_edit,
)
