"""What stands under a ``%%pernix`` cell: segments of Markdown that grow while the agent works, with code outputs between them."""

import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...client import JSON
from ...livetext import LiveText, duration, neutral, one_line
from ..markdown import as_code, as_text, code_block, safe_markdown

_UPDATE_SECONDS = 0.2
_MARKS = {"pending": "·", "in_progress": "▸", "completed": "✓", "failed": "✗", "cancelled": "✗", "unknown": "?"}
_numbers = itertools.count(1)


class Publisher(Protocol):
    """IPython's ``display_pub``."""

    def publish(self, data: dict[str, Any], metadata: dict[str, Any] | None = ..., **options: Any) -> None: ...


@dataclass
class _Text:
    """``corrections`` stand before the text that they are about."""

    live: LiveText
    corrections: list[str] = field(default_factory=list[str])

    def markdown(self) -> str:
        said = [f"> **Correction:** {as_text(_line(each))}" for each in self.corrections]
        return "\n\n".join([*said, safe_markdown(self.live.text)])

    def plain(self) -> str:
        return "\n".join([*("! " + _line(each) for each in self.corrections), neutral(self.live.text)]).strip()


def _line(text: str) -> str:
    return " ".join(neutral(text).split())


@dataclass
class _Note:
    text: str

    def markdown(self) -> str:
        return "*" + as_text(self.text).replace("\n", "<br>") + "*"

    def plain(self) -> str:
        return neutral(self.text)


@dataclass
class _Plan:
    """Replaced as a whole when the plan changes."""

    approach: str
    steps: list[tuple[str, str]]

    def markdown(self) -> str:
        lines = [
            f"*Plan:* {as_text(_line(self.approach))}",
            *(f"{mark} {as_text(text)}" for mark, text in self._lines()),
        ]
        return "  \n".join(lines)

    def plain(self) -> str:
        return "\n".join([f"Plan: {_line(self.approach)}", *(f"  {mark} {text}" for mark, text in self._lines())])

    def _lines(self) -> list[tuple[str, str]]:
        return [(_MARKS.get(status, "·"), one_line(text, 200)) for text, status in self.steps]


@dataclass
class _Code:
    text: str

    def markdown(self) -> str:
        return code_block(self.text)

    def plain(self) -> str:
        return "\n".join("    " + line for line in neutral(self.text).splitlines())


@dataclass
class _Card:
    """One line about a tool call."""

    title: str
    status: str = "pending"
    seconds: float | None = None
    problem: str = ""

    def _words(self) -> tuple[str, str]:
        after = " · ".join(word for word in (duration(self.seconds), one_line(self.problem, 200)) if word)
        return one_line(self.title, 120), after

    def markdown(self) -> str:
        title, after = self._words()
        return f"{_MARKS[self.status]} {as_code(title)} {as_text(after)}".rstrip()

    def plain(self) -> str:
        return " ".join((_MARKS[self.status], *self._words())).rstrip()


Entry = _Text | _Note | _Plan | _Code | _Card


class _Segment:
    """One display that can be updated after later ones have begun."""

    def __init__(self) -> None:
        self.display_id = f"pernix-{os.getpid()}-{next(_numbers)}"
        self.entries: list[Entry] = []
        self.shown = False
        self.dirty = True

    def bundle(self) -> dict[str, str]:
        """Text first; a viewer without Markdown shows the plain form."""
        markdown, plain = "", ""
        before: Entry | None = None
        for entry in self.entries:
            if entry.plain():
                cards = isinstance(entry, _Card) and isinstance(before, _Card)
                markdown += ("  \n" if cards else "\n\n") + entry.markdown()
                plain += ("\n" if cards else "\n\n") + entry.plain()
                before = entry
        return {"text/plain": plain.strip("\n"), "text/markdown": markdown.strip("\n")}


class CellView:
    """Draws one turn. ``live`` false: the front end cannot update a display, so each segment is shown once, when it is complete."""

    def __init__(self, publisher: Publisher, *, live: bool) -> None:
        self._publisher = publisher
        self._live = live
        self._segments: list[_Segment] = []
        self._open: _Segment | None = None
        self._texts: dict[str, _Text] = {}
        self._plan: _Plan | None = None
        self._cards: dict[str, tuple[_Segment, _Card]] = {}
        self._flushed = 0.0

    def delta(self, step_id: str, offset: int, text: str) -> None:
        self._text(step_id).live.write(offset, text)

    def message(self, step_id: str, text: str, corrections: list[str] | None = None) -> None:
        shown = self._text(step_id)
        shown.live.write(0, text)
        shown.corrections = list(corrections or [])

    def plan(self, approach: str, steps: list[tuple[str, str]]) -> None:
        """``steps``: text and status of each. The last plan that was shown is brought up to date."""
        if self._plan is None:
            self._plan = _Plan(approach, steps)
            self._add(self._plan)
        self._plan.approach, self._plan.steps = approach, steps
        for segment in self._segments:
            segment.dirty = segment.dirty or self._plan in segment.entries

    def note(self, text: str) -> None:
        self._add(_Note(text))

    def question(self, question: str, detail: str, reasons: Sequence[str] = ()) -> None:
        self._add(_Note(question))
        if detail:
            self._add(_Code(detail))
        for reason in reasons:
            self._add(_Note(reason))

    def call(self, call_id: str, title: str) -> None:
        card = _Card(title)
        self._cards[call_id] = (self._add(card), card)

    def call_changed(self, call_id: str, status: str, seconds: float | None = None, problem: str = "") -> None:
        if call_id in self._cards:
            segment, card = self._cards[call_id]
            card.status, card.seconds, card.problem = status, seconds, problem
            segment.dirty = True

    def outputs(self, outputs: list[JSON]) -> None:
        """Outputs of code that ran in another kernel, as nbformat has them."""
        self.close_segment()
        for output in outputs:
            if output["output_type"] == "stream":
                self._publisher.publish({"text/plain": output["text"].rstrip("\n")}, {})
            elif output["output_type"] == "error":
                self._publisher.publish({"text/plain": "\n".join(output["traceback"])}, {})
            else:
                self._publisher.publish(output["data"], output.get("metadata") or {})

    def close_segment(self) -> None:
        """What comes next stands below whatever else is shown now."""
        self.flush()
        self._open = None

    def flush_if_due(self) -> None:
        if time.monotonic() - self._flushed >= _UPDATE_SECONDS:
            self.flush()

    def flush(self) -> None:
        for segment in self._segments:
            if segment.dirty and (self._live or not segment.shown):
                self._publish(segment)
        self._flushed = time.monotonic()

    def _publish(self, segment: _Segment) -> None:
        bundle = segment.bundle()
        segment.dirty = False
        if bundle["text/plain"]:
            options = {"transient": {"display_id": segment.display_id}, "update": segment.shown} if self._live else {}
            segment.shown = True
            self._publisher.publish(bundle, {}, **options)

    def _text(self, step_id: str) -> _Text:
        if step_id not in self._texts:
            self._texts[step_id] = _Text(LiveText())
            self._add(self._texts[step_id])
        for segment in self._segments:
            segment.dirty = segment.dirty or self._texts[step_id] in segment.entries
        return self._texts[step_id]

    def _add(self, entry: Entry) -> _Segment:
        if self._open is None:
            self._open = _Segment()
            self._segments.append(self._open)
        self._open.entries.append(entry)
        self._open.dirty = True
        return self._open
