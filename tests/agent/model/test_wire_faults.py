"""What goes over the wire when things go wrong: how often, how soon, and with nothing in it that must not be."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agent.model.fakeserver import Answer, FakeServer, Route, as_json, stream

from jupyter_pernix.agent.model.client import ChatModel, Endpoint
from jupyter_pernix.agent.model.conversation import Conversation
from jupyter_pernix.agent.model.parts import Part, Reply, ToolSpec
from jupyter_pernix.agent.model.retry import Wait, with_retries
from jupyter_pernix.config import Price
from jupyter_pernix.errors import EndpointFailed, EndpointRefused, ModelError, RateLimited, StreamBroken
from jupyter_pernix.ids import SessionId

KEY = "sk-verysecret"
CHAT = "POST /v1/chat/completions"
READ = ToolSpec(
    name="read_file",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def model_at(server: FakeServer, **more: Any) -> ChatModel:
    return ChatModel(Endpoint(server.url, key=KEY), name="m", endpoint_name="e", **more)


def conversation(*more: dict[str, Any]) -> Conversation:
    made = Conversation("You are a test.")
    for message in ({"role": "user", "content": "hello"}, *more):
        made.append(message)
    return made


async def asked(model: ChatModel, messages: Conversation) -> Reply:
    async with model.stream(messages, [READ], session_id=SessionId("ses_t")) as parts:
        found: list[Part] = [part async for part in parts]
    reply = found[-1]
    assert isinstance(reply, Reply)
    return reply


class Clock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def tried(attempt: Callable[[], Awaitable[Reply]], clock: Clock) -> tuple[Reply, list[Wait]]:
    waits: list[Wait] = []

    async def note(wait: Wait) -> None:
        waits.append(wait)

    return await with_retries(attempt, clock=clock, on_wait=note), waits


def with_header(name: str, value: str, status: int, body: Any) -> Route:
    """A refusal with a header, written by hand into the content type's line."""
    return lambda request: Answer(json.dumps(body).encode(), status, f"application/json\r\n{name}: {value}")


@pytest.mark.parametrize(
    "answer",
    [
        as_json({"error": {"message": f"Incorrect API key provided: {KEY}. Find yours at …"}}, 401),
        as_json({"error": {"message": f"header was Bearer {KEY}"}}, 400),
        as_json({"detail": [{"loc": ["header", "authorization"], "input": f"Bearer {KEY}", "msg": "bad"}]}, 422),
        lambda request: Answer(f"<html><title>403 {KEY}</title></html>".encode(), 403, "text/html"),
        lambda request: Answer(f"upstream said {KEY}".encode(), 502, "text/plain"),
        lambda request: Answer(f'data: {{"error": {{"message": "key {KEY}"}}}}\n\n'.encode(), 200, "text/event-stream"),
        lambda request: Answer(f"data: not JSON but {KEY}\n\n".encode(), 200, "text/event-stream"),
    ],
    ids=["401", "400", "422", "page", "text", "in the stream", "no JSON"],
)
async def test_a_key_that_the_server_repeats_is_in_no_error(answer: Route, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    with FakeServer({CHAT: answer}).running() as server:
        model = model_at(server)
        with pytest.raises(ModelError) as caught:
            await asked(model, conversation())
        await model.aclose()
    shown = f"{caught.value!r} {caught.value} {caught.value.hint} {caught.value.__cause__!r} {caplog.text}"
    assert KEY not in shown


async def test_a_rate_limit_is_met_by_few_requests_none_of_them_too_soon() -> None:
    limited = with_header("retry-after", "7", 429, {"error": {"message": "Rate limit reached"}})
    clock = Clock()
    with FakeServer({CHAT: limited}).running() as server:
        model = model_at(server)
        with pytest.raises(RateLimited):
            await tried(lambda: asked(model, conversation()), clock)
        await model.aclose()
    assert len(server.requests) == 4
    assert len(clock.slept) == 3
    assert all(7 <= pause <= 7.7 for pause in clock.slept)


async def test_a_used_up_quota_costs_one_request() -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    clock = Clock()
    with FakeServer({CHAT: with_header("retry-after", "1", 429, body)}).running() as server:
        model = model_at(server)
        with pytest.raises(EndpointRefused, match="quota"):
            await tried(lambda: asked(model, conversation()), clock)
        await model.aclose()
    assert (len(server.requests), clock.slept) == (1, [])


async def test_a_call_that_was_cut_off_is_in_no_later_request() -> None:
    half = {"index": 0, "id": "x", "function": {"name": "read_file", "arguments": '{"path": "a.t'}}
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [half]}, "finish_reason": None}]}
    answers = [Answer(f"data: {json.dumps(chunk)}\n\n".encode(), 200, "text/event-stream"), stream({"content": "done"})]
    clock = Clock()
    with FakeServer({CHAT: lambda request: answers.pop(0)}).running() as server:
        model = model_at(server)
        reply, waits = await tried(lambda: asked(model, conversation()), clock)
        await model.aclose()
    assert (reply.text, reply.calls) == ("done", ())
    assert [type(wait.error) for wait in waits] == [StreamBroken]
    assert server.requests[0] == server.requests[1]


async def test_calls_with_one_id_are_told_apart() -> None:
    calls = [
        {"index": at, "id": "call_0", "function": {"name": "read_file", "arguments": json.dumps({"path": path})}}
        for at, path in enumerate("ab")
    ]
    with FakeServer({CHAT: lambda request: stream({"tool_calls": calls})}).running() as server:
        model = model_at(server)
        reply = await asked(model, conversation())
        await model.aclose()
    assert [call.arguments for call in reply.calls] == [{"path": "a"}, {"path": "b"}]
    assert len({call.wire_id for call in reply.calls}) == 2


