"""Model text under a cell: what must pass unchanged, and what must not become live in a trusted output."""

import html
import random
import re

import pytest
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from jupyter_pernix.kernel.ipython.markdown import as_code, as_text, safe_markdown

UNCHANGED = [
    "plain *emphasis* and **strong**",
    "- a\n- b\n\n1. c",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "p < 0.05",
    "see [the docs](https://example.org/a?b=c#d)",
    "$x^2 < 3$",
    "x[0] > 1",
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
