"""Notebooks as pages and as text: all that is seen is there, and nothing in them runs or fetches."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from jupyter_pernix.kernel.export import html_page, markdown_text
from jupyter_pernix.kernel.export.sanitize import sanitized
from jupyter_pernix.kernel.reading import read_notebook
from jupyter_pernix.kernel.record import run_notebook

from ..test_record import ERROR, Log, stream, whole_log
from ..test_record_logs import PIXEL, attached_log

XSS = json.loads((Path(__file__).parents[2] / "cases" / "xss.json").read_text(encoding="utf-8"))


class Page(HTMLParser):
    """What a page has in it that could do something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def is_static(text: str) -> bool:
    page = Page(text)
    alive = {"script", "iframe", "object", "embed", "form", "link", "base", "svg", "math", "video", "audio", "input"}
    if alive & set(page.tags):
        return False
    for _, name, value in page.attributes:
        fetches = name in ("src", "srcset", "background", "poster", "data", "action", "formaction", "ping")
        if name.startswith("on") or name == "style" or (fetches and not value.startswith("data:image/")):
            return False
        if name == "href" and not re.match(r"https?://|#", value):
            return False
    return True


def notebook_of(*cells: dict[str, Any]) -> dict[str, Any]:
    reading = read_notebook(
        json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()
    )
    assert reading.notebook is not None
    return reading.notebook


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": list(outputs), "execution_count": 1}


def shows(**data: Any) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {key.replace("__", "/"): value for key, value in data.items()},
    }


def test_a_page_shows_the_session_in_its_order():
    text = Page(html_page(run_notebook(whole_log().view))).text
    order = [
        "Count rows",
        "Request 1",
        "How many rows has",
        "read_file: read data.csv",
        "len(open(",
        "3",
        "1/0",
        "before",
        "t",
        "Problem",
        "Three.",
    ]
    at = 0
    for words in order:
        assert words in text[at:], words
        at = text.index(words, at)


def test_markdown_shows_the_session_in_its_order():
    text = markdown_text(run_notebook(whole_log().view))
    order = [
        "# Count rows",
        "## Request 1",
        "read_file: read data.csv",
        "```python\nlen(open(",
        "```text\n3\n```",
        "1/0",
        "before",
    ]
    at = 0
    for words in order:
        assert words in text[at:], words
        at = text.index(words, at)


@pytest.mark.parametrize("make", [whole_log, attached_log])
def test_equal_notebooks_give_equal_files(make: Any):
    assert html_page(run_notebook(make().view)) == html_page(run_notebook(make().view))
    assert markdown_text(run_notebook(make().view)) == markdown_text(run_notebook(make().view))


def test_pictures_are_in_the_page_and_named_in_markdown():
    notebook = run_notebook(attached_log().view)
    notebook["cells"].append(
        notebook_of(code("plot", shows(image__png=PIXEL), shows(**{"image/svg+xml": "<svg onload='alert(1)'/>"})))[
            "cells"
        ][0]
    )
    page = Page(html_page(notebook))
    pictures = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
    assert pictures[:2] == [f"data:image/png;base64,{PIXEL}"] * 2
    assert base64.b64decode(pictures[2].partition(",")[2]) == b"<svg onload='alert(1)'/>"
    text = markdown_text(notebook)
    assert "*[picture: picture\\-1.png, in the notebook]*" in text or "picture-1.png, in the notebook" in text
    assert "*[image/png, 1 KB: in the notebook]*" in text and PIXEL not in text


def test_questions_and_plans_are_shown_as_what_they_say():
    text = Page(html_page(run_notebook(attached_log().view))).text
    assert "Question: Run?" in text and "Answer: allowed once (by panel)" in text
    assert "Plan: First # look" in text
    assert "# question: Run?" not in text


def test_tables_are_shown_and_their_style_is_not():
    table = "<style>.x{background:url(https://evil.example)}</style><table class='x' border=1 onclick='a()'><tr><td colspan=2>1</td></tr></table>"
    page = html_page(notebook_of(code("df", shows(text__html=table, text__plain="1"))))
    assert '<table><tr><td colspan="2">1</td></tr></table>' in page
    assert "evil" not in page
    assert "```text\n1\n```" in markdown_text(notebook_of(code("df", shows(text__html=table, text__plain="1"))))


def test_colours_and_lines_that_were_written_over_are_plain_text():
    page = Page(html_page(notebook_of(code("x", stream("\x1b[31mred\x1b[0m\n 10%\r100%\n\x07"))))).text
    assert "red\n100%\n\ufffd" in page


