"""ActionModel against a server that plays its two strokes; and, where a GGUF file is named, a real model."""

import itertools
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from agent.model.fakeserver import Answer, FakeServer, as_json, stream

from jupyter_pernix.agent.model.action_history import SAME_RESULT
from jupyter_pernix.agent.model.action_prompt import BlockReader, request_of, shown_result
from jupyter_pernix.agent.model.action_schema import schema_for
from jupyter_pernix.agent.model.actions import ActionModel
from jupyter_pernix.agent.model.client import Endpoint
from jupyter_pernix.agent.model.conversation import Conversation
from jupyter_pernix.agent.model.parts import CallPart, ModelCall, Part, Reply, TextPart, ThoughtPart, ToolSpec
from jupyter_pernix.errors import EndpointFailed, ModelError
from jupyter_pernix.gpu.local import LocalServer
from jupyter_pernix.ids import SessionId
from jupyter_pernix.records import JSON, Constraint

GGUF = os.environ.get("PERNIX_TEST_GGUF", "")


def tool(name: str, text_field: str | None = None, required: tuple[str, ...] = (), **properties: JSON) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return ToolSpec(name=name, description=f"{name} it.", parameters=schema, text_field=text_field)


TEXT: JSON = {"type": "string"}
RUN_CODE = tool("run_code", "code", ("code",), code=TEXT)
READ = tool("read_file", None, ("path",), start_line={"type": "integer", "minimum": 1, "description": "x"}, path=TEXT)
WRITE = tool("write_file", "content", ("path", "content"), path=TEXT, content=TEXT)
FINISH = tool("finish", "answer", ("answer",), answer=TEXT)
TOOLS = (RUN_CODE, READ, WRITE, FINISH)
REQUEST = "The request was: How many rows has data.csv?\n"


def conversation(text: str = "How many rows has data.csv?") -> Conversation:
    made = Conversation("You are a test.")
    made.append({"role": "user", "content": text})
    return made


class Scripted:
    """Answers choices and texts from two lists; ``served`` wraps it into a server."""

    def __init__(self, choices: list[str], texts: list[str] | None = None) -> None:
        self.choices, self.texts = choices, texts or []

    def __call__(self, body: dict[str, Any]) -> Answer:
        return stream({"content": (self.choices if "response_format" in body else self.texts).pop(0)})


async def ask(server: FakeServer, messages: Conversation, model: ActionModel | None = None) -> tuple[list[Part], Reply]:
    model = model or ActionModel(Endpoint(server.url), name="m", endpoint_name="e")
    try:
        async with model.stream(messages, TOOLS, session_id=SessionId("ses_1")) as parts:
            got = [part async for part in parts]
    finally:
        await model.aclose()
    reply = got.pop()
    assert isinstance(reply, Reply)
    return got, reply


def serve(answer: Any) -> FakeServer:
    return FakeServer({"POST /v1/chat/completions": answer})


def only(reply: Reply) -> ModelCall:
    (call,) = reply.calls
    return call


async def test_small_fields_come_with_the_choice() -> None:
    with serve(Scripted(['{"action": "read_file", "path": "a.txt", "start_line": 3}'])).running() as server:
        parts, reply = await ask(server, conversation())
    assert (only(reply).name, only(reply).arguments) == ("read_file", {"path": "a.txt", "start_line": 3})
    assert parts == [CallPart(index=0, name="read_file", text='{"path": "a.txt", "start_line": 3}')]
    assert len(server.requests) == 1
    assert server.requests[0]["temperature"] == 0


async def test_code_is_written_freely_and_taken_out_of_its_block() -> None:
    text = 'Here:\n```python\nprint("a\\n")\nif True:\n    print(1)\n```\nThat prints.'
    with serve(Scripted(['{"action": "run_code"}'], [text])).running() as server:
        parts, reply = await ask(server, conversation())
    call = only(reply)
    assert call.arguments == {"code": 'print("a\\n")\nif True:\n    print(1)'}
    streamed = "".join(part.text for part in parts if isinstance(part, CallPart))
    assert json.loads(streamed) == call.arguments == json.loads(call.raw)
    choice, writing = server.requests
    assert "response_format" not in writing
    assert writing["messages"][: len(choice["messages"])] == choice["messages"]


