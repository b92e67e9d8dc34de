"""A session's log as a notebook: what was asked, done and answered, in order. Pure: equal sessions give equal notebooks.

Code that ran is a code cell with its real outputs; every other tool call, question and plan is a code cell with a comment as its
source, so that the notebook can be run again from the top: cells that could not (they were stopped, killed the kernel, or ran in
another one) carry the tag ``skip-execution``, cells that may fail ``raises-exception``. Everything of ours is under ``pernix`` in the
metadata and in outputs of types ``application/vnd.pernix.…+json``, each beside a plain text. Secrets are masked before anything else.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from .. import __version__
from ..masking import Masker
from ..records import (
    JSON,
    ApprovalView,
    CallView,
    ContextItem,
    ExecutionView,
    MessageView,
    NoticeView,
    Picture,
    Plan,
    ProblemView,
    SessionView,
    ThoughtView,
    TurnView,
)
from .bundles import clean_output, scrub, scrub_json, shorten
from .call_record import (
    approval_json,
    approval_metadata,
    call_metadata,
    call_text,
    inputs_metadata,
    time_of,
    turn_metadata,
)
from .languages import TO_FOLDER, KernelIdentity, identity_of
from .markdown import code_block, one_line, safe_markdown
from .notebook_file import notebook_bytes, write_notebook
from .record_cells import CAPS, RAISES, SETUP, SKIP, RecordCells
from .record_text import (
    TEXT_LIMIT,
    answer,
    approval_markdown,
    approval_text,
    context_markdown,
    flat,
    inputs_markdown,
    plain_path,
    plan_markdown,
    plan_text,
)
from .widgetstate import as_metadata

__all__ = [
    "APPROVAL_MIME",
    "PLAN_MIME",
    "TOOL_CALL_MIME",
    "KernelIdentity",
    "identity_of",
    "notebook_bytes",
    "run_notebook",
    "write_notebook",
]

TOOL_CALL_MIME = "application/vnd.pernix.tool-call+json"
APPROVAL_MIME = "application/vnd.pernix.approval+json"
PLAN_MIME = "application/vnd.pernix.plan+json"

_encode = msgspec.json.Encoder().encode
_NOT_AGAIN = {"cancelled", "timeout", "dead", "restarted", "aborted", "not_run"}
_PICTURES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


def run_notebook(
    view: SessionView,
    *,
    kernel: KernelIdentity | None = None,
    include_thoughts: bool = False,
    masker: Masker | None = None,
) -> dict[str, Any]:
    """The whole session as an nbformat 4.5 notebook, ready for ``write_notebook``.

    ``kernel`` is the kernel that the notebook names; by default the one that ran most of the code. ``masker`` knows the host's
    secrets; without it those are masked that can be recognised.
    """
    masked = (masker or Masker()).view(view)
    names = Counter(execution.kernel_name for execution in _executions(masked))
    common = names.most_common(1)[0][0] if names else masked.kernel_name
    identity = kernel or identity_of(common)
    return _Notebook(masked, identity, masker=masker or Masker(), include_thoughts=include_thoughts).fold()


def _executions(view: SessionView) -> Iterator[ExecutionView]:
    for turn in view.turns:
        for item in turn.items:
            if isinstance(item, CallView):
                yield from _ran(item)


def _ran(call: CallView) -> list[ExecutionView]:
    """What the call ran, oldest first."""
    return [*call.earlier, *([call.execution] if call.execution is not None else [])]


class _Notebook:
    def __init__(
        self,
        view: SessionView,
        kernel: KernelIdentity,
        *,
        masker: Masker,
        include_thoughts: bool,
    ) -> None:
        self._view = view
        self._kernel = kernel
        self._masker = masker
        self._include_thoughts = include_thoughts
        self._cells = RecordCells(view.session_id, comment=kernel.comment)

    def fold(self) -> dict[str, Any]:
        self._title()
        self._setup()
        for turn in self._view.turns:
            self._turn(turn)
        notebook = self._notebook()
        try:
            _encode(notebook)
        except UnicodeEncodeError:
            # rare, and looking at every text of a long session costs more than all else here
            return cast(dict[str, Any], scrub_json(notebook))
        return notebook

    def _notebook(self) -> JSON:
        view, kernel = self._view, self._kernel
        pernix: JSON = {
            "version": __version__,
            "session_id": view.session_id,
            "title": view.title,
            "space_root": view.space_root,
            "record_path": view.record_path,
            "last_seq": view.last_seq,
            "created_at": time_of(view.created_at),
            "turns": [turn_metadata(turn) for turn in view.turns],
        }
        if view.notebook is not None:
            pernix["notebook"] = view.notebook.path
        metadata: JSON = {"kernelspec": kernel.kernelspec, "language_info": kernel.language_info, "pernix": pernix}
        if view.widgets:
            metadata["widgets"] = as_metadata(view.widgets)
        return {"cells": self._cells.all, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}

    def _title(self) -> None:
        view = self._view
        lines = [f"# {one_line(view.title) or 'Untitled session'}"]
        if view.created_at is not None:
            lines.append(f"Begun {view.created_at:%Y-%m-%d %H:%M} UTC in `{plain_path(view.space_root) or '.'}`.")
        notebooks = list(dict.fromkeys(each.notebook for each in _executions(view) if each.notebook))
        if notebooks:
            named = ", ".join(f"`{plain_path(path)}`" for path in notebooks)
            lines.append(f"Code ran in the kernel of {named}, whose own cells are not part of this record.")
        self._cells.markdown(f"{view.session_id}-title", "\n\n".join(lines), kind="title")

    def _setup(self) -> None:
        """Code ran in the space's folder, but a notebook runs in the one where it lies."""
        view = self._view
        folder = os.path.dirname(view.record_path)  # noqa: PTH120 - a path relative to the server's root, not of this system
        up = os.path.relpath(view.space_root or ".", folder or ".")
        if up == "." or not folder:
            return
        template = TO_FOLDER.get(self._kernel.language)
        cell_id = f"{view.session_id}-setup"
        if template is None:
            self._cells.markdown(
                cell_id, f"The code below ran in `{plain_path(up)}`, seen from this notebook.", kind="setup"
            )
            return
        name = os.path.basename(folder)  # noqa: PTH119
        source = template.format(folder=json.dumps(name), up=json.dumps(up), plain=re.sub(r"[^\w.-]", "?", name))
        comment = f"{self._kernel.comment} The code below ran in the folder above this notebook's; go there to run it again.\n"
        self._cells.code(cell_id, comment + source, outputs=[], count=None, tags=[SETUP], kind="setup")

    # ---- turns ----------------------------------------------------------------------------------------------------------

    def _turn(self, turn: TurnView) -> None:
        number = self._view.turns.index(turn) + 1
        self._cells.markdown(
            f"{turn.turn_id}-prompt",
            f"## Request {number}\n\n{safe_markdown(turn.text)}".rstrip(),
            turn_id=turn.turn_id,
            kind="prompt",
            origin=turn.origin,
        )
        for item in turn.context:
            self._context(turn, item)
        if turn.plan is not None:
            self._plan(turn, turn.plan)
        for item in turn.items:
            match item:
                case MessageView():
                    self._cells.markdown(
                        f"{item.step_id}-message",
                        answer(item),
                        turn_id=turn.turn_id,
                        step_id=item.step_id,
                        kind="answer",
                    )
                case ThoughtView():
                    if self._include_thoughts:
                        quoted = "\n".join(f"> {line}" for line in code_block(item.text).split("\n"))
                        self._cells.markdown(
                            f"{item.step_id}-thought",
                            quoted,
                            turn_id=turn.turn_id,
                            step_id=item.step_id,
                            kind="thought",
                        )
                case ProblemView():
                    text = f"**Problem:** {one_line(item.text)}" + (f" {one_line(item.hint)}" if item.hint else "")
                    self._cells.markdown(f"{turn.turn_id}-problem", text, turn_id=turn.turn_id, kind="problem")
                case NoticeView():
                    text = f"*{one_line(item.text)}*" + (f" {one_line(item.hint)}" if item.hint else "")
                    self._cells.markdown(f"{turn.turn_id}-notice", text, turn_id=turn.turn_id, kind="notice")
                case CallView():
                    self._call(turn, item)
        if turn.code is not None and turn.code != "answered":
            text = f"*The turn ended: {turn.code.value.replace('_', ' ')}.* {one_line(turn.detail)}".strip()
            self._cells.markdown(f"{turn.turn_id}-end", text, turn_id=turn.turn_id, kind="end")

    def _context(self, turn: TurnView, item: ContextItem) -> None:
        names = [f"picture-{number}.{_PICTURES[each.mime]}" for number, each in enumerate(_shown(item.pictures), 1)]
        pictures = {name: {each.mime: each.data} for name, each in zip(names, _shown(item.pictures), strict=True)}
        self._cells.markdown(
            f"{turn.turn_id}-context",
            context_markdown(item, names),
            attachments=pictures,
            turn_id=turn.turn_id,
            kind="context",
            context=item.kind,
            name=shorten(item.name, TEXT_LIMIT),
        )

    def _plan(self, turn: TurnView, plan: Plan) -> None:
        data = {
            PLAN_MIME: msgspec.to_builtins(plan),
            "text/markdown": plan_markdown(plan),
            "text/plain": plan_text(plan),
        }
        self._cells.told(
            f"{turn.turn_id}-plan", [f"plan: {flat(plan.approach)}"], _display(data), turn_id=turn.turn_id, kind="plan"
        )

    def _call(self, turn: TurnView, call: CallView) -> None:
        ran = _ran(call)
        if ran:
            if call.approval is not None:
                self._cells.told(
                    f"{call.call_id}-approval",
                    [f"question: {flat(call.approval.question)}"],
                    _approval(call.approval),
                    turn_id=turn.turn_id,
                    call_id=call.call_id,
                    kind="approval",
                )
            for execution in ran:
                self._executed(turn, call, execution)
        elif not _repeats_answer(turn, call):
            self._tool(turn, call)

    def _executed(self, turn: TurnView, call: CallView, execution: ExecutionView) -> None:
        # a secret may have come in pieces
        outputs = [
            self._masker.output(output)
            for output in _joined([clean_output(output, caps=CAPS) for output in execution.outputs])
        ]
        for output in outputs:
            if output["output_type"] == "execute_result":
                output["execution_count"] = execution.execution_count
        ended = execution.status is not None and execution.status not in _NOT_AGAIN
        elsewhere = execution.kernel_name not in ("", self._kernel.name)
        self._cells.code(
            call.call_id,
            scrub(execution.code),
            outputs=outputs,
            count=execution.execution_count,
            tags=_tags(execution, outputs, again=ended and not elsewhere),
            turn_id=turn.turn_id,
            step_id=call.step_id,
            call_id=call.call_id,
            execution_id=execution.execution_id,
            kind="code",
            kernel_name=execution.kernel_name if elsewhere else "",
            status=execution.status or "interrupted",
            detail=shorten(execution.detail, TEXT_LIMIT),
            duration=execution.duration,
            approval=approval_metadata(call.approval),
            rule=call.rule,
            notebook=execution.notebook,
            cell_id=execution.cell_id,
            place="attached" if execution.place == "attached" else "",
            inputs=inputs_metadata(execution),
        )
        if execution.inputs:
            self._cells.markdown(
                f"{call.call_id}-inputs",
                inputs_markdown(execution),
                turn_id=turn.turn_id,
                call_id=call.call_id,
                kind="input",
            )
        if not ended:
            text = f"*This code did not run to its end ({execution.status or 'interrupted'}).* {one_line(execution.detail)}"
            self._cells.markdown(
                f"{call.call_id}-end", text.strip(), turn_id=turn.turn_id, call_id=call.call_id, kind="end"
            )

    def _tool(self, turn: TurnView, call: CallView) -> None:
        state = call.status.replace("_", " ")
        took = f", {call.duration:.2f} s" if call.duration is not None else ""
        data: JSON = {TOOL_CALL_MIME: call_metadata(call), "text/plain": call_text(call)}
        questions = [_approval(call.approval)] if call.approval is not None else []
        pictures = [_display({each.mime: each.data}) for each in _shown(call.pictures)]
        self._cells.told(
            call.call_id,
            [f"{flat(call.tool)}: {flat(call.title)}", f"{state}{took}"],
            _display(data),
            *questions,
            *pictures,
            turn_id=turn.turn_id,
            step_id=call.step_id,
            call_id=call.call_id,
            kind="tool",
            tool=call.tool,
            duration=call.duration,
            approval=approval_metadata(call.approval),
            rule=call.rule,
        )


