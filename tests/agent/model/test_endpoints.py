"""Probing and discovery, over real HTTP against servers that behave as the real ones do."""

import json
import threading
import time
from contextlib import suppress
from typing import Any

import pytest
from agent.model.fakeserver import Answer, FakeServer, Route, as_json, stream
from support.model_server import ModelServer

from jupyter_pernix.agent.briefing import RULES
from jupyter_pernix.agent.model import probing
from jupyter_pernix.agent.model.actions import ActionModel
from jupyter_pernix.agent.model.client import ChatModel
from jupyter_pernix.agent.model.constraint import constraint_fields
from jupyter_pernix.agent.model.conversation import Conversation
from jupyter_pernix.agent.model.discovery import USUAL, Usual, discover
from jupyter_pernix.agent.model.endpoints import connect, glance, probe
from jupyter_pernix.agent.model.rehearsal import ACTIONS
from jupyter_pernix.agent.tools.registry import TOOLS
from jupyter_pernix.config import EndpointSettings
from jupyter_pernix.errors import ModelError
from jupyter_pernix.ids import SessionId
from jupyter_pernix.records import Constraint, EndpointInfo, EndpointKind, ModelProtocol

KEY = "sk-verysecret"
MODELS: dict[str, Any] = {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "someone"}]}


def models(**entry: Any) -> Route:
    return as_json({"object": "list", "data": [{"id": "m", "object": "model", **entry}]})


