"""Fields of a model request that no settings may give, because the agent itself decides them."""

from collections.abc import Mapping

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
"""Name → why not, or what to set instead."""
