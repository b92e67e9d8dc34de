"""A session's log as a notebook: what was asked, done and answered, in order. Pure: equal sessions give equal notebooks.

Code that ran is a code cell with its real outputs; every other tool call is a code cell with a comment as its source, so that
the notebook can be run again from the top: cells that could not (they were stopped, killed the kernel, or ran in another one)
carry the tag ``skip-execution``, cells that failed ``raises-exception``. Everything of ours is under ``pernix`` in the metadata
and in outputs of type ``application/vnd.pernix.tool-call+json``, each beside a plain text.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from .. import __version__
from ..records import (
    JSON,
    CallView,
    ExecutionView,
    MessageView,
    NoticeView,
    Plan,
    ProblemView,
    SessionView,
    ThoughtView,
    TurnView,
)
from .bundles import Caps, clean_output, scrub, scrub_json, shorten
from .call_record import TEXT_LIMIT, approval_metadata, call_metadata, call_text, time_of, turn_metadata
from .markdown import code_block, one_line, safe_markdown
from .notebook_file import write_notebook

__all__ = ["TOOL_CALL_MIME", "KernelIdentity", "run_notebook", "write_notebook"]

TOOL_CALL_MIME = "application/vnd.pernix.tool-call+json"

_encode = msgspec.json.Encoder().encode
_CAPS = Caps(total=10**12)
_SKIP, _RAISES, _SETUP = "skip-execution", "raises-exception", "pernix-setup"
_NOT_AGAIN = {"cancelled", "timeout", "dead", "restarted", "aborted", "not_run"}
_HASH_COMMENTS = {"python", "bash", "sh", "r", "julia", "ruby", "perl"}
_SLASH_COMMENTS = {
    "javascript",
    "typescript",
    "c++",
    "c",
    "java",
    "scala",
    "kotlin",
    "go",
    "rust",
    "c#",
    "f#",
    "groovy",
}

_TO_SPACE = {
    "python": 'import os\nif os.path.basename(os.getcwd()) == {folder}:\n    os.chdir({up})\ndel os',
    "bash": 'case "$PWD" in */{plain}) cd {up} ;; esac',
    "r": "if (basename(getwd()) == {folder}) setwd({up})",
    "julia": "basename(pwd()) == {folder} && cd({up})",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class KernelIdentity:
    """What a notebook's ``kernelspec`` says; ``language`` in lower case."""

    name: str
    display_name: str
    language: str


def identity_of(kernel_name: str) -> KernelIdentity:
    """A likely identity for a kernel of which only the name is known."""
    name = kernel_name or "python3"
    languages = {"ir": "r", "bash": "bash"}
    language = languages.get(name) or ("julia" if name.startswith("julia") else "python")
    display = "Python 3 (ipykernel)" if name == "python3" else name
    return KernelIdentity(name=name, display_name=display, language=language)


def run_notebook(
    view: SessionView, *, kernel: KernelIdentity | None = None, include_thoughts: bool = False
) -> dict[str, Any]:
    """The whole session as an nbformat 4.5 notebook, ready for ``write_notebook``.

    ``kernel`` is the kernel that the notebook names; by default the one that ran most of the code.
    """
    executions = [item.execution for turn in view.turns for item in turn.items if isinstance(item, CallView)]
    names = Counter(execution.kernel_name for execution in executions if execution is not None)
    common = names.most_common(1)[0][0] if names else view.kernel_name
    return _Notebook(view, kernel or identity_of(common), include_thoughts=include_thoughts).fold()