def test_a_failure_is_seen_with_and_without_its_traceback():
    bare = {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": []}
    page = Page(html_page(notebook_of(code("x", bare), code("y", ERROR)))).text
    assert "ValueError: bad" in page and "t" in page
    assert "ValueError: bad" in markdown_text(notebook_of(code("x", bare)))


PAYLOADS: list[str] = [case["payload"] for case in XSS["payloads"]]
MORE = [
    "<img src=https://evil.example/a.png>",
    "<img src='data:image/svg+xml;base64,PHN2Zz4='>",
    "<a href='java\nscript:alert(1)'>x</a>",
    "<a href=data:text/html,x>x</a>",
    "<svg><script>alert(1)</script></svg><b>after</b>",
    "<math><mtext></p><img src=x onerror=alert(1)>",
    "<scr<script>ipt>alert(1)</script>",
    "<table background=https://evil.example/x><tr><td>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<div style='background:url(//evil.example)'>x",
    "<details open ontoggle=alert(1)>x",
    "</main></body><script>alert(1)</script>",
    "<title><img src=x onerror=alert(1)></title>",
    "![x](https://evil.example/a.png)",
    "[x](javascript:alert(1))",
    "[x]: https://evil.example\n![x]",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
]


@pytest.mark.parametrize("payload", [*PAYLOADS, *MORE])
def test_nothing_that_code_or_a_model_wrote_comes_alive(payload: str):
    log = Log(title=payload[:80])
    log.turn(payload)
    log.say(payload)
    log.done(log.call("read_file", payload, path=payload), payload)
    log.ran(
        payload,
        stream(payload),
        shows(text__html=payload),
        shows(text__markdown=payload),
        shows(text__latex=payload),
        {**ERROR, "evalue": payload},
    )
    log.end()
    foreign = {"cell_type": "markdown", "metadata": {}, "source": payload, "id": "foreign"}
    notebook = run_notebook(log.view)
    notebook["cells"].append(foreign)
    page = html_page(notebook)
    # the page's own head has a policy and a style
    assert is_static(page.partition("<main>")[2])
    assert page.count("<script") == 0


@pytest.mark.parametrize("payload", [*PAYLOADS, *MORE])
def test_sanitised_html_is_static_and_stays_so(payload: str):
    once = sanitized(payload)
    assert is_static(once)
    assert sanitized(once) == once


def test_markdown_of_a_record_holds_no_live_html():
    log = Log()
    log.turn("<script>alert(1)</script> ![x](https://evil.example/a)")
    log.say("```\n</code><script>alert(1)</script>\n```")
    log.ran("x", stream("```\n<script>alert(1)</script>\n"), shows(text__html="<script>alert(1)</script>"))
    log.end()
    page = MarkdownIt("commonmark").render(markdown_text(run_notebook(log.view)))
    assert "<script" not in page and "<img" not in page


def test_a_notebook_that_is_not_ours_is_shown_too():
    notebook = notebook_of(
        {
            "cell_type": "markdown",
            "metadata": {},
            "source": "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n**bold** [link](https://x.org)",
        },
        {"cell_type": "raw", "metadata": {}, "source": "---\nraw: yes"},
        code("", shows(**{"application/json": {"a": [1]}}), shows(**{"application/x-unknown": "?"})),
    )
    page = html_page(notebook)
    assert "<h1>Title</h1>" in page and "<td>1</td>" in page and "<strong>bold</strong>" in page
    assert '<a href="https://x.org" rel="noopener noreferrer nofollow">link</a>' in page
    assert "application/x-unknown: to be seen in Jupyter" in page


HOLDING_UP = {
    "nested": "<b>" * 20_000 + "</i>" * 20_000 + "</b>",
    "dropped": "<svg>" * 20_000 + "</b>" * 20_000,
    "comments": "<!--" * 20_000 + "<b>",
    "quotes": '<a href="' * 20_000,
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("html", HOLDING_UP.values(), ids=HOLDING_UP)
def test_the_time_for_cleaning_grows_with_the_text_alone(html: str):
    assert "<a" not in sanitized(html)


def test_what_is_cut_off_is_text_and_a_comment_is_nothing():
    assert sanitized('<b>a<!-- <img src=x> -->c</b> &lt;d <a href="e') == '<b>ac</b> &lt;d &lt;a href="e'
    assert sanitized("a<!-- b") == "a"


def test_a_picture_that_is_no_base64_is_told_and_shown_nowhere():
    output = {"output_type": "display_data", "data": {"image/png": "é\u202e", "text/plain": "a plot"}, "metadata": {}}
    cell = {"cell_type": "code", "id": "c", "metadata": {}, "source": "x", "execution_count": 1, "outputs": [output]}
    notebook = read_notebook(
        json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    ).notebook
    assert notebook is not None
    assert "a plot" in html_page(notebook) and "<img" not in html_page(notebook)
    assert "a plot" in markdown_text(notebook)