def chat(
    *,
    native: bool = False,
    schema: bool | Constraint = False,
    refuse_tools: Route | None = None,
    refuse_schema: Route | None = None,
) -> Route:
    """A model that acts natively or writes calls into its text; ``schema``: the field by which it can be held to one."""
    way: Constraint = schema if isinstance(schema, str) else "response_format"
    fields = set(constraint_fields(ACTIONS, way))

    def answer(body: dict[str, Any]) -> Answer:
        if "tools" in body:
            if refuse_tools:
                return refuse_tools(body)
            if body["messages"][-1]["role"] == "tool":
                return stream({"content": "It has the columns day, hour and temperature."})
            arguments = {"path": "station-7/measurements.csv"}
            if native:
                function = {"name": "read_file", "arguments": json.dumps(arguments)}
                return stream({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": function}]})
            call = json.dumps({"name": "read_file", "arguments": arguments})
            return stream({"content": f"```json\n{call}\n```"})
        asked = set(body) - {"model", "messages", "stream", "stream_options", "temperature", "max_tokens"}
        if asked and refuse_schema:
            return refuse_schema(body)
        enforced = (
            schema
            and asked == fields
            and body.get("response_format") == constraint_fields(ACTIONS, way).get("response_format")
        )
        return stream({"content": '{"action": "finish"}' if enforced else "Hello there!"})

    return answer


async def probed(routes: dict[str, Route], **settings: Any) -> EndpointInfo:
    with FakeServer(routes).running() as server:
        settings = {"base_url": server.url, "api_key": KEY, **settings}
        info = await probe(EndpointSettings(**settings), name="e")
    assert KEY not in repr(info)
    return info


def abilities(info: EndpointInfo) -> dict[str, bool | None]:
    return {one.name: one.ok for one in info.abilities}


async def test_native_tool_calls_are_earned_by_making_one() -> None:
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": chat(native=True, schema=True)})
    assert (info.protocol, info.status, info.hint, info.has_key) == ("tools", "ready", "", True)
    assert (info.model, info.models) == ("m", ["m"])
    assert abilities(info) == {
        "reachable": True,
        "key": True,
        "model": True,
        "context": None,
        "streams": True,
        "tools": True,
        "json_schema": True,
    }


async def test_the_probe_speaks_as_the_agent_does(modelserver: ModelServer) -> None:
    with FakeServer({"GET /v1/models": models(), "POST /v1/chat/completions": chat(native=True)}).running() as server:
        await probe(EndpointSettings(base_url=server.url, options={"seed": 3}), name="e")
    first, second = (body for body in server.requests if "tools" in body)
    assert first["messages"][0] == {"role": "system", "content": RULES}
    assert [tool["function"]["name"] for tool in first["tools"]] == list(TOOLS)
    assert first["tools"] == second["tools"]
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert [message["role"] for message in second["messages"][2:]] == ["assistant", "tool"]
    assert {body["seed"] for body in server.requests} == {3}


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        ({"name": "read_file", "arguments": "{}"}, "without path"),
        ({"name": "read_file", "arguments": '{"path": "notes.txt"}'}, "another path"),
        ({"name": "read_file", "arguments": '{"path": NaN}'}, "could not be read"),
        ({"name": "open_file", "arguments": '{"path": "x"}'}, "was not offered"),
    ],
)
async def test_a_call_that_is_wrong_earns_nothing_and_says_what_was_wrong(function: dict[str, str], fault: str) -> None:
    call = stream({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": function}]})
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": lambda body: call})
    (tools,) = [one for one in info.abilities if one.name == "tools"]
    assert tools.ok is False
    assert fault in tools.detail


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("vllm", "--enable-auto-tool-choice --tool-call-parser"),
        ("sglang", "--tool-call-parser"),
        ("llama.cpp", "--jinja"),
        ("ollama", "capability tools"),
        ("lmstudio", "tool use"),
    ],
)
async def test_a_server_that_does_not_call_tools_is_told_how_it_would(kind: EndpointKind, advice: str) -> None:
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": chat(schema=True)}, kind=kind)
    (tools,) = [one for one in info.abilities if one.name == "tools"]
    assert advice in tools.detail
    assert (info.protocol, advice in info.hint) == ("actions", True)


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("openai", "response_format"),
        ("openai", "json_object"),
        ("openai", "json_value"),
        ("vllm", "structured_outputs"),
        ("vllm", "guided_json"),
        ("sglang", "ebnf"),
        ("sglang", "regex"),
        ("llama.cpp", "json_schema"),
        ("llama.cpp", "grammar"),
        ("ollama", "format"),
    ],
)
async def test_the_probe_finds_the_way_to_hold_an_answer_to_a_schema(kind: EndpointKind, way: Constraint) -> None:
    routes = {"GET /v1/models": models(), "POST /v1/chat/completions": chat(schema=way)}
    with FakeServer(routes).running() as server:
        settings = EndpointSettings(base_url=server.url, kind=kind)
        info = await probe(settings, name="e")
        assert (info.protocol, info.constraint, info.status) == ("actions", way, "ready")
        server.requests.clear()
        model = connect(settings, info)
        conversation = Conversation("You are a test.")
        conversation.append({"role": "user", "content": "hello"})
        specs = [tool.spec for tool in TOOLS.values()]
        async with model.stream(conversation, specs, session_id=SessionId("ses_t")) as parts:
            with suppress(ModelError):
                assert [part async for part in parts]
        await model.aclose()
    assert set(constraint_fields(ACTIONS, way)) <= set(server.requests[0])


async def test_where_tools_work_only_the_usual_way_is_tried() -> None:
    routes = {"GET /v1/models": models(), "POST /v1/chat/completions": chat(native=True, schema="grammar")}
    with FakeServer(routes).running() as server:
        info = await probe(EndpointSettings(base_url=server.url), name="e")
    assert (info.protocol, info.constraint) == ("tools", None)
    assert len(server.requests) == 3


async def test_the_model_of_this_machine_is_not_asked_to_read_all_tools_when_it_follows_a_schema() -> None:
    routes = {"GET /v1/models": models(), "POST /v1/chat/completions": chat(native=True, schema=True)}
    with FakeServer(routes).running() as server:
        info = await probe(EndpointSettings(base_url=server.url, kind="local"), name="e")
    assert (info.protocol, abilities(info)["tools"], abilities(info)["json_schema"]) == ("actions", None, True)
    assert not any("tools" in body for body in server.requests)


