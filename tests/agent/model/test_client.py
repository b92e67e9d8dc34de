"""ChatModel against the scripted server, over real HTTP, with every fault it knows."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from support.model_server import ModelServer

from jupyter_pernix.agent.model import http
from jupyter_pernix.agent.model.client import ChatModel, Endpoint
from jupyter_pernix.agent.model.conversation import Conversation
from jupyter_pernix.agent.model.parts import CallPart, Part, Reply, TextPart, ThoughtPart, ToolSpec
from jupyter_pernix.config import Deadlines
from jupyter_pernix.errors import (
    ContextOverflow,
    EndpointFailed,
    EndpointRefused,
    EndpointUnreachable,
    ModelError,
    RateLimited,
    StreamBroken,
)
from jupyter_pernix.ids import SessionId

ADD = ToolSpec(
    name="add",
    description="Add two numbers.",
    parameters={"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
)
SESSION = SessionId("ses_test")


def model_at(server: ModelServer, **deadlines: float) -> ChatModel:
    endpoint = Endpoint(server.url, key="sk-verysecret", deadlines=Deadlines(**deadlines))
    return ChatModel(endpoint, name="scripted-1", endpoint_name="scripted")


def conversation(text: str = "hello") -> Conversation:
    made = Conversation("You are a test.")
    made.append({"role": "user", "content": text})
    return made


async def ask(model: ChatModel, messages: Conversation, tools: tuple[ToolSpec, ...] = ()) -> list[Part]:
    async with model.stream(messages, tools, session_id=SESSION) as parts:
        return [part async for part in parts]


def script(server: ModelServer, *turns: dict[str, Any]) -> None:
    server.ctl("script", {"turns": list(turns)})


def fault(server: ModelServer, kind: str, **values: Any) -> None:
    server.ctl("fault", {"kind": kind, **values})


async def test_text_thought_and_calls_stream_and_end_in_one_reply(modelserver: ModelServer) -> None:
    script(
        modelserver,
        {"text": "Let me add.", "reasoning": "hm", "tool_calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]},
    )
    model = model_at(modelserver)
    parts = await ask(model, conversation(), (ADD,))
    await model.aclose()
    reply = parts[-1]
    assert isinstance(reply, Reply)
    assert "".join(part.text for part in parts if isinstance(part, TextPart)) == reply.text == "Let me add."
    assert "".join(part.text for part in parts if isinstance(part, ThoughtPart)) == reply.thought == "hm"
    assert "".join(part.text for part in parts if isinstance(part, CallPart)) == reply.calls[0].raw
    assert [(call.name, call.arguments) for call in reply.calls] == [("add", {"a": 1, "b": 2})]
    assert reply.finish_reason == "tool_calls"
    assert reply.usage.prompt_tokens
    assert reply.usage.cached_tokens == 0
    assert reply.timings.first_token is not None
    assert reply.timings.total >= reply.timings.first_token


async def test_next_request_repeats_the_previous_one_byte_for_byte(modelserver: ModelServer) -> None:
    modelserver.ctl("program", {"program": "builtin:add_loop?n=3"})
    model, messages = model_at(modelserver), conversation()
    assert model.size(messages).prefix_bytes == 0
    for _ in range(3):
        reply = (await ask(model, messages, (ADD,)))[-1]
        assert isinstance(reply, Reply)
        (call,) = reply.calls
        sent = messages.size
        function = {"name": call.name, "arguments": call.raw}
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call.wire_id, "type": "function", "function": function}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": call.wire_id, "content": "3"})
        assert model.size(messages).prefix_bytes == sent
        assert model.size(messages).prompt_bytes == messages.size
    await model.aclose()
    stats = modelserver.stats(SESSION)
    assert stats["retained_min"] == 1.0
    assert stats["reply_kept_mean"] == 1.0


async def test_chat_protocol_sends_no_tools(modelserver: ModelServer) -> None:
    model = ChatModel(Endpoint(modelserver.url), name="m", endpoint_name="e", protocol="chat")
    await ask(model, conversation(), (ADD,))
    await model.aclose()
    assert modelserver.ctl("requests")[-1]["n_tools"] == 0


@pytest.mark.parametrize(
    ("kind", "values", "error", "retryable"),
    [
        ("status", {"status": 500}, EndpointFailed, True),
        ("status", {"status": 503}, EndpointFailed, True),
        ("status", {"status": 429, "retry_after": 7}, RateLimited, True),
        ("status", {"status": 401}, EndpointRefused, False),
        ("status", {"status": 403}, EndpointRefused, False),
        ("html502", {}, EndpointFailed, True),
        ("ctx_overflow", {}, ContextOverflow, False),
        ("drop", {"after_chunks": 2}, StreamBroken, True),
        ("no_done", {}, StreamBroken, True),
        ("malformed", {}, StreamBroken, True),
        ("malformed_end", {}, StreamBroken, True),
        ("null_content", {}, EndpointFailed, True),
    ],
)
async def test_fault_becomes_the_right_error(
    modelserver: ModelServer, kind: str, values: dict[str, Any], error: type[ModelError], retryable: bool
) -> None:
    script(modelserver, {"text": "some answer of several chunks"})
    fault(modelserver, kind, **values)
    model = model_at(modelserver)
    with pytest.raises(error) as caught:
        await ask(model, conversation(), (ADD,))
    assert caught.value.retryable is retryable
    assert "sk-verysecret" not in str(caught.value) + repr(caught.value) + caught.value.hint
    # The next request is not harmed by the broken one.
    assert isinstance((await ask(model, conversation(), (ADD,)))[-1], Reply)
    await model.aclose()


async def test_server_says_how_long_to_wait(modelserver: ModelServer) -> None:
    fault(modelserver, "status", status=429, retry_after=7)
    model = model_at(modelserver)
    with pytest.raises(RateLimited) as caught:
        await ask(model, conversation())
    await model.aclose()
    assert caught.value.retry_after == 7


async def test_overflow_names_the_limit(modelserver: ModelServer) -> None:
    fault(modelserver, "ctx_overflow")
    model = model_at(modelserver)
    with pytest.raises(ContextOverflow) as caught:
        await ask(model, conversation())
    await model.aclose()
    assert caught.value.limit == 131072


async def test_late_first_token_is_unreachable(modelserver: ModelServer) -> None:
    fault(modelserver, "slow_first", seconds=30)
    model = model_at(modelserver, first_token=0.2)
    with pytest.raises(EndpointUnreachable), anyio.fail_after(5):
        await ask(model, conversation())
    await model.aclose()


async def test_stall_in_the_middle_is_a_broken_stream(modelserver: ModelServer) -> None:
    script(modelserver, {"text": "some answer of several chunks"})
    fault(modelserver, "stall", after_chunks=3, seconds=30)
    model = model_at(modelserver, between_tokens=0.2)
    with pytest.raises(StreamBroken), anyio.fail_after(5):
        await ask(model, conversation())
    await model.aclose()


async def test_characters_cut_by_the_network_come_out_whole(modelserver: ModelServer) -> None:
    script(modelserver, {"text": "naïve 你好 🌍 done"})
    fault(modelserver, "split_utf8")
    model = model_at(modelserver)
    reply = (await ask(model, conversation()))[-1]
    await model.aclose()
    assert isinstance(reply, Reply)
    assert reply.text == "naïve 你好 🌍 done"


@pytest.mark.parametrize("kind", ["bad_tool_json", "unknown_tool", "dup_tool_id"])
async def test_odd_calls_are_handed_over_and_told_apart(modelserver: ModelServer, kind: str) -> None:
    script(modelserver, {"tool_calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]})
    fault(modelserver, kind)
    model = model_at(modelserver)
    reply = (await ask(model, conversation(), (ADD,)))[-1]
    await model.aclose()
    assert isinstance(reply, Reply)
    (call,) = reply.calls
    if kind == "bad_tool_json":
        assert call.arguments is None
        assert "not valid JSON" in call.fault
    elif kind == "unknown_tool":
        assert call.name == "no_such_tool_xyz"
    else:
        assert call.arguments == {"a": 1, "b": 2}


async def test_leaving_early_stops_the_generation(modelserver: ModelServer) -> None:
    script(modelserver, {"text": "word " * 500, "tps": 20})
    model = model_at(modelserver)
    async with model.stream(conversation(), (), session_id=SESSION) as parts:
        async for part in parts:
            assert isinstance(part, TextPart)
            break
    await model.aclose()
    with anyio.fail_after(5):
        while not (requests := modelserver.ctl("requests")):
            await anyio.lowlevel.checkpoint()
    assert requests[-1]["cancelled"] is True


async def test_cancelling_stops_the_generation(modelserver: ModelServer) -> None:
    script(modelserver, {"text": "word " * 500, "tps": 20})
    model = model_at(modelserver)
    with anyio.CancelScope() as scope:
        async with model.stream(conversation(), (), session_id=SESSION) as parts:
            async for _ in parts:
                scope.cancel()
    assert scope.cancelled_caught
    await model.aclose()
    with anyio.fail_after(5):
        while not (requests := modelserver.ctl("requests")):
            await anyio.lowlevel.checkpoint()
    assert requests[-1]["cancelled"] is True


async def test_huge_answer_is_read_in_linear_time(modelserver: ModelServer) -> None:
    fault(modelserver, "huge", bytes=5_000_000)
    model = model_at(modelserver)
    with anyio.fail_after(10):
        reply = (await ask(model, conversation(), (ADD,)))[-1]
    await model.aclose()
    assert isinstance(reply, Reply)
    assert len(reply.text) == 5_000_000


@pytest.mark.parametrize("local", [True, False])
async def test_a_finished_answer_leaves_its_connection_to_the_next_request(
    modelserver: ModelServer, monkeypatch: pytest.MonkeyPatch, local: bool
) -> None:
    monkeypatch.setattr(http, "is_loopback", lambda url: local)
    model = model_at(modelserver)
    for _ in range(3):
        await ask(model, conversation())
    transport = model._http.client._transport  # type: ignore[attr-defined]
    kept = len(transport._idle if local else transport._pool.connections)  # type: ignore[attr-defined]
    await model.aclose()
    assert kept == 1


async def test_nobody_listening_is_unreachable_and_says_what_to_do() -> None:
    model = ChatModel(Endpoint("http://127.0.0.1:1/v1", key="sk-verysecret"), name="m", endpoint_name="e")
    with pytest.raises(EndpointUnreachable) as caught:
        await ask(model, conversation())
    await model.aclose()
    assert caught.value.hint
    assert "127.0.0.1:1" in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "localhost:8000/v1", "ftp://host/v1", "http://", "http://[::1/v1", "http://host:99999999/v1"]
)
def test_a_base_url_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(EndpointFailed, match="not an http address"):
        Endpoint(url)


def test_the_key_never_shows() -> None:
    endpoint = Endpoint("http://user:pass@127.0.0.1:1/v1?k=v", key="sk-verysecret")
    shown = repr(endpoint) + repr(ChatModel(endpoint, name="m", endpoint_name="e"))
    assert "sk-verysecret" not in shown
    assert "pass" not in shown
