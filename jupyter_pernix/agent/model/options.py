"""Further fields of each request (``options`` of an endpoint or a role): merged, and refused where they would break the protocol."""

from collections.abc import Mapping
from typing import Any

from ...errors import EndpointFailed
from ...records import JSON

REFUSED: Mapping[str, str] = {
    "model": "set `model` of the endpoint or role instead",
    "messages": "the conversation is made here",
    "prompt": "the conversation is made here",
    "input": "the conversation is made here",
    "stream": "every answer is streamed",
    "stream_options": "it is set here",
    "tools": "the tools are offered by the agent",
    "functions": "the tools are offered by the agent",
    "tool_choice": "the agent must be free to call tools and to answer",
    "function_call": "the agent must be free to call tools and to answer",
    "n": "one answer is read",
    "best_of": "one answer is read",
    "response_format": "`protocol` decides how answers are constrained",
    "guided_json": "`protocol` decides how answers are constrained",
    "guided_regex": "`protocol` decides how answers are constrained",
    "guided_grammar": "`protocol` decides how answers are constrained",
    "structured_outputs": "`protocol` decides how answers are constrained",
    "json_schema": "`protocol` decides how answers are constrained",
    "grammar": "`protocol` decides how answers are constrained",
    "regex": "`protocol` decides how answers are constrained",
    "ebnf": "`protocol` decides how answers are constrained",
    "format": "`protocol` decides how answers are constrained",
}


def merged(endpoint: Mapping[str, Any], role: Mapping[str, Any] | None = None) -> JSON:
    """The role's options over the endpoint's; a role takes one away with ``None`` (in TOML: an empty table).

    :raises ModelError: if one of them would break the protocol, with what to do instead
    """
    both = {**endpoint, **(role or {})}
    for key in both:
        if key in REFUSED:
            raise EndpointFailed(
                f"the option {key!r} cannot be set: {REFUSED[key]}",
                kind="protocol",
                hint=f"take {key!r} out of options",
            )
    return {key: value for key, value in both.items() if value is not None and value != {}}