async def test_a_model_that_rambles_is_not_heard_to_the_end() -> None:
    def endless(body: dict[str, Any]) -> Answer:
        chunk = {"choices": [{"index": 0, "delta": {"content": "and then " * 20}, "finish_reason": None}]}
        return Answer(f"data: {json.dumps(chunk)}\n\n".encode() * 50, content_type="text/event-stream")

    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": endless})
    assert (info.protocol, abilities(info)["streams"]) == ("chat", True)
    assert "answered in words" in next(one.detail for one in info.abilities if one.name == "tools")


async def test_a_context_too_small_for_the_agent_is_said() -> None:
    routes = {
        "GET /v1/models": models(owned_by="library"),
        "GET /api/ps": as_json({"models": [{"name": "m", "context_length": 2048}]}),
        "POST /v1/chat/completions": chat(native=True),
    }
    info = await probed(routes)
    (context,) = [one for one in info.abilities if one.name == "context"]
    assert context.ok is False
    assert "OLLAMA_CONTEXT_LENGTH" in context.detail


async def test_an_option_that_would_break_the_protocol_fails_the_probe_by_name() -> None:
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": chat()}, options={"n": 2})
    assert info.status == "failed"
    assert "'n'" in info.hint


async def test_a_glance_learns_the_context_and_asks_the_model_nothing() -> None:
    with FakeServer({"GET /v1/models": models(max_model_len=8192)}).running() as server:
        info = await glance(EndpointSettings(base_url=server.url, model="m", protocol="tools"), name="e")
    assert (info.context_length, info.models, info.status, info.protocol) == (8192, ["m"], "unknown", None)
    assert server.requests == []


async def test_a_glance_at_a_server_that_lists_nothing_is_no_failure() -> None:
    settings = EndpointSettings(base_url="http://127.0.0.1:1/v1", model="m", protocol="tools")
    info = await glance(settings, name="e")
    assert (info.status, info.hint, info.context_length) == ("unknown", "", None)


async def test_a_glance_is_over_soon_and_says_that_nothing_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "GLANCE_WITHIN", 0.1)
    late = threading.Event()

    def slow(body: dict[str, Any]) -> Answer:
        late.wait(10)
        return models()(body)

    with FakeServer({"GET /v1/models": slow}).running() as server:
        info = await glance(EndpointSettings(base_url=server.url, model="m", protocol="tools"), name="e")
        late.set()
    assert abilities(info) == {"reachable": None}  # so that nobody looks a second time


async def test_a_call_in_a_code_fence_earns_nothing_and_actions_are_used() -> None:
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": chat(schema=True)})
    assert (info.protocol, info.status) == ("actions", "ready")
    assert (abilities(info)["tools"], abilities(info)["json_schema"]) == (False, True)
    assert "wrote the call into its text" in next(one.detail for one in info.abilities if one.name == "tools")


async def test_an_endpoint_that_can_only_talk_is_limited_and_says_what_to_do() -> None:
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": chat()})
    assert (info.protocol, info.status) == ("chat", "limited")
    assert "can only talk" in info.hint


async def test_vllm_without_its_flags_is_told_them() -> None:
    said = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    refusal = as_json({"object": "error", "message": said, "type": "BadRequestError", "code": 400}, 400)
    refused = as_json({"error": {"message": "response_format is not supported"}}, 400)
    info = await probed(
        {
            "GET /v1/models": models(owned_by="vllm", max_model_len=8192),
            "POST /v1/chat/completions": chat(refuse_tools=refusal, refuse_schema=refused),
        }
    )
    assert (info.kind, info.context_length, info.protocol) == ("vllm", 8192, "chat")
    assert "can only talk" in info.hint
    assert "start vLLM with --enable-auto-tool-choice --tool-call-parser" in info.hint


