"""What a line of output looks like after the terminal's moves."""

import pytest

from jupyter_pernix.kernel.terminal import TerminalText


def shown(*pieces: str) -> str:
    text = TerminalText()
    for piece in pieces:
        text.write(piece)
    assert len(text) == len(text.text)
    return text.text


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(["a\nb"], "a\nb", id="plain text stays"),
        pytest.param(["a\r\nb\r\n"], "a\nb\n", id="carriage return before a line feed is a line feed"),
        pytest.param(["a\r", "\nb"], "a\nb", id="even when the two come apart"),
        pytest.param(["10%\r50%\r100%\n"], "100%\n", id="counter"),
        pytest.param(["10%\r", "50%\r", "done\n"], "done\n", id="return at the end of one piece, text in the next"),
        pytest.param([f"\r{i}" for i in range(100)], "99", id="no final newline"),
        pytest.param(["abcdef\rXY"], "XYcdef", id="only what is written over changes"),
        pytest.param(["10%\b\b\b20%\b\b\b30%\n"], "30%\n", id="backspaces"),
        pytest.param(["ab\b\b\b\bX"], "Xb", id="backspace stops at the margin"),
        pytest.param(["long text\r\x1b[Kshort"], "short", id="erase to the end of the line"),
        pytest.param(["long text\x1b[2K\rshort"], "short    ", id="erase the line, cursor stays"),
        pytest.param(["\x1b[31mred\x1b[0m\rblu"], "blu", id="colours go with their characters"),
        pytest.param(["\x1b[31mab\x1b[0m"], "\x1b[31mab\x1b[0m", id="colours stay"),
        pytest.param(["first\nsecond\rSEC"], "first\nSECond", id="finished lines never change"),
        pytest.param(["a\x00b\x1b[2Jc\x07d\x7f"], "a\x00b\x1b[2Jc\x07d\x7f", id="other control characters stay"),
    ],
)
def test_text_is_shown_as_a_terminal_would(pieces: list[str], expected: str):
    assert shown(*pieces) == expected


def test_the_way_a_text_is_cut_into_pieces_makes_no_difference():
    whole = "head\n 10%|#   |\r 50%|##  |\r\x1b[K\x1b[32mok\x1b[0m\nab\b\bXY\r\nend\r."
    joined = shown(whole)
    assert joined == "head\n\x1b[32mok\x1b[0m\nXY\n.nd"
    for cut in range(len(whole)):
        assert shown(whole[:cut], whole[cut:]) == joined, cut


def test_a_rewrite_says_where_it_began():
    text = TerminalText()
    text.write("log\nab")
    assert text.changed_from is None
    text.write("\b!")
    assert (text.changed_from, text.text) == (5, "log\na!")


@pytest.mark.timeout(20)
def test_many_moves_on_a_long_line_stay_cheap():
    text = TerminalText()
    text.write("x" * 300_000)
    for _ in range(20_000):
        text.write("\b|")
        text.write("\b/")
    text.write("\rfirst")
    assert text.text == "first" + "x" * 299_994 + "/"
    assert len(text) == 300_000


def test_the_unfinished_line_can_be_split_off():
    text = TerminalText()
    text.write("log\n 10%\r")
    rest = text.split_finished()
    rest.write(" 20%")
    assert (text.text, rest.text) == ("log\n", " 20%")
