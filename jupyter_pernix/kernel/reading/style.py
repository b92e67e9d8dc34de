"""How a notebook file is written: found out from its text, and applied to new parts. Pure."""

import json
import re
from typing import Any, cast

from ...records import JSON
from .result import Style

_SECOND_LINE = re.compile(r"^\s*[\[{]\r?\n([ \t]*)\S")
_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!d[89a-f])(?!00[0-7])[0-9a-f]{4}", re.IGNORECASE)
_LINED_TYPES = {"application/javascript", "image/svg+xml"}
NBFORMAT = Style()
"""As nbformat writes: one space, lists of lines, a newline at the end."""


def style_of(text: str, cells: list[JSON]) -> Style:
    found = _SECOND_LINE.match(text[:4000])
    crlf = text.count("\r\n", 0, 100_000)
    newline = "\r\n" if crlf and crlf * 2 > text.count("\n", 0, 100_000) else "\n"
    bare = text.rstrip(" \t\r\n")
    end = text[len(bare) :]
    compact = re.search(r'"(:\s*)["\[{\d]', text[:4000])
    sources = [cell.get("source") for cell in cells]
    lines = any(isinstance(source, list) for source in sources) or not any(isinstance(s, str) for s in sources)
    one_line = found is None
    return Style(
        indent="" if one_line else found.group(1),
        newline=newline,
        end=end if text.strip() else newline,
        item=", " if one_line and re.search(r'[\]}"\d], "', text[:4000]) else ",",
        key=compact.group(1) if compact and "\n" not in compact.group(1) else ": ",
        lines=lines,
        ascii=text.isascii() and _ESCAPE.search(text) is not None,
    )


def dump(value: Any, style: Style, level: int) -> str:
    """``value`` as JSON in the file's style, as it stands ``level`` levels below the top; lone surrogates as escapes."""
    separators = (style.item, style.key)
    if not style.indent:
        return _escaped(json.dumps(value, ensure_ascii=style.ascii, allow_nan=False, separators=separators))
    body = json.dumps(value, ensure_ascii=style.ascii, allow_nan=False, indent=style.indent, separators=separators)
    return _escaped(body).replace("\n", style.newline + style.indent * level)


def _escaped(text: str) -> str:
    """A lone surrogate can stand in JSON as an escape only, and that is how Python spells it."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def cell_in_style(cell: JSON, *, before: JSON | None, shown: JSON | None, style: Style, with_id: bool) -> JSON:
    """``cell`` (texts in one piece) as it should stand in the file. ``before``: how it stood there, ``shown``: how that was read;
    what has not changed stays as it was, in its place."""
    before, shown = before or {}, shown or {}
    made: JSON = {}
    keys = [*(key for key in before if key in cell), *(key for key in cell if key not in before)]
    for key in keys:
        if key == "id" and not with_id:
            continue
        if key in before and cell[key] == shown.get(key):
            made[key] = before[key]
        elif key == "source":
            made[key] = _lines(cell[key], style)
        elif key == "outputs":
            made[key] = _outputs(cell[key], before.get("outputs") or [], shown.get("outputs") or [], style)
        else:
            made[key] = cell[key]
    return made


def _outputs(outputs: list[JSON], before: list[JSON], shown: list[JSON], style: Style) -> list[JSON]:
    old = list(zip(shown, before, strict=False))
    made: list[JSON] = []
    for output in outputs:
        kept = next((raw for seen, raw in old if seen == output), None)
        made.append(kept if kept is not None else output_in_style(output, style))
    return made


def output_in_style(output: JSON, style: Style) -> JSON:
    if output.get("output_type") == "stream":
        return {**output, "text": _lines(output["text"], style)}
    if "data" in output:
        data = cast(JSON, output["data"])
        return {**output, "data": {mime: _mime_value(mime, value, style) for mime, value in data.items()}}
    return output


def _mime_value(mime: str, value: Any, style: Style) -> Any:
    lined = mime.startswith("text/") or mime in _LINED_TYPES
    return _lines(value, style) if lined and isinstance(value, str) else value


def _lines(text: str, style: Style) -> Any:
    return text.splitlines(True) if style.lines else text
