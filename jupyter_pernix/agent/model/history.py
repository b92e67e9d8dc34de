"""Messages mended until every endpoint takes them: each call has its result, each result its call. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from ...records import JSON
from .calls import as_object

MISSING_RESULT = "(this call was not carried out)"


def _call_ids(message: JSON) -> list[str]:
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    return [str(as_object(call).get("id", "")) for call in cast(list[Any], calls or [])]


def _results(ids: Sequence[str], given: dict[str, JSON]) -> Iterable[JSON]:
    for wire_id in ids:
        yield given.get(wire_id) or {"role": "tool", "tool_call_id": wire_id, "content": MISSING_RESULT}


def mended(messages: Sequence[JSON]) -> list[JSON]:
    """The same conversation with a result behind each call and no result without one."""
    done: list[JSON] = []
    ids: list[str] = []
    given: dict[str, JSON] = {}
    for message in messages:
        if message.get("role") == "tool":
            wire_id = str(message.get("tool_call_id", ""))
            if wire_id in ids:
                given.setdefault(wire_id, message)
            continue
        done += _results(ids, given)
        ids, given = _call_ids(message), {}
        done.append(message)
    done += _results(ids, given)
    return done
