"""Which endpoints see pictures, found out by what their servers say of themselves."""

import json
from typing import Any

import pytest
from agent.model.fakeserver import Answer, FakeServer, Route, as_json
from agent.model.test_actions import Scripted, ask, conversation, only, serve
from agent.model.test_endpoints import MODELS, chat, models

from jupyter_pernix.agent.model.actions import ActionModel
from jupyter_pernix.agent.model.client import Endpoint
from jupyter_pernix.agent.model.conversation import PICTURE_BYTES, Conversation
from jupyter_pernix.agent.model.endpoints import connect, glance, probe
from jupyter_pernix.agent.model.sight import is_about_pictures, listed_sight
from jupyter_pernix.config import EndpointSettings
from jupyter_pernix.errors import EndpointFailed
from jupyter_pernix.records import EndpointKind, Picture

OTHER: Route = as_json(MODELS)


async def sees(routes: dict[str, Route], kind: EndpointKind = "openai", **more: Any) -> bool | None:
    with FakeServer({"GET /v1/models": OTHER, **routes}).running() as server:
        settings = EndpointSettings(base_url=server.url, model="m", kind=kind, protocol="tools", **more)
        return (await glance(settings, name="e")).vision


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("path", ["/model_info", "/get_model_info"])
async def test_sglang_tells_in_its_model_info(told: bool, path: str) -> None:
    assert await sees({f"GET {path}": as_json({"has_image_understanding": told})}, "sglang") is told


@pytest.mark.parametrize("told", [True, False])
async def test_llama_cpp_tells_in_its_props(told: bool) -> None:
    assert await sees({"GET /props": as_json({"modalities": {"vision": told, "audio": False}})}, "llama.cpp") is told


@pytest.mark.parametrize("told", [True, False])
async def test_ollama_tells_in_its_capabilities(told: bool) -> None:
    capabilities = ["completion", "tools", *(["vision"] if told else [])]
    assert await sees({"POST /api/show": as_json({"capabilities": capabilities})}, "ollama") is told


@pytest.mark.parametrize(("kind", "told"), [("vlm", True), ("llm", False), ("embeddings", None)])
async def test_lm_studio_tells_by_the_type_of_its_model(kind: str, told: bool | None) -> None:
    assert await sees({"GET /api/v0/models/m": as_json({"id": "m", "type": kind})}, "lmstudio") is told


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"architecture": {"input_modalities": ["text", "image"]}}, True),
        ({"architecture": {"input_modalities": ["text"]}}, False),
        ({"capabilities": {"vision": True}}, True),
        ({"capabilities": {"completion_chat": True}}, None),
        ({"capabilities": ["completion", "multimodal"]}, True),
        ({"capabilities": "vision", "architecture": "llama", "type": 3}, None),
        ({}, None),
    ],
)
async def test_lists_of_models_tell_in_their_ways(entry: dict[str, Any], told: bool | None) -> None:
    assert listed_sight(entry) is told
    assert await sees({"GET /v1/models": models(**entry)}) is told


@pytest.mark.parametrize("kind", ["openai", "vllm", "sglang", "ollama", "llama.cpp", "lmstudio"])
async def test_who_says_nothing_is_not_known_to_see(kind: EndpointKind) -> None:
    assert await sees({}, kind) is None


async def test_the_settings_hold_whatever_the_server_says() -> None:
    props = {"GET /props": as_json({"modalities": {"vision": True}})}
    assert await sees(props, "llama.cpp", vision=False) is False
    assert await sees({}, vision=True) is True


@pytest.mark.parametrize(("told", "shown"), [(True, True), (False, False), (None, False)])
async def test_a_probe_tells_and_the_model_that_is_made_of_it_sees(told: bool | None, shown: bool) -> None:
    routes = {
        "GET /v1/models": models(**({} if told is None else {"capabilities": {"vision": told}})),
        "POST /v1/chat/completions": chat(native=True),
    }
    with FakeServer(routes).running() as server:
        settings = EndpointSettings(base_url=server.url, model="m")
        info = await probe(settings, name="e")
        model = connect(settings, info)
        await model.aclose()
    assert (info.vision, model.sees) == (told, shown)


@pytest.mark.parametrize(
    ("message", "status", "about"),
    [
        ("this model does not support image input", 400, True),
        ("multimodal is not enabled", 500, True),
        ("No endpoints found that support image input", 404, True),
        ("the image is too beautiful", 503, False),
        ("overloaded", 500, False),
        ("temperature must be below 2", 400, False),
    ],
)
def test_a_refusal_is_about_pictures_by_its_words(message: str, status: int, about: bool) -> None:
    assert is_about_pictures(EndpointFailed(message, status=status)) is about


# ---- a model that is driven by actions --------------------------------------------------------------------------------------

PICTURE = Picture(mime="image/png", data="iVBORw0KGgo=" * 1_000)


def looked() -> Conversation:
    """A conversation in which code has shown a picture."""
    made = conversation()
    function = {"name": "run_code", "arguments": '{"code": "plot()"}'}
    made.append({"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]})
    made.append({"role": "tool", "tool_call_id": "1", "content": "ok [1]"}, [PICTURE])
    return made


async def test_a_model_that_acts_is_shown_the_picture_with_the_result() -> None:
    with serve(Scripted(['{"action": "read_file", "path": "a.txt"}'])).running() as server:
        model = ActionModel(Endpoint(server.url), name="m", endpoint_name="e", sees=True)
        await ask(server, looked(), model)
    last = server.requests[0]["messages"][-1]
    assert last["content"][0] == {"type": "text", "text": "Result of run_code:\nok [1]"}
    assert last["content"][1]["image_url"]["url"] == f"data:image/png;base64,{PICTURE.data}"


async def test_a_picture_counts_for_a_model_that_acts_as_a_flat_number() -> None:
    sizes: list[int] = []
    for sees in (True, False):
        with serve(Scripted(['{"action": "read_file", "path": "a.txt"}'])).running() as server:
            model, messages = ActionModel(Endpoint(server.url), name="m", endpoint_name="e", sees=sees), looked()
            await ask(server, messages, model)
            sizes.append(model.size(messages).prompt_bytes)
    assert sizes[0] - sizes[1] == PICTURE_BYTES


async def test_a_model_that_acts_goes_on_without_pictures_when_they_are_refused() -> None:
    scripted = Scripted(['{"action": "read_file", "path": "a.txt"}'])

    def answer(body: dict[str, Any]) -> Answer:
        refused = as_json({"error": {"message": "image input is not supported"}}, 500)
        return refused(body) if "image_url" in json.dumps(body["messages"]) else scripted(body)

    with serve(answer).running() as server:
        model, messages = ActionModel(Endpoint(server.url), name="m", endpoint_name="e", sees=True), looked()
        with pytest.raises(EndpointFailed, match="shown no pictures") as refused:
            await ask(server, messages, model)
        assert (refused.value.kind, refused.value.retryable, model.sees) == ("bad_pictures", True, False)
        _, reply = await ask(server, messages, model)
    assert only(reply).name == "read_file"
