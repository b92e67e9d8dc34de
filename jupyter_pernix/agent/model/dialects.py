"""How chat templates write calls into text: one entry a dialect, the marks that open it and how what it holds is read. Pure."""

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...records import JSON
from .arguments import Unreadable, read_objects
from .calls import as_object, read_call, tool_name
from .parts import ModelCall

ToolSchemas = Mapping[str, JSON]
"""Parameter schemas by tool name."""

Calls = tuple[ModelCall, ...]
NONE: Calls = ()


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """``marks`` open an envelope. ``block`` matches a whole one, its inside named ``inner``; ``read`` gives the calls in it, none if
    it is something else. ``opened`` matches one that never closes, up to the end of the text."""

    marks: tuple[str, ...]
    block: re.Pattern[str]
    opened: re.Pattern[str]
    read: Callable[[str, ToolSchemas], Calls]
    ending: str = ""
    """What closes the last piece of an envelope whose end is missing."""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)


# ---- JSON ---------------------------------------------------------------------------------------------------------------


def json_calls(text: str, tools: ToolSchemas) -> Calls:
    """One call, or several, as objects or as a list of them."""
    try:
        items = read_objects(f'{{"calls":{text}}}' if text.startswith("[") else text)
    except Unreadable:
        return NONE
    calls: list[ModelCall] = []
    for item in items:
        inner = item.get("calls") or item.get("tool_calls")
        for one in cast(list[Any], inner) if isinstance(inner, list) else [item]:
            call = _json_call(as_object(one), tools)
            if call is None:
                return NONE
            calls.append(call)
    return tuple(calls)


def _json_call(item: JSON, tools: ToolSchemas) -> ModelCall | None:
    for key in ("function", "tool_call"):
        if isinstance(item.get(key), dict):
            item = as_object(item[key])
    written = next(
        (item[key] for key in ("name", "tool", "tool_name", "function") if isinstance(item.get(key), str)), ""
    )
    given = next((item[key] for key in ("arguments", "parameters", "args", "input") if key in item), None)
    if given is None:
        return None
    return _one(written, given if isinstance(given, str) else json.dumps(given), tools)


def _one(written: str, arguments: str, tools: ToolSchemas) -> ModelCall | None:
    """A call of an offered tool whose arguments are one object."""
    name = tool_name(written.strip(), tools)
    if name not in tools:
        return None
    try:
        objects = read_objects(arguments)
    except Unreadable:
        return None
    return read_call(name, objects[0]) if len(objects) == 1 else None


def _all(found: Sequence[ModelCall | None]) -> Calls:
    """All of them or none."""
    calls = tuple(call for call in found if call is not None)
    return calls if len(calls) == len(found) else NONE


def _pieces(pattern: str) -> Callable[[str, ToolSchemas], Calls]:
    """The inside is nothing but pieces of this pattern, each with the groups ``name`` and ``arguments``."""
    piece = _pattern(pattern)

    def read(inner: str, tools: ToolSchemas) -> Calls:
        found = list(piece.finditer(inner))
        if not found or piece.sub("", inner).strip():
            return NONE
        return _all([_one(match["name"], match["arguments"].strip(), tools) for match in found])

    return read


# ---- tags ---------------------------------------------------------------------------------------------------------------

