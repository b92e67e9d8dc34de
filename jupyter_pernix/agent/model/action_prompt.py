"""What an action model is told about its tools, and how its own past actions are shown to it. Pure."""

import json
import re
from collections.abc import Sequence
from typing import cast

from ...records import JSON
from ..excerpt import excerpt
from .calls import as_object
from .parts import ToolSpec


def action_text(name: str, arguments: JSON) -> str:
    return json.dumps({"action": name, **arguments}, ensure_ascii=False)


def tool_line(tool: ToolSpec) -> str:
    properties = as_object(tool.parameters.get("properties"))
    required = cast(list[str], tool.parameters.get("required") or [])
    fields = ", ".join(name if name in required else f"{name}?" for name in properties if name != tool.text_field)
    return f"{tool.name}({fields}): {tool.description}"


def system_text(system: str, tools: Sequence[ToolSpec]) -> str:
    """``system`` with the tools and the rules of the form behind it."""
    lines = "\n".join(tool_line(tool) for tool in tools)
    return (
        f"{system}\n"
        "You act by choosing exactly one action per turn, written as one JSON object; its result then comes back to you. "
        "Fields with ? are left out unless you need them.\n"
        f"{lines}\n\n"
        "The actions are not Python functions. In code, use Python itself, and print each result with its name. "
        "Count and compute by code, never in your head.\n"
        "If a result is an error or empty, choose another action that may work; answer when a result shows the answer. "
        "What needs no action is answered at once."
    )


def is_prose(tool: ToolSpec) -> bool:
    """Whether its text is written as it will be read; other texts stand in a fenced block."""
    return tool.text_field == "answer"


_LONGEST_REQUEST = 300
_NOTE = re.compile(r"\n\n[(\[][^\n]*[)\]]\s*\Z")


def request_of(text: str) -> str:
    """What a user's message asks for, in one bounded line: without the note on mode and time at its end; "" for a remark of ours in
    brackets."""
    plain = " ".join(_NOTE.sub("", text).split())
    if plain.startswith(("(", "[")):
        return ""
    return plain if len(plain) <= _LONGEST_REQUEST else f"{plain[:_LONGEST_REQUEST]} …"


def text_question(tool: ToolSpec, arguments: JSON, *, request: str = "") -> str:
    """What asks for the text of an action that was just chosen. The request stands in front of it: a small model has lost sight of
    it by then."""
    asked = f"The request was: {request}\n" if request else ""
    if is_prose(tool):
        return f"{asked}Write the answer for the user now. Say what the results show."
    properties = as_object(tool.parameters.get("properties"))
    said = str(as_object(properties.get(tool.text_field or "")).get("description") or "")
    where = f" for {arguments['path']}" if "path" in arguments else ""
    about = f" {said.rstrip('.')}." if said else ""
    return f"{asked}Write the {tool.text_field}{where} now.{about} Give it in one fenced block and nothing else."


# ---- results ------------------------------------------------------------------------------------------------------------

_FRAME = re.compile(r"^(?=(?:Cell In\[\d+\]|File )\S*)", re.MULTILINE)
_LIBRARY = re.compile(r"File \S*(?:site-packages|dist-packages|[/\\]lib[/\\]python\d)")
_NOTHING = "(no output)"


def shown_result(name: str, result: str, *, limit: int) -> str:
    """A result as a small model reads it best: without the frames of libraries, at most about ``limit`` characters, and with what to
    do where code showed nothing."""
    if name == "run_code":
        result = _own_frames(result)
        if result.endswith(_NOTHING):
            result = f"{result.removesuffix(_NOTHING)}(nothing was printed; print what you want to see)"
    return excerpt(result, limit=limit).text.rstrip("\n")


def _own_frames(result: str) -> str:
    """A traceback without what happened inside of libraries. The error itself stands in the first line."""
    head, *frames = _FRAME.split(result)
    kept = [frame for frame in frames if not _LIBRARY.match(frame)]
    if len(kept) == len(frames):
        return result
    return f"{head}{''.join(kept).rstrip()}\n[… inside of libraries]"


