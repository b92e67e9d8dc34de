"""Text that repeats, and replies that end by announcing what was not done."""

import pytest

from jupyter_pernix.agent.repetition import Repetition, promises


@pytest.mark.parametrize("block", ["a", "ab\n", "I will now look at the file again. " * 5])
def test_a_block_that_repeats_is_noticed_within_its_window(block: str) -> None:
    watch = Repetition()
    text = "Once upon a time. " + block * (6000 // len(block))
    seen = next(number for number, character in enumerate(text) if watch.repeats(character))
    assert seen < 4100


def test_a_text_that_only_resembles_itself_is_no_repetition() -> None:
    watch = Repetition()
    assert not any(watch.repeats(f"| row {number} | value |\n") for number in range(2000))


@pytest.mark.parametrize("line", ["|---|---|---|\n", "0,0,0\n"])
def test_a_short_uniform_part_is_no_repetition(line: str) -> None:
    watch = Repetition()
    assert not watch.repeats("Here is the table:\n" + line * 150)


@pytest.mark.parametrize(
    "text",
    [
        "Let me make the change now.",
        "I found the fault in lines.py. I'll fix it now:",
        "Here is what I see:\n\n- a\n- b\n\nNow I will run the tests.",
        "Next, let me look at the data…",
        "I am going to edit the file!",
        "The cause is clear. Ich werde jetzt die Datei ändern.",
        "Der Fehler liegt in a.py. Jetzt behebe ich ihn in der Datei:",
        "Let me fix the loop in src/a.py now.",
        "Ich ändere nun die Datei a.py.",
    ],
)
def test_an_announced_action_is_noticed(text: str) -> None:
    assert promises(text)


@pytest.mark.parametrize(
    "text",
    [
        "Done. Let me know if you need more.",
        "I will be brief: the file has 3 rows. Its sum is 4.",
        "The tests pass.",
        "She said: I will go. That was all.",
        "The function let me in.",
        "If you like, I will add a test.",
        "I'll add a test once you have chosen a name.",
        "Fertig. Ich habe die Datei geändert.",
        "Wenn du willst, werde ich auch die Tests anpassen.",
        "",
    ],
)
def test_an_answer_is_not_taken_for_an_announcement(text: str) -> None:
    assert not promises(text)