async def test_the_answer_streams_as_text() -> None:
    with serve(Scripted(['{"action": "finish"}'], ["It has **12** rows."])).running() as server:
        parts, reply = await ask(server, conversation())
    assert parts == [TextPart(text="It has **12** rows.")]
    assert (reply.text, reply.calls, reply.finish_reason) == ("It has **12** rows.", (), "stop")


async def test_a_text_cut_off_at_the_limit_is_not_run() -> None:
    def cut(body: dict[str, Any]) -> Answer:
        if "response_format" in body:
            return stream({"content": '{"action": "write_file", "path": "a.py"}'})
        chunk = {"choices": [{"delta": {"content": "```python\nimport os\nos.rem"}, "finish_reason": "length"}]}
        return Answer(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    with serve(cut).running() as server:
        _, reply = await ask(server, conversation())
    assert (only(reply).name, only(reply).arguments, only(reply).raw) == ("write_file", None, "{}")
    assert "cut off" in only(reply).fault


@pytest.mark.parametrize(
    "bad", ['{"action": "read_file", "pa', '{"action":' + " \n" * 400, '{"action": "fly"}', "Sure! I will."]
)
async def test_an_unusable_choice_is_asked_for_once_more_with_some_chance(bad: str) -> None:
    with serve(Scripted([bad, '{"action": "read_file", "path": "a"}'])).running() as server:
        _, reply = await ask(server, conversation())
    assert only(reply).arguments == {"path": "a"}
    assert [request["temperature"] for request in server.requests] == [0, 0.7]


async def test_two_unusable_choices_are_an_error_that_is_not_retried() -> None:
    server = serve(Scripted(["nonsense", "nonsense"]))
    with server.running(), pytest.raises(EndpointFailed, match="no usable action") as caught:
        await ask(server, conversation())
    assert caught.value.retryable is False
    assert caught.value.hint


async def test_a_server_that_refuses_alternatives_gets_the_flat_schema() -> None:
    scripted = Scripted(['{"action": "read_file", "path": "a"}'])

    def picky(body: dict[str, Any]) -> Answer:
        if "anyOf" in json.dumps(body.get("response_format")):
            return as_json({"error": {"message": "schema keyword anyOf is not supported"}}, 400)(body)
        return scripted(body)

    with serve(picky).running() as server:
        model = ActionModel(Endpoint(server.url), name="m", endpoint_name="e")
        with pytest.raises(EndpointFailed) as caught:
            await ask(server, conversation(), model)
        assert caught.value.retryable is True
        _, reply = await ask(server, conversation(), model)
        await model.aclose()
    assert only(reply).arguments == {"path": "a"}


def followed(messages: Conversation, name: str, arguments: JSON, result: str, wire_id: str) -> None:
    function = {"name": name, "arguments": json.dumps(arguments)}
    messages.append(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": wire_id, "type": "function", "function": function}],
        }
    )
    messages.append({"role": "tool", "tool_call_id": wire_id, "content": result})


async def test_each_request_begins_with_the_one_before() -> None:
    scripted = Scripted(
        ['{"action": "run_code"}', '{"action": "read_file", "path": "a"}', '{"action": "finish"}'],
        ["```\nprint(1)\n```", "done"],
    )
    messages = conversation()
    with serve(scripted).running() as server:
        model = ActionModel(Endpoint(server.url), name="m", endpoint_name="e")
        _, first = await ask(server, messages, model)
        assert model.size(messages).prefix_bytes == model.size(messages).prompt_bytes
        followed(messages, "run_code", only(first).arguments or {}, "ok\n1", "w1")
        _, second = await ask(server, messages, model)
        followed(messages, "read_file", only(second).arguments or {}, "text", "w2")
        assert 0 < model.size(messages).prefix_bytes < model.size(messages).prompt_bytes
        await ask(server, messages, model)
    prompts = [request["messages"] for request in server.requests]
    for before, after in itertools.pairwise(prompts):
        assert after[: len(before)] == before
    shown = [(message["role"], message["content"]) for message in prompts[-2][-7:]]
    assert shown == [
        ("user", "How many rows has data.csv?"),
        ("assistant", '{"action": "run_code"}'),
        ("user", f"{REQUEST}Write the code now. Give it in one fenced block and nothing else."),
        ("assistant", "```python\nprint(1)\n```"),
        ("user", "Result of run_code:\nok\n1"),
        ("assistant", '{"action": "read_file", "path": "a"}'),
        ("user", "Result of read_file:\ntext"),
    ]


