import json

import pytest

from jupyter_pernix.agent.excerpt import excerpt, without_ansi


def test_a_short_text_is_whole() -> None:
    assert (excerpt("a\nb", limit=10).text, excerpt("a\nb", limit=10).whole) == ("a\nb", True)


def test_a_long_text_keeps_its_start_and_more_of_its_end() -> None:
    text = "".join(f"line {number}\n" for number in range(1000))
    short = excerpt(text, limit=300)

    assert not short.whole
    assert short.text.startswith("line 0\nline 1\n")
    assert short.text.endswith("line 998\nline 999\n")
    missing = text[text.index("line 13\n") : text.index("line 978\n")]
    assert f"line 12\n[… 965 lines, {len(missing):,} characters cut here …]\nline 978\n" in short.text


@pytest.mark.parametrize("limit", range(1, 200, 7))
def test_cuts_fall_between_lines_and_say_how_much_is_missing(limit: int) -> None:
    text = json.dumps([{"名": "値" * 5, "n": number} for number in range(40)], ensure_ascii=False, indent=1)
    short = excerpt(text, limit=limit)

    lines = set(text.splitlines())
    notes = [line for line in short.text.splitlines() if line not in lines]
    assert not short.whole
    assert len(notes) == 1
    assert notes[0].startswith("[… ")
    kept = sum(len(line) for line in short.text.splitlines(keepends=True) if line.rstrip("\n") in lines)
    assert kept <= limit


def test_a_line_without_end_is_cut_in_itself() -> None:
    short = excerpt("x" * 10_000 + "\n", limit=5000, longest_line=100)
    assert short.text == "x" * 100 + "[… 9,900 more characters in this line]\n"
    assert not short.whole


def test_terminal_colours_links_and_moves_are_taken_out() -> None:
    coloured = "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ \x1b[2K\x1b[1Aup \x1bMdown"
    assert without_ansi(coloured) == "red link up down"
