"""What an endpoint says that it counted, in whichever place and words → ``Usage``. Pure."""

from typing import Any, cast

from ...records import JSON, Usage
from .calls import as_object

_PLACES = frozenset(("usage", "x_groq", "timings"))
"""A chunk with none of these, and none in a choice, counts nothing; most are so."""


def read_usage(chunk: JSON, before: Usage) -> Usage:
    """``before`` with what this chunk says; later counts replace earlier ones, except zeros."""
    if _PLACES.isdisjoint(chunk) and not any("usage" in choice for choice in _choices(chunk)):
        return before
    usage = _usage_in(chunk)
    if not usage:
        return before
    sent, written, cached = _sent(usage), _count(usage, "completion_tokens", "output_tokens"), _cached(usage)
    if not sent and not written and before.prompt_tokens:
        return before  # some servers close with a block of zeros
    return Usage(
        prompt_tokens=before.prompt_tokens if sent is None else sent,
        completion_tokens=before.completion_tokens if written is None else written,
        cached_tokens=before.cached_tokens if cached is None else cached,
    )


def _usage_in(chunk: JSON) -> JSON:
    for source in (chunk, as_object(chunk.get("x_groq")), *_choices(chunk)):
        usage = as_object(source.get("usage"))
        if usage:
            return usage
    timings = as_object(chunk.get("timings"))  # llama.cpp sends these also where it was not asked to count
    if not timings:
        return {}
    new, cached = _count(timings, "prompt_n"), _count(timings, "cache_n")
    return {
        "prompt_tokens": None if new is None else new + (cached or 0),
        "completion_tokens": _count(timings, "predicted_n"),
        "cached_tokens": cached,
    }


def _choices(chunk: JSON) -> list[JSON]:
    choices = chunk.get("choices")
    return [as_object(one) for one in cast(list[Any], choices)] if isinstance(choices, list) else []


def _sent(usage: JSON) -> int | None:
    """The whole prompt. Where it is called input, what was read from or written to a cache may be counted beside it."""
    told = _count(usage, "prompt_tokens")
    if told is not None:
        return told
    told = _count(usage, "input_tokens")
    if told is None:
        return None
    beside = (_count(usage, key) or 0 for key in ("cache_read_input_tokens", "cache_creation_input_tokens"))
    return told + sum(beside)


def _cached(usage: JSON) -> int | None:
    for key in ("prompt_tokens_details", "input_tokens_details"):
        told = _count(as_object(usage.get(key)), "cached_tokens")
        if told is not None:
            return told
    return _count(usage, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")


def _count(source: JSON, *keys: str) -> int | None:
    for key in keys:
        value = source.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53:
            return int(value)
    return None