# ---- texts --------------------------------------------------------------------------------------------------------------

_LANGUAGES = {"code": "python"}
"""What a model writes behind the opening fence of a text; nothing for files, whose kind is their own."""


def fenced(tool: ToolSpec, text: str) -> str:
    """A text as the model writes it when asked for."""
    if is_prose(tool):
        return text
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{_LANGUAGES.get(tool.text_field or '', '')}\n{text}\n{fence}"


_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")


class BlockReader:
    """The content of the first fenced block of a text that is being written; the whole text if it has none."""

    def __init__(self) -> None:
        self.closed = False
        self._fence = ""
        self._rest = ""
        self._lines: list[str] = []
        self._unfenced: list[str] = []

    def feed(self, text: str) -> str:
        """The next characters of the content that are certain."""
        *lines, self._rest = (self._rest + text).split("\n")
        new = [line for line in lines if self._line(line)]
        shown = "".join(f"\n{line}" for line in new)
        return shown if len(self._lines) > len(new) else shown[1:]

    def _line(self, line: str) -> bool:
        """Whether this line belongs to the content."""
        if self.closed:
            return False
        mark = _FENCE.match(line)
        if not self._fence:
            if mark:
                self._fence = mark[1]
            else:
                self._unfenced.append(line)
            return False
        if mark and mark[1].startswith(self._fence) and not mark[2].strip():
            self.closed = True
            return False
        self._lines.append(line)
        return True

    def finish(self) -> str:
        """The whole content."""
        if self._rest:
            self._line(self._rest)
            self._rest = ""
        return "\n".join(self._lines if self._fence else self._unfenced).strip("\n")


def example_messages(tools: Sequence[ToolSpec]) -> list[tuple[str, str]]:
    """Short exchanges in the form that is asked for, made of the tools that are there. They name nothing that a real request is
    likely to: a small model takes their files and columns for its own."""
    by_name = {tool.name: tool for tool in tools}
    finish = by_name.get("finish")
    if finish is None:
        return []
    made = _example(finish, "What does the abbreviation HTML stand for?", "HTML stands for HyperText Markup Language.")
    if "run_code" in by_name:
        asked = "How many words has story.txt, and which is the longest?"
        made += _example(
            finish,
            asked,
            "story.txt has 512 words; the longest is 'neighbourhood'.",
            *exchange(by_name["run_code"], {}, _EXAMPLE_CODE, request=asked),
            ("user", "Result of run_code:\nerror [1]: NameError: name 'Path' is not defined"),
            *exchange(by_name["run_code"], {}, f"from pathlib import Path\n\n{_EXAMPLE_CODE}", request=asked),
            ("user", "Result of run_code:\nok [2]\nwords: 512\nlongest: neighbourhood"),
        )
    if "write_file" in by_name:
        asked = "Note in todo.md that the report is due on Friday."
        made += _example(
            finish,
            asked,
            "It stands in todo.md now.",
            *exchange(by_name["write_file"], {"path": "todo.md"}, "The report is due on Friday.", request=asked),
            ("user", "Result of write_file:\nCreated todo.md (+1 -0 lines, 26 bytes)."),
        )
    return made


_EXAMPLE_CODE = """\
words = Path("story.txt").read_text().split()
print("words:", len(words))
print("longest:", max(words, key=len))"""


def _example(finish: ToolSpec, request: str, answer: str, *between: tuple[str, str]) -> list[tuple[str, str]]:
    return [("user", request), *between, *exchange(finish, {}, answer, request=request)]


def exchange(tool: ToolSpec, arguments: JSON, text: str, *, request: str = "") -> list[tuple[str, str]]:
    """An action and its text, as they were asked for and written."""
    if tool.text_field is None:
        return [("assistant", action_text(tool.name, arguments))]
    return [
        ("assistant", action_text(tool.name, arguments)),
        ("user", text_question(tool, arguments, request=request)),
        ("assistant", fenced(tool, text)),
    ]
