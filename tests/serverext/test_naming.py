"""Titles and file names from what the user wrote."""

from datetime import date

import pytest

from jupyter_pernix.serverext.naming import record_path, slug, title_from


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("How many rows?", "How many rows?"),
        ("\n\n  First   line \nsecond", "First line"),
        ("x" * 61, "x" * 59 + "…"),
        ("x" * 60, "x" * 60),
        ("a\u202eb\x00c\u200bd", "a b c d"),
        ("\u200b\n real", "real"),
        (" \n ", ""),
    ],
)
def test_a_title_is_the_first_line_that_says_something(text: str, title: str) -> None:
    assert title_from(text) == title


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Find the lost row!", "find-the-lost-row"),
        ("Größe & Maß", "groe-ma"),
        ("../../etc/passwd", "etc-passwd"),
        ("日本語", "session"),
        ("", "session"),
        ("word " * 30, "-".join(["word"] * 9)),
        ("x" * 100, "x" * 48),
    ],
)
def test_a_slug_can_stand_in_any_file_name(title: str, name: str) -> None:
    assert slug(title) == name


def test_a_path_that_is_taken_gets_a_number() -> None:
    taken = {"a/pernix-runs/2026-05-06-x.ipynb", "a/pernix-runs/2026-05-06-x-2.ipynb"}
    path = record_path(
        space_root="a", records_dir="pernix-runs", title="X", day=date(2026, 5, 6), taken=taken.__contains__
    )
    assert path == "a/pernix-runs/2026-05-06-x-3.ipynb"
