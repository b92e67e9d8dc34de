"""JSON Schema → a grammar in GBNF (llama.cpp, KoboldCpp, and what SGLang calls EBNF), or a regular expression. Pure.

Only the keywords that ``action_schema`` makes are known. Fields come in their written order with one space between, so that a weak
model has no room to go round in blanks.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from ...records import JSON
from .calls import as_object

_RULES = r"""
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
integer ::= "-"? ("0" | [1-9] [0-9]*)
number ::= integer ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
boolean ::= "true" | "false"
null ::= "null"
value ::= object | array | string | number | boolean | null
object ::= "{" (string ": " value (", " string ": " value)*)? "}"
array ::= "[" (value (", " value)*)? "]"
""".strip()
_SCALARS = {"integer": "integer", "number": "number", "boolean": "boolean", "null": "null", "string": "string"}


def to_gbnf(schema: JSON) -> str:
    """A grammar whose language is what the schema takes, written one way."""
    return f"root ::= {_gbnf(schema)}\n{_RULES}\n"


def _gbnf(schema: JSON) -> str:
    words = _fixed(schema)
    if words is not None:
        return _either([_quoted(word) for word in words])
    if "anyOf" in schema:
        return _either([_gbnf(one) for one in cast(list[JSON], schema["anyOf"])])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _either([_gbnf({**schema, "type": one}) for one in cast(list[str], kind)])
    match kind:
        case "object" if as_object(schema.get("properties")):
            return _sequence([(key, _gbnf(one), needed) for key, one, needed in _fields(schema)])
        case "object":
            return "object"
        case "array":
            item = _gbnf(as_object(schema.get("items"))) if schema.get("items") else "value"
            return f'"[" ({item} (", " {item})*)? "]"'
        case _:
            return _SCALARS.get(str(kind), "value")


def _sequence(fields: Sequence[tuple[str, str, bool]]) -> str:
    """An object's fields; the first must be there, so that a comma stands before each other one."""
    if not fields[0][2]:
        return "object"
    (first, value, _), *rest = fields
    parts = [_quoted("{" + json.dumps(first, ensure_ascii=False) + ": "), value]
    for key, value, needed in rest:
        part = f"{_quoted(', ' + json.dumps(key, ensure_ascii=False) + ': ')} {value}"
        parts.append(part if needed else f"({part})?")
    return " ".join([*parts, '"}"'])


def _quoted(text: str) -> str:
    """``text`` as a terminal of GBNF, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False)


def _either(options: Sequence[str]) -> str:
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"


def _fixed(schema: JSON) -> list[str] | None:
    """The JSON texts of which the value must be one."""
    if "const" in schema:
        return [json.dumps(schema["const"], ensure_ascii=False)]
    if "enum" in schema:
        return [json.dumps(word, ensure_ascii=False) for word in cast(list[Any], schema["enum"])]
    return None


def _fields(schema: JSON) -> list[tuple[str, JSON, bool]]:
    """Name, schema, and whether it must be there; those that must come first."""
    properties = as_object(schema.get("properties"))
    required = cast(list[str], schema.get("required") or [])
    found = [(key, as_object(properties[key]), key in required) for key in properties]
    return sorted(found, key=lambda field: not field[2])


# ---- regular expression -------------------------------------------------------------------------------------------------

_STRING = r'"([^"\\\x00-\x1F\x7F]|\\["\\/bfnrt])*"'
_INTEGER = r"-?(0|[1-9][0-9]*)"
_PATTERNS = {
    "string": _STRING,
    "integer": _INTEGER,
    "number": _INTEGER + r"(\.[0-9]+)?([eE][-+]?[0-9]+)?",
    "boolean": "(true|false)",
    "null": "null",
}


def to_regex(schema: JSON) -> str:
    """:raises ValueError: if the schema takes objects of any depth, which no regular expression describes"""
    words = _fixed(schema)
    if words is not None:
        return _either([_escaped(word) for word in words]).replace(" | ", "|")
    if "anyOf" in schema:
        return "(" + "|".join(to_regex(one) for one in cast(list[JSON], schema["anyOf"])) + ")"
    kind = schema.get("type")
    if kind == "array" and schema.get("items"):
        item = to_regex(as_object(schema["items"]))
        return rf"\[({item}(, {item})*)?\]"
    if kind == "object":
        fields = _fields(schema)
        if fields and fields[0][2]:
            pieces = [
                _field_pattern(key, to_regex(one), first=at == 0, needed=needed)
                for at, (key, one, needed) in enumerate(fields)
            ]
            return r"\{" + "".join(pieces) + r"\}"
    if isinstance(kind, list):
        return "(" + "|".join(to_regex({**schema, "type": one}) for one in cast(list[str], kind)) + ")"
    if not isinstance(kind, str) or kind not in _PATTERNS:
        raise ValueError(f"no regular expression for {kind!r}")
    return _PATTERNS[kind]


def _field_pattern(key: str, pattern: str, *, first: bool, needed: bool) -> str:
    lead = "" if first else ", "
    text = f"{lead}{_escaped(json.dumps(key, ensure_ascii=False))}: {pattern}"
    return text if needed else f"({text})?"


def _escaped(text: str) -> str:
    return re.sub(r"([\\.^$*+?{}()|\[\]])", r"\\\1", text)
