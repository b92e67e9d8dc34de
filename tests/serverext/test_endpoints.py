"""Endpoints from every source, over a scripted model server; keys stay where they belong."""

import json
import stat
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest
from support.model_server import ModelServer

from jupyter_pernix.agent.model.conversation import Conversation
from jupyter_pernix.config import EndpointSettings, Price, Roles, RoleSettings, Settings
from jupyter_pernix.errors import Conflict, InvalidInput, ModelError, NotFound
from jupyter_pernix.ids import SessionId
from jupyter_pernix.records import EndpointCreate, Role
from jupyter_pernix.serverext.endpoints import Endpoints

from .conftest import Serve

KEY = "sk-very-secret"


def endpoints(folder: Path, settings: Settings | None = None, environ: dict[str, str] | None = None) -> Endpoints:
    return Endpoints(settings or Settings(), folder=folder, environ=environ or {})


def dead(**more: Any) -> EndpointSettings:
    return EndpointSettings(base_url="http://127.0.0.1:9/v1", **more)


async def test_there_is_always_the_tour_and_it_is_never_the_default(tmp_path: Path) -> None:
    found = endpoints(tmp_path)
    assert [(one.name, one.kind, one.status) for one in found.all()] == [("tour", "tour", "ready")]
    assert found.default == ""
    with pytest.raises(ModelError, match="no model is set up yet"):
        async with found.model(""):
            pass
    async with found.model("tour") as model:
        assert model.endpoint == "tour"


async def test_sources_are_told_apart_and_no_key_is_shown(tmp_path: Path) -> None:
    settings = Settings(endpoints={"mine": dead(api_key=KEY), "openai": dead(api_key_env="OPENAI_API_KEY")})
    found = endpoints(tmp_path, settings, {"OPENAI_API_KEY": KEY})
    assert [(one.name, one.source, one.has_key) for one in found.all()] == [
        ("mine", "settings", True),
        ("openai", "environment", True),
        ("tour", "tour", False),
    ]
    assert KEY not in repr(found.all())


async def test_an_endpoint_says_which_roles_it_has(tmp_path: Path) -> None:
    roles = Roles(background=RoleSettings(endpoint="small"), backup=RoleSettings(endpoint="small"))
    found = endpoints(tmp_path, Settings(endpoint="big", endpoints={"big": dead(), "small": dead()}, roles=roles))
    assert {one.name: one.roles for one in found.all()} == {"big": [], "small": ["background", "backup"], "tour": []}
    roles = Roles(background=RoleSettings(model="tiny"))
    found = endpoints(tmp_path, Settings(endpoint="big", endpoints={"big": dead(), "small": dead()}, roles=roles))
    assert {one.name: one.roles for one in found.all()} == {"big": ["background"], "small": [], "tour": []}


async def test_a_saved_endpoint_is_probed_kept_privately_and_there_again(
    tmp_path: Path, modelserver: ModelServer
) -> None:
    found = endpoints(tmp_path)
    info = await found.create(EndpointCreate(name="lab", base_url=modelserver.url, api_key=KEY))
    assert (info.source, info.has_key, info.models != [], info.status) == ("saved", True, True, info.status)
    assert info.status in ("ready", "limited")
    file = tmp_path / "endpoints.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY in file.read_text()
    again = endpoints(tmp_path)
    assert (again.info("lab").source, again.info("lab").status) == ("saved", "unknown")
    async with again.model("lab") as model:
        assert (model.endpoint, model.protocol) == ("lab", info.protocol)


async def test_an_endpoint_that_does_not_answer_is_named_with_what_to_do(tmp_path: Path) -> None:
    found = endpoints(tmp_path, Settings(endpoints={"dead": dead()}))
    with pytest.raises(ModelError, match="'dead' cannot be used") as caught:
        async with found.model("dead"):
            pass
    assert caught.value.hint
    with pytest.raises(ModelError, match="no endpoint answers"):
        async with found.model(""):
            pass


async def test_the_first_that_answers_is_used_when_none_is_chosen(tmp_path: Path, modelserver: ModelServer) -> None:
    good = EndpointSettings(base_url=modelserver.url)
    found = endpoints(tmp_path, Settings(endpoints={"dead": dead(), "good": good}))
    async with found.model("") as model:
        assert model.endpoint == "good"
    assert [one.name for one in found.all() if one.default] == ["good"]


