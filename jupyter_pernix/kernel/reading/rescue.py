"""What can be saved of a file that was refused, as a new notebook. Pure; the file itself is never touched."""

import re

from ...records import JSON
from .decoding import Text, decode
from .reader import read_notebook
from .result import Reading, Refusal
from .scan import Broken, TooDeep, scan
from .style import NBFORMAT, dump

_OUTSIDE = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?P<line>(?://|\#)[^\n]*)|(?P<block>/\*.*?\*/)|(?P<comma>,(?=\s*(?:(?://|\#)[^\n]*(?:\n\s*|\Z))*[}\]]))',
    re.DOTALL,
)


def rescue(content: bytes, *, name: str = "") -> Reading | None:
    """Read what can be read: text in an older encoding is converted, comments and commas too many are passed over, and of a file that
    breaks off the whole cells before the break are taken. ``None``: nothing is left to read."""
    text = decode(content)
    decoded = text.text if isinstance(text, Text) else _converted(text, content)
    if decoded is None:
        return None
    bare = decoded.rstrip("\x00")
    for candidate in (bare, _without_extras(bare)):
        try:
            scan(candidate)
        except TooDeep:
            return None
        except Broken:
            continue
        reading = read_notebook(candidate.encode("utf-8", "surrogatepass"), name=name)
        return reading if reading.outcome != "refused" else None
    return _whole_part(bare, name)


def _converted(refusal: Refusal, content: bytes) -> str | None:
    return content.decode("cp1252", "replace") if refusal.kind == "not_utf8" else None


def _without_extras(text: str) -> str:
    """Without comments and without commas before a closing bracket; texts stay."""
    return _OUTSIDE.sub(lambda match: match.group() if match.group()[0] == '"' else "", text)


def _whole_part(text: str, name: str) -> Reading | None:
    try:
        scan(text)
    except Broken as broken:
        whole = _read_before(broken)
    else:
        return None
    if not whole["cells"]:
        return None
    notebook: JSON = {"metadata": {}, "nbformat": 4, "nbformat_minor": 5, **whole}
    return read_notebook(dump(notebook, NBFORMAT, 0).encode() + b"\n", name=name)


def _read_before(broken: Broken) -> JSON:
    if broken.reason == "Extra data" and "cells" in broken.members:
        return dict(broken.members)
    return {**broken.members, "cells": broken.cells}