async def test_after_the_same_action_twice_its_tool_is_not_offered_for_the_next() -> None:
    messages = conversation()
    scripted = Scripted(['{"action": "run_code"}', '{"action": "read_file", "path": "b"}'], ["```\n1\n```"])
    with serve(scripted).running() as server:
        model = ActionModel(Endpoint(server.url), name="m", endpoint_name="e")
        for wire_id in ("w1", "w2"):
            followed(messages, "read_file", {"path": "a"}, "text", wire_id)
        await ask(server, messages, model)
        followed(messages, "run_code", {"code": "1"}, "ok", "w3")
        await ask(server, messages, model)
    offered = [
        [one["properties"]["action"]["const"] for one in request["response_format"]["json_schema"]["schema"]["anyOf"]]
        for request in server.requests
        if "response_format" in request
    ]
    assert offered == [["run_code", "write_file", "finish"], ["run_code", "read_file", "write_file", "finish"]]
    assert {request["temperature"] for request in server.requests} == {0}


async def test_thoughts_that_were_cut_off_get_more_room_and_are_shown() -> None:
    thinking = {"choices": [{"delta": {"reasoning_content": "Well, let me see. "}, "finish_reason": "length"}]}
    cut_off = Answer(f"data: {json.dumps(thinking)}\n\ndata: [DONE]\n\n".encode())
    plays: list[Answer] = [cut_off, stream({"reasoning_content": "Yes.", "content": '{"action": "finish"}'})]
    plays += [stream({"content": "Twelve."}), stream({"content": '{"action": "read_file", "path": "a"}'})]
    messages = conversation()
    with serve(lambda body: plays.pop(0)).running() as server:
        model = ActionModel(Endpoint(server.url), name="m", endpoint_name="e", context_length=8192)
        parts, reply = await ask(server, messages, model)
        await ask(server, messages, model)
    assert (reply.text, reply.thought) == ("Twelve.", "Well, let me see. Yes.")
    assert parts == [ThoughtPart(text="Well, let me see. "), ThoughtPart(text="Yes."), TextPart(text="Twelve.")]
    assert [request["max_tokens"] for request in server.requests] == [700, 2748, 4096, 2748]


async def test_a_text_that_did_not_come_is_asked_for_again_with_some_chance() -> None:
    messages = conversation()
    scripted = Scripted(['{"action": "finish"}'] * 3, ["", "Twelve.", "Thirteen."])
    with serve(scripted).running() as server:
        model = ActionModel(Endpoint(server.url), name="m", endpoint_name="e")
        with pytest.raises(EndpointFailed) as caught:
            await ask(server, messages, model)
        assert caught.value.retryable is True
        assert (await ask(server, messages, model))[1].text == "Twelve."
        assert (await ask(server, messages, model))[1].text == "Thirteen."
    texts = [request["temperature"] for request in server.requests if "response_format" not in request]
    assert texts == [0, 0.7, 0]


@pytest.mark.parametrize("number", ["Infinity", "NaN", "1e999"])
async def test_a_number_that_is_none_in_json_is_no_action(number: str) -> None:
    bad = f'{{"action": "read_file", "path": "a", "start_line": {number}}}'
    with serve(Scripted([bad, '{"action": "read_file", "path": "a"}'])).running() as server:
        _, reply = await ask(server, conversation())
    assert only(reply).arguments == {"path": "a"}


async def test_a_server_that_still_loads_is_worth_another_try() -> None:
    loading = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
    with serve(as_json(loading, 503)).running() as server, pytest.raises(ModelError) as caught:
        await ask(server, conversation())
    assert caught.value.retryable is True