async def test_each_role_has_its_own_endpoint_model_and_options(tmp_path: Path, modelserver: ModelServer) -> None:
    at: dict[str, Any] = {"base_url": modelserver.url, "protocol": "tools"}
    settings = Settings(
        endpoint="big",
        endpoints={
            "big": EndpointSettings(model="big-1", price=Price(prompt=2, completion=8), options={"seed": 1}, **at),
            "small": EndpointSettings(model="small-1", **at),
        },
        roles=Roles(
            primary=RoleSettings(options={"temperature": 0.5}),
            background=RoleSettings(endpoint="small"),
            backup=RoleSettings(endpoint="big", model="big-2", options={"seed": 2}),
        ),
    )
    found = endpoints(tmp_path, settings)
    sent: dict[str, Any] = {}
    async with found.models("") as models:
        for role in get_args(Role):
            model = await models.get(role)
            assert model is not None
            async with model.stream(Conversation(role), (), session_id=SessionId("ses_t")) as parts:
                assert [part async for part in parts]
            sent[role] = (model.endpoint, model.name, model.price and model.price.prompt)
    assert sent == {
        "primary": ("big", "big-1", 2.0),
        "background": ("small", "small-1", None),
        "backup": ("big", "big-2", None),
    }


async def test_a_session_s_own_endpoint_goes_before_the_role_and_background_is_never_it(
    tmp_path: Path, modelserver: ModelServer
) -> None:
    at: dict[str, Any] = {"base_url": modelserver.url, "protocol": "tools"}
    settings = Settings(
        endpoints={"a": EndpointSettings(model="a-1", **at), "b": EndpointSettings(model="b-1", **at)},
        roles=Roles(primary=RoleSettings(endpoint="a", model="a-2")),
    )
    found = endpoints(tmp_path, settings)
    async with found.models("b") as models:
        primary = await models.get("primary")
        assert primary is not None
        assert (primary.endpoint, primary.name) == ("b", "b-1")
        assert await models.get("background") is None
        assert await models.get("backup") is None
    async with found.models("") as models:
        primary = await models.get("primary")
        assert primary is not None
        assert (primary.endpoint, primary.name) == ("a", "a-2")


async def test_an_endpoint_that_is_told_what_it_is_is_asked_for_its_context_only(
    tmp_path: Path, modelserver: ModelServer
) -> None:
    told = EndpointSettings(base_url=modelserver.url, model="scripted-1", protocol="tools")
    found = endpoints(tmp_path, Settings(endpoints={"told": told}))
    async with found.model("told") as model:
        assert (model.context_length, model.protocol) == (131072, "tools")
    assert modelserver.ctl("stats")["conversations"] == {}
    assert (found.info("told").context_length, found.info("told").status) == (131072, "unknown")


async def test_a_limit_that_was_learnt_holds_for_the_next_turn(tmp_path: Path, modelserver: ModelServer) -> None:
    told = EndpointSettings(base_url=modelserver.url, model="scripted-1", protocol="tools", context_length=100_000)
    found = endpoints(tmp_path, Settings(endpoints={"told": told}))
    async with found.model("told") as model:
        assert model.context_length == 100_000
        model.learn_limit(8192)
        assert model.context_length == 8192
    async with found.model("told") as model:
        assert model.context_length == 8192


async def test_an_endpoint_that_refused_pictures_is_shown_none_in_the_next_turn(
    tmp_path: Path, modelserver: ModelServer
) -> None:
    told = EndpointSettings(base_url=modelserver.url, model="scripted-1", protocol="tools", vision=True)
    found = endpoints(tmp_path, Settings(endpoints={"told": told}))
    async with found.model("told") as model:
        assert (model.sees, found.info("told").vision) == (True, True)
        model.sees = False  # pyright: ignore[reportAttributeAccessIssue] - as a refusal does
    async with found.model("told") as model:
        assert (model.sees, found.info("told").vision) == (False, False)


async def test_two_turns_that_need_an_unknown_endpoint_probe_it_once(tmp_path: Path, modelserver: ModelServer) -> None:
    found = endpoints(tmp_path, Settings(endpoints={"new": EndpointSettings(base_url=modelserver.url)}))
    infos: list[int] = []

    async def use() -> None:
        async with found.model("new"):
            infos.append(id(found._entry("new").info))

    async with anyio.create_task_group() as group:
        group.start_soon(use)
        group.start_soon(use)
    assert len(set(infos)) == 1


async def test_a_tour_is_on_its_own(tmp_path: Path) -> None:
    settings = Settings(endpoints={"dead": dead()}, roles=Roles(background=RoleSettings(endpoint="dead")))
    async with endpoints(tmp_path, settings).models("tour") as models:
        primary = await models.get("primary")
        assert primary is not None
        assert primary.endpoint == "tour"
        assert await models.get("background") is None


