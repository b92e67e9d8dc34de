"""What a person sees of a turn in a terminal: the answer on stdout, everything about it on stderr."""

import os
import shutil
import sys
from typing import TextIO

from ..client import JSON
from ..livetext import LiveText, duration, neutral, one_line

_COLOURS = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33"}


def paint(text: str, colour: str, stream: TextIO) -> str:
    """Coloured only where a terminal shows it and the user has not set ``NO_COLOR``."""
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def width() -> int:
    return shutil.get_terminal_size((100, 24)).columns


class Screen:
    """Shows the events of one turn. ``out`` gets the text of the answer alone, so that it can be piped on."""

    def __init__(self, turn_id: str, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._turn_id = turn_id
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._live: dict[str, LiveText] = {}
        self._shown = ""
        self._shown_step = ""
        self._calls: dict[str, JSON] = {}

    def note(self, text: str, colour: str = "dim") -> None:
        """A line about the turn. ``text`` must be neutral already."""
        self._end_text()
        print(paint(text, colour, self._err), file=self._err, flush=True)

    def delta(self, data: JSON) -> None:
        if data.get("type") != "message.delta" or data.get("turn_id") != self._turn_id:
            return
        live = self._live.setdefault(data["step_id"], LiveText())
        live.write(int(data["offset"]), str(data["text"]))
        self._show(data["step_id"], live.text)

    def event(self, event: JSON) -> None:
        if event.get("turn_id") != self._turn_id:
            return
        show = getattr(self, "_" + str(event["type"]).replace(".", "_"), None)
        if show is not None:
            show(event)

    def _show(self, step_id: str, text: str) -> None:
        """Bring the screen to ``text``; what is printed cannot be taken back, so a text that began otherwise is told again."""
        if step_id != self._shown_step or not (text.startswith(self._shown) or self._shown.startswith(text)):
            self._end_text()
            self._shown_step = step_id
        if len(text) > len(self._shown):
            self._out.write(neutral(text[len(self._shown) :]))
            self._out.flush()
            self._shown = text

    def _end_text(self) -> None:
        if self._shown and not self._shown.endswith("\n"):
            self._out.write("\n")
            self._out.flush()
        self._shown = self._shown_step = ""

    def _message_completed(self, event: JSON) -> None:
        self._show(event["step_id"], str(event["text"]))
        self._end_text()

    def _turn_started(self, event: JSON) -> None:
        model = f"{neutral(str(event['model']))} at {neutral(str(event['endpoint']))}, " if event["model"] else ""
        self.note(f"{model}mode {event['mode']}")

    def _tool_call_requested(self, event: JSON) -> None:
        self._calls[event["call_id"]] = event

    def _tool_call_finished(self, event: JSON) -> None:
        call = self._calls.get(event["call_id"], {})
        good = event["status"] == "completed"
        title = one_line(str(call.get("title") or call.get("tool", "")), max(width() - 20, 20))
        taken = duration(event["duration"])
        self._end_text()
        mark = paint("✓" if good else "✗", "green" if good else "red", self._err)
        print(f"{mark} {title} {paint(taken, 'dim', self._err)}", file=self._err, flush=True)
        if not good:
            self.note("  " + one_line(str(event["result"]), max(width() - 4, 20)))

    def _policy_decided(self, event: JSON) -> None:
        if event["verdict"] == "refuse":
            self.note(f"  refused: {one_line(str(event['rule']), width() - 12)}", "yellow")

    def _problem_noticed(self, event: JSON) -> None:
        self.note(neutral(str(event["text"])), "yellow")
        if event.get("hint"):
            self.note(neutral(str(event["hint"])))

    def _turn_finished(self, event: JSON) -> None:
        if event["code"] != "answered":
            detail = f": {neutral(str(event['detail']))}" if event.get("detail") else ""
            self.note(f"{event['code']}{detail}", "red")