async def test_a_call_without_a_result_and_a_plain_answer_are_shown_in_the_same_form() -> None:
    messages = conversation()
    function = {"name": "read_file", "arguments": '{"path": "a"}'}
    messages.append(
        {"role": "assistant", "content": None, "tool_calls": [{"id": "w", "type": "function", "function": function}]}
    )
    messages.append({"role": "assistant", "content": "All done."})
    messages.append({"role": "user", "content": "And now?"})
    with serve(Scripted(['{"action": "read_file", "path": "b"}'])).running() as server:
        await ask(server, messages)
    shown = [message["content"] for message in server.requests[0]["messages"][-6:]]
    assert shown == [
        '{"action": "read_file", "path": "a"}',
        "Result of read_file:\n(this call was not carried out)",
        '{"action": "finish"}',
        f"{REQUEST}Write the answer for the user now. Say what the results show.",
        "All done.",
        "And now?",
    ]


def test_one_schema_a_tool_without_its_text_and_only_common_keywords() -> None:
    schema = schema_for((READ, WRITE))
    assert schema == {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "action": {"const": "read_file"},
                    "path": {"type": "string", "maxLength": 800},
                    "start_line": {"type": "integer", "minimum": 1},
                },
                "required": ["action", "path"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"action": {"const": "write_file"}, "path": {"type": "string", "maxLength": 800}},
                "required": ["action", "path"],
                "additionalProperties": False,
            },
        ]
    }
    flat = schema_for((READ, WRITE), flat=True)
    assert flat["properties"]["action"] == {"type": "string", "enum": ["read_file", "write_file"]}
    assert flat["required"] == ["action"]


@pytest.mark.parametrize(
    ("message", "request_"),
    [
        ("How many rows?\n\n(Mode: auto. Time: 2026-01-01 10:00 UTC.)", "How many rows?"),
        ("How  many\nrows?\n\n[mode: plan]", "How many rows?"),
        ("(Your last reply was empty. Call a tool, or give your answer.)", ""),
        ("x" * 400, "x" * 300 + " …"),
    ],
)
def test_the_request_is_one_bounded_line_without_our_notes(message: str, request_: str) -> None:
    assert request_of(message) == request_


TRACE = """\
error [1]: FileNotFoundError: [Errno 2] No such file or directory: 'x.csv'
---------------------------------------------------------------------------
FileNotFoundError                         Traceback (most recent call last)
Cell In[1], line 2
      1 import pandas as pd
----> 2 pd.read_csv('x.csv')

File /opt/venv/lib/python3.11/site-packages/pandas/io/parsers/readers.py:1866, in read_csv(path)
   1865 kwds.update(kwds_defaults)
-> 1866 return _read(path, kwds)

File /home/me/space/tools.py:3, in load(path)
----> 3     open(path)

FileNotFoundError: [Errno 2] No such file or directory: 'x.csv'"""


def test_a_traceback_is_shown_without_the_inside_of_libraries() -> None:
    shown = shown_result("run_code", TRACE, limit=16_000)
    assert (
        shown
        == TRACE.replace(TRACE[TRACE.index("File /opt") : TRACE.index("File /home")], "") + "\n[… inside of libraries]"
    )
    assert shown_result("run_shell", TRACE, limit=16_000) == TRACE


def test_code_that_shows_nothing_is_answered_with_what_to_do() -> None:
    assert shown_result("run_code", "ok [1]\n(no output)", limit=100) == (
        "ok [1]\n(nothing was printed; print what you want to see)"
    )
    assert shown_result("run_shell", "exit code 0\n(no output)", limit=100) == "exit code 0\n(no output)"


async def test_a_long_result_that_is_known_is_not_shown_again() -> None:
    messages = conversation()
    for wire_id in ("w1", "w2"):
        followed(messages, "read_file", {"path": "a", "start_line": len(wire_id)}, "a line of text\n" * 20, wire_id)
        followed(messages, "run_code", {"code": "1"}, "ok\n1", f"{wire_id}b")
    with serve(Scripted(['{"action": "read_file", "path": "b"}'])).running() as server:
        await ask(server, messages)
    told = [message["content"] for message in server.requests[0]["messages"] if message["role"] == "user"]
    results = [text for text in told if text.startswith("Result of")][-4:]
    assert results[0].count("a line of text") == 20
    assert results[1:] == [
        "Result of run_code:\nok\n1",
        f"Result of read_file:\n{SAME_RESULT}",
        "Result of run_code:\nok\n1",
    ]


