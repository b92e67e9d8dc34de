"""``run_shell``: one command line by bash, as ``process.py`` runs it; the model reads its exit code and its output."""

import os
import re
import shutil
from functools import partial
from typing import Annotated

import anyio
import anyio.to_thread
from msgspec import Meta

from ...errors import ToolFailed, ToolRetry
from ..excerpt import excerpt, without_ansi
from ..ledger import EXIT_LINE
from ..policy.broker import Targets
from .base import RESULT_LIMIT, Arguments, Tool, ToolContext, ToolResult
from .environment import cleaned
from .process import Ended, Output, run_process
from .sidefile import keep

DEFAULT_TIMEOUT = 120.0

NO_INPUT = "It gets no input: answers must be given as options."
_WANTED_INPUT = re.compile(
    r"EOFError|EOF when reading|unexpected end of (?:input|file)|not a tty|not a terminal|no tty|inappropriate ioctl|terminal is required|"
    r"a terminal to|cannot prompt|prompt.{0,40}non-interactive|\[[yY]/[nN]\]:?\s*(?:Aborted|Abort)?\.?\s*\Z|\A(?:Aborted!|Abort\.)",
    re.IGNORECASE,
)
_READS = re.compile(r"(?:^|[;&|(]\s*)(?:read|select)\b(?![-/.])")


class RunShell(Arguments, frozen=True):
    command: Annotated[str, Meta(description="Command line for bash, run in the space's folder.")]
    timeout_seconds: Annotated[float, Meta(gt=0, description="Seconds until it is ended.")] = DEFAULT_TIMEOUT


async def _run_shell(context: ToolContext, args: RunShell) -> ToolResult:
    if not args.command.strip():
        raise ToolRetry("Not done: the command is empty.")
    if "\0" in args.command:
        raise ToolRetry("Not done: the command contains a NUL character.")
    bash = shutil.which("bash")
    if bash is None:
        raise ToolFailed("Not run: there is no bash on this machine; use run_code.")
    deadline = context.deadline(min(args.timeout_seconds, context.deadlines.shell))
    spill, relative = context.host.side_file(f"{context.call_id}.txt")
    output = Output(spill=spill, masker=context.host.masker)
    command = [bash, "--noprofile", "--norc", "-c", args.command]
    if context.host.sandbox:
        walled = partial(context.host.sandboxed, command, network=context.host.network)
        command = await anyio.to_thread.run_sync(walled)
    try:
        ended = await run_process(
            command,
            cwd=context.scope.root,
            env=cleaned(os.environ),
            mark=context.call_id,
            deadline=deadline,
            output=output,
        )
    except OSError as exc:
        raise ToolFailed(f"Not run: {exc.strerror or exc}.") from exc
    finally:
        with anyio.CancelScope(shield=True):
            await output.end()
    # before it is cut: half a secret would not be recognised
    whole = await anyio.to_thread.run_sync(context.host.masker.text, without_ansi(output.text()))
    short = excerpt(whole, limit=RESULT_LIMIT)
    side_file = relative if output.spilled else "" if short.whole else await keep(context, whole)
    return ToolResult(
        text=_said(args.command, ended, deadline, short.text), failed=ended.exit_code != 0, side_file=side_file
    )


def _said(command: str, ended: Ended, deadline: float, text: str) -> str:
    if ended.exit_code is None:
        head = f"timeout: it did not end within {deadline:g} s and was ended. {NO_INPUT}"
    else:
        head = EXIT_LINE.format(code=ended.exit_code)
        if ended.exit_code and (_READS.search(command) or _WANTED_INPUT.search(text[-2000:])):
            head += f"\n{NO_INPUT}"
    if ended.left:
        head += (
            f"\n{ended.left} process(es) that it left in the background were ended; a command's processes end with it."
        )
    return f"{head}\n{text.rstrip() or '(no output)'}"


TOOL = Tool(
    name="run_shell",
    description="Run a command line with bash in the space's folder, without a terminal or input. Output and exit code come back.",
    kind="execute",
    action="shell",
    arguments=RunShell,
    title=lambda args: f"Run: {args.command.strip()}",
    targets=lambda args: Targets(command=args.command),
    carry_out=_run_shell,
)