async def test_a_role_whose_endpoint_is_not_there_says_which(tmp_path: Path) -> None:
    settings = Settings(endpoints={"dead": dead()}, roles=Roles(background=RoleSettings(endpoint="gone")))
    async with endpoints(tmp_path, settings).models("dead") as models:
        with pytest.raises(ModelError, match="role background names the endpoint 'gone'") as caught:
            await models.get("background")
    assert "roles" in caught.value.hint


async def test_an_option_that_would_break_the_protocol_is_named(tmp_path: Path, modelserver: ModelServer) -> None:
    bad = EndpointSettings(base_url=modelserver.url, model="m", protocol="tools", options={"stream": False})
    async with endpoints(tmp_path, Settings(endpoints={"bad": bad})).models("bad") as models:
        with pytest.raises(ModelError, match="'stream' cannot be set"):
            await models.get("primary")


async def test_a_chosen_default_outlives_the_server_and_goes_with_its_endpoint(
    tmp_path: Path, modelserver: ModelServer
) -> None:
    found = endpoints(tmp_path, Settings(endpoint="mine", endpoints={"mine": dead()}))
    assert found.default == "mine"
    await found.create(EndpointCreate(name="lab", base_url=modelserver.url))
    await found.set_default("lab")
    again = endpoints(tmp_path, Settings(endpoint="mine", endpoints={"mine": dead()}))
    assert again.default == "lab"
    await again.delete("lab")
    assert (again.default, again.has("lab")) == ("mine", False)
    assert endpoints(tmp_path).default == ""


async def test_what_the_settings_say_of_a_name_goes_before_what_was_saved_under_it(
    tmp_path: Path, modelserver: ModelServer
) -> None:
    await endpoints(tmp_path).create(EndpointCreate(name="lab", base_url=modelserver.url))
    found = endpoints(tmp_path, Settings(endpoints={"lab": dead()}))
    assert (found.info("lab").source, found.info("lab").base_url) == ("settings", "http://127.0.0.1:9/v1")
    assert endpoints(tmp_path).info("lab").base_url == modelserver.url


async def test_what_the_settings_give_is_not_changed_here(tmp_path: Path) -> None:
    found = endpoints(tmp_path, Settings(endpoints={"mine": dead()}))
    for name in ("mine", "tour", "local"):
        with pytest.raises(Conflict):
            await found.create(EndpointCreate(name=name, base_url="http://127.0.0.1:9/v1"))
    for name in ("mine", "tour"):
        with pytest.raises(Conflict):
            await found.delete(name)
    with pytest.raises(NotFound):
        await found.delete("none")
    with pytest.raises(NotFound):
        await found.set_default("none")


