"""Text of a model as Markdown: what stays and what no renderer may make live."""

import html
import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from jupyter_pernix.kernel.markdown import as_code, as_text, code_block, one_line, safe_markdown

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


UNCHANGED = [
    "plain *emphasis* and **strong**",
    "- a\n- b\n\n1. c",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "p < 0.05",
    "see [the docs](https://example.org/a?b=c#d)",
    "$x^2 < 3$",
    "x[0] > 1",
    "# Heading\n\nSome *emphasis*, **strong**, `code`, [a link](https://example.org) and <3.",
    "```python\nif a < b:\n    print('<b>')\n```",
    "$a < b$ and $$\\frac{1}{2}$$",
    "1. one\n2. two\n   - nested",
    "a & b &amp; c",
    "see `split_lines` in `csv_import/lines.py`",
]

PIECES = [
    *(
        "<img src=x onerror=EVIL>",
        "<script>EVIL</script>",
        "<a href='javascript:EVIL'>",
        "<!--",
        "-->",
        "<div>\n",
        "</div>",
    ),
    *(
        "[a](javascript:EVIL)",
        "![i](https://evil.invalid/x)",
        "[r]: javascript:EVIL",
        "[r]",
        "[a][r]",
        "<javascript:EVIL>",
    ),
    *(
        "```",
        "````",
        "~~~",
        "~~~ a`b",
        "```html\n",
        "`",
        "\\",
        "\n",
        "\n\n",
        "    ",
        "> ",
        "- ",
        "1. ",
        "\t",
        " ",
        "|",
        "=====",
        "---",
    ),
    *(
        "$",
        "$$",
        "[ok](https://ok.invalid)",
        "]",
        "[",
        "(",
        ")",
        "!",
        "<",
        "*",
        "_",
        "text",
        "https://auto.invalid",
        "&lt;",
        "&#60;",
    ),
]
PLAIN_TAGS = [
    "p",
    "code",
    "pre",
    "em",
    "strong",
    "ul",
    "ol",
    "li",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "hr",
    "br",
    "del",
    "a",
    "div",
    "span",
]


@pytest.mark.parametrize("text", UNCHANGED)
def test_ordinary_markdown_stays(text: str):
    assert safe_markdown(text) == text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("<!-- x --> <?php", "&lt;!-- x --> &lt;?php"),
        ("![x](https://canary.invalid/a.png)", "&#33;[x&#93;(https://canary.invalid/a.png)"),
        ("[x](javascript:alert(1))", "[x&#93;(javascript:alert(1))"),
        ("[x](java&#115;cript:alert(1))", "[x&#93;(java&#115;cript:alert(1))"),
        ("[x][y]\n\n[y]: javascript:alert(1)", "[x&#93;[y]\n\n[y&#93;: javascript:alert(1)"),
        (
            "![a [b](https://c.invalid)](https://canary.invalid)",
            "&#33;[a [b](https://c.invalid)&#93;(https://canary.invalid)",
        ),
        (r"$\href{javascript:alert(1)}{x}$", "$&#92;href{javascript:alert(1)}{x}$"),
        ("\x1b]8;;http://x\x07", "␛]8;;http://x␇"),
        ("!![i](https://evil.invalid/x)", "!&#33;[i&#93;(https://evil.invalid/x)"),
        ("[r]: javascript:X[a](javascript:X)", "[r&#93;: javascript:X[a&#93;(javascript:X)"),
        ("lone \ud800", "lone &lt;U+D800>"),
        ("~~~ py\na\n~~~", "```py\na\n```"),
        ("- a\n  ```\n  b\n  ```", "- a\n\n```\nb\n```"),
        ("````\n```\n````", "````\n```\n````"),
    ],
)
def test_what_would_run_or_fetch_is_only_text(text: str, safe: str):
    assert safe_markdown(text) == safe


def live_tags(page: str) -> list[str]:
    """Tags of the rendered page that do more than show text."""
    tags = re.finditer(r"</?([a-zA-Z!?][^\s>]*)([^>]*)>", page)
    return [
        tag.group()
        for tag in tags
        if tag[1].lower() not in PLAIN_TAGS
        or re.search(r"\son\w+\s*=|\ssrc\s*=", tag[2])
        or re.search(r'href="(?!https?://|mailto:|#)', tag[2])
    ]


def test_no_mixture_of_tricks_becomes_live_when_it_is_rendered():
    pieces = random.Random(7)
    texts = ["".join(pieces.choices(PIECES, k=pieces.randint(2, 16))) for _ in range(1500)]
    assert any(live_tags(markdown2html_mistune(text)) for text in texts[:50])
    assert [text for text in texts if live_tags(markdown2html_mistune(safe_markdown(text)))] == []


def test_code_blocks_keep_their_text_and_get_the_plain_form():
    assert safe_markdown("~~~html\n<b>bold</b>\n```\n~~~\nafter <i>x") == (
        "````html\n<b>bold</b>\n```\n````\n\nafter &lt;i>x"
    )


def test_a_block_that_is_still_being_written_is_closed():
    assert safe_markdown("see\n```python\nx = '<b>'") == "see\n\n```python\nx = '<b>'\n```"


def test_inline_code_shows_exactly_its_text():
    shown = safe_markdown("use `List<int> *a*` here")
    code = re.fullmatch(r"use <code>(.*)</code> here", shown)
    assert code is not None and html.unescape(code[1]) == "List<int> *a*"
    assert not re.search(r"[<>*`_\[]", code[1])


@pytest.mark.parametrize("make", [as_code, as_text])
def test_titles_have_no_markup(make):  # type: ignore[no-untyped-def]
    shown = make("<img src=x> ![a](b) `c` *d*")
    assert not re.search(r"<img|!\[|`|\*", shown)
    assert "<img src=x> ![a](b) `c` *d*" in html.unescape(shown)


def test_a_fence_is_longer_than_any_inside():
    assert code_block("```\n`````\n", "py").splitlines()[0] == "``````py"


def test_one_line_shows_every_character_and_hides_none():
    assert one_line("a\n# *b* <i>\u202egnp\x1b[31m") == "a \\# \\*b\\* \\<i\\> gnp \\[31m"
