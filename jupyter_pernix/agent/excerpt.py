"""Long text made short for the model: head and tail on whole lines, with what is missing said in between. Pure."""

import re
from dataclasses import dataclass

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

LONGEST_LINE = 2000


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """``whole``: nothing was cut."""

    text: str
    whole: bool


def without_ansi(text: str) -> str:
    """``text`` without terminal colours and cursor movements."""
    return _ANSI.sub("", text)


def excerpt(text: str, *, limit: int, longest_line: int = LONGEST_LINE) -> Excerpt:
    """At most about ``limit`` characters of ``text``: a third from its start, the rest from its end, where errors stand."""
    lines = text.splitlines(keepends=True)
    short = [_shortened(line, longest_line) for line in lines]
    whole = short == lines
    if sum(map(len, short)) <= limit:
        return Excerpt(text="".join(short), whole=whole)
    head = _take(short, limit // 3)
    tail = _take(short[head:][::-1], limit - limit // 3)
    missing = short[head : len(short) - tail]
    note = f"[… {len(missing):,} lines, {sum(map(len, lines[head : len(lines) - tail])):,} characters cut here …]\n"
    return Excerpt(text="".join(short[:head]) + note + "".join(short[len(short) - tail :]), whole=False)


def _shortened(line: str, longest: int) -> str:
    body = line.rstrip("\r\n")
    if len(body) <= longest:
        return line
    return f"{body[:longest]}[… {len(body) - longest:,} more characters in this line]{line[len(body) :]}"


def _take(lines: list[str], limit: int) -> int:
    """How many of the first ``lines`` fit in ``limit`` characters."""
    used = 0
    for count, line in enumerate(lines):
        used += len(line)
        if used > limit:
            return count
    return len(lines)
