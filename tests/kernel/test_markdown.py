"""Text of a model as Markdown: what stays and what no renderer may make live."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from jupyter_pernix.kernel.markdown import fenced, one_line, safe_markdown

_PAYLOADS = json.loads((Path(__file__).parent.parent / "cases" / "xss.json").read_text(encoding="utf-8"))["payloads"]
PAYLOADS = [
    (payload["id"], payload["payload"])
    for payload in _PAYLOADS
    if "markdown" in payload["context"] and payload["kind"] != "latex"
]

_TAGS = {
    "p", "a", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "br", "del", "img", "span", "div", "input",
    "table", "thead", "tbody", "tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6", "section", "sup",
}  # fmt: skip
_ATTRIBUTES = {"href", "src", "alt", "title", "class", "id", "style", "align", "start", "type", "disabled", "checked"}


class Live(HTMLParser):
    """Collects what a page must not have: other tags and attributes, targets that run or fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS or (tag == "input" and ("type", "checkbox") not in attrs):
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            target = (value or "").strip().lower()
            if name not in _ATTRIBUTES:
                self.found.append(f"{tag} {name}")
            if name in ("href", "src") and target.startswith(("javascript", "data:text", "vbscript")):
                self.found.append(f"{tag} {name}={target}")
            if name == "src" and ("//" in target or target.startswith("http")):
                self.found.append(f"fetches {target}")


def live(page: str) -> list[str]:
    parser = Live()
    parser.feed(page)
    return parser.found


def rendered(text: str) -> list[str]:
    """As nbconvert renders it and as a strict CommonMark renderer does, both with raw HTML allowed."""
    return [markdown2html_mistune(text), MarkdownIt("commonmark", {"html": True}).enable("table").render(text)]


WRAPPERS = [
    "{}",
    "text {} text",
    "- item\n  {}",
    "> {}",
    "- a\n  ```\n{}\n  ```\n",
    "> ```\n{}\n",
    "`{}",
    "``{}`",
    "\\`{}`",
    "`a\n{}`",
    "    {}",
    "```\nx\n```\n{}",
    "~~~\nx\n```\n{}\n~~~",
    "1. ```\n{}",
    "$a {} b$",
    "| a |\n|---|\n| {} |",
]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_no_payload_is_live_wherever_it_stands(wrapper: str):
    found = {
        number: bad
        for number, payload in PAYLOADS
        if (bad := [one for page in rendered(safe_markdown(wrapper.format(payload))) for one in live(page)])
    }
    assert found == {}


def test_the_same_payloads_are_live_without_care():
    assert sum(bool(live(markdown2html_mistune(payload))) for _, payload in PAYLOADS) > 20


@pytest.mark.parametrize(
    "text",
    [
        "# Heading\n\nSome *emphasis*, **strong**, `code`, [a link](https://example.org) and <3.",
        "```python\nif a < b:\n    print('<b>')\n```",
        "A span `List<int>` and a table:\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        "$a < b$ and $$\\frac{1}{2}$$",
        "![plot](plot.png) ![inline](data:image/png;base64,AAAA) ![](attachment:x.png)",
        "1. one\n2. two\n   - nested",
        "a & b &amp; c",
    ],
)
def test_harmless_markdown_stays_as_it_is(text: str):
    assert safe_markdown(text) == text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("<b>x</b>", "&lt;b>x&lt;/b>"),
        ("$a<b$", "$a< b$"),
        ("[x](javascript:alert(1))", "[x](unsafe:javascript:alert(1))"),
        ("[x](&#106;avascript:alert(1))", "[x](unsafe:&#106;avascript:alert(1))"),
        ("![x](https://evil.example/?q=1)", "[x](https://evil.example/?q=1)"),
        ("![x][ref]", "[x][ref]"),
        ("an open ` tick", "an open \\` tick"),
        ("```\nnever closed", "```\nnever closed\n```"),
        ("~~~ py\na\n~~~", "```py\na\n```"),
        ("- a\n  ```\n  b\n  ```", "- a\n\n```\nb\n```"),
        ("````\n```\n````", "````\n```\n````"),
        ("lone \ud800", "lone \\ud800"),
    ],
)
def test_what_could_be_live_is_rewritten(text: str, safe: str):
    assert safe_markdown(text) == safe


def test_a_fence_is_longer_than_any_inside():
    assert fenced("```\n`````\n", "py`<b>").splitlines()[0] == "``````pyb"


def test_one_line_shows_every_character_and_hides_none():
    assert one_line("a\n# *b* <i>\u202egnp\x1b[31m") == "a \\# \\*b\\* \\<i\\> gnp \\[31m"
