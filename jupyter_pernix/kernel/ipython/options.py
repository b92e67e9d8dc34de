"""What stands behind ``%%pernix``: options first, then, if one likes, the beginning of the question. Apostrophes need no quoting."""

import re
from dataclasses import dataclass, field
from typing import Any

from ...client import JSON
from .turn import CellFailed
from .words import MODES

LIMITS = ("rounds", "tokens", "seconds", "cost", "lines")
OPTIONS = ("--session", "--new", "--mode", "--model", "--endpoint", "--budget")

_OPTION = re.compile(r"\s*(--?[\w-]+)(?:=(\S*))?(?=\s|$)")
_WORD = re.compile(r"\s*(\S+)")


@dataclass(frozen=True)
class CellOptions:
    """``session`` "": the one that was used before, ``"new"``: a new one. ``budget``: for this question."""

    session: str = ""
    mode: str | None = None
    model: str | None = None
    budget: JSON | None = None
    question: str = ""


def cell_options(line: str) -> CellOptions:
    """:raises CellFailed: with a sentence that says what there is"""
    found: dict[str, Any] = {}
    at = 0
    while match := _OPTION.match(line, at):
        name, value, at = match[1], match[2], match.end()
        if name == "--":
            break
        if name not in OPTIONS:
            raise CellFailed(f"%%pernix has no option {name}; it has {', '.join(OPTIONS)}")
        if name == "--new":
            found["session"] = "new"
            continue
        if value is None:
            word = _WORD.match(line, at)
            if word is None or word[1].startswith("--"):
                raise CellFailed(f"behind {name} there is a value missing, e.g. {name} {_EXAMPLES[name]}")
            value, at = word[1], word.end()
        found[{"--endpoint": "model"}.get(name, name[2:])] = value
    if found.get("mode") not in (None, *MODES):
        raise CellFailed(f"{found['mode']!r} is no mode; there is {', '.join(MODES)}")
    if "budget" in found:
        found["budget"] = budget_of(found["budget"].split(","))
    return CellOptions(**found, question=line[at:].strip())


_EXAMPLES = {
    "--session": "new",
    "--mode": "edit",
    "--model": "NAME",
    "--endpoint": "NAME",
    "--budget": "rounds=10,seconds=60",
}


def budget_of(words: list[str]) -> JSON:
    """``["rounds=10", "cost=none"]`` as the fields of a ``Budget``.

    :raises CellFailed: with a sentence that says what there is
    """
    budget: JSON = {}
    for word in words:
        name, _, text = word.partition("=")
        number = None if text in ("none", "no") else _number(text)
        if (
            name not in LIMITS
            or (number is None and text not in ("none", "no"))
            or (number is not None and number <= 0)
        ):
            raise CellFailed(f"{word!r} is no limit; write e.g. rounds=10 or cost=none ({', '.join(LIMITS)})")
        whole = name in ("rounds", "tokens", "lines") and number is not None
        budget["changed_lines" if name == "lines" else name] = int(number or 0) if whole else number
    return budget


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass
class Wishes:
    """What was set before there is a session to set it in."""

    mode: str | None = None
    model: str | None = None
    budget: JSON | None = field(default=None)
