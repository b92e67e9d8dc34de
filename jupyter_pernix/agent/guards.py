"""Guards against a model that goes round in circles. Pure.

Repeats are judged by the call, not by its outcome: an output that changes a little each time is still the same call.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..records import JSON

DESCRIBING = frozenset({"explanation", "description", "reason", "reasoning", "why", "thought", "comment"})
"""Arguments that only describe a call; they neither make it another one nor are they wrong."""

NUDGE_AT = 3
STUCK_AT = 5
FAILURES_AT = 12

_canonical = msgspec.json.Encoder(order="sorted").encode


def without_descriptions(arguments: Mapping[str, Any]) -> JSON:
    """The arguments that say what to do."""
    return {name: value for name, value in arguments.items() if name not in DESCRIBING}


def call_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """Equal for two calls that ask for the same: order of keys and descriptions do not matter."""
    return f"{tool} {_canonical(without_descriptions(arguments)).decode()}"


@dataclass(kw_only=True)
class Repeats:
    """The calls of one turn. Show it each call with ``sees`` and each outcome with ``ended``."""

    _last: str = ""
    _in_a_row: int = 0
    _failures: int = 0
    _declined: set[str] = field(default_factory=set[str])

    def sees(self, key: str) -> str:
        """A sentence for the model if the call must not be carried out, else ""."""
        self._in_a_row = self._in_a_row + 1 if key == self._last else 1
        self._last = key
        if self._in_a_row >= NUDGE_AT:
            return (
                f"Not done: this is the same call {self._in_a_row} times in a row, and its result will not change. "
                "Use the results that you have, do something else, or finish and say what is missing."
            )
        if key in self._declined:
            return "Not done: the user has already declined exactly this call. Do something else, or finish and say so."
        return ""

    def ended(self, *, failed: bool) -> None:
        self._failures = self._failures + 1 if failed else 0

    def declined(self, key: str) -> None:
        self._declined.add(key)

    @property
    def stuck(self) -> str:
        """Why the turn must end now, for a person; "" if it may go on."""
        if self._in_a_row >= STUCK_AT:
            return f"The model asked for the same call {self._in_a_row} times in a row. Say it in other words, or use another model."
        if self._failures >= FAILURES_AT:
            return f"{self._failures} tool calls in a row failed. Look at their results, then say how to go on."
        return ""


_PROMISE = re.compile(
    r"(?:^|[.!?:]\s+|\n\s*)(?:(?:now|next|first|ok|okay|so|then)[,:]?\s+)?"
    r"(?:let me(?! know)|let's|i(?:'|’)ll|i will|i am going to|i(?:'|’)m going to)\b[^.!?\n]{3,160}[.:!…]*\s*\Z",
    re.IGNORECASE,
)


def promises(text: str) -> bool:
    """Whether a reply ends by announcing an action instead of having done it or answering."""
    return _PROMISE.search(text[-400:]) is not None


class Repetition:
    """Watches a stream for one block of text that repeats without end.

    ``window``: how many characters must be nothing else. Arguments get a longer one than answers: a file may well be uniform.
    """

    LONGEST_BLOCK = 200
    EVERY = 1000

    def __init__(self, window: int = 3000) -> None:
        self._window = window
        self._tail = ""
        self._unchecked = 0

    @property
    def surplus(self) -> int:
        """How many of the last characters say nothing new once they repeat."""
        return self._window - self.LONGEST_BLOCK

    def repeats(self, text: str) -> bool:
        """Take the next characters; true once the last ``window`` are one block of at most 200 characters, over and over."""
        self._tail = (self._tail + text)[-self._window :]
        self._unchecked += len(text)
        if self._unchecked < self.EVERY or len(self._tail) < self._window:
            return False
        self._unchecked = 0
        tail = self._tail
        return any(tail[size:] == tail[:-size] for size in range(1, self.LONGEST_BLOCK + 1))