async def test_a_result_takes_no_more_than_its_part_of_a_small_context() -> None:
    messages = conversation()
    followed(messages, "read_file", {"path": "a"}, "a line of text\n" * 1000, "w1")
    with serve(Scripted(['{"action": "read_file", "path": "b"}'])).running() as server:
        await ask(server, messages, ActionModel(Endpoint(server.url), name="m", endpoint_name="e", context_length=4096))
    result = server.requests[0]["messages"][-1]["content"]
    assert len(result) < 1700
    assert "lines, 13" in result


@pytest.mark.parametrize(
    ("text", "content", "closed"),
    [
        ("```python\na\nb\n```", "a\nb", True),
        ("x\n```\na\n```\ny\n```\nb\n```", "a", True),
        ("````md\n```\ninner\n```\n````\n", "```\ninner\n```", True),
        ("```python\na\n", "a", False),
        ("just text", "just text", False),
        ("```\n```", "", True),
        ("```python\n  indented\n\n  kept\n```\n", "  indented\n\n  kept", True),
    ],
)
def test_the_first_block_is_the_text(text: str, content: str, closed: bool) -> None:
    for step in (1, 3, len(text)):
        reader = BlockReader()
        shown = "".join(reader.feed(text[at : at + step]) for at in range(0, len(text), step))
        assert (reader.finish(), reader.closed) == (content, closed)
        assert content.startswith(shown.rstrip("\n"))


# ---- a real model ---------------------------------------------------------------------------------------------------------

needs_model = pytest.mark.skipif(not GGUF, reason="PERNIX_TEST_GGUF names no GGUF file")
LOAD_WITHIN = 300


@pytest.mark.model
@pytest.mark.timeout(900)
@needs_model
@pytest.mark.parametrize("constraint", ["response_format", "json_schema", "grammar"])
async def test_a_real_model_held_in_each_way_writes_code_that_runs_and_an_answer(constraint: Constraint) -> None:
    async with LocalServer(Path(GGUF), context_length=4096) as server:
        await server.wait_ready(within=LOAD_WITHIN)
        endpoint = Endpoint(server.base_url, key=server.key)
        model = ActionModel(endpoint, name=server.alias, endpoint_name="local", constraint=constraint)
        messages = conversation("Use Python to compute 17*23.")
        reply = await real_reply(model, messages)
        call = only(reply)
        assert call.name == "run_code"
        assert re.search(r"17\s*\*\s*23", (call.arguments or {})["code"])
        assert reply.usage.completion_tokens
        followed(messages, call.name, call.arguments or {}, "ok [1]\n391", call.wire_id)
        assert "391" in (await real_reply(model, messages)).text
        await model.aclose()


async def real_reply(model: ActionModel, messages: Conversation) -> Reply:
    async with model.stream(messages, TOOLS, session_id=SessionId("ses_1")) as parts:
        reply = [part async for part in parts][-1]
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.model
@pytest.mark.timeout(900)
@needs_model
async def test_a_real_server_does_not_read_what_it_was_told_before_again() -> None:
    async with LocalServer(Path(GGUF), context_length=4096) as server:
        await server.wait_ready(within=LOAD_WITHIN)
        model = ActionModel(Endpoint(server.base_url, key=server.key), name=server.alias, endpoint_name="local")
        messages = conversation("Read a.txt, then say what it tells.")
        await real_reply(model, messages)
        followed(messages, "read_file", {"path": "a.txt"}, "The sky is blue.", "w1")
        usage = (await real_reply(model, messages)).usage
        await model.aclose()
    assert usage.cached_tokens is not None
    assert usage.prompt_tokens is not None
    assert usage.prompt_tokens - usage.cached_tokens < 100
