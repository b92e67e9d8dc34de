"""Tables of command lines, written as they are typed."""

from typing import Any

import pytest


def lines(text: str) -> list[Any]:
    """The lines of ``text``; one goes on where a single quote is open."""
    found: list[str] = []
    for line in text.strip("\n").split("\n"):
        if found and found[-1].count("'") % 2:
            found[-1] += "\n" + line
        elif line:
            found.append(line)
    return [pytest.param(line, id=line.replace("\n", "⏎")) for line in found]