@pytest.mark.parametrize(
    ("name", "base_url", "place"),
    [
        ("", "http://h/v1", "$.name"),
        ("../x", "http://h/v1", "$.name"),
        ("x" * 65, "http://h/v1", "$.name"),
        ("x", "file:///etc/passwd", "$.base_url"),
        ("x", "http://", "$.base_url"),
        ("x", "http://h/v1?key=1", "$.base_url"),
        ("x", "http://h/ v1", "$.base_url"),
        ("x", "http://me:my-key@h/v1", "$.base_url"),
    ],
)
async def test_a_name_or_an_address_that_is_none_is_refused(
    tmp_path: Path, name: str, base_url: str, place: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await endpoints(tmp_path).create(EndpointCreate(name=name, base_url=base_url))
    assert caught.value.place == place
    assert not (tmp_path / "endpoints.json").exists()


@pytest.mark.parametrize("key", ["two words", "line\nend", "clé", "nul\0"])
async def test_a_key_that_is_none_is_refused_and_not_repeated(tmp_path: Path, key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await endpoints(tmp_path).create(EndpointCreate(name="x", base_url="http://h/v1", api_key=key))
    assert (caught.value.place, key in str(caught.value)) == ("$.api_key", False)


async def test_a_key_of_the_settings_that_is_none_is_a_failed_endpoint(tmp_path: Path) -> None:
    settings = EndpointSettings(base_url="http://127.0.0.1:9/v1", model="m", protocol="tools", api_key="clé")
    found = endpoints(tmp_path, Settings(endpoints={"mine": settings}))
    info = await found.probe("mine")
    assert (info.status, info.hint) == ("failed", "enter the key again")
    with pytest.raises(ModelError, match="characters that no key has"):
        async with found.model("mine"):
            pass


async def test_a_file_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "endpoints.json"
    file.write_text("{broken")
    assert [one.name for one in endpoints(tmp_path).all()] == ["tour"]
    assert file.read_text() == "{broken"


async def test_the_local_model_comes_and_goes(tmp_path: Path) -> None:
    found = endpoints(tmp_path)
    found.put_local("http://127.0.0.1:9/v1", "qwen", key=KEY, context_length=4096)
    info = found.info("local")
    assert (info.kind, info.source, info.model, info.context_length) == ("local", "local", "qwen", 4096)
    found.drop_local()
    found.drop_local()
    assert not found.has("local")


async def test_the_local_model_is_used_by_actions_as_soon_as_it_is_loaded_and_without_a_probe(tmp_path: Path) -> None:
    found = endpoints(tmp_path)
    found.put_local("http://127.0.0.1:9/v1", "qwen", key=KEY, context_length=4096)
    loaded, order = anyio.Event(), list[str]()

    async def use() -> None:
        async with found.model("local") as model:
            order.append(f"used by {model.protocol}")

    async def wait_ready() -> None:
        await loaded.wait()
        order.append("loaded")

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(found.load_local, wait_ready)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(use)
            await anyio.wait_all_tasks_blocked()
            loaded.set()
    assert order == ["loaded", "used by actions"]
    assert (found.info("local").status, found.default) == ("ready", "local")


async def test_a_local_model_that_does_not_load_is_gone(tmp_path: Path) -> None:
    found = endpoints(tmp_path)
    found.put_local("http://127.0.0.1:9/v1", "qwen", key=KEY, context_length=4096)

    async def wait_ready() -> None:
        raise ModelError("it died", hint="use a smaller model")

    with pytest.raises(ModelError, match="it died"):
        await found.load_local(wait_ready)
    assert not found.has("local")


@pytest.mark.server
async def test_a_turn_is_answered_by_an_endpoint_that_was_added_over_http(
    serve: Serve, modelserver: ModelServer
) -> None:
    async with serve() as server:
        await server.post("/endpoints", {"name": "lab", "base_url": modelserver.url}, status=201)
        listed = await server.get("/endpoints")
        assert [(one["name"], one["default"]) for one in listed["endpoints"]] == [("tour", False), ("lab", True)]
        modelserver.ctl("script", {"turns": [{"text": "There are 42 rows."}]})
        session = await server.new_session(mode="ask")
        await server.submit(session, "How many rows?")
        events = await server.wait_idle(session)
        assert [event["text"] for event in events if event["type"] == "message.completed"] == ["There are 42 rows."]
        assert (await server.http.delete("/endpoints/lab")).status_code == 204


@pytest.mark.server
async def test_the_doctor_says_what_each_endpoint_can_do_and_what_it_cannot(
    serve: Serve, modelserver: ModelServer
) -> None:
    async with serve() as server:
        await server.post("/endpoints", {"name": "lab", "base_url": modelserver.url}, status=201)
        found = {one["name"]: one for one in await server.get("/doctor")}
        detail = found["endpoint lab"]["detail"]
        assert "can only talk" in detail
        assert "context of 131072 tokens" in detail
        assert "no tools: " in detail
        assert "no json_schema: " in detail
        assert found["endpoint lab"]["status"] == "warning"


@pytest.mark.server
async def test_a_turn_without_a_model_says_what_to_do_and_the_session_is_idle(serve: Serve) -> None:
    async with serve() as server:
        session = await server.new_session()
        await server.submit(session, "How many rows?")
        events = await server.wait_idle(session)
        (problem,) = [event for event in events if event["type"] == "problem.noticed"]
        (end,) = [event for event in events if event["type"] == "turn.finished"]
        assert (end["code"], end["detail"]) == ("no_model", "no model is set up yet")
        assert "Add an endpoint" in problem["hint"]


@pytest.mark.server
async def test_a_file_that_is_no_model_is_refused_with_a_sentence(serve: Serve, root: Path) -> None:
    (root / "x.gguf").write_bytes(b"nothing")
    async with serve() as server:
        status = await server.get("/local")
        assert isinstance(status["installed"], bool)
        refused = await server.http.post("/local", json={"path": str(root / "x.gguf")})
        assert refused.status_code == 409
        assert refused.json()["message"]
        missing = await server.http.post("/local", json={"path": str(root / "none.gguf")})
        assert missing.status_code in (404, 409)
        assert (await server.http.delete("/local")).status_code == 204


async def test_the_file_is_json_that_a_person_can_read(tmp_path: Path, modelserver: ModelServer) -> None:
    await endpoints(tmp_path).create(EndpointCreate(name="lab", base_url=modelserver.url, model="m"))
    body = json.loads(await anyio.Path(tmp_path / "endpoints.json").read_text())
    assert body["endpoints"]["lab"]["model"] == "m"