KNOWN = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "tool_call_id", "content"},
}


def strict(body: dict[str, Any]) -> Answer:
    """Takes only what the documented form of a message has."""
    pending: list[str] = []
    for message in body["messages"]:
        unknown = set(message) - KNOWN[message["role"]]
        for call in message.get("tool_calls", []):
            unknown |= set(call) - {"id", "type", "function"} | set(call["function"]) - {"name", "arguments"}
            if not isinstance(call["function"]["arguments"], str) or call["type"] != "function":
                unknown.add("arguments")
            json.loads(call["function"]["arguments"])
            pending.append(call["id"])
        if message["role"] == "tool":
            pending.remove(message["tool_call_id"])
        if unknown:
            return as_json({"error": {"message": f"Extra inputs are not permitted: {sorted(unknown)}"}}, 422)(body)
    if pending:
        return as_json({"error": {"message": "tool_call_ids did not have response messages"}}, 400)(body)
    return stream({"content": "taken"})


async def test_what_one_server_said_in_its_own_way_is_taken_by_a_strict_one() -> None:
    said = {
        "reasoning_content": "hm",
        "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "s"}],
        "tool_calls": [
            {"index": 0, "id": None, "function": {"name": "functions.read_file:0", "arguments": {"path": "a"}}},
            {"index": 1, "id": "", "function": {"name": "read_file", "arguments": "```json\n{'path': 'b'}\n```"}},
        ],
    }
    with FakeServer({CHAT: lambda request: stream(said)}).running() as server:
        first = model_at(server)
        reply = await asked(first, conversation())
        await first.aclose()
    calls = [
        {"id": call.wire_id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}
        for call in reply.calls
    ]
    results = [{"role": "tool", "tool_call_id": call.wire_id, "content": "ok"} for call in reply.calls]
    messages = conversation({"role": "assistant", "content": None, "tool_calls": calls}, *results)
    with FakeServer({CHAT: strict}).running() as server:
        second = model_at(server)
        taken = await asked(second, messages)
        await second.aclose()
    assert (reply.thought, [call.arguments for call in reply.calls]) == ("hm", [{"path": "a"}, {"path": "b"}])
    assert taken.text == "taken"


async def test_a_history_that_a_server_refuses_is_mended_once() -> None:
    calls = [{"id": "x", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}]
    messages = conversation({"role": "assistant", "content": None, "tool_calls": calls})
    clock = Clock()
    with FakeServer({CHAT: strict}).running() as server:
        model = model_at(server)
        reply, waits = await tried(lambda: asked(model, messages), clock)
        await model.aclose()
    assert (reply.text, len(waits), clock.slept) == ("taken", 1, [])


async def test_options_go_with_each_request_and_a_refused_one_is_left_out() -> None:
    def picky(body: dict[str, Any]) -> Answer:
        if "top_k" in body:
            fault = {"message": "Unrecognized request argument supplied: top_k", "param": "top_k"}
            return as_json({"error": fault}, 400)(body)
        return stream({"content": "taken"})

    with FakeServer({CHAT: picky}).running() as server:
        model = model_at(server, options={"top_k": 40, "temperature": 0.2}, price=Price(prompt=1, completion=2))
        reply, _ = await tried(lambda: asked(model, conversation()), Clock())
        await model.aclose()
    assert reply.text == "taken"
    assert [body.get("top_k") for body in server.requests] == [40, None]
    assert [body["temperature"] for body in server.requests] == [0.2, 0.2]


async def test_parameters_that_are_refused_one_after_another_are_all_left_out() -> None:
    def picky(body: dict[str, Any]) -> Answer:
        for name in ("temperature", "top_p", "stream_options"):
            if name in body:
                fault = {"message": f"Unsupported parameter: '{name}'", "param": name, "code": "unsupported_parameter"}
                return as_json({"error": fault}, 400)(body)
        return stream({"content": "taken"})

    clock = Clock()
    with FakeServer({CHAT: picky}).running() as server:
        model = model_at(server, options={"temperature": 1, "top_p": 1})
        reply, _ = await tried(lambda: asked(model, conversation()), clock)
        await model.aclose()
    assert (reply.text, len(server.requests), clock.slept) == ("taken", 4, [])


async def test_max_tokens_becomes_what_newer_models_call_it() -> None:
    def newer(body: dict[str, Any]) -> Answer:
        if "max_tokens" in body:
            said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            fault = {"message": said, "param": "max_tokens", "code": "unsupported_parameter"}
            return as_json({"error": fault}, 400)(body)
        return stream({"content": "taken"})

    with FakeServer({CHAT: newer}).running() as server:
        model = model_at(server, options={"max_tokens": 500})
        await tried(lambda: asked(model, conversation()), Clock())
        await model.aclose()
    assert server.requests[1].get("max_completion_tokens") == 500


async def test_a_refused_parameter_that_was_not_sent_is_not_asked_for_twice() -> None:
    fault = {"message": "Unsupported parameter: 'flavour'", "param": "flavour", "code": "unsupported_parameter"}
    with FakeServer({CHAT: as_json({"error": fault}, 400)}).running() as server:
        model = model_at(server)
        with pytest.raises(EndpointFailed):
            await tried(lambda: asked(model, conversation()), Clock())
        await model.aclose()
    assert len(server.requests) == 1
