"""``run_code``: code in the session's kernel. The events are stored around the effect; the model reads a summary of the outputs."""

from pathlib import Path
from typing import Annotated

import anyio.to_thread
from msgspec import Meta

from ...errors import KernelError, ToolFailed, ToolRetry
from ...records import JSON, ExecutionResult
from ..excerpt import excerpt
from ..policy.broker import Targets
from .base import RESULT_LIMIT, Arguments, Tool, ToolContext, ToolResult
from .execution import Execution, execute
from .outputtext import headline, output_text
from .pictures import pictures_note, pictures_of
from .sidefile import keep

_MOST_NAMES = 20


class RunCode(Arguments, frozen=True):
    code: Annotated[str, Meta(description="Code in the kernel's language; the value of a last expression is shown.")]


async def _run_code(context: ToolContext, args: RunCode) -> ToolResult:
    if not args.code.strip():
        raise ToolRetry("Not done: the code is empty.")
    try:
        executor = await context.host.executor()
    except KernelError as exc:
        raise ToolFailed(f"Not run: {exc}.") from exc
    execution = Execution(context=context)
    before = context.ledger.last_count
    result = await execute(execution, executor, args.code)
    return await _summary(context, execution.outputs, result, before)


async def _summary(
    context: ToolContext, outputs: list[JSON], result: ExecutionResult, count_before: int | None
) -> ToolResult:
    whole = "".join(output_text(output) for output in outputs)
    short = excerpt(whole, limit=RESULT_LIMIT)
    side_file = "" if short.whole else await keep(context, whole)
    lines = [headline(result)]
    if result.execution_count is not None and count_before is not None and result.execution_count <= count_before:
        lines.append("The kernel was restarted since your last cell: earlier variables and imports are gone.")
    if result.ename == "FileNotFoundError":
        lines.append(await anyio.to_thread.run_sync(_what_is_there, context.scope.root))
    body = short.text if short.text.strip() else "(no output)\n" if result.status == "ok" else ""
    return ToolResult(
        text="\n".join([*lines, body.rstrip("\n"), pictures_note(outputs)]).rstrip("\n"),
        failed=result.status != "ok",
        side_file=side_file,
        pictures=pictures_of(outputs),
    )


def _what_is_there(root: Path) -> str:
    """The names in the space's folder, for a model that has guessed one."""
    try:
        names = sorted(f"{one.name}/" if one.is_dir() else one.name for one in root.iterdir() if one.name[0] != ".")
    except OSError as exc:
        return f"The space's folder cannot be read: {exc.strerror or exc}."
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (
        f"In the space's folder are: {', '.join(names[:_MOST_NAMES])}{more}"
        if names
        else "The space's folder is empty."
    )


def _begin(code: str) -> str:
    """The first line that says something, and whether there is more."""
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    said = next((line for line in lines if not line.startswith(("#", "import ", "from ", "%"))), "".join(lines[:1]))
    return f"{said} …" if len(lines) > 1 else said


TOOL = Tool(
    name="run_code",
    description="Run code in this session's kernel and get its output. Variables stay between calls; plots are shown to the user.",
    kind="execute",
    action="execute",
    arguments=RunCode,
    title=lambda args: f"Run code: {_begin(args.code)}",
    targets=lambda args: Targets(code=args.code),
    carry_out=_run_code,
    text_field="code",
)
