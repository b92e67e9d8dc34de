"""``inspect_variables``: what the kernel holds, also while code runs. It runs no code of the user's and starts no kernel, so no mode
asks about it."""

from typing import Annotated

from msgspec import Meta

from ...errors import KernelError, ToolFailed
from ..describing import counted, variable_text, variables_text
from ..policy.broker import Targets
from .base import RESULT_LIMIT, Arguments, Tool, ToolContext, ToolResult

NO_KERNEL = "There is no kernel yet, so there are no variables. run_code starts one."


class InspectVariables(Arguments, frozen=True):
    names: Annotated[
        list[str], Meta(description="Variables to see in detail; without it all of them are listed in short.")
    ] = []


async def _inspect(context: ToolContext, args: InspectVariables) -> ToolResult:
    try:
        executor = await context.host.running_executor()
        if executor is None:
            return ToolResult(text=NO_KERNEL)
        found = await executor.variables(args.names or None)
    except KernelError as exc:
        raise ToolFailed(f"Not done: {exc}.") from exc
    running = " (code is running)" if found.busy else ""
    if not args.names:
        if not found.total:
            return ToolResult(text=f"The kernel {found.kernel_name} has no variables{running}.")
        text = variables_text(found, limit=RESULT_LIMIT - 200)
        return ToolResult(text=f"{counted(found)} in the kernel {found.kernel_name}{running}:\n{text}")
    there = {variable.name for variable in found.variables}
    texts = [variable_text(variable) for variable in found.variables]
    texts += [f"{name}: there is no such variable" for name in args.names if name not in there]
    return ToolResult(text="\n\n".join(texts)[:RESULT_LIMIT])


TOOL = Tool(
    name="inspect_variables",
    description=(
        "See the variables of the kernel: name, type, shape, columns, a preview. Costs little, changes nothing, and works while code runs."
    ),
    kind="read",
    action="none",
    arguments=InspectVariables,
    title=lambda args: f"Look at variables{': ' if args.names else ''}{', '.join(args.names)}",
    targets=lambda args: Targets(),
    carry_out=_inspect,
)
