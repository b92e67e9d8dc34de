"""``delegate``: a part of the work, handed to a session of its own. Made for each turn, since workers spend from its budget."""

from typing import Annotated, Protocol

from msgspec import Meta

from ...errors import ToolRetry
from ...ports import WorkerAnswer
from ...records import Budget, Spent, TerminalCode
from ..excerpt import excerpt
from ..policy.broker import Targets
from .base import RESULT_LIMIT, Arguments, Tool, ToolContext, ToolResult
from .sidefile import keep

DELEGATE = "delegate"


class Desk(Protocol):
    """What the turn leaves to its workers."""

    def lend(self) -> tuple[Budget, Spent]:
        """What the next worker may spend, set aside, and the receipt for it.

        :raises ToolFailed: if nothing is left
        """
        ...

    def settle(self, receipt: Spent, spent: Spent) -> None: ...


class Delegate(Arguments, frozen=True):
    task: Annotated[
        str,
        Meta(
            description="The whole task in words: what to do, with which files, what to answer. The worker sees nothing else."
        ),
    ]
    title: Annotated[str, Meta(description="A few words for the user.")] = ""


def delegate_tool(desk: Desk) -> Tool[Delegate]:
    """The tool for the turn that ``desk`` belongs to."""

    async def carry_out(context: ToolContext, args: Delegate) -> ToolResult:
        if not args.task.strip():
            raise ToolRetry("Not done: the task is empty.")
        budget, receipt = desk.lend()
        spent = Spent()
        try:
            answer = await context.host.delegate(
                call_id=context.call_id, title=args.title or _first_line(args.task), task=args.task, budget=budget
            )
            spent = answer.spent
        finally:
            desk.settle(receipt, spent)
        return await _result(context, answer)

    return Tool(
        name=DELEGATE,
        description=(
            "Hand a self-contained part of the work to a worker with the same tools and get its answer. "
            "Several in one reply run side by side; they must not change the same files."
        ),
        kind="other",
        action="none",
        arguments=Delegate,
        title=lambda args: f"Delegate: {args.title or _first_line(args.task)}",
        targets=lambda args: Targets(),
        carry_out=carry_out,
    )


def _first_line(task: str) -> str:
    return task.strip().splitlines()[0][:80] if task.strip() else "worker"


async def _result(context: ToolContext, answer: WorkerAnswer) -> ToolResult:
    short = excerpt(answer.answer, limit=RESULT_LIMIT)
    side_file = "" if short.whole else await keep(context, answer.answer)
    if answer.code is TerminalCode.ANSWERED:
        return ToolResult(text=f"The worker's answer:\n{short.text}", side_file=side_file)
    said = f" {short.text}" if short.text.strip() else ""
    return ToolResult(text=f"The worker did not finish ({answer.code.value}).{said}", failed=True, side_file=side_file)
