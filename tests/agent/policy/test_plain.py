import pytest

from jupyter_pernix.agent.policy.plain import one_line, visible


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("a\tb\n", "a\tb\n"),
        ("naïve 値 🙂", "naïve 値 🙂"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\rb", "a\\x0db"),
        ("\u202eevil", "\\u202eevil"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\u2028", "\\u2028"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\0", "\\x00"),
    ],
)
def test_what_could_hide_is_written_out(hidden: str, shown: str) -> None:
    assert visible(hidden) == shown


def test_one_line_joins_lines_and_marks_a_cut() -> None:
    assert one_line("a\n  b\u202e\n", 20) == "a b\\u202e"
    assert one_line("x" * 30, 10) == "xxxxxxxxx…"
    assert len(one_line("y " * 500, 10)) == 10
