"""Assembly of one answer: what is shown while it comes, and what it is in the end."""

import json
import time
from typing import Any

import pytest

from jupyter_pernix.agent.model.parts import CallPart, Part, Reply, TextPart, ThoughtPart
from jupyter_pernix.agent.model.stream import ReplyReader
from jupyter_pernix.errors import EndpointFailed, ModelError, StreamBroken

TOOLS = {"read_file": {"type": "object"}, "pwd": {"type": "object"}, "ls": {"type": "object"}}


def event(delta: Any, finish: str | None = None, **more: Any) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return f"data: {json.dumps(chunk)}\n\n".encode()


DONE = b"data: [DONE]\n\n"


def read(*events: bytes, tools: Any = TOOLS) -> list[Part]:
    reader = ReplyReader(tools)
    parts = [part for piece in events for part in reader.feed(piece)]
    return [*parts, *reader.close()]


def reply(*events: bytes, tools: Any = TOOLS) -> Reply:
    last = read(*events, tools=tools)[-1]
    assert isinstance(last, Reply)
    return last


def calls(*fragments: dict[str, Any]) -> list[tuple[str, Any]]:
    made = reply(*(event({"tool_calls": [fragment]}) for fragment in fragments), event({}, "tool_calls"), DONE)
    return [(call.name, call.arguments) for call in made.calls]


def fragment(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def test_text_is_shown_as_it_comes() -> None:
    parts = read(event({"content": "Hel"}), event({"content": "lo"}), event({}, "stop"), DONE)
    assert parts[:2] == [TextPart(text="Hel"), TextPart(text="lo")]
    assert len(parts) == 3


def test_a_written_call_is_never_shown_as_text() -> None:
    text = 'I look.\n<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>'
    parts = read(*(event({"content": character}) for character in text), event({}, "stop"), DONE)
    assert "".join(part.text for part in parts if isinstance(part, TextPart)) == "I look.\n"
    last = parts[-1]
    assert isinstance(last, Reply)
    assert (last.text, last.finish_reason, len(last.calls)) == ("I look.", "tool_calls", 1)


def test_json_that_is_no_call_is_shown_in_the_end() -> None:
    text = '{"name": "Alice", "arguments": "none"}'
    parts = read(event({"content": text}), event({}, "stop"), DONE)
    assert parts[0] == TextPart(text=text)


def test_without_tools_nothing_is_read_as_a_call() -> None:
    text = '{"name": "read_file", "arguments": {"path": "a"}}'
    assert reply(event({"content": text}), DONE, tools={}).text == text


def test_arguments_are_shown_as_they_come() -> None:
    parts = read(
        event({"tool_calls": [fragment("read_file", "", index=0, id="a")]}),
        event({"tool_calls": [fragment(None, '{"path"', index=0)]}),
        event({"tool_calls": [fragment(None, ': "a"}', index=0)]}),
        event({}, "tool_calls"),
        DONE,
    )
    assert parts[:3] == [
        CallPart(index=0, name="read_file", text=""),
        CallPart(index=0, name="read_file", text='{"path"'),
        CallPart(index=0, name="read_file", text=': "a"}'),
    ]


def test_calls_without_arguments_are_told_apart() -> None:
    assert calls(fragment("pwd", "", index=0, id="a"), fragment("ls", "", index=0, id="b")) == [("pwd", {}), ("ls", {})]
    assert calls(fragment("pwd", ""), fragment("ls", "")) == [("pwd", {}), ("ls", {})]
    assert calls(fragment("pwd", None, index=0), fragment("ls", None, index=1)) == [("pwd", {}), ("ls", {})]


def test_a_growing_name_is_one_name() -> None:
    assert calls(fragment("read_", "", index=0, id="a"), fragment("read_file", '{"path": "a"}', index=0)) == [
        ("read_file", {"path": "a"})
    ]


def test_a_call_resent_whole_counts_once() -> None:
    whole = fragment("read_file", '{"path": "a"}', index=0, id="a")
    assert calls(whole, whole) == [("read_file", {"path": "a"})]


def test_the_same_call_under_two_ids_is_two_calls() -> None:
    first, second = (fragment("read_file", '{"path": "a"}', id=wire_id) for wire_id in "ab")
    assert calls(first, second) == [("read_file", {"path": "a"})] * 2


def test_marks_of_templates_around_a_name_are_taken_off() -> None:
    assert calls(fragment("functions.read_file", "{}", index=0)) == [("read_file", {})]
    assert calls(fragment("read_file<|channel|>commentary", "{}", index=0)) == [("read_file", {})]


def test_the_form_of_before_tools_is_read() -> None:
    made = reply(
        event({"function_call": {"name": "ls", "arguments": '{"a"'}}),
        event({"function_call": {"arguments": ": 1}"}}),
        event({}, "function_call"),
        DONE,
    )
    assert [(call.name, call.arguments) for call in made.calls] == [("ls", {"a": 1})]


def test_a_call_cut_off_at_the_length_limit_is_not_run() -> None:
    made = reply(
        event({"tool_calls": [fragment("read_file", '{"path": "a', index=0, id="a")]}), event({}, "length"), DONE
    )
    (call,) = made.calls
    assert (call.arguments, call.raw) == (None, "{}")
    assert "cut off" in call.fault


def test_what_the_model_wrote_goes_back_byte_for_byte_if_it_can() -> None:
    for written, raw in (('{ "path":"é" }', '{ "path":"é" }'), ("{'path': 'é'}", '{"path": "é"}')):
        made = reply(
            event({"tool_calls": [fragment("read_file", written, index=0, id="a")]}), event({}, "tool_calls"), DONE
        )
        assert made.calls[0].raw == raw


def test_a_character_in_two_escapes_is_put_together() -> None:
    # Some servers cut an escaped surrogate pair between two deltas.
    made = reply(
        b'data: {"choices":[{"delta":{"content":"\\ud83c"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"\\udf0d!"}}]}\n\n',
        DONE,
    )
    assert made.text == "🌍!"
    alone = reply(b'data: {"choices":[{"delta":{"content":"a\\ud83c"}}]}\n\n', DONE)
    alone.text.encode()
    assert alone.text.startswith("a")


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"thinking": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning_content": "hm", "reasoning": "hm"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"content": "<think>hm</think>"},
        {"content": "<thinking>hm</thinking>"},
    ],
)
def test_thoughts_in_any_form_are_thoughts(delta: dict[str, Any]) -> None:
    parts = read(event(delta), event({"content": "Hi"}), event({}, "stop"), DONE)
    assert "".join(part.text for part in parts if isinstance(part, ThoughtPart)) == "hm"
    last = parts[-1]
    assert isinstance(last, Reply)
    assert (last.text, last.thought) == ("Hi", "hm")


