"""Where each key of a TOML file stands."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pernix.settings.places import lines_of

TEXT = (Path(__file__).parent / "cases" / "places.toml").read_text(encoding="utf-8")


def paths(data: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, value in data.items():
        yield (key,)
        for table in value if isinstance(value, list) else [value]:
            if isinstance(table, dict):
                yield from ((key, *path) for path in paths(table))


def test_each_key_has_the_line_of_its_statement():
    lines = TEXT.splitlines()
    found = lines_of(TEXT)
    assert set(found) == set(paths(tomllib.loads(TEXT)))
    for path, line in found.items():
        assert path[-1] in lines[line - 1], (path, line)
    assert found["endpoints", "a.b", "options", "y"] == lines.index("options = { x = 1, y = [") + 1
    assert found["q",] == lines.index("[[q]]") + 1


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_ends_of_lines_do_not_matter(end: str):
    assert lines_of(f"a = 1{end}{end}[b]{end}c = 2")["b", "c"] == 4


def test_a_file_without_statements_has_no_places():
    assert lines_of("# nothing\n\n") == {}
