"""Asks the person at the terminal: whether a call is allowed, or for a line that running code waits for.

Every function gives ``None`` (for a line: ``ELSEWHERE``) as soon as what it asks is no longer open.
"""

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..asked import answer_of, drop_typed_ahead, prompt, reason_lines
from ..client import JSON
from ..livetext import neutral
from .screen import Screen

StillOpen = Callable[[], bool]

ELSEWHERE: Final = object()
"""The line was given elsewhere, or nothing waits for it any more."""


def ask_approval(screen: Screen, event: JSON, still_open: StillOpen) -> tuple[str, str] | None:
    """The person's answer as ``(choice, text)``; no more input is a rejection. ``None``: it was answered elsewhere."""
    screen.note(neutral(str(event["question"])), "bold")
    if event.get("detail"):
        screen.note("\n".join("  " + line for line in neutral(str(event["detail"])).splitlines()))
    for reason in reason_lines(event):
        screen.note(reason)
    drop_typed_ahead(sys.stdin)
    while True:
        _prompt(prompt(event["choices"]))
        line = _read_line(still_open)
        if line is None:
            return None
        if not line:
            return "reject_once", ""
        answer = answer_of(line, event["choices"])
        if answer is not None:
            return answer


def ask_line(screen: Screen, event: JSON, still_open: StillOpen) -> object:
    """The line as ``str``; ``None``: there is no more input, so none will be given; or ``ELSEWHERE``."""
    screen.note("the code asks for " + ("a password:" if event["password"] else "a line:"), "bold")
    drop_typed_ahead(sys.stdin)
    _prompt(neutral(str(event["prompt"])))
    with _hidden() if event["password"] else contextlib.nullcontext():
        line = _read_line(still_open)
    if event["password"]:
        _prompt("\n")
    if line is None:
        return ELSEWHERE
    return line.removesuffix("\n") if line else None


def _prompt(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _read_line(still_open: StillOpen) -> str | None:
    """A line of stdin, "" at its end; ``None`` as soon as the question is no longer open."""
    while os.name != "nt" and not select.select([sys.stdin], [], [], 1.0)[0]:
        if not still_open():
            _prompt("\n")
            return None
    return sys.stdin.readline()


@contextlib.contextmanager
def _hidden() -> Iterator[None]:
    """What is typed does not show, where stdin is a terminal."""
    try:
        import termios  # only where there are such terminals
    except ImportError:
        yield
        return
    before: list[Any] | None = None
    with contextlib.suppress(OSError, ValueError, termios.error):  # no terminal
        before = termios.tcgetattr(sys.stdin)
    if before is None:
        yield
        return
    quiet = list(before)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
