"""What a file is that is no notebook: looked at when its JSON cannot be read, or holds something else. Pure."""

import re
from typing import Any, cast

from .result import Refusal
from .scan import Broken

_CONFLICT = re.compile(r"^(<{7}|>{7})(?: .*)?$", re.MULTILINE)
_CONFLICT_MIDDLE = re.compile(r"^={7}\s*$", re.MULTILINE)
_HTML = re.compile(
    r"\A\s*(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|body|script|meta)\b", re.IGNORECASE | re.DOTALL
)
_LOGIN = re.compile(r"sign[ -]?in|log[ -]?in|password|authenticat|\bsso\b", re.IGNORECASE)
_MISSING = re.compile(r"\b404\b|not found", re.IGNORECASE)
_PYTHON = re.compile(
    r"^(?:#\s*%%|import \w|from \w[\w.]* import |def \w+\(|class \w+[(:]|print\(|#!.*python)", re.MULTILINE
)
_COMMENT = re.compile(r"//|/\*|#")


def at_place(text: str, position: int) -> tuple[int, int, int]:
    """Line and column from 1, and the offset in bytes."""
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return line, column, len(text[:position].encode("utf-8", "surrogatepass"))


def refuse_text(text: str, broken: Broken, size: int) -> Refusal:
    """Why ``text``, of ``size`` bytes, is not JSON; the more it looks like something known, the plainer the words."""
    return _conflict(text) or _something_else(text) or _bad_json(text, broken, size)


def _conflict(text: str) -> Refusal | None:
    """Inside JSON no line begins with a marker, since a line break in a text is written ``\\n``."""
    mark = _CONFLICT.search(text)
    if mark is None or not (_CONFLICT_MIDDLE.search(text) or len(_CONFLICT.findall(text)) > 1):
        return None
    line, column, offset = at_place(text, mark.start())
    count = len(re.findall(r"^<{7}", text, re.MULTILINE)) or 1
    return Refusal(
        kind="merge_conflict",
        text=f"The file holds {'a merge conflict' if count == 1 else f'{count} merge conflicts'} of Git, the first at line {line}: resolve "
        "it first (git checkout --ours or --theirs, git mergetool, or nbdime).",
        line=line,
        column=column,
        offset=offset,
    )


def _something_else(text: str) -> Refusal | None:
    if text.startswith("version https://git-lfs.github.com/"):
        return Refusal(
            kind="lfs_pointer",
            text="This is a Git LFS pointer, not the notebook itself: run git lfs pull to get it.",
            line=1,
            column=1,
            offset=0,
        )
    if _HTML.match(text):
        return Refusal(kind="html", text=_html_words(text), line=1, column=1, offset=0)
    if text.lstrip().startswith("<"):
        what = "an SVG picture" if "<svg" in text[:2000] else "XML"
        return Refusal(kind="text", text=f"This is {what}, not a notebook.", line=1, column=1, offset=0)
    bare = text.strip("\ufeff \t\r\n\x00")
    if not bare:
        return Refusal(
            kind="empty",
            text="The file holds nothing but blanks: nothing can be read from it. An earlier state may be in .ipynb_checkpoints beside it, "
            "or in its version history.",
            offset=0,
            offers=(),
        )
    if bare[0] in "{[" or (_COMMENT.match(bare) and re.search(r"^[ \t]*\{", text, re.MULTILINE) and '"cells"' in text):
        return None
    if _PYTHON.search(bare):
        return Refusal(
            kind="python",
            text="This is a Python script, not a notebook: rename it to .py, or turn it into a notebook with jupytext.",
            line=1,
            column=1,
            offset=0,
        )
    first = bare.split("\n", 1)[0][:60]
    return Refusal(
        kind="text", text=f"This is plain text, not a notebook; it begins with {first!r}.", line=1, column=1, offset=0
    )


def _html_words(text: str) -> str:
    title = re.search(r"<title[^>]*>(.*?)</title", text[:20_000], re.IGNORECASE | re.DOTALL)
    said = " ".join(title.group(1).split())[:80] if title else ""
    named = f" ({said!r})" if said else ""
    head = text[:20_000]
    if _MISSING.search(said):
        return f"This is an HTML page{named}, not a notebook: the address that it was downloaded from does not exist."
    if _LOGIN.search(said) or 'type="password"' in head:
        return f"This is an HTML page{named}, not a notebook: a page to sign in. Sign in, then download the raw file."
    return f"This is an HTML page{named}, not a notebook: download the raw file."


