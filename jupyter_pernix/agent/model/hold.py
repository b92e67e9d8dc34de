"""Text that may turn out to be a call is held back until that is known. Pure."""

import re

from .dialects import MARKS
from .thoughts import held

_START = re.compile(rf"(?:\A|\n)[ \t]*({'|'.join(map(re.escape, MARKS))})")
_CHARS = frozenset(mark[0] for mark in MARKS)

_CALL_KEYS = {
    "name",
    "tool",
    "function",
    "tool_call",
    "tool_calls",
    "arguments",
    "parameters",
    "type",
    "tool_name",
    "action",
    "id",
}
_FIRST_KEY = re.compile(r'\A[\[\s]*\{\s*"((?:[^"\\]|\\.)*)"')
_PYTHONIC = re.compile(r"\A\[\s*[A-Za-z_][\w.]*(?:\(|\Z)")
_FUNCTIONARY = re.compile(r"\A>{1,3}\Z|\A>>>[\w.-]+(?:\n|\Z)")
_LONGEST_OPENING = 4000
"""After so many characters it is settled whether what stands there may be a call."""
_FENCE_LINE = re.compile(r"\A```[ \t]*([\w.+-]*)[ \t]*\n\s*")
CALL_FENCES = {"", "json", "tool_call", "tool_calls", "tool_code", "function_call", "xml"}


class CallHold:
    """Lets text through as it comes, except what may turn out to be a call; ``finish`` gives the rest."""

    def __init__(self) -> None:
        self._buffer = ""
        self._kept: list[str] = []
        self._shown = False
        self._holding = False

    def feed(self, text: str) -> str:
        if self._holding:
            self._kept.append(text)
            return ""
        self._buffer += text
        if not self._shown and self._may_be_call(self._buffer.lstrip()):
            self._holding = len(self._buffer) > _LONGEST_OPENING
            return ""
        at = envelope_start(self._buffer)
        if at >= 0:
            self._holding = True
        else:
            at = len(self._buffer) - held(self._buffer, MARKS)
        shown, self._buffer = self._buffer[:at], self._buffer[at:]
        self._shown = self._shown or bool(shown.strip())
        return shown

    def finish(self) -> str:
        rest, self._buffer, self._kept = "".join([self._buffer, *self._kept]), "", []
        return rest

    def _may_be_call(self, start: str) -> bool:
        if not start or (len(start) < 4 and "```".startswith(start[:3])):
            return True
        fence = _FENCE_LINE.match(start)
        if fence is not None:
            start = start[fence.end() :]
            return fence[1] in CALL_FENCES and (not start or self._may_be_call(start))
        if start.startswith("```"):
            return "\n" not in start
        if start[0] == ">":
            return _FUNCTIONARY.match(start) is not None
        if start[0] not in "{[":
            return False
        if _PYTHONIC.match(start):
            return True
        key = _FIRST_KEY.match(start)
        if key is not None:
            return key[1] in _CALL_KEYS
        return re.match(r'\A[\[\s]*(\{\s*("((?:[^"\\]|\\.)*)?)?)?\Z', start) is not None


def envelope_start(text: str) -> int:
    """Where the first envelope opens at the beginning of a line; -1: nowhere."""
    if _CHARS.isdisjoint(text):
        return -1
    found = _START.search(text)
    return found.start(1) if found else -1
