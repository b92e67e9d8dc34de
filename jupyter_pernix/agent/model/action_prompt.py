"""What an action model is told about its tools, and how its own past actions are shown to it. Pure."""

import json
import re
from collections.abc import Sequence
from typing import cast

from ...records import JSON
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
        "The actions are not Python functions. In code, use Python itself, and print each result with its name.\n"
        "If a result is an error or empty, choose another action that may work; answer when a result shows the answer."
    )


def is_prose(tool: ToolSpec) -> bool:
    """Whether its text is written as it will be read; other texts stand in a fenced block."""
    return tool.text_field == "answer"


def text_question(tool: ToolSpec, arguments: JSON) -> str:
    """What asks for the text of an action that was just chosen."""
    if is_prose(tool):
        return "Write the answer for the user now. Say what the results show."
    properties = as_object(tool.parameters.get("properties"))
    said = str(as_object(properties.get(tool.text_field or "")).get("description") or "")
    where = f" for {arguments['path']}" if "path" in arguments else ""
    about = f" {said.rstrip('.')}." if said else ""
    return f"Write the {tool.text_field}{where} now.{about} Give it in one fenced block and nothing else."


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
    """Short exchanges in the form that is asked for, made of the tools that are there."""
    by_name = {tool.name: tool for tool in tools}
    finish = by_name.get("finish")
    if finish is None:
        return []
    made: list[tuple[str, str]] = []
    if "run_code" in by_name:
        made += [
            ("user", "What is the mean age in people.csv, and who is the tallest?"),
            *exchange(by_name["run_code"], {}, _EXAMPLE_CODE),
            ("user", "Result of run_code:\nerror [1]: NameError: name 'pd' is not defined"),
            *exchange(by_name["run_code"], {}, f"import pandas as pd\n\n{_EXAMPLE_CODE}"),
            ("user", "Result of run_code:\nok [2]\nmean age: 41.25\ntallest: Ada"),
            *exchange(finish, {}, "The mean age in people.csv is 41.25; the tallest is Ada."),
        ]
    if "write_file" in by_name:
        made += [
            ("user", "Note in todo.md that the report is due on Friday."),
            *exchange(by_name["write_file"], {"path": "todo.md"}, "The report is due on Friday."),
            ("user", "Result of write_file:\nWritten: todo.md (1 line, new)"),
            *exchange(finish, {}, "It stands in todo.md now."),
        ]
    return made


_EXAMPLE_CODE = """\
people = pd.read_csv("people.csv")
print("mean age:", people["age"].mean())
print("tallest:", people.loc[people["height"].idxmax(), "name"])"""


def exchange(tool: ToolSpec, arguments: JSON, text: str) -> list[tuple[str, str]]:
    """An action and its text, as they were asked for and written."""
    if tool.text_field is None:
        return [("assistant", action_text(tool.name, arguments))]
    return [
        ("assistant", action_text(tool.name, arguments)),
        ("user", text_question(tool, arguments)),
        ("assistant", fenced(tool, text)),
    ]