def _bad_json(text: str, broken: Broken, size: int) -> Refusal:
    position = broken.position
    line, column, offset = at_place(text, position)
    where = f"line {line}, column {column}"
    rest = text[position:]
    if "Unterminated string" in broken.reason or not rest.strip(" \t\r\n\x00"):
        return _truncated(text, broken, size)
    if rest[0] in "}]" and text[:position].rstrip().endswith(","):
        comma = len(text[:position].rstrip()) - 1
        line, column, offset = at_place(text, comma)
        words = (
            f"Not valid JSON: there is a comma too many at line {line}, column {column}, before a closing {rest[0]!r}."
        )
        return Refusal(
            kind="trailing_comma", text=words, line=line, column=column, offset=offset, offers=("text", "rescue")
        )
    if "trailing comma" in broken.reason:
        words = f"Not valid JSON: there is a comma too many at {where}."
        return Refusal(
            kind="trailing_comma", text=words, line=line, column=column, offset=offset, offers=("text", "rescue")
        )
    if rest.startswith(("//", "/*", "#")):
        words = f"Not valid JSON: there is a comment at {where}; JSON has none."
        return Refusal(kind="comments", text=words, line=line, column=column, offset=offset, offers=("text", "rescue"))
    if broken.reason == "Extra data":
        words = f"Extra data: the notebook ends before {where} (byte {offset}), and {len(rest.strip()):,} more characters follow."
        return Refusal(
            kind="extra_data", text=words, line=line, column=column, offset=offset, offers=("text", "rescue")
        )
    if "',' delimiter" in broken.reason:
        words = f"Not valid JSON: a comma is missing at {where}."
        return Refusal(
            kind="missing_comma", text=words, line=line, column=column, offset=offset, offers=("text", "rescue")
        )
    offers = ("text", "rescue") if broken.cells else ("text",)
    words = f"Not valid JSON at {where}: {_reason(rest, broken.reason)}."
    return Refusal(kind="not_json", text=words, line=line, column=column, offset=offset, offers=offers)


def _reason(rest: str, reason: str) -> str:
    if rest.startswith("'"):
        return "texts stand in single quotes, as Python prints them; JSON has double quotes"
    if re.match(r"None|True|False", rest):
        return f"{rest.split(',')[0].split('}')[0].strip()[:8]!r} is Python, not JSON"
    if "Invalid control character" in reason:
        return "a text has a line break or another control character in it"
    return reason[0].lower() + reason[1:]


def _truncated(text: str, broken: Broken, size: int) -> Refusal:
    zeros = len(text) - len(text.rstrip("\x00"))
    end = size - zeros
    whole = len(broken.cells)
    tail = f" {zeros:,} zero bytes follow, as after a crash while it was saved." if zeros else ""
    saved = f" {whole} whole cell{'s' if whole != 1 else ''} can be rescued into a new file." if whole else ""
    line, column, _ = at_place(text, len(text) - zeros)
    return Refusal(
        kind="truncated",
        text=f"The file ends early: it is truncated at byte {end}, in the middle of its JSON.{tail}{saved}",
        line=line,
        column=column,
        offset=end,
        offers=("text", "rescue") if whole else ("text",),
    )


def refuse_value(value: Any) -> Refusal | None:
    """Why a JSON value is no notebook; ``None``: it may be one."""
    if value is None:
        return Refusal(kind="null", text="The file holds only null, not a notebook.", line=1, column=1, offset=0)
    if not isinstance(value, dict):
        what = "a list" if isinstance(value, list) else "a text" if isinstance(value, str) else "a single value"
        return Refusal(kind="not_a_notebook", text=f"The file is JSON, but {what}, not a notebook.", offset=0)
    known = cast(dict[str, Any], value)
    major = known.get("nbformat")
    number = _whole(major)
    if number is not None and number > 4:
        return Refusal(
            kind="too_new",
            text=f"Its notebook format {number} is newer than this program knows (4).",
            offers=("text",),
        )
    cells, sheets = known.get("cells"), known.get("worksheets")
    if isinstance(cells, list) or isinstance(sheets, list):
        return None
    if "cells" in known or "worksheets" in known:
        return Refusal(kind="not_a_notebook", text="The file is JSON, but its cells are no list: not a notebook.")
    if number is not None and number >= 4 and not known.keys() - {"nbformat", "nbformat_minor", "metadata"}:
        return Refusal(
            kind="not_a_notebook", text="The file is JSON and says that it is a notebook, but it has no cells."
        )
    if "message" in known and len(known) <= 4:
        said = str(known["message"])[:100]
        return Refusal(
            kind="not_a_notebook",
            text=f"This is an answer of a web service, not a notebook; it says {said!r}.",
            offset=0,
        )
    names = ", ".join(repr(key[:40]) for key in list(known)[:5])
    has = f"it has {names}" if names else "it is empty"
    return Refusal(
        kind="not_a_notebook", text=f"The file is JSON, but not a notebook: it has no cells; {has}.", offset=0
    )


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value)
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    return None
