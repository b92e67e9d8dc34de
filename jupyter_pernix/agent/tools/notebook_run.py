"""``run_cells``: cells of the attached notebook, one after the other, in its kernel, as they stand there now.

Each is stored as an execution of its own: what it prints is stored while it prints, and a page mirrors it. What stands in the notebook
afterwards is put there by whoever holds it. The first failure ends it.
"""

from dataclasses import dataclass, field
from typing import Annotated

import anyio
from msgspec import Meta

from ...cells import digest_of, found
from ...errors import KernelError, NotebookRefused, ToolFailed, ToolRetry
from ...events import ExecutionMirrored
from ...ports import Executor, NotebookState
from ...records import JSON, CellSnapshot, ExecutionResult
from ..excerpt import excerpt
from ..policy.broker import Targets
from .base import RESULT_LIMIT, Arguments, PrepareContext, Prepared, Tool, ToolContext, ToolResult
from .celltext import known_from, place_of, whole_cell
from .execution import Execution, execute
from .notebook_read import NotebookPath, cell_of, state_of
from .outputtext import headline, output_text
from .pictures import pictures_note, pictures_of
from .sidefile import keep

_PUT_SECONDS = 12.0
_NOT_ATTACHED = (
    "Not run: this session is not attached to {name}, so that notebook's kernel is not its own. The user can attach it; "
    "or run the code by run_code, in the session's own kernel."
)


class RunCells(Arguments, frozen=True):
    cell_ids: Annotated[
        list[str], Meta(min_length=1, description="Ids of code cells, in the order in which to run them.")
    ]
    path: NotebookPath = ""


# ---- what is asked for --------------------------------------------------------------------------------------------------


async def _prepare(context: PrepareContext, args: RunCells) -> Prepared | ToolResult:
    state = await state_of(context.host, args.path)
    cells = _wanted(state, args)
    unknown = [cell for cell in cells if context.ledger.seen.get(f"{state.name}#{cell.cell_id}") != digest_of(cell)]
    if unknown:
        return _unknown(state, unknown)
    shown = "\n".join(f"# {place_of(state, cell.cell_id)}\n{cell.source}" for cell in cells)
    return Prepared(
        targets=Targets(
            reads=(state.name,),
            code="\n".join(cell.source for cell in cells),
            codes=tuple(cell.source for cell in cells),
            cells=tuple(f"{state.name}#{cell.cell_id} {digest_of(cell)}" for cell in cells),
            shown=shown,
        ),
        question=f"Run {place_of(state, cells[0].cell_id)}?"
        if len(cells) == 1
        else f"Run these {len(cells)} cells of {state.name}?",
        carry_out=lambda context: _run(context, state, cells),
    )


def _wanted(state: NotebookState, args: RunCells) -> list[CellSnapshot]:
    """:raises ToolError: if they cannot be run"""
    if not state.attached:
        raise ToolFailed(_NOT_ATTACHED.format(name=state.name))
    cells = [cell_of(state, cell_id) for cell_id in args.cell_ids]
    for cell in cells:
        if cell.cell_type != "code":
            raise ToolRetry(f"Not run: the cell {cell.cell_id} is a {cell.cell_type} cell; only code can be run.")
    return cells


def _unknown(state: NotebookState, cells: list[CellSnapshot]) -> ToolResult:
    """A refusal that carries the cells which the model does not know as they are now."""
    texts = "".join(whole_cell(state, cell) for cell in cells)
    which = "this cell has" if len(cells) == 1 else "these cells have"
    text = f"Not run: {which} not been read in this session, or changed since. Now:\n{texts}"
    short = excerpt(text, limit=RESULT_LIMIT)
    return ToolResult(text=short.text.rstrip("\n"), failed=True, seen=known_from(state, cells) if short.whole else {})


# ---- running ------------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Ran:
    """One cell that was begun. ``put``: why its outputs do not stand in the notebook, "" if they do."""

    cell: CellSnapshot
    result: ExecutionResult
    outputs: list[JSON] = field(default_factory=list[JSON])
    put: str = ""


async def _carry_out(context: ToolContext, args: RunCells) -> ToolResult:
    state = await state_of(context.host, args.path)
    return await _run(context, state, _wanted(state, args))


async def _run(context: ToolContext, state: NotebookState, cells: list[CellSnapshot]) -> ToolResult:
    try:
        executor = await context.host.executor()
    except KernelError as exc:
        raise ToolFailed(f"Not run: {exc}.") from exc
    ran: list[_Ran] = []
    for cell in cells:
        ran.append(await _run_one(context, state, cell, executor))
        if ran[-1].result.status != "ok":
            break
    return await _summary(context, state, cells, ran)


