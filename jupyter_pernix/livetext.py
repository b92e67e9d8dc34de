"""Text that arrives in deltas, and text from models and tools made fit for a terminal. Pure; standard library only."""

import re

STATES = {
    "idle_ready": "ready",
    "scouting": "planning",
    "processing": "working",
    "pause_requested": "pausing",
    "awaiting_user": "waiting for an answer",
    "awaiting_workers": "waiting for workers",
    "finalizing": "ending",
    "cancelling": "stopping",
}
"""What a session's state is called for people, where that is another word."""

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def neutral(text: str) -> str:
    """``text`` with every character replaced that could move the cursor, colour the screen or turn the reading direction.

    Line feeds and tabs stay; a carriage return before a line feed goes.
    """
    return _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def one_line(text: str, width: int) -> str:
    """The first line that is not blank, neutral, at most ``width`` characters; an ellipsis stands for what is left out."""
    lines = [line.strip() for line in neutral(text).replace("\t", " ").split("\n") if line.strip()]
    line = lines[0] if lines else ""
    if len(line) <= width and len(lines) <= 1:
        return line
    return line[: max(width - 1, 0)].rstrip() + "…"


def state_word(state: str) -> str:
    """A session's state for people."""
    return STATES.get(state, neutral(state))


class LiveText:
    """The text of one step as it grows. A delta that comes twice, or starts the text afresh, leaves what it says, not both."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, offset: int, text: str) -> None:
        """A piece behind a gap is dropped: the completed message brings what is missing."""
        if offset <= len(self.text):
            self.text = self.text[:offset] + text


def duration(seconds: float | None) -> str:
    """For people: ``0.3 s``, ``12 s``, ``2 min 5 s``."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
