"""The ways in which servers hold an answer to a schema, each by fields of the request of its own. Pure."""

from collections.abc import Callable, Mapping

from ...records import JSON, Constraint, EndpointKind
from .grammar import to_gbnf, to_regex


def _response_format(schema: JSON) -> JSON:
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": "action", "strict": True, "schema": schema}}
    }


_FIELDS: Mapping[Constraint, Callable[[JSON], JSON]] = {
    "response_format": _response_format,
    "structured_outputs": lambda schema: {"structured_outputs": {"json": schema}},
    "guided_json": lambda schema: {"guided_json": schema},
    "json_schema": lambda schema: {"json_schema": schema},
    "json_object": lambda schema: {"response_format": {"type": "json_object", "schema": schema}},
    "json_value": lambda schema: {"response_format": {"type": "json", "value": schema}},
    "grammar": lambda schema: {"grammar": to_gbnf(schema)},
    "ebnf": lambda schema: {"ebnf": to_gbnf(schema)},
    "regex": lambda schema: {"regex": to_regex(schema)},
    "format": lambda schema: {"format": schema},
}

_KNOWN: Mapping[EndpointKind, tuple[Constraint, ...]] = {
    "vllm": ("response_format", "structured_outputs", "guided_json"),
    "sglang": ("response_format", "ebnf", "regex"),
    "llama.cpp": ("response_format", "json_schema", "grammar"),
    "local": ("response_format", "json_schema", "grammar"),
    "ollama": ("response_format", "format"),
    "lmstudio": ("response_format",),
}


def ways_of(kind: EndpointKind) -> tuple[Constraint, ...]:
    """What to try with a server of this kind, the best first; all of them where the kind says nothing."""
    return _KNOWN.get(kind, tuple(_FIELDS))


def constraint_fields(schema: JSON, constraint: Constraint) -> JSON:
    """The fields of a request that hold its answer to ``schema``.

    :raises ValueError: if this way cannot express it
    """
    return _FIELDS[constraint](schema)


def constrained(body: JSON, schema: JSON, constraint: Constraint) -> JSON:
    """``body`` with them."""
    return {**body, **constraint_fields(schema, constraint)}
