"""The static pictures: readable as text, and as HTML without anything that runs or loads."""

import json
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from support.story import SESSION, story

from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import CallId, SessionId, StepId, TurnId
from jupyter_pernix.kernel.widgets import parts, picture
from jupyter_pernix.records import CallView, FileChange, SessionView, TurnView

PAYLOADS = json.loads((Path(__file__).parents[2] / "cases" / "xss.json").read_text(encoding="utf-8"))["payloads"]
TAGS = {"div", "p", "strong", "br", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre"}


class Found(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def found(markup: str) -> Found:
    parser = Found()
    parser.feed(markup)
    parser.close()
    return parser


def hostile(text: str) -> SessionView:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    call = CallView(
        call_id=CallId("c"),
        step_id=StepId("s"),
        tool=text,
        kind="other",
        title=text,
        arguments={"code": text, text: text},
        status="failed",
        requested_at=now,
        result=text,
        files=[FileChange(path=text, before=None, after=None, added_lines=1, removed_lines=0, diff=text)],
    )
    turn = TurnView(turn_id=TurnId("t"), text=text, origin="api", submitted_at=now, started_at=now, items=[call])
    return SessionView(session_id=SessionId("ses_1"), title=text, turns=[turn])


def pictures(view: SessionView) -> list[str]:
    head = parts.head(view)
    calls = [part for _, part in parts.calls(view)]
    turns = [part for _, part in parts.turns(view)]
    return [
        picture.calls_html(head, calls),
        picture.trace_html(head, turns),
        picture.budget_html(head, parts.limits(view)),
    ]


def test_hostile_texts_are_text_in_every_picture() -> None:
    for payload in PAYLOADS:
        for markup in pictures(hostile(payload["payload"])):
            seen = found(markup)
            assert seen.tags <= TAGS, payload
            assert {name for name, _ in seen.attributes} <= {"style"}, payload
            assert {value for _, value in seen.attributes} <= {"text-align: left"}, payload


def test_names_of_processes_are_text_too() -> None:
    process = {"pid": 5, "name": "<img src=x onerror=alert(1)>", "used_bytes": 1 << 30}
    device: dict[str, Any] = {
        "index": 0,
        "slice": None,
        "name": "<script>",
        "total_bytes": 2 << 30,
        "used_bytes": 1 << 30,
    }
    device |= {"free_bytes": 1 << 30, "utilization": 4, "processes": [process], "problem": ""}
    seen = found(picture.vram_html({"devices": [device], "driver": "570", "detail": ""}))
    assert seen.tags <= TAGS
    assert "<img src=x onerror=alert(1)> 5: 1.0 GiB" in seen.text


def test_the_pictures_of_a_whole_session_say_what_happened() -> None:
    view = SessionFold.of(SESSION, story()).view
    head = parts.head(view)
    calls = [part for _, part in parts.calls(view)]
    lines = picture.calls_text(head, calls).splitlines()
    assert lines[0].startswith("Tool calls of ")
    assert len(lines) == 1 + len(calls)
    trace = picture.trace_text(head, [part for _, part in parts.turns(view)])
    assert "step  prompt" in trace
    assert "limit" in picture.budget_text(head, parts.limits(view))


def test_an_empty_session_has_pictures() -> None:
    view = SessionView(session_id=SessionId("ses_1"))
    head = parts.head(view)
    assert picture.calls_text(head, []) == "Tool calls of (untitled) · ready\nnone yet"
    assert picture.trace_text(head, []) == "Trace of (untitled) · ready\nno turn yet"
    assert all("untitled" in markup for markup in pictures(view))


def test_without_a_gpu_the_picture_is_the_reason() -> None:
    gpus = {"devices": [], "driver": "", "detail": "no NVIDIA GPU found: the driver sees no card"}
    assert picture.vram_text(gpus) == "no NVIDIA GPU found: the driver sees no card"
    assert "the driver sees no card" in picture.vram_html(gpus)