class _Notebook:
    def __init__(self, view: SessionView, kernel: KernelIdentity, *, include_thoughts: bool) -> None:
        self._view = view
        self._kernel = kernel
        self._include_thoughts = include_thoughts
        self._cells: list[JSON] = []
        self._ids: Counter[str] = Counter()

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
        language: JSON = {"name": kernel.language}
        if kernel.language == "python":
            language |= {"file_extension": ".py", "mimetype": "text/x-python", "pygments_lexer": "ipython3"}
        pernix: JSON = {
            "version": __version__,
            "session_id": view.session_id,
            "title": view.title,
            "space_root": view.space_root,
            "last_seq": view.last_seq,
            "created_at": time_of(view.created_at),
            "turns": [turn_metadata(turn) for turn in view.turns],
        }
        kernelspec = {"name": kernel.name, "display_name": kernel.display_name, "language": kernel.language}
        metadata: JSON = {"kernelspec": kernelspec, "language_info": language, "pernix": pernix}
        return {"cells": self._cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}

    # ---- cells ----------------------------------------------------------------------------------------------------------

    def _markdown(self, cell_id: str, text: str, **pernix: object) -> None:
        self._cells.append(
            {"cell_type": "markdown", "id": self._unique(cell_id), "metadata": self._metadata(pernix), "source": text}
        )

    def _code(
        self, cell_id: str, source: str, *, outputs: list[JSON], count: int | None, tags: list[str], **pernix: object
    ) -> None:
        metadata = self._metadata(pernix)
        if tags:
            metadata["tags"] = tags
        self._cells.append(
            {
                "cell_type": "code",
                "id": self._unique(cell_id),
                "metadata": metadata,
                "source": source,
                "outputs": outputs,
                "execution_count": count,
            }
        )

    def _metadata(self, pernix: Mapping[str, object]) -> JSON:
        given = {key: value for key, value in pernix.items() if value not in (None, "", [])}
        return {"pernix": {"session_id": self._view.session_id, **given}}

    def _unique(self, wanted: str) -> str:
        """A valid cell id that no other cell has."""
        cell_id = re.sub(r"[^a-zA-Z0-9_-]", "-", wanted)[:56] or "cell"
        self._ids[cell_id] += 1
        return cell_id if self._ids[cell_id] == 1 else f"{cell_id}-{self._ids[cell_id]}"

    def _title(self) -> None:
        view = self._view
        lines = [f"# {one_line(view.title) or 'Untitled session'}"]
        if view.created_at is not None:
            lines.append(f"Begun {view.created_at:%Y-%m-%d %H:%M} UTC in `{_plain(view.space_root) or '.'}`.")
        self._markdown(f"{view.session_id}-title", "\n\n".join(lines), kind="title")

    def _setup(self) -> None:
        """Code ran in the space's folder, but a notebook runs in the one where it lies."""
        view = self._view
        folder = os.path.dirname(view.record_path)  # noqa: PTH120 - a path relative to the server's root, not of this system
        up = os.path.relpath(view.space_root or ".", folder or ".")
        if up == "." or not folder:
            return
        template = _TO_SPACE.get(self._kernel.language)
        cell_id = f"{view.session_id}-setup"
        if template is None:
            self._markdown(cell_id, f"The code below ran in `{_plain(up)}`, seen from this notebook.", kind="setup")
            return
        name = os.path.basename(folder)  # noqa: PTH119
        source = template.format(folder=json.dumps(name), up=json.dumps(up), plain=re.sub(r"[^\w.-]", "?", name))
        comment = f"{self._comment} The code below ran in the folder above this notebook's; go there to run it again.\n"
        self._code(cell_id, comment + source, outputs=[], count=None, tags=[_SETUP], kind="setup")

    @property
    def _comment(self) -> str:
        return "//" if self._kernel.language in _SLASH_COMMENTS else "#"

    # ---- turns ----------------------------------------------------------------------------------------------------------

    def _turn(self, turn: TurnView) -> None:
        number = self._view.turns.index(turn) + 1
        self._markdown(
            f"{turn.turn_id}-prompt",
            f"## Request {number}\n\n{safe_markdown(turn.text)}".rstrip(),
            turn_id=turn.turn_id,
            kind="prompt",
            origin=turn.origin,
        )
        if turn.plan is not None:
            self._markdown(f"{turn.turn_id}-plan", _plan_text(turn.plan), turn_id=turn.turn_id, kind="plan")
        for item in turn.items:
            match item:
                case MessageView():
                    self._markdown(
                        f"{item.step_id}-message",
                        _corrected(item),
                        turn_id=turn.turn_id,
                        step_id=item.step_id,
                        kind="answer",
                    )
                case ThoughtView():
                    if self._include_thoughts:
                        quoted = "\n".join(f"> {line}" for line in code_block(item.text).split("\n"))
                        self._markdown(
                            f"{item.step_id}-thought",
                            quoted,
                            turn_id=turn.turn_id,
                            step_id=item.step_id,
                            kind="thought",
                        )
                case ProblemView():
                    text = f"**Problem:** {one_line(item.text)}" + (f" {one_line(item.hint)}" if item.hint else "")
                    self._markdown(f"{turn.turn_id}-problem", text, turn_id=turn.turn_id, kind="problem")
                case NoticeView():
                    text = f"*{one_line(item.text)}*" + (f" {one_line(item.hint)}" if item.hint else "")
                    self._markdown(f"{turn.turn_id}-notice", text, turn_id=turn.turn_id, kind="notice")
                case CallView():
                    self._call(turn, item)
        if turn.code is not None and turn.code != "answered":
            text = f"*The turn ended: {turn.code.value.replace('_', ' ')}.* {one_line(turn.detail)}".strip()
            self._markdown(f"{turn.turn_id}-end", text, turn_id=turn.turn_id, kind="end")

    def _call(self, turn: TurnView, call: CallView) -> None:
        if call.execution is not None:
            self._executed(turn, call, call.execution)
        elif not _repeats_answer(turn, call):
            self._tool(turn, call)

    def _executed(self, turn: TurnView, call: CallView, execution: ExecutionView) -> None:
        outputs = _joined([clean_output(output, caps=_CAPS) for output in execution.outputs])
        for output in outputs:
            if output["output_type"] == "execute_result":
                output["execution_count"] = execution.execution_count
        elsewhere = execution.kernel_name not in ("", self._kernel.name)
        tags: list[str] = []
        if elsewhere or execution.status is None or execution.status in _NOT_AGAIN:
            tags.append(_SKIP)
        elif execution.status == "error" or any(output["output_type"] == "error" for output in outputs):
            tags.append(_RAISES)
        self._code(
            call.call_id,
            scrub(execution.code),
            outputs=outputs,
            count=execution.execution_count,
            tags=tags,
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
        )
        if execution.status is None or execution.status in _NOT_AGAIN:
            text = f"*This code did not run to its end ({execution.status or 'interrupted'}).* {one_line(execution.detail)}"
            self._markdown(f"{call.call_id}-end", text.strip(), turn_id=turn.turn_id, call_id=call.call_id, kind="end")

    def _tool(self, turn: TurnView, call: CallView) -> None:
        state = call.status.replace("_", " ")
        head = f"{self._comment} {_comment_text(call.tool)}: {_comment_text(call.title)}"
        source = f"{head}\n{self._comment} {state}" + (f", {call.duration:.2f} s" if call.duration is not None else "")
        data: JSON = {TOOL_CALL_MIME: call_metadata(call), "text/plain": call_text(call)}
        output: JSON = {"output_type": "display_data", "data": data, "metadata": {}}
        self._code(
            call.call_id,
            source,
            outputs=[clean_output(output, caps=_CAPS)],
            count=None,
            tags=[_SKIP],
            turn_id=turn.turn_id,
            step_id=call.step_id,
            call_id=call.call_id,
            kind="tool",
            tool=call.tool,
            duration=call.duration,
            approval=approval_metadata(call.approval),
            rule=call.rule,
        )


def _corrected(message: MessageView) -> str:
    """The text, after what the host's record says against it."""
    corrections = [f"> **Correction:** {one_line(each)}" for each in message.corrections]
    return "\n\n".join([*corrections, safe_markdown(message.text)])


def _plan_text(plan: Plan) -> str:
    marks = {"completed": "✓", "in_progress": "▸", "pending": "·"}
    steps = [f"- {marks[step.status]} {one_line(step.text)}" for step in plan.steps]
    return "\n".join([f"**Plan:** {one_line(plan.approach)}", *([""] if steps else []), *steps])


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


def _comment_text(text: str) -> str:
    """``text`` as part of a comment line that cannot end before its line does."""
    return shorten(" ".join("".join(c if c.isprintable() else " " for c in scrub(text)).split()), 200).replace(
        "\n", " "
    )


def _plain(path: str) -> str:
    return re.sub(r"[`\x00-\x1f]", "?", scrub(path))
