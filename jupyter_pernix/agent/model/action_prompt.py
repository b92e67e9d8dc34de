"""What an action model is told about its tools, and how its own past actions are shown to it. Pure."""

import json
from collections.abc import Sequence

from ...records import JSON
from .calls import as_object
from .parts import ToolSpec


def action_text(name: str, arguments: JSON) -> str:
    return json.dumps({"action": name, **arguments}, ensure_ascii=False)


def tool_line(tool: ToolSpec) -> str:
    properties = as_object(tool.parameters.get("properties"))
    required = tool.parameters.get("required") or []
    fields = ", ".join(name if name in required else f"{name}?" for name in properties)
    return f"{tool.name}({fields}): {tool.description}"


def system_text(system: str, tools: Sequence[ToolSpec]) -> str:
    """``system`` with the tools and the rules of the form behind it."""
    lines = "\n".join(tool_line(tool) for tool in tools)
    return (
        f"{system}\n\n"
        "You act by choosing exactly one action per turn, written as one JSON object; its result then comes back to you.\n"
        f"{lines}"
    )


def example_messages(tools: Sequence[ToolSpec]) -> list[tuple[str, str]]:
    """A short exchange in the form that is asked for, made of the tools that are there."""
    names = {tool.name for tool in tools}
    if not {"run_code", "finish"} <= names:
        return []
    return [
        ("user", "Use Python to compute 2+2."),
        ("assistant", action_text("run_code", {"code": "print(2+2)"})),
        ("user", "Result of run_code:\n4"),
        ("assistant", action_text("finish", {"answer": "2+2 is 4."})),
    ]
