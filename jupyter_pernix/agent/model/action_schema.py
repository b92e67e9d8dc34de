"""Tools → the JSON Schema of one action. Pure. Only keywords that every grammar compiler takes are kept."""

from collections.abc import Sequence
from typing import Any, cast

from ...records import JSON
from .calls import as_object
from .parts import ToolSpec

_KEPT = ("type", "enum", "items", "minimum", "maximum", "properties", "required")
_SHORT = 800
"""Longest small field, in characters: a weak model that loops inside one is stopped there."""


def schema_for(tools: Sequence[ToolSpec], *, flat: bool = False) -> JSON:
    """One schema a tool, without its text; ``flat``: one object with all fields, for servers that refuse alternatives."""
    if flat:
        return _flat(tools)
    schemas = [_one(tool) for tool in tools]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _one(tool: ToolSpec) -> JSON:
    fields = _fields(tool)
    required = [name for name in fields if name in _required(tool)]
    return {
        "type": "object",
        "properties": {"action": {"const": tool.name}, **fields},
        "required": ["action", *required],
        "additionalProperties": False,
    }


def _flat(tools: Sequence[ToolSpec]) -> JSON:
    fields: dict[str, JSON] = {}
    for tool in tools:
        fields |= _fields(tool)
    action: JSON = {"type": "string", "enum": [tool.name for tool in tools]}
    return {
        "type": "object",
        "properties": {"action": action, **fields},
        "required": ["action"],
        "additionalProperties": False,
    }


def _required(tool: ToolSpec) -> list[str]:
    return cast(list[str], tool.parameters.get("required") or [])


def _fields(tool: ToolSpec) -> dict[str, JSON]:
    """The tool's small fields, required ones first."""
    properties = as_object(tool.parameters.get("properties"))
    required = _required(tool)
    names = sorted((name for name in properties if name != tool.text_field), key=lambda name: name not in required)
    return {name: _kept(properties[name]) for name in names}


def _kept(schema: Any) -> JSON:
    given = as_object(schema)
    kept: JSON = {key: given[key] for key in _KEPT if key in given}
    if "items" in kept:
        kept["items"] = _kept(kept["items"])
    if "properties" in kept:
        kept["properties"] = {name: _kept(one) for name, one in as_object(kept["properties"]).items()}
    if kept.get("type") == "string" and "enum" not in kept:
        kept["maxLength"] = _SHORT
    return kept or {"type": "string"}