async def test_a_refused_key_is_named() -> None:
    info = await probed({"GET /v1/models": as_json({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401)})
    assert (info.status, info.protocol) == ("failed", None)
    assert abilities(info) == {"key": False}
    assert info.hint == "check the API key of this endpoint"


async def test_a_key_that_only_the_chat_refuses_is_named() -> None:
    refusal = as_json({"error": {"message": "no"}}, 403)
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": refusal})
    assert abilities(info)["key"] is False
    assert info.status == "failed"


async def test_a_missing_model_is_named_with_those_that_are_there() -> None:
    missing = as_json({"error": {"message": "model 'x' not found, try pulling it first"}}, 404)
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": missing}, model="x")
    assert abilities(info)["model"] is False
    assert info.hint == "the endpoint serves: m"
    assert info.status == "failed"


async def test_a_model_that_is_not_listed_may_answer_all_the_same() -> None:
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": chat(native=True)}, model="other")
    assert (info.protocol, info.model) == ("tools", "other")
    assert abilities(info)["model"] is True


async def test_an_endpoint_without_models_says_so() -> None:
    info = await probed({"GET /v1/models": as_json({"data": []})})
    assert (info.status, abilities(info)["model"]) == ("failed", False)
    assert "load a model" in info.hint


async def test_nobody_there_is_unreachable() -> None:
    info = await probe(EndpointSettings(base_url="http://127.0.0.1:1/v1"), name="e")
    assert (info.status, abilities(info)) == ("failed", {"reachable": False})
    assert "check that the server runs" in info.hint


async def test_an_address_that_is_none_is_told() -> None:
    info = await probe(EndpointSettings(base_url="127.0.0.1:8000"), name="e")
    assert (info.status, abilities(info)) == ("failed", {"reachable": False})
    assert "http://" in info.hint


async def test_a_forgotten_v1_is_noticed() -> None:
    page: Route = lambda request: Answer(b"<html><title>Welcome</title></html>", content_type="text/html")  # noqa: E731
    routes = {"GET /models": page, "GET /v1/models": models()}
    with FakeServer(routes).running() as server:
        info = await probe(EndpointSettings(base_url=server.root), name="e")
        assert info.hint == f"write the base URL as {server.root}/v1"
    assert info.status == "failed"


async def test_an_answer_that_takes_too_long_ends_the_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "ANSWER_WITHIN", 0.2)

    def slow(body: dict[str, Any]) -> Answer:
        time.sleep(1)
        return stream({"content": "late"})

    started = time.monotonic()
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": slow})
    assert info.status == "failed"
    assert time.monotonic() - started < 5


async def test_a_parameter_that_is_refused_is_left_out() -> None:
    good = chat(native=True)

    def picky(body: dict[str, Any]) -> Answer:
        for name in ("max_tokens", "temperature"):
            if name in body:
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                fault = {"message": said, "param": name, "code": "unsupported_parameter"}
                return as_json({"error": fault}, 400)(body)
        return good(body)

    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": picky})
    assert info.protocol == "tools"


async def test_a_set_protocol_is_kept_and_doubted() -> None:
    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": chat(schema=True)}, protocol="tools")
    assert info.protocol == "tools"
    assert "set it to auto" in info.hint


async def test_tools_whose_results_are_refused_are_not_earned() -> None:
    good = chat(native=True, schema=True)

    def forgetful(body: dict[str, Any]) -> Answer:
        if body["messages"][-1]["role"] == "tool":
            return as_json({"error": {"message": "template error"}}, 500)(body)
        return good(body)

    info = await probed({"GET /v1/models": models(), "POST /v1/chat/completions": forgetful})
    assert info.protocol == "actions"


