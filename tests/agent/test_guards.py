import pytest

from jupyter_pernix.agent.guards import DESCRIBING, Repeats, Repetition, call_key, promises


def test_a_key_ignores_order_and_descriptions_at_the_top_only() -> None:
    assert call_key("t", {"a": 1, "b": {"c": 2, "d": 3}}) == call_key("t", {"b": {"d": 3, "c": 2}, "a": 1, "why": "x"})
    assert call_key("t", {"a": {"why": 1}}) != call_key("t", {"a": {"why": 2}})
    assert call_key("t", {"a": 1}) != call_key("u", {"a": 1})


@pytest.mark.parametrize("name", sorted(DESCRIBING))
def test_each_describing_argument_is_ignored(name: str) -> None:
    assert call_key("t", {name: "one"}) == call_key("t", {})


def test_the_third_call_in_a_row_is_told_and_the_fifth_is_stuck() -> None:
    repeats = Repeats()
    told = [bool(repeats.sees("a")) for _ in range(4)]
    assert (told, repeats.stuck) == ([False, False, True, True], "")
    repeats.sees("a")
    assert repeats.stuck.startswith("The model asked for the same call 5 times in a row.")


def test_a_success_ends_a_row_of_failures() -> None:
    repeats = Repeats()
    for _ in range(11):
        repeats.ended(failed=True)
    repeats.ended(failed=False)
    repeats.ended(failed=True)
    assert repeats.stuck == ""


@pytest.mark.parametrize("block", ["a", "ab\n", "I will now look at the file again. " * 5])
def test_a_block_that_repeats_is_noticed_within_its_window(block: str) -> None:
    watch = Repetition()
    text = "Once upon a time. " + block * (6000 // len(block))
    seen = next(number for number, character in enumerate(text) if watch.repeats(character))
    assert seen < 4100


def test_a_text_that_only_resembles_itself_is_no_repetition() -> None:
    watch = Repetition()
    assert not any(watch.repeats(f"| row {number} | value |\n") for number in range(2000))


@pytest.mark.parametrize(
    "text",
    [
        "Let me make the change now.",
        "I found the fault in lines.py. I'll fix it now:",
        "Here is what I see:\n\n- a\n- b\n\nNow I will run the tests.",
        "Next, let me look at the data…",
        "I am going to edit the file!",
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
        "",
    ],
)
def test_an_answer_is_not_taken_for_an_announcement(text: str) -> None:
    assert not promises(text)
