"""What a probe says to an endpoint, and what it makes of the answers: the real system text, the real tools, a small real job.

A model that calls a toy tool under one line of system text may not call ours under pages of it, so nothing else proves it. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ...records import JSON, EndpointKind
from ..briefing import RULES
from ..tools.registry import TOOLS
from .action_schema import schema_for
from .calls import tool_name
from .parts import ModelCall, Reply

_PATH = "station-7/measurements.csv"
_REQUEST = (
    f"Read the file {_PATH} with read_file, then say in one sentence which columns it has. Begin with the call; do not describe it.\n\n"
    "(Mode: plan.)"
)
_ROWS = "\n".join(
    f"{at:>4}  2031-04-{at % 28 + 1:02},{at % 24}:00,{11.5 + at % 7},{61 + at % 9},ok" for at in range(2, 40)
)
_RESULT = f"   1  day,hour,temperature,humidity,state\n{_ROWS}\n(39 lines)"
_SPECS = tuple(tool.spec for tool in TOOLS.values())

WIRE_TOOLS: list[JSON] = [
    {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
    }
    for spec in _SPECS
]
ACTIONS: JSON = schema_for([spec for spec in _SPECS if spec.name in ("list_files", "finish")])
_ACTION_NAMES = ("list_files", "finish")


def opening() -> list[JSON]:
    """The messages to which the model should answer by a call."""
    return [{"role": "system", "content": RULES}, {"role": "user", "content": _REQUEST}]


def with_result(reply: Reply, call: ModelCall) -> list[JSON]:
    """The same, with the call and its result; other calls of the same reply are not repeated."""
    function = {"name": call.name, "arguments": call.raw}
    return [
        *opening(),
        {
            "role": "assistant",
            "content": reply.text or None,
            "tool_calls": [{"id": call.wire_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call.wire_id, "content": _RESULT},
    ]


def plain() -> list[JSON]:
    """A request whose natural answer is no JSON: one that is shows that the schema was enforced."""
    return [
        {"role": "system", "content": "You are friendly. You answer in plain words."},
        {"role": "user", "content": "Say hello to me."},
    ]


def is_action(value: object) -> bool:
    """Whether a decoded answer is one that ``ACTIONS`` allows."""
    return isinstance(value, dict) and value.get("action") in _ACTION_NAMES  # pyright: ignore[reportUnknownMemberType]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """``fault`` "": ``call`` is right, and came in the field that is for it."""

    call: ModelCall | None = None
    fault: str = ""


def judged(reply: Reply) -> Verdict:
    """What the answer to ``opening`` was worth; read it without tools, so that calls in its text stay text."""
    named = next((spec.name for spec in _SPECS if spec.name in reply.text), "")
    if not reply.calls:
        how = "wrote the call into its text" if named and "{" in reply.text else "made no call, but answered in words"
        return Verdict(fault=f"asked for a tool call, it {how}")
    call = reply.calls[0]
    if call.arguments is None:
        return Verdict(fault=f"it called {call.name}, but its arguments could not be read: {call.fault}")
    name = tool_name(call.name, TOOLS)
    spec = next((spec for spec in _SPECS if spec.name == name), None)
    if spec is None:
        return Verdict(fault=f"it called {call.name!r}, which was not offered")
    missing = [name for name in spec.parameters.get("required", ()) if name not in call.arguments]
    if missing:
        return Verdict(fault=f"it called {call.name} without {', '.join(missing)}")
    if name == "read_file" and not str(call.arguments.get("path", "")).endswith(_PATH):
        return Verdict(fault=f"it called read_file with another path than it was given: {call.arguments.get('path')!r}")
    return Verdict(call=call)


_HOW_TO_CALL: Mapping[EndpointKind, str] = {
    "vllm": "start vLLM with --enable-auto-tool-choice --tool-call-parser <the parser for this model>",
    "sglang": "start SGLang with --tool-call-parser <the parser for this model>",
    "llama.cpp": "start llama-server with --jinja, and with a model whose chat template knows tools",
    "local": "",
    "ollama": "choose a model that `ollama show` lists with the capability tools",
    "lmstudio": "choose a model that LM Studio marks as trained for tool use",
}


def how_to_call(kind: EndpointKind) -> str:
    """What makes a server of this kind call tools; "" where nothing is known, or nothing can be done."""
    return _HOW_TO_CALL.get(kind, "")