async def _run_one(context: ToolContext, state: NotebookState, cell: CellSnapshot, executor: Executor) -> _Ran:
    execution = Execution(
        context=context,
        notebook=state.path,
        cell_id=cell.cell_id,
        trusted=cell.cell_id not in state.written,
    )
    ran = _Ran(cell=cell, result=ExecutionResult(status="cancelled"), outputs=execution.outputs)
    notebooks = context.host.notebooks
    try:
        ran.result = await execute(
            execution,
            executor,
            cell.source,
            begin=lambda: notebooks.begin_run(state.name, cell, execution.execution_id, trusted=execution.trusted),
        )
    finally:
        if ran.result.status != "not_run":
            with anyio.CancelScope(shield=True):
                ran.put = await _put(context, state, execution, ran)
    return ran


async def _put(context: ToolContext, state: NotebookState, execution: Execution, ran: _Ran) -> str:
    """Put the outputs into the notebook; the answer is why they do not stand there. The host tries again when that may help."""
    try:
        with anyio.fail_after(_PUT_SECONDS):
            owner = await context.host.notebooks.put_outputs(
                state.name,
                ran.cell.cell_id,
                execution.execution_id,
                ran.outputs,
                ran.result.execution_count,
                trusted=execution.trusted,
            )
    except NotebookRefused as exc:
        return str(exc)
    except TimeoutError:
        return "nobody who has the notebook open answered"
    await context.store(
        ExecutionMirrored(
            session_id=context.host.session_id,
            turn_id=context.turn_id,
            execution_id=execution.execution_id,
            owner=owner,
        )
    )
    return ""


# ---- what is said of it -------------------------------------------------------------------------------------------------


async def _summary(
    context: ToolContext, state: NotebookState, cells: list[CellSnapshot], ran: list[_Ran]
) -> ToolResult:
    outputs = [output for one in ran for output in one.outputs]
    share = RESULT_LIMIT // max(1, len(ran))
    wholes = ["".join(output_text(output) for output in one.outputs) for one in ran]
    shorts = [excerpt(whole, limit=share) for whole in wholes]
    parts = [_part(one, short.text) for one, short in zip(ran, shorts, strict=True)]
    side_file = ""
    if not all(short.whole for short in shorts):
        side_file = await keep(context, "".join(_part(one, whole) for one, whole in zip(ran, wholes, strict=True)))
    parts += _afterwards(cells, ran)
    parts += await _meanwhile(context, state, ran)
    note = pictures_note(outputs)
    return ToolResult(
        text="\n".join([*parts, *([note] if note else [])]),
        failed=ran[-1].result.status != "ok",
        side_file=side_file,
        pictures=pictures_of(outputs),
    )


def _part(one: _Ran, text: str) -> str:
    body = text.rstrip("\n") or ("(no output)" if one.result.status == "ok" else "")
    put = f"\n[Its outputs do not stand in the notebook: {one.put}]" if one.put else ""
    return f"cell {one.cell.cell_id}: {headline(one.result)}\n{body}{put}".rstrip("\n")


def _afterwards(cells: list[CellSnapshot], ran: list[_Ran]) -> list[str]:
    left = cells[len(ran) :]
    return [f"Not run, because of that: {', '.join(cell.cell_id for cell in left)}."] if left else []


async def _meanwhile(context: ToolContext, state: NotebookState, ran: list[_Ran]) -> list[str]:
    """What became of the cells by hand while they ran."""
    try:
        now = await context.host.notebooks.read(state.name)
    except NotebookRefused:
        return []
    said: list[str] = []
    for one in ran:
        cell = found(now.cells, one.cell.cell_id)
        if cell is None:
            said.append(f"The cell {one.cell.cell_id} was deleted by hand meanwhile.")
        elif digest_of(cell) != digest_of(one.cell):
            said.append(f"The cell {one.cell.cell_id} was edited by hand while it ran: what ran is the source before.")
    return said


TOOL = Tool(
    name="run_cells",
    description="Run code cells of the attached notebook in its kernel, in order, up to the first failure. Outputs go into the notebook.",
    kind="execute",
    action="execute",
    arguments=RunCells,
    title=lambda args: (
        f"Run {'a cell' if len(args.cell_ids) == 1 else f'{len(args.cell_ids)} cells'}{' of ' + args.path if args.path else ''}"
    ),
    targets=lambda args: Targets(reads=(args.path,) if args.path else ()),
    prepare=_prepare,
    carry_out=_carry_out,
)
