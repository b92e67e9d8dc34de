"""``finish``: the answer, as a call, for models that would rather call than stop."""

from typing import Annotated

from msgspec import Meta

from ...errors import ToolRetry
from ..context import FINISH
from ..policy.broker import Targets
from .base import Arguments, Tool, ToolContext, ToolResult


class Finish(Arguments, frozen=True):
    answer: Annotated[str, Meta(description="The answer for the user, in Markdown.")]


async def _finish(context: ToolContext, args: Finish) -> ToolResult:
    if not args.answer.strip():
        raise ToolRetry("Not done: the answer is empty. Say what you did and found.")
    return ToolResult(text="The answer was given to the user.", answer=args.answer)


TOOL = Tool(
    name=FINISH,
    description="End the turn with the final answer. Only when the work is done or cannot be done.",
    kind="think",
    action="none",
    arguments=Finish,
    title=lambda args: "Answer",
    targets=lambda args: Targets(),
    carry_out=_finish,
    text_field="answer",
)