def test_content_in_pieces_is_text() -> None:
    assert reply(event({"content": [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]}), DONE).text == "Hi"


@pytest.mark.parametrize("reason", ["stop", "eos", "STOP", "end_turn", "something new"])
def test_any_reason_ends_an_answer(reason: str) -> None:
    assert reply(event({"content": "Hi"}), event({}, reason)).finish_reason == "stop"


@pytest.mark.parametrize("reason", ["abort", "error", "cancelled"])
def test_an_answer_that_the_server_gave_up_is_broken(reason: str) -> None:
    with pytest.raises(StreamBroken):
        read(event({"content": "Hi"}), event({}, reason), DONE)


def test_a_reason_without_done_is_whole_even_if_the_connection_broke_afterwards() -> None:
    reader = ReplyReader()
    parts = list(reader.feed(event({"content": "Hi"}, "stop")))
    assert [*parts, *reader.close(dropped=True)][-1].text == "Hi"


def test_cached_tokens_are_read_wherever_they_stand() -> None:
    usage: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 1}
    openai = {**usage, "prompt_tokens_details": {"cached_tokens": 8}}
    deepseek = {**usage, "prompt_cache_hit_tokens": 8}
    none = {**usage, "prompt_tokens_details": None}
    for given, cached in ((openai, 8), (deepseek, 8), (none, None)):
        assert reply(event({"content": "Hi"}, "stop", usage=given), DONE).usage.cached_tokens == cached


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n\n\n",
        b": ping\n\n",
        b"data:\n\n",
        b"data: {}\n\n",
        b"data: null\n\n",
        b"data: 7\n\n",
        b"data: []\n\n",
        b'data: {"choices": {}}\n\n',
        b'data: {"choices": [null, 7, "x"]}\n\n',
        b'data: {"choices": [{"delta": "text"}]}\n\n',
        b'data: {"choices": [{"delta": {"tool_calls": {"a": 1}, "content": 7}}]}\n\n',
        b'data: {"choices": [{"delta": {"tool_calls": [null, {"function": null}, {"function": {"name": 7}}]}}]}\n\n',
        b"<html><body>hello</body></html>",
        b'{"object": "list", "data": []}',
        b'{"choices": ',
        b"\xff\xfe\x00",
        b"event: error\ndata: {}\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
    ],
)
def test_whatever_else_comes_is_an_error_of_ours(body: bytes) -> None:
    with pytest.raises(ModelError):
        read(body)


def test_a_whole_answer_with_a_call_is_read_like_a_stream() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [fragment("ls", '{"a": 1}', id="a")]}
    body = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    made = reply(json.dumps(body).encode())
    assert [(call.name, call.arguments) for call in made.calls] == [("ls", {"a": 1})]
    assert made.usage.prompt_tokens == 3


def test_an_error_as_a_whole_body_is_that_error() -> None:
    with pytest.raises(EndpointFailed, match="overloaded"):
        read(b'{"error": {"message": "overloaded", "code": 503}}')


def test_a_long_answer_costs_in_proportion() -> None:
    def cost(chunks: int) -> float:
        started = time.process_time()
        read(*(event({"content": "word <b> `x` "}) for _ in range(chunks)), event({}, "stop"), DONE)
        return time.process_time() - started

    cost(500)
    assert cost(20_000) < 60 * max(cost(1_000), 0.005)
