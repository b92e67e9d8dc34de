"""Thoughts and calls that stand in the visible text, because the server in between did not take them out.

A call is taken from text only where the text is nothing else: the whole reply is the call (bare or in one fence), or it ends in
the envelope that a chat template defines (``<tool_call>`` and its kin). An example in prose stays prose.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...records import JSON
from .arguments import Unreadable, read_objects
from .calls import as_object, read_call, tool_name
from .parts import ModelCall

ToolSchemas = Mapping[str, JSON]
"""Parameter schemas by tool name."""

_THINK_TAGS = ("think", "thinking", "thought", "reasoning")
_OPENINGS = {f"<{tag}>": f"</{tag}>" for tag in _THINK_TAGS}
_CLOSINGS = tuple(_OPENINGS.values())
_ENVELOPES = (
    "<tool_call>",
    "<tool_calls>",
    "<function_call>",
    "<function=",
    "<tools>",
    "[TOOL_CALLS]",
    "<|tool_call|>",
    "<|python_tag|>",
)


_FIRST_CHARS = frozenset(mark[0] for mark in (*_CLOSINGS, *_ENVELOPES))
_ENVELOPE_START = re.compile(rf"(?:\A|\n)[ \t]*({'|'.join(map(re.escape, _ENVELOPES))})")
_ENVELOPE_CHARS = frozenset(mark[0] for mark in _ENVELOPES)


def _held(text: str, marks: tuple[str, ...]) -> int:
    """How many characters at the end of ``text`` may be the beginning of one of ``marks``."""
    tail = text[1 - max(map(len, marks)) :]
    for at, char in enumerate(tail):
        if char in _FIRST_CHARS and any(mark.startswith(tail[at:]) for mark in marks):
            return len(tail) - at
    return 0


@dataclass
class Split:
    """New visible text and new thought, in the order thought first."""

    text: str = ""
    thought: str = ""


class ThoughtSplitter:
    """Takes ``<think>`` blocks out of text as it comes: those before the answer, and one that only closes."""

    def __init__(self) -> None:
        self._buffer = ""
        self._closing = ""
        self._answering = False
        self._shown: list[str] = []
        self._thought_seen = False
        self.reclaimed = ""
        """Text that was given out as visible and turned out to be thought."""

    def feed(self, text: str, *, final: bool = False) -> Split:
        self._buffer += text
        out = Split()
        while self._advance(out, final=final):
            pass
        self._shown.append(out.text)
        return out

    def _advance(self, out: Split, *, final: bool) -> bool:
        if self._closing:
            return self._in_thought(out, final=final)
        if not self._answering:
            return self._before_answer(final=final)
        return self._in_answer(out, final=final)

    def _in_thought(self, out: Split, *, final: bool) -> bool:
        thought, mark, rest = self._buffer.partition(self._closing)
        if mark:
            out.thought += thought
            self._buffer, self._closing = rest, ""
            return True
        keep = 0 if final else _held(self._buffer, (self._closing,))
        cut = len(self._buffer) - keep
        out.thought += self._buffer[:cut]
        self._buffer = self._buffer[cut:]
        return False

    def _before_answer(self, *, final: bool) -> bool:
        start = self._buffer.lstrip()
        for opening, closing in _OPENINGS.items():
            if start.startswith(opening):
                self._buffer, self._closing, self._thought_seen = start[len(opening) :], closing, True
                return True
        if not final and any(opening.startswith(start) for opening in _OPENINGS):
            return False
        self._answering = True
        if self._thought_seen:
            self._buffer = start
        return True

    def _in_answer(self, out: Split, *, final: bool) -> bool:
        if not self._thought_seen:
            found = re.search("|".join(_CLOSINGS), self._buffer)
            if found is not None:
                before = "".join([*self._shown, out.text, self._buffer[: found.start()]])
                if before.count("`") % 2 == 0 and f"<{found[0][2:]}" not in before:
                    self.reclaimed = "".join(self._shown) + out.text
                    out.thought += self._buffer[: found.start()]
                    out.text = ""
                    self._buffer, self._thought_seen, self._answering = self._buffer[found.end() :], True, False
                    self._shown = []
                    return True
        keep = 0 if final or self._thought_seen else _held(self._buffer, _CLOSINGS)
        cut = len(self._buffer) - keep
        out.text += self._buffer[:cut]
        self._buffer = self._buffer[cut:]
        return False


# ---- holding back what may become a call ----------------------------------------------------------------------------------

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
_LONGEST_OPENING = 4000
"""After so many characters it is settled whether what stands there may be a call."""
_FENCE_LINE = re.compile(r"\A```[ \t]*([\w.+-]*)[ \t]*\n\s*")
_CALL_FENCES = {"", "json", "tool_call", "tool_calls", "tool_code", "function_call", "xml"}


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
        at = _envelope_start(self._buffer)
        if at >= 0:
            self._holding = True
        else:
            at = len(self._buffer) - _held(self._buffer, _ENVELOPES)
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
            return fence[1] in _CALL_FENCES and (not start or self._may_be_call(start))
        if start.startswith("```"):
            return "\n" not in start
        if start[0] not in "{[":
            return False
        key = _FIRST_KEY.match(start)
        if key is not None:
            return key[1] in _CALL_KEYS
        return re.match(r'\A[\[\s]*(\{\s*("((?:[^"\\]|\\.)*)?)?)?\Z', start) is not None


def _envelope_start(text: str) -> int:
    """Where the first envelope opens at the beginning of a line; -1: nowhere."""
    if _ENVELOPE_CHARS.isdisjoint(text):
        return -1
    found = _ENVELOPE_START.search(text)
    return found.start(1) if found else -1


# ---- reading written calls ------------------------------------------------------------------------------------------------

_SPECIAL = re.compile(r"<\|(?:im_end|im_start|eot_id|end|endoftext|eom_id)\|>")
_ENVELOPE = re.compile(
    r"<(tool_calls?|function_call|tools)>(?P<tag>.*?)</\1>"
    r"|(?P<function><function=[\w.-]+>.*?</function>)"
    r"|\[TOOL_CALLS\](?P<mistral>.*)\Z"
    r"|<\|tool_call\|>(?P<granite>.*?)(?:<\|/?tool_call\|>|\Z)"
    r"|<\|python_tag\|>(?P<llama>.*)\Z",
    re.DOTALL,
)
_OPEN_ENVELOPE = re.compile(
    r"<(?:tool_calls?|function_call)>(?P<inner>(?:(?!</?tool_call).)*)\Z|(?P<function><function=[\w.-]+>(?:(?!</function>).)*)\Z",
    re.DOTALL,
)
_FUNCTION = re.compile(r"<function=([\w.-]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_WHOLE_FENCE = re.compile(r"\A```[ \t]*([\w.+-]*)[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Written:
    """``text`` is what remains visible. ``truncated`` names the tool of an envelope that never closed, ``""`` if there is none."""

    text: str
    calls: tuple[ModelCall, ...] = ()
    truncated: str = ""


def read_written(text: str, tools: ToolSchemas) -> Written:
    """The calls that ``text`` consists of, or ends in."""
    if not tools:
        return Written(text=text)
    bare = _SPECIAL.sub("", text).strip()
    fence = _WHOLE_FENCE.match(bare)
    if fence is not None and fence[1] in _CALL_FENCES and "```" not in fence[2]:
        bare = fence[2].strip()
    if bare[:1] in ("{", "["):
        calls = _json_calls(bare, tools)
        if calls:
            return Written(text="", calls=calls)
    return _enveloped(text, tools)


def _enveloped(text: str, tools: ToolSchemas) -> Written:
    start = _envelope_start(text)
    if start < 0 or text[:start].count("```") % 2:
        return Written(text=text)
    before, body = text[:start].rstrip(), _SPECIAL.sub("", text[start:]).strip()
    calls: list[ModelCall] = []
    at = 0
    for match in _ENVELOPE.finditer(body):
        if body[at : match.start()].strip():
            return Written(text=text)
        found = _inner_calls(next(group for group in match.groupdict().values() if group is not None), tools)
        if not found:
            return Written(text=text)
        calls += found
        at = match.end()
    rest = body[at:].strip()
    if not rest:
        return Written(text=before, calls=tuple(calls))
    return _unclosed(text, before, rest, tools, calls)


def _unclosed(text: str, before: str, rest: str, tools: ToolSchemas, calls: list[ModelCall]) -> Written:
    """An envelope without its end: a call if what it holds is whole (its end is often a stop word), cut off otherwise."""
    opened = _OPEN_ENVELOPE.match(rest)
    if opened is None:
        return Written(text=text)
    inner = opened["inner"] if opened["inner"] is not None else opened["function"]
    found = _inner_calls(inner, tools)
    if found:
        return Written(text=before, calls=(*calls, *found))
    named = re.search(r'"name"\s*:\s*"([^"]*)"|<function=([\w.-]+)', inner)
    name = (named[1] or named[2]) if named else ""
    return Written(text=before, truncated=name or "unknown")


def without_envelopes(text: str, tools: ToolSchemas) -> str:
    """What remains of ``text`` when the calls in it also came as structure."""
    return read_written(text, tools).text


def _inner_calls(inner: str, tools: ToolSchemas) -> tuple[ModelCall, ...]:
    inner = inner.strip()
    functions = _FUNCTION.findall(inner)
    if functions:
        if _FUNCTION.sub("", inner).strip() or any(name not in tools for name, _ in functions):
            return ()
        return tuple(read_call(name, _parameters(body, tools[name])) for name, body in functions)
    return _json_calls(inner, tools)


def _parameters(body: str, schema: JSON) -> JSON:
    properties = as_object(schema.get("properties"))
    return {key: _value(text, as_object(properties.get(key))) for key, text in _PARAMETER.findall(body)}


def _value(text: str, schema: JSON) -> Any:
    if schema.get("type", "string") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json_calls(text: str, tools: ToolSchemas) -> tuple[ModelCall, ...]:
    try:
        items = read_objects(f'{{"calls":{text}}}' if text.startswith("[") else text)
    except Unreadable:
        return ()
    calls: list[ModelCall] = []
    for item in items:
        inner = item.get("calls") or item.get("tool_calls")
        for one in cast(list[Any], inner) if isinstance(inner, list) else [item]:
            call = _json_call(as_object(one), tools)
            if call is None:
                return ()
            calls.append(call)
    return tuple(calls)


def _json_call(item: JSON, tools: ToolSchemas) -> ModelCall | None:
    for key in ("function", "tool_call"):
        if isinstance(item.get(key), dict):
            item = as_object(item[key])
    written = next(
        (item[key] for key in ("name", "tool", "tool_name", "function") if isinstance(item.get(key), str)), ""
    )
    name = tool_name(written, tools)
    given = next((item[key] for key in ("arguments", "parameters", "args", "input") if key in item), None)
    if name not in tools or given is None:
        return None
    try:
        objects = read_objects(given if isinstance(given, str) else json.dumps(given))
    except Unreadable:
        return None
    return read_call(name, objects[0]) if len(objects) == 1 else None