_FUNCTION = _pattern(r"<function=(?P<name>[\w.-]+)>(?P<inner>.*?)(?:</function>|\Z)(?:\s*</tool_call>)?")
_PARAMETER = _pattern(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>")
_INVOKE = _pattern(r'<invoke name="(?P<name>[\w.-]+)">(?P<inner>.*?)</invoke>')
_NAMED = _pattern(r'<parameter name="(?P<key>[\w.-]+)"(?: string="(?P<text>true|false)")?>(?P<value>.*?)</parameter>')
_ARG = _pattern(r"<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>")


def _value(text: str, schema: JSON) -> Any:
    if schema.get("type", "string") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _typed(name: str, pairs: Sequence[tuple[str, str]], tools: ToolSchemas) -> ModelCall:
    properties = as_object(tools[name].get("properties"))
    return read_call(name, {key: _value(text, as_object(properties.get(key))) for key, text in pairs})


def _functions(inner: str, tools: ToolSchemas) -> Calls:
    """``<function=NAME>`` with ``<parameter=KEY>`` tags, or with one JSON object in it."""
    found = list(_FUNCTION.finditer(inner))
    if not found or _FUNCTION.sub("", inner).strip():
        return NONE
    return _all([_function(match["name"], match["inner"], tools) for match in found])


def _function(name: str, body: str, tools: ToolSchemas) -> ModelCall | None:
    if name not in tools:
        return None
    if body.strip().startswith("{"):
        return _one(name, body.strip(), tools)
    if _PARAMETER.sub("", body).strip():
        return None
    return _typed(name, _PARAMETER.findall(body), tools)


def _arg_pairs(inner: str, tools: ToolSchemas) -> Calls:
    name, mark, rest = inner.partition("<arg_key>")
    name = name.strip()
    if name not in tools or _ARG.sub("", mark + rest).strip():
        return NONE
    return (_typed(name, _ARG.findall(mark + rest), tools),)


def _tagged(inner: str, tools: ToolSchemas) -> Calls:
    """Inside of ``<tool_call>``: JSON, function tags, or keys and values by turns."""
    inner = inner.strip()
    return _functions(inner, tools) or _arg_pairs(inner, tools) or json_calls(inner, tools)


def _invokes(inner: str, tools: ToolSchemas) -> Calls:
    inner = inner.replace("｜DSML｜", "")
    found = list(_INVOKE.finditer(inner))
    if not found or _INVOKE.sub("", inner).strip() or any(match["name"] not in tools for match in found):
        return NONE
    return tuple(_invoke(match["name"], match["inner"], tools) for match in found)


def _invoke(name: str, body: str, tools: ToolSchemas) -> ModelCall:
    properties = as_object(tools[name].get("properties"))
    made: JSON = {}
    for match in _NAMED.finditer(body):
        schema = {"string": "string", "true": "string", "false": "any"}.get(match["text"] or "")
        told = {"type": schema} if schema else as_object(properties.get(match["key"]))
        made[match["key"]] = _value(match["value"], told)
    return read_call(name, made)


# ---- Python -------------------------------------------------------------------------------------------------------------


def pythonic_calls(text: str, tools: ToolSchemas) -> Calls:
    """``[name(key=value, …), …]``, with plain values only."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return NONE
    return _all([_pythonic(node, tools) for node in tree.elts]) if isinstance(tree, ast.List) and tree.elts else NONE


def _pythonic(node: ast.expr, tools: ToolSchemas) -> ModelCall | None:
    if not isinstance(node, ast.Call) or node.args:
        return None
    name = tool_name(ast.unparse(node.func), tools)
    if name not in tools or any(keyword.arg is None for keyword in node.keywords):
        return None
    try:
        arguments = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
        return _one(name, json.dumps(arguments, allow_nan=False), tools)
    except (ValueError, TypeError, RecursionError):
        return None


def _bare(inner: str, tools: ToolSchemas) -> Calls:
    inner = inner.strip()
    return json_calls(inner, tools) or pythonic_calls(inner, tools)


# ---- the table ------------------------------------------------------------------------------------------------------------


def _between(
    opening: str, closing: str, marks: Sequence[str], read: Callable[[str, ToolSchemas], Calls], ending: str = ""
) -> Dialect:
    """An envelope with its own end."""
    return Dialect(
        marks=tuple(marks),
        block=_pattern(rf"{opening}(?P<inner>.*?){closing}"),
        opened=_pattern(rf"{opening}(?P<inner>.*)\Z"),
        read=read,
        ending=ending,
    )


def _to_the_end(opening: str, mark: str, read: Callable[[str, ToolSchemas], Calls]) -> Dialect:
    """An envelope that nothing but the end of the text closes."""
    whole = _pattern(rf"{opening}(?P<inner>.*)\Z")
    return Dialect(marks=(mark,), block=whole, opened=whole, read=read)


_MISTRAL_11 = _pattern(r"\[TOOL_CALLS\](?P<inner>[\w.-]+(?:\[CALL_ID\][^\[]*)?\[ARGS\].*?)(?=\[TOOL_CALLS\]|\Z)")
_HARMONY = r"(?:<\|start\|>assistant)?<\|channel\|>commentary to="

DIALECTS: tuple[Dialect, ...] = (
    _between(
        r"<(?P<tag>tool_calls?|function_call|tools)>",
        r"</(?P=tag)>",
        ("<tool_call>", "<tool_calls>", "<function_call>", "<tools>"),
        _tagged,
    ),
    Dialect(
        marks=("<function=",),
        block=_pattern(r"(?P<inner><function=[\w.-]+>.*?</function>)(?:\s*</tool_call>)?"),
        opened=_pattern(r"(?P<inner><function=[\w.-]+>.*)\Z"),
        read=_functions,
    ),
    Dialect(
        marks=("[TOOL_CALLS]",),
        block=_MISTRAL_11,
        opened=_MISTRAL_11,
        read=_pieces(r"(?P<name>[\w.-]+)(?:\[CALL_ID\][^\[]*)?\[ARGS\](?P<arguments>.*)"),
    ),
    _to_the_end(r"\[TOOL_CALLS\]", "[TOOL_CALLS]", _bare),
    Dialect(
        marks=("<|tool_call|>",),
        block=_pattern(r"<\|tool_call\|>(?P<inner>.*?)(?:<\|/?tool_call\|>|\Z)"),
        opened=_pattern(r"<\|tool_call\|>(?P<inner>.*)\Z"),
        read=_bare,
    ),
    _to_the_end(r"<\|python_tag\|>", "<|python_tag|>", _bare),
    _between(
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        ("<｜tool▁calls▁begin｜>",),
        _pieces(
            r"<｜tool▁call▁begin｜>\s*(?:function<｜tool▁sep｜>)?(?P<name>[\w.:-]+)(?:<｜tool▁sep｜>|\n)(?P<arguments>.*?)<｜tool▁call▁end｜>"
        ),
        "<｜tool▁call▁end｜>",
    ),
    _between(
        r"<(?P<tag>｜DSML｜function_calls|｜DSML｜tool_calls|minimax:tool_call|function_calls)>",
        r"</(?P=tag)>",
        ("<｜DSML｜", "<minimax:tool_call>", "<function_calls>"),
        _invokes,
    ),
    _between(
        r"<\|tool_calls_section_begin\|>",
        r"<\|tool_calls_section_end\|>",
        ("<|tool_calls_section_begin|>",),
        _pieces(
            r"<\|tool_call_begin\|>\s*(?P<name>[\w.:-]+)\s*<\|tool_call_argument_begin\|>(?P<arguments>.*?)<\|tool_call_end\|>"
        ),
        "<|tool_call_end|>",
    ),
    _between(r"<\|START_ACTION\|>", r"<\|END_ACTION\|>", ("<|START_ACTION|>",), _bare),
    Dialect(
        marks=("<|channel|>commentary to=", "<|start|>assistant<|channel|>commentary to="),
        block=_pattern(rf"{_HARMONY}(?P<inner>.*?)<\|call\|>"),
        opened=_pattern(rf"{_HARMONY}(?P<inner>.*)\Z"),
        read=_pieces(r"(?P<name>[\w.-]+)\s*(?:<\|constrain\|>\s*\w+\s*)?<\|message\|>(?P<arguments>.*)"),
    ),
    Dialect(
        marks=(">>>",),
        block=_pattern(r">>>(?P<inner>[\w.-]+\n.*?)(?=\n>>>|\Z)"),
        opened=_pattern(r">>>(?P<inner>[\w.-]+\n.*)\Z"),
        read=_pieces(r"(?P<name>[\w.-]+)\n(?P<arguments>\{.*)"),
    ),
)
MARKS = tuple(dict.fromkeys(mark for dialect in DIALECTS for mark in dialect.marks if mark != ">>>"))
"""What opens an envelope at the beginning of a line."""