def _tags(execution: ExecutionView, outputs: list[JSON], *, again: bool) -> list[str]:
    """``again``: the code can be run once more, in the kernel that the notebook names. It may fail then where it did before, where it
    asks for a line, and where it stood on what a notebook's own cells had made."""
    if not again:
        return [SKIP]
    failed = execution.status == "error" or any(output["output_type"] == "error" for output in outputs)
    return [RAISES] if failed or execution.inputs or execution.place == "attached" else []


def _display(data: JSON) -> JSON:
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _approval(approval: ApprovalView) -> JSON:
    return _display(
        {
            APPROVAL_MIME: approval_json(approval),
            "text/markdown": approval_markdown(approval),
            "text/plain": approval_text(approval),
        }
    )


def _shown(pictures: list[Picture]) -> list[Picture]:
    """Those that any viewer shows and that can do nothing."""
    return [each for each in pictures if each.mime in _PICTURES and len(each.data) <= CAPS.image]


def _repeats_answer(turn: TurnView, call: CallView) -> bool:
    """``finish`` stores its answer as a message as well."""
    answer = call.arguments.get("answer")
    return call.tool == "finish" and any(isinstance(item, MessageView) and item.text == answer for item in turn.items)


def _joined(outputs: list[JSON]) -> list[JSON]:
    """Consecutive streams of one name as one output."""
    joined: list[JSON] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if (
            last is not None
            and output["output_type"] == "stream" == last["output_type"]
            and last["name"] == output["name"]
        ):
            last["text"] += output["text"]
        else:
            joined.append(output)
    return joined
