"""Lines, places and differences of texts, against what a plain reading of all lines gives."""

import random

import pytest

from jupyter_pernix.agent.tools.textfile import (
    decode,
    line_count,
    lines_from,
    lines_of,
    replace_once,
    unified_diff,
    window,
)


def _texts(seed: int, count: int) -> list[tuple[str, str]]:
    dice = random.Random(seed)
    texts: list[tuple[str, str]] = []
    for _ in range(count):
        before = "".join(dice.choice("ab\n\n\r\n") for _ in range(dice.randrange(30)))
        place, size = dice.randrange(len(before) + 1), dice.randrange(4)
        put = "".join(dice.choice("ab\n\r") for _ in range(dice.randrange(4)))
        texts.append((before, before[:place] + put + before[place + size :]))
    return texts


@pytest.mark.parametrize(("before", "after"), _texts(1, 60))
def test_a_window_holds_all_differences_in_whole_lines(before: str, after: str) -> None:
    one, two = lines_of(before), lines_of(after)
    for context in (0, 2, 3):
        where = window(before, after, context=context)
        head = where.first - 1
        assert one[head : head + len(where.old)] == where.old
        assert one[:head] + where.new + one[head + len(where.old) :] == two
        assert where.old[: where.head] == where.new[: where.head]
        assert where.tail == 0 or where.old[-where.tail :] == where.new[-where.tail :]
        assert max(where.head, where.tail) <= context


@pytest.mark.parametrize(("before", "after"), _texts(2, 40))
def test_lines_are_counted_and_gone_through_as_an_editor_does(before: str, after: str) -> None:
    for text in (before, after):
        lines = lines_of(text)
        assert (line_count(text), "".join(lines)) == (len(lines), text)
        assert all(list(lines_from(text, first)) == lines[first - 1 :] for first in range(1, len(lines) + 2))


def test_hunks_have_the_numbers_of_the_whole_file() -> None:
    before = "".join(f"{number}\n" for number in range(1, 1001))
    diff, added, removed = unified_diff(before, before.replace("\n500\n", "\n500\n500.5\n"), name="n")
    assert (added, removed) == (1, 0)
    assert diff == "--- a/n\n+++ b/n\n@@ -498,6 +498,7 @@\n 498\n 499\n 500\n+500.5\n 501\n 502\n 503\n"


def test_lines_are_counted_where_there_is_no_diff() -> None:
    before = "".join(f"{number}\n" for number in range(30_000))
    diff, added, removed = unified_diff(before, "".join(f"new {number}\n" for number in range(25_000)), name="n")
    assert (added, removed, diff) == (25_000, 30_000, "[more than 20,000 lines differ; no diff]\n")


@pytest.mark.parametrize("seed", range(40))
def test_a_replacement_in_mixed_endings_touches_its_own_bytes_only(seed: int) -> None:
    dice = random.Random(seed)
    parts = [dice.choice("ab") + dice.choice(("\n", "\r\n")) for _ in range(dice.randrange(1, 20))]
    at = dice.randrange(len(parts) + 1)
    before, after = "".join(parts[:at]), "".join(parts[at:])
    file = decode(f"{before}needle{after}".encode(), name="n")
    assert replace_once(file, "needle", "pin") == f"{before}pin{after}"
