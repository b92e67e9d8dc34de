"""What a run notebook tells in words: plans, questions, what the model was told, lines that code asked for, changes of cells. Pure;
everything that a user, a model or a program wrote is made harmless here."""

import difflib
import re

from ..records import ApprovalView, CellChangeView, CellSnapshot, ContextItem, ExecutionView, MessageView, Plan
from .bundles import scrub, shorten
from .markdown import code_block, one_line, safe_markdown

TEXT_LIMIT = 20_000
"""Characters of one text."""
_MARKS = {"completed": "✓", "in_progress": "▸", "pending": "·"}
_ANSWERS = {
    "allow_once": "allowed once",
    "allow_session": "allowed for the session",
    "allow_always": "allowed always",
    "reject_once": "rejected",
    "reject_always": "rejected always",
}
_TOLD = {
    "environment": "where the code runs",
    "inventory": "the kernel's variables",
    "variable": "a variable",
    "cell": "a cell",
    "kernel": "about the kernel",
    "notebook": "about a notebook",
}


def answer(message: MessageView) -> str:
    """The text, after what the host's record says against it."""
    corrections = [f"> **Correction:** {one_line(each)}" for each in message.corrections]
    return "\n\n".join([*corrections, safe_markdown(message.text)])


def plan_markdown(plan: Plan) -> str:
    steps = [f"- {_MARKS[step.status]} {one_line(step.text)}" for step in plan.steps]
    return "\n".join([f"**Plan:** {one_line(plan.approach)}", *([""] if steps else []), *steps])


def plan_text(plan: Plan) -> str:
    return "\n".join(
        [f"Plan: {flat(plan.approach)}", *(f"{_MARKS[step.status]} {flat(step.text)}" for step in plan.steps)]
    )


def approval_markdown(approval: ApprovalView) -> str:
    detail = f"\n\n{code_block(shorten(approval.detail, TEXT_LIMIT))}" if approval.detail else ""
    return f"**Question:** {one_line(approval.question)}{detail}\n\n**Answer:** {one_line(_answered(approval))}"


def approval_text(approval: ApprovalView) -> str:
    detail = f"\n{shorten(approval.detail, TEXT_LIMIT)}" if approval.detail else ""
    return f"Question: {flat(approval.question)}{detail}\nAnswer: {flat(_answered(approval))}"


def _answered(approval: ApprovalView) -> str:
    if approval.choice is None:
        return "nobody answered"
    said = f": {approval.text}" if approval.text else ""
    by = f" (by {approval.by})" if approval.by else ""
    return f"{_ANSWERS[approval.choice]}{by}{said}"


def context_markdown(item: ContextItem, attachments: list[str]) -> str:
    """``attachments``: names of the pictures that were told with it."""
    name = f" {one_line(item.name)}" if item.name else ""
    pictures = "".join(f"\n\n![picture](attachment:{each})" for each in attachments)
    return f"*Told to the model with the request, {_TOLD[item.kind]}:*{name}\n\n{code_block(shorten(item.text, TEXT_LIMIT))}{pictures}"


def inputs_markdown(execution: ExecutionView) -> str:
    lines: list[str] = []
    for each in execution.inputs:
        if each.password:
            said = "a password, which is not kept" if each.by not in ("", "host") else "no answer"
        else:
            said = "no answer" if each.text is None else f"“{one_line(each.text)}”"
        lines.append(f"*The code asked* “{one_line(each.prompt)}”: {said}.")
    return "\n\n".join(lines)


def change_text(view: CellChangeView) -> str:
    """A change of a cell as a diff of its source."""
    change = view.change
    head = f"{change.op} cell {change.cell_id} of {change.path}: {view.status}" + (
        f" ({view.detail})" if view.detail else ""
    )
    if change.op == "move":
        return f"{head}\nbehind {change.behind or 'the top'}, before that behind {change.was_behind or 'the top'}"
    before, after = _lines(change.before), _lines(change.after)
    diff = difflib.unified_diff(before, after, "before", "after", lineterm="", n=2)
    return shorten("\n".join([head, *diff]), TEXT_LIMIT)


def _lines(cell: CellSnapshot | None) -> list[str]:
    # a cell of another type differs even where its source is the same
    return [] if cell is None else [f"[{cell.cell_type}]", *cell.source.split("\n")]


def flat(text: str) -> str:
    """``text`` on one line that cannot end before it does."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in scrub(text)).split())
    return shorten(shown, 200).replace("\n", " ")


def plain_path(path: str) -> str:
    return re.sub(r"[`\x00-\x1f]", "?", scrub(path))
