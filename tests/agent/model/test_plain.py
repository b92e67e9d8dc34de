"""Chunks that are read by their shape give what looking for everything gives."""

import json
from typing import Any

import msgspec
import pytest

from jupyter_pernix.agent.model.parts import Part, Reply
from jupyter_pernix.agent.model.plain import plain_choice
from jupyter_pernix.agent.model.stream import Assembler
from jupyter_pernix.records import JSON

TOOLS: dict[str, JSON] = {"add": {"type": "object"}, "read_file": {"type": "object"}}


def chunk(delta: JSON, **more: Any) -> JSON:
    choice = {"index": 0, "delta": delta, "finish_reason": None, **more}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def fragment(index: int, text: str | None = None, **more: Any) -> JSON:
    name = more.pop("name", None)
    return {"index": index, "function": {"name": name, "arguments": text} if name else {"arguments": text}, **more}


STREAMS: dict[str, list[JSON]] = {
    "text": [chunk({"role": "assistant", "content": ""}), chunk({"content": "Hel"}), chunk({"content": "lo <thi"}),
             chunk({"content": "nk>no</think>"}), chunk({}, finish_reason="STOP")],
    "calls": [chunk({"role": "assistant", "content": None, "tool_calls": [fragment(0, "", name="add", id="a", type="function")]}),
              chunk({"tool_calls": [fragment(0, '{"a": 1')]}), chunk({"tool_calls": [fragment(0, ', "b": 2}')]}),
              chunk({"tool_calls": [fragment(1, '{"path":"x"}', name="read_file", id="b")]}),
              chunk({"tool_calls": []}), chunk({}, finish_reason="tool_calls")],
    "one index for two calls": [chunk({"tool_calls": [fragment(0, '{"a":1}', name="add", id="a")]}),
                                chunk({"tool_calls": [fragment(0, '{"a":2}', name="add", id="b")]}),
                                chunk({}, finish_reason="tool_calls", logprobs=None, stop_reason=None)],
    "cut off": [chunk({"content": "long"}), chunk({}, finish_reason="length")],
    "a call in the text": [chunk({"content": '<tool_call>{"name": "add", "arguments": '}), chunk({"content": '{"a": 1}}</tool_call>'}),
                           chunk({}, finish_reason="stop")],
}  # fmt: skip


def read(stream: list[JSON], *, plainly: bool) -> list[Any]:
    assembler, parts = Assembler(TOOLS), list[Part]()
    for one in stream:
        choice = plain_choice(json.dumps(one)) if plainly else None
        assert (choice is not None) is plainly
        parts += assembler.chunk(one) if choice is None else assembler.plain(choice)
    return [_facts(part) for part in [*parts, *assembler.close(dropped=False)]]


def _facts(part: Part) -> Any:
    facts = msgspec.to_builtins(part)
    if isinstance(part, Reply):
        for call in facts["calls"]:
            call["wire_id"] = call["wire_id"] if len(call["wire_id"]) == 1 else "made"
    return facts


@pytest.mark.parametrize("name", STREAMS)
def test_a_plain_chunk_gives_the_same_by_its_shape(name: str) -> None:
    assert read(STREAMS[name], plainly=True) == read(STREAMS[name], plainly=False)


@pytest.mark.parametrize(
    "odd",
    [
        chunk({"reasoning_content": "hm"}),
        chunk({"content": ["a"]}),
        chunk({"content": "a"}, index=1),
        chunk({"function_call": {"name": "add"}}),
        chunk({"tool_calls": [{"function": {"name": "add"}}]}),
        chunk({"tool_calls": [fragment(0, None, name="add") | {"index": "0"}]}),
        chunk({"content": "a"}, error={"message": "no"}),
        chunk({"content": "a"}) | {"usage": {"prompt_tokens": 3}},
        chunk({"content": "a"}) | {"error": "no"},
        chunk({"content": "a"}) | {"choices": []},
        {"error": {"message": "no"}},
    ],
    ids=lambda odd: json.dumps(odd)[-60:],
)
def test_whatever_else_a_chunk_holds_is_not_passed_over(odd: JSON) -> None:
    assert plain_choice(json.dumps(odd)) is None


@pytest.mark.parametrize("broken", ["", "[DONE]", "{", '{"choices": NaN}', '"\ud800"', "[" * 100_000])
def test_what_is_no_json_is_left_to_the_other_reader(broken: str) -> None:
    assert plain_choice(broken) is None