@pytest.mark.parametrize(
    ("kind", "owner", "routes", "length"),
    [
        ("llama.cpp", "llamacpp", {"GET /props": as_json({"default_generation_settings": {"n_ctx": 4096}})}, 4096),
        ("sglang", "sglang", {"GET /get_server_info": as_json({"context_length": 16384})}, 16384),
        (
            "lmstudio",
            "organization_owner",
            {"GET /api/v0/models": models(max_context_length=32768, loaded_context_length=4096)},
            4096,
        ),
        (
            "ollama",
            "library",
            {
                "GET /api/ps": as_json({"models": []}),
                "POST /api/show": as_json({"model_info": {"qwen2.context_length": 32768}}),
            },
            32768,
        ),
        ("ollama", "library", {"GET /api/ps": as_json({"models": [{"name": "m", "context_length": 4096}]})}, 4096),
        ("openai", "someone", {}, None),
    ],
)
async def test_each_server_tells_its_context_length_in_its_own_place(
    kind: str, owner: str, routes: dict[str, Route], length: int | None
) -> None:
    info = await probed(
        {"GET /v1/models": models(owned_by=owner), "POST /v1/chat/completions": chat(native=True), **routes}
    )
    assert (info.kind, info.context_length) == (kind, length)


async def test_the_scripted_server_is_probed_by_its_own_words(modelserver: ModelServer) -> None:
    info = await probe(EndpointSettings(base_url=modelserver.url), name="scripted")
    assert (info.status, info.protocol, info.context_length) == ("limited", "chat", 131072)


# ---- connect --------------------------------------------------------------------------------------------------------------


async def test_the_model_fits_the_protocol() -> None:
    settings = EndpointSettings(base_url="http://127.0.0.1:1/v1", api_key=KEY)
    kinds: dict[ModelProtocol, type] = {"tools": ChatModel, "chat": ChatModel, "actions": ActionModel}
    for protocol, kind in kinds.items():
        info = EndpointInfo(
            name="e", kind="openai", base_url=settings.base_url, model="m", protocol=protocol, context_length=4096
        )
        model = connect(settings, info)
        assert type(model) is kind
        assert (model.endpoint, model.name, model.protocol, model.context_length) == ("e", "m", protocol, 4096)
        assert KEY not in repr(model)
        await model.aclose()


def test_an_endpoint_that_failed_gives_no_model() -> None:
    settings = EndpointSettings(base_url="http://127.0.0.1:1/v1")
    info = EndpointInfo(name="e", kind="openai", base_url=settings.base_url, model="", hint="start it")
    with pytest.raises(ModelError) as caught:
        connect(settings, info)
    assert caught.value.hint == "start it"


# ---- discovery ------------------------------------------------------------------------------------------------------------


def test_only_the_usual_ports_of_this_machine_are_asked() -> None:
    assert [(one.kind, one.port) for one in USUAL] == [
        ("ollama", 11434),
        ("vllm", 8000),
        ("sglang", 30000),
        ("llama.cpp", 8080),
        ("lmstudio", 1234),
    ]


async def test_what_answers_is_told_apart_from_what_does_not() -> None:
    page: Route = lambda request: Answer(b"<html>Jupyter</html>", content_type="text/html")  # noqa: E731
    sleepy: Route = lambda request: (time.sleep(1.5), Answer(b"{}"))[1]  # noqa: E731
    with (
        FakeServer({"GET /v1/models": models(owned_by="sglang")}).running() as sglang,
        FakeServer({"GET /v1/models": page}).running() as other,
        FakeServer({"GET /v1/models": as_json({}, 401)}).running() as locked,
        FakeServer({"GET /v1/models": sleepy}).running() as slow,
    ):
        ports = [sglang.port, other.port, locked.port, slow.port, 1]
        usual = tuple(Usual(kind="vllm", port=port, title="vLLM") for port in ports)
        started = time.monotonic()
        found = await discover(usual)
        took = time.monotonic() - started
    assert [(one.found, one.kind) for one in found] == [
        (True, "sglang"),
        (False, "vllm"),
        (True, "vllm"),
        (False, "vllm"),
        (False, "vllm"),
    ]
    assert found[0].detail == "serves m"
    assert "something else" in found[1].detail
    assert "key" in found[2].detail
    assert took < 3
