from typing import Any

from jupyter_pernix.agent.model.history import MISSING_RESULT, mended


def said(*ids: str) -> dict[str, Any]:
    calls = [{"id": wire_id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for wire_id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(wire_id: str, content: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": wire_id, "content": content}


USER = {"role": "user", "content": "hello"}


def test_a_sound_history_stays_as_it_is() -> None:
    sound = [USER, said("a", "b"), result("a"), result("b"), {"role": "assistant", "content": "ok"}]
    assert mended(sound) == sound


def test_a_missing_result_is_put_behind_its_call() -> None:
    assert mended([USER, said("a", "b"), result("b"), USER]) == [
        USER,
        said("a", "b"),
        result("a", MISSING_RESULT),
        result("b"),
        USER,
    ]
    assert mended([USER, said("a")]) == [USER, said("a"), result("a", MISSING_RESULT)]


def test_a_result_without_its_call_goes_and_the_first_of_two_counts() -> None:
    assert mended([USER, result("x"), said("a"), result("a", "1"), result("a", "2")]) == [
        USER,
        said("a"),
        result("a", "1"),
    ]
