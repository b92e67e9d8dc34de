"""Calls that stand in the visible text, because the server in between did not take them out. Pure.

A call is taken from text only where the text is nothing else: the whole reply is the call (bare or in one fence), or it ends in
the envelope that a chat template defines (``<tool_call>`` and its kin, see ``dialects.py``). An example in prose stays prose.
"""

import re
from dataclasses import dataclass

from .dialects import DIALECTS, ToolSchemas, json_calls, pythonic_calls
from .hold import CALL_FENCES, envelope_start
from .parts import ModelCall

_SPECIAL = re.compile(r"<\|(?:im_end|im_start|eot_id|end|endoftext|eom_id|return|END_RESPONSE)\|>")
_LAST_MARKS = re.compile(rf"(?:\s*(?:{_SPECIAL.pattern}))+\s*\Z")
_WHOLE_FENCE = re.compile(r"\A```[ \t]*([\w.+-]*)[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Written:
    """``text`` is what remains visible. ``truncated`` names the tool of an envelope that never closed, ``""`` if there is none."""

    text: str
    calls: tuple[ModelCall, ...] = ()
    truncated: str = ""


def without_marks(text: str) -> str:
    """``text`` without the template's marks at its end."""
    return _LAST_MARKS.sub("", text) if text.rstrip().endswith("|>") else text


def read_written(text: str, tools: ToolSchemas) -> Written:
    """The calls that ``text`` consists of, or ends in."""
    if not tools:
        return Written(text=text)
    bare = _SPECIAL.sub("", text).strip()
    fence = _WHOLE_FENCE.match(bare)
    if fence is not None and fence[1] in CALL_FENCES and "```" not in fence[2]:
        bare = fence[2].strip()
    if bare[:1] in ("{", "["):
        calls = json_calls(bare, tools) or (pythonic_calls(bare, tools) if bare[0] == "[" else ())
        if calls:
            return Written(text="", calls=calls)
    return _enveloped(text, bare, tools)


def _enveloped(text: str, bare: str, tools: ToolSchemas) -> Written:
    start = text.index(">>>") if bare.startswith(">>>") else envelope_start(text)
    if start < 0 or text[:start].count("```") % 2:
        return Written(text=text)
    before, rest = text[:start].rstrip(), _SPECIAL.sub("", text[start:]).strip()
    calls: list[ModelCall] = []
    while rest:
        found, after = _block(rest, tools)
        if not found:
            return _unclosed(text, before, rest, tools, calls)
        calls += found
        rest = rest[after:].lstrip()
    return Written(text=before, calls=tuple(calls))


def _block(text: str, tools: ToolSchemas) -> tuple[tuple[ModelCall, ...], int]:
    """The calls of the envelope with which ``text`` begins, and where it ends; none if it is not one."""
    for dialect in DIALECTS:
        match = dialect.block.match(text) if text.startswith(dialect.marks) else None
        found = dialect.read(match["inner"], tools) if match else ()
        if match and found:
            return found, match.end()
    return (), 0


def _unclosed(text: str, before: str, rest: str, tools: ToolSchemas, calls: list[ModelCall]) -> Written:
    """An envelope without its end: a call if what it holds is whole (its end is often a stop word), cut off if it names a tool and
    breaks off there, prose otherwise."""
    for dialect in DIALECTS:
        opened = dialect.opened.match(rest) if rest.startswith(dialect.marks) else None
        if opened is None or dialect.block.match(rest):
            continue
        found = dialect.read(opened["inner"], tools) or dialect.read(opened["inner"] + dialect.ending, tools)
        if found:
            return Written(text=before, calls=(*calls, *found))
        named = _NAMED.search(opened["inner"])
        name = next((group for group in named.groups() if group), "") if named else ""
        return Written(text=before, truncated=name or "unknown")
    return Written(text=text)


_NAMED = re.compile(
    r'"name"\s*:\s*"([^"]*)"|<function=([\w.-]+)|<invoke name="([\w.-]+)|(?:functions\.|<｜tool▁sep｜>)([\w.-]+)|\A([\w.-]+)'
)


def without_envelopes(text: str, tools: ToolSchemas) -> str:
    """What remains of ``text`` when the calls in it also came as structure."""
    return read_written(text, tools).text
