"""Thoughts that stand in the visible text, because the server in between did not take them out. Pure."""

import re
from dataclasses import dataclass

_TAGS = ("think", "thinking", "thought", "reasoning", "seed:think", "THINK")
_OPENINGS: dict[str, str] = {
    **{f"<{tag}>": f"</{tag}>" for tag in _TAGS},
    **{f"<{tag.capitalize()}>": f"</{tag.capitalize()}>" for tag in _TAGS if tag.islower()},
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|start|>assistant<|channel|>analysis<|message|>": "<|end|>",
}
_CLOSINGS = tuple(closing for closing in dict.fromkeys(_OPENINGS.values()) if closing.startswith("</"))
_SILENT = (
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "<|START_RESPONSE|>",
)
"""What some templates write before the answer."""


_FIRST_CHARS = frozenset("<[>")
"""Every mark begins with one of these."""


def held(text: str, marks: tuple[str, ...]) -> int:
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
        self._buffer: str = ""
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
        keep = 0 if final else held(self._buffer, (self._closing,))
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
        for mark in _SILENT:
            if start.startswith(mark):
                self._buffer = start[len(mark) :]
                return True
        if not final and any(mark.startswith(start) for mark in (*_OPENINGS, *_SILENT)):
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
        keep = 0 if final or self._thought_seen else held(self._buffer, _CLOSINGS)
        cut = len(self._buffer) - keep
        out.text += self._buffer[:cut]
        self._buffer = self._buffer[cut:]
        return False
