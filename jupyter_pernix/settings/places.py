"""Where in a TOML file each key stands. The file must be TOML that ``tomllib`` reads; the time is linear in its size."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, cast

KeyPath = tuple[str, ...]

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|[\[\]{}\n]"
    r"|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)


def lines_of(text: str) -> dict[KeyPath, int]:
    """The line, from 1, on which the statement begins that gives a key; a table's is its header, or its first key."""
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for line, statement in _statements(text.replace("\r\n", "\n")):
        keys = list(_paths(tomllib.loads(statement)))
        if statement.startswith("["):
            table = keys[-1]
        for path in keys:
            whole = path if statement.startswith("[") else (*table, *path)
            for length in range(1, len(whole) + 1):
                found.setdefault(whole[:length], line)
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each header or key with its value, which may be several lines long, and the line on which it begins."""
    line, begin, depth, parts = 1, 1, 0, list[str]()
    for match in _TOKEN.finditer(text + "\n"):
        token = match[0]
        if not parts:
            begin = line
        line += token.count("\n")
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token == "\n" and depth == 0:
            statement = "".join(parts).strip()
            parts = []
            if statement:
                yield begin, statement
        elif not token.startswith("#"):
            parts.append(token)


def _paths(data: dict[str, Any]) -> Iterator[KeyPath]:
    for key, value in data.items():
        below = list(_paths(cast(dict[str, Any], value))) if isinstance(value, dict) else []
        if isinstance(value, list) and value and isinstance(value[0], dict):
            below = list(_paths(cast(dict[str, Any], value[0])))
        yield from [(key, *path) for path in below] or [(key,)]
