import pytest

from jupyter_pernix.livetext import LiveText, duration, neutral, one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b]0;title\x07", "␛[31mred␛]0;title␇"),
        ("a\r\nb\rc", "a\nb␍c"),
        ("\x9b2J", "<U+009B>2J"),
        ("safe\u202etxt.exe", "safe<U+202E>txt.exe"),
        ("\ud800", "<U+D800>"),
    ],
)
def test_what_could_steer_a_terminal_is_made_visible(text: str, shown: str):
    assert neutral(text) == shown


@pytest.mark.parametrize(
    ("text", "line"),
    [("short", "short"), ("\n two\nlines", "two…"), ("x" * 20, "x" * 9 + "…"), ("", ""), ("a\x1bb", "a␛b")],
)
def test_one_line_says_when_something_is_left_out(text: str, line: str):
    assert one_line(text, 10) == line


def test_a_delta_that_comes_twice_counts_once():
    live = LiveText()
    for offset, text in ((0, "Hel"), (3, "lo"), (3, "lo"), (9, "gap"), (0, "Hello, you")):
        live.write(offset, text)
    assert live.text == "Hello, you"


@pytest.mark.parametrize(("seconds", "text"), [(None, ""), (0.04, "0.0 s"), (12.4, "12 s"), (125.0, "2 min 5 s")])
def test_durations_are_for_people(seconds: float | None, text: str):
    assert duration(seconds) == text
