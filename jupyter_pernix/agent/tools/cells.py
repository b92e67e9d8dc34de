"""``run_code``: code in the session's kernel. The events are stored around the effect; the model reads a summary of the outputs."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast

import anyio
import anyio.to_thread
import msgspec
from msgspec import Meta

from ...errors import KernelError, ToolFailed, ToolRetry
from ...events import ExecutionFinished, ExecutionOutput, ExecutionStarted
from ...fold import apply_output
from ...ids import ExecutionId, new_execution_id
from ...ports import Executor
from ...records import JSON, ExecutionResult, OutputOp
from ..excerpt import excerpt, without_ansi
from ..policy.broker import Targets
from ..wellformed import wellformed, wellformed_json
from .base import RESULT_LIMIT, Arguments, Tool, ToolContext, ToolResult
from .pictures import pictures_note, pictures_of
from .sidefile import keep

_LONGEST_TRACEBACK = 4_000
_MOST_NAMES = 20


class RunCode(Arguments, frozen=True):
    code: Annotated[str, Meta(description="Code in the kernel's language; the value of a last expression is shown.")]


@dataclass(kw_only=True)
class _Execution:
    """One execution under way: stores its output steps and folds them."""

    context: ToolContext
    execution_id: ExecutionId = field(default_factory=new_execution_id)
    outputs: list[JSON] = field(default_factory=list[JSON])

    async def on_output(self, op: OutputOp) -> None:
        op = msgspec.structs.replace(op, output=wellformed_json(op.output), text=wellformed(op.text))
        await self.context.store(
            ExecutionOutput(
                session_id=self.context.host.session_id,
                turn_id=self.context.turn_id,
                execution_id=self.execution_id,
                op=op.op,
                index=op.index,
                output=op.output,
                text=op.text,
            )
        )
        apply_output(self.outputs, op)

    async def started(self, executor: Executor, code: str) -> None:
        await self.context.store(
            ExecutionStarted(
                session_id=self.context.host.session_id,
                turn_id=self.context.turn_id,
                call_id=self.context.call_id,
                execution_id=self.execution_id,
                place=executor.place,
                kernel_name=executor.kernel_name,
                code=code,
            )
        )

    async def finished(self, result: ExecutionResult, duration: float) -> None:
        await self.context.store(
            ExecutionFinished(
                session_id=self.context.host.session_id,
                turn_id=self.context.turn_id,
                execution_id=self.execution_id,
                status=result.status,
                execution_count=result.execution_count,
                ename=result.ename,
                evalue=result.evalue,
                detail=result.detail,
                duration=duration,
            )
        )


async def _run_code(context: ToolContext, args: RunCode) -> ToolResult:
    if not args.code.strip():
        raise ToolRetry("Not done: the code is empty.")
    try:
        executor = await context.host.executor()
    except KernelError as exc:
        raise ToolFailed(f"Not run: {exc}.") from exc
    execution = _Execution(context=context)
    before = context.ledger.last_count
    result = await _execute(execution, executor, args.code)
    return await _summary(context, execution.outputs, result, before)


async def _execute(execution: _Execution, executor: Executor, code: str) -> ExecutionResult:
    context = execution.context
    started = context.clock.monotonic()
    result = ExecutionResult(status="cancelled", detail="it was stopped before it ended")
    await execution.started(executor, code)
    try:
        result = await executor.execute(
            code,
            execution_id=execution.execution_id,
            on_output=execution.on_output,
            deadline=context.deadline(context.deadlines.execution),
        )
    except KernelError as exc:
        result = ExecutionResult(status="dead", detail=str(exc))
    finally:
        with anyio.CancelScope(shield=True):
            await execution.finished(result, context.clock.monotonic() - started)
    return result


async def _summary(
    context: ToolContext, outputs: list[JSON], result: ExecutionResult, count_before: int | None
) -> ToolResult:
    whole = "".join(_output_text(output) for output in outputs)
    short = excerpt(whole, limit=RESULT_LIMIT)
    side_file = "" if short.whole else await keep(context, whole)
    lines = [_headline(result)]
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


def _headline(result: ExecutionResult) -> str:
    count = f" [{result.execution_count}]" if result.execution_count is not None else ""
    detail = f" ({result.detail})" if result.detail else ""
    match result.status:
        case "ok":
            return f"ok{count}{detail}"
        case "error":
            name = f": {result.ename}: {excerpt(result.evalue, limit=1000).text}" if result.ename else ""
            return f"error{count}{without_ansi(name)}{detail}"
        case "timeout":
            return f"timeout{count}: the code ran too long and was interrupted{detail}"
        case "dead":
            return f"dead: the kernel died; its variables are gone, the next call starts a new one{detail}"
        case "restarted":
            return f"restarted: the kernel was restarted while the code ran; its variables are gone{detail}"
        case "cancelled" | "aborted" | "not_run":
            return f"{result.status}{count}: the code did not run to its end{detail}"


def _output_text(output: JSON) -> str:
    """One nbformat output as text that ends with a line feed."""
    match output.get("output_type"):
        case "stream":
            text = _joined(output.get("text"))
        case "error":
            lines = cast(list[str], output.get("traceback") or [])
            trace = excerpt(without_ansi("\n".join(lines)), limit=_LONGEST_TRACEBACK).text
            text = trace or f"{output.get('ename', '')}: {output.get('evalue', '')}"
        case _:
            text = _data_text(cast(JSON, output.get("data") or {}))
    text = without_ansi(text)
    return text if not text or text.endswith("\n") else text + "\n"


def _data_text(data: JSON) -> str:
    """The plain form of a mime bundle, and a note for each picture; other forms are for the screen only."""
    parts = [_joined(data["text/plain"])] if "text/plain" in data else []
    parts += [f"[{mime}, shown to the user]" for mime in data if mime.startswith(("image/", "video/", "audio/"))]
    if not parts:
        parts = [f"[{mime}, shown to the user]" for mime in data]
    return "\n".join(parts)


def _joined(text: object) -> str:
    return "".join(cast(list[str], text)) if isinstance(text, list) else str(text or "")


TOOL = Tool(
    name="run_code",
    description="Run code in this session's kernel and get its output. Variables stay between calls; plots are shown to the user.",
    kind="execute",
    action="execute",
    arguments=RunCode,
    title=lambda args: f"Run code: {args.code.strip()}",
    targets=lambda args: Targets(code=args.code),
    carry_out=_run_code,
    text_field="code",
)
