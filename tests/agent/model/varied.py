"""How the cases of varied streams are written: the bytes that a server sends, and what they mean."""

import json
from dataclasses import dataclass, field
from typing import Any

from jupyter_pernix.errors import ModelError
from jupyter_pernix.records import Usage

TOOLS: dict[str, Any] = {
    "read_file": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "first": {"type": "integer"}},
        "required": ["path"],
    },
    "list_files": {"type": "object", "properties": {"folder": {"type": "string"}}},
    "run_code": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
}
A = ("read_file", {"path": "a.txt"})
B = ("read_file", {"path": "b.txt"})
DONE = "data: [DONE]\n\n"


def sse(*chunks: Any, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return ("".join(lines) + (DONE if done else "")).encode()


def delta(finish: Any = None, **fields: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(arguments: Any = None, *, name: Any = None, finish: Any = None, **fields: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return delta(finish, tool_calls=[{"type": "function", "function": function, **fields}])


def said(text: str, finish: str = "stop") -> bytes:
    """The text in small deltas."""
    return sse(*[delta(content=text[at : at + 7]) for at in range(0, len(text), 7)], delta(finish))


END = delta("tool_calls")
ARGS = '{"path": "a.txt"}'
ARGS_B = '{"path": "b.txt"}'


@dataclass(frozen=True)
class Case:
    sse: bytes
    text: str = ""
    thought: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    finish: str = ""
    usage: Usage | None = None
    error: type[ModelError] | None = None


HELLO = sse(delta(role="assistant", content=""), delta(content="Hé"), delta(content="llo"), delta("stop"))
TAG = '{"name": "read_file", "arguments": {"path": "a.txt"}}'
