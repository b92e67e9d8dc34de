"""Probing and discovery, over real HTTP against servers that behave as the real ones do."""

import json
import time
from typing import Any

import pytest
from agent.model.fakeserver import Answer, FakeServer, Route, as_json, stream
from support.model_server import ModelServer

from jupyter_pernix.agent.model import endpoints
from jupyter_pernix.agent.model.actions import ActionModel
from jupyter_pernix.agent.model.client import ChatModel
from jupyter_pernix.agent.model.discovery import USUAL, Usual, discover
from jupyter_pernix.agent.model.endpoints import connect, probe
from jupyter_pernix.config import EndpointSettings
from jupyter_pernix.errors import ModelError
from jupyter_pernix.records import EndpointInfo, ModelProtocol

KEY = "sk-verysecret"
MODELS: dict[str, Any] = {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "someone"}]}


def models(**entry: Any) -> Route:
    return as_json({"object": "list", "data": [{"id": "m", "object": "model", **entry}]})


def chat(
    *, native: bool = False, schema: bool = False, refuse_tools: Route | None = None, refuse_schema: Route | None = None
) -> Route:
    def answer(body: dict[str, Any]) -> Answer:
        if "tools" in body:
            if refuse_tools:
                return refuse_tools(body)
            if body["messages"][-1]["role"] == "tool":
                return stream({"content": "Noted."})
            arguments = {"number": 7}
            if native:
                function = {"name": "note_number", "arguments": json.dumps(arguments)}
                return stream({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": function}]})
            call = json.dumps({"name": "note_number", "arguments": arguments})
            return stream({"content": f"```json\n{call}\n```"})
        if "response_format" in body:
            if refuse_schema:
                return refuse_schema(body)
            return stream({"content": '{"action": "finish"}' if schema else "Hello there!"})
        return stream({"content": "Hello!"})

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
        "streams": True,
        "tools": True,
        "json_schema": True,
    }


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
    assert info.hint.startswith("start vLLM with --enable-auto-tool-choice --tool-call-parser")


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
    monkeypatch.setattr(endpoints, "ANSWER_WITHIN", 0.2)

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
