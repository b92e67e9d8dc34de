"""A question to a person as lines of text, and what a typed line answers to it; for terminals and cells. Standard library only.

What is shown is ``neutral``: nothing in it can move the cursor, colour the screen or turn the reading direction.
"""

import contextlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from .livetext import neutral

ANSWERS: tuple[tuple[str, str, str], ...] = (
    ("y", "allow_once", "yes"),
    ("s", "allow_session", "in this session"),
    ("a", "allow_always", "always in this folder"),
    ("n", "reject_once", "no"),
)
"""Key, choice, and what it means."""

_SPELLED = {"yes": "y", "session": "s", "always": "a", "no": "n"}
_PAST = {
    "allow_once": "allowed once",
    "allow_session": "allowed for this session",
    "allow_always": "always allowed in this folder",
    "reject_once": "rejected",
    "reject_always": "rejected always",
}


def reason_lines(event: Mapping[str, Any]) -> list[str]:
    """Of ``approval.requested``: why it is asked, what was seen in the code, and what a lasting yes would remember."""
    lines: list[str] = []
    if event.get("why"):
        lines.append(f"why: {_line(event['why'])}")
    if event.get("effects"):
        lines.append(f"seen in it, as advice: {', '.join(map(_line, event['effects']))}")
    if event.get("rules"):
        lasting = [word for _, choice, word in offered(event["choices"]) if choice in ("allow_session", "allow_always")]
        rules = "; ".join(rule_words(rule) for rule in event["rules"])
        lines.append(f"remembered with {' or '.join(repr(word) for word in lasting)}: {rules}")
    return lines


def prompt(choices: Sequence[str]) -> str:
    words = ", ".join(f"{key} = {word}" for key, _, word in offered(choices))
    return f"{words}, or what to do instead: "


def offered(choices: Sequence[str]) -> list[tuple[str, str, str]]:
    return [answer for answer in ANSWERS if answer[1] in choices]


def answer_of(line: str, choices: Sequence[str]) -> tuple[str, str] | None:
    """``(choice, text)`` for a line without its end; ``None``: it is none, so ask again: it is blank, or a key that is not offered. Any
    other text is a no, with what to do instead."""
    said = line.strip()
    key = _SPELLED.get(said.lower(), said.lower())
    for known, choice, _ in ANSWERS:
        if key in (known, choice):
            return (choice, "") if choice in choices else None
    return ("reject_once", said) if said else None


def resolved_line(event: Mapping[str, Any]) -> str:
    """Of ``approval.resolved``: how it was answered, and what is remembered of it."""
    if event["by"] == "host":
        return "nobody answered, so it was not done"
    rules = "; ".join(rule_words(rule) for rule in event.get("rules") or ())
    return f"{_PAST.get(event['choice'], _line(event['choice']))}{f'; remembered: {rules}' if rules else ''}"


def rule_words(rule: str) -> str:
    """What a rule allows."""
    kind, colon, rest = rule.partition(":")
    if rule.strip() == ">":
        return "output of commands into files of the folder"
    if not colon or not re.fullmatch("exact|dir|file|tool", kind):
        return f"commands that begin with {_line(rule)}"
    rest = _line(rest)
    if kind == "tool":
        return "code in the kernel of this session" if rest == "run_code" else f"the tool {rest}"
    words = {"exact": "exactly this line:", "dir": "the folder with all in it", "file": "the file"}[kind]
    return f"{words} {rest}"


def drop_typed_ahead(stream: TextIO | None) -> None:
    """What was typed into a terminal before a question could be read is no answer to it."""
    try:
        import termios  # only where there are such terminals
    except ImportError:
        return
    if stream is None:
        return
    with contextlib.suppress(OSError, ValueError, termios.error):  # no terminal
        termios.tcflush(stream, termios.TCIFLUSH)


def _line(text: object) -> str:
    return " ".join(neutral(str(text)).split())
