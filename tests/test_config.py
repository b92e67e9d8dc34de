"""The layers of the settings: what each gives, which wins, and where a value came from."""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jupyter_pernix.config import TREE, EndpointSettings, Settings, explain, load, read_file, resolve, secret_variables
from jupyter_pernix.errors import ConfigError
from jupyter_pernix.records import Budget
from jupyter_pernix.settings import schema
from jupyter_pernix.settings.given import key_path, variable
from jupyter_pernix.settings.project import allowed
from jupyter_pernix.settings.values import base_kind, is_optional

HOME = '[endpoints.home]\nbase_url = "http://127.0.0.1:1/v1"\n'


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_without_any_layer_the_defaults_hold(config_file: Path):
    assert load(config_file=config_file, environ={}) == Settings()


# ---- every layer over the one below, for every kind of key ----------------------------------------------------------------------

KINDS: dict[str, list[Any]] = {
    "endpoint": ["one", "two", "three", "four", "five"],
    "mode": ["auto", "edit", "plan", "ask", "edit"],
    "kernel_name": ["one", "two", "three", "four", "five"],
    "records_dir": ["one", "two/below", "three", "four", "five"],
    "discover": [False, True, False, True, False],
    "data_dir": ["/one", "/two", "/three", "/four", "/five"],
    "model_folders": [["/a"], ["/b", "/c"], ["/d"], [], ["/e"]],
    "budget.rounds": [50, 40, 41, 42, None],
    "budget.seconds": [50.5, 40.5, 41.0, None, 43.0],
    "session_budget.cost": [5.5, 4.5, 10.0, 11.0, 12.0],
    "roles.background.endpoint": ["one", "two", "three", "four", "five"],
    "roles.backup.options.temperature": [0.1, 0.2, 0.3, 0.4, 0.5],
    "scout": [True, False, True, False, True],
    "retry.attempts": [1, 2, 3, 4, 5],
    "compaction.threshold": [0.5, 0.6, 0.7, 0.8, 0.9],
    "sandbox.on": [False, True, False, True, False],
    "sandbox.memory_gib": [8.0, 4.0, 2.0, None, 1.0],
    "permissions.deny": [["a"], ["b", "c"], ["d"], [], ["e"]],
    "permissions.expires": [1.0, 2.0, 3.0, 4.0, 5.0],
    "audit": [False, True, False, True, False],
    "deadlines.shell": [50.0, 40.0, 41.0, 42.0, 43.0],
    "endpoints.home.model": ["one", "two", "three", "four", "five"],
    "endpoints.home.context_length": [1000, 2000, 3000, None, 5000],
    "endpoints.home.vision": [True, False, None, True, False],
    "endpoints.home.price.completion": [1.0, 2.0, 3.0, 4.0, 5.0],
    "endpoints.home.options.stop": [["a"], ["b"], ["c"], ["d"], ["e"]],
}
"""Key → what user file, project file, environment, command line and traits give."""
NAMES = ("one", "two", "three", "four", "five", "home")
LAYERS: tuple[str, ...] = ("user file", "project file", "environment", "command line", "traits")


def toml(key: str, value: Any) -> str:
    return f"{key} = {msgspec.json.encode('none' if value is None else value).decode()}\n"


def text(value: Any) -> str:
    if isinstance(value, list) and not value:
        return "[]"
    return "none" if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode()


def given(folder: Path, key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of ``load`` with which the named layers give ``key``."""
    base = 'endpoints.home.base_url = "http://127.0.0.1:1/v1"\n'
    if key.endswith("completion"):
        base += "endpoints.home.price.prompt = 0.0\n"
    user = toml(key, values["user file"]) if "user file" in values else ""
    (folder / "config.toml").write_text(base + user)
    (folder / ".pernix").mkdir(exist_ok=True)
    own = folder / ".pernix/config.toml"
    own.write_text(toml(key, values["project file"]) if "project file" in values else "")
    path = key_path(key)
    assert path is not None
    return {
        "config_file": folder / "config.toml",
        "project_file": own,
        "environ": {variable(path): text(values["environment"])} if "environment" in values else {},
        "assignments": [f"{key}={text(values['command line'])}"] if "command line" in values else [],
        "overrides": {key: values["traits"]} if "traits" in values else {},
        "endpoints": NAMES,
    }


@pytest.mark.parametrize("key", KINDS)
def test_each_layer_covers_those_below(tmp_path: Path, key: str):
    layers = [layer for layer in LAYERS if layer != "project file" or allowed(key)]
    everything = dict(zip(LAYERS, KINDS[key], strict=True))
    for count in range(1, len(layers) + 1):
        values = {layer: everything[layer] for layer in layers[:count]}
        (setting,) = explain(key=key, **given(tmp_path, key, values))
        assert (setting.value, setting.source) == (everything[layers[count - 1]], layers[count - 1])
        assert [each.source for each in setting.layers if each.source != "default"] == layers[:count]


@pytest.mark.parametrize("key", KINDS)
@pytest.mark.parametrize("layer", LAYERS)
def test_each_layer_alone_gives_every_kind_of_value(tmp_path: Path, key: str, layer: str):
    if layer == "project file" and not allowed(key):
        return  # what it may not give is in test_config_project.py
    value = dict(zip(LAYERS, KINDS[key], strict=True))[layer]
    (setting,) = explain(key=key, **given(tmp_path, key, {layer: value}))
    assert (setting.value, setting.source) == (value, layer)


def test_every_kind_of_value_is_tried():
    def kinds(paths: Iterable[tuple[str, ...]]) -> set[str]:
        return {
            repr((base_kind(node.kind), is_optional(node.kind)))
            for node in (schema.lookup(TREE, path) for path in paths)
        }

    assert kinds(node.path for node in schema.values(TREE)) - kinds(key_path(key) or () for key in KINDS) == {
        repr((schema.lookup(TREE, ("endpoints", "NAME", key)).kind, False)) for key in ("kind", "protocol")
    }, "words other than those of the mode"


def test_tables_are_merged_and_lists_are_replaced(config_file: Path):
    config_file.write_text('model_folders = ["/a"]\n[budget]\nrounds = 5\ntokens = 100\n[deadlines]\nshell = 2.5\n')
    settings = load(
        config_file=config_file, environ={}, overrides={"budget": {"rounds": 9}, "model_folders": ["/b", "/c"]}
    )
    assert (settings.budget.rounds, settings.budget.tokens, settings.budget.seconds) == (9, 100, 3600.0)
    assert settings.deadlines.shell == 2.5
    assert settings.model_folders == ["/b", "/c"]


def test_one_limit_of_the_session_leaves_the_others_off(config_file: Path):
    config_file.write_text("session_budget.tokens = 5\n")
    assert load(config_file=config_file, environ={}).session_budget == Budget(rounds=None, seconds=None, tokens=5)


# ---- explain ----------------------------------------------------------------------------------------------------------------


def nested(tree: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in tree.items():
        table, path = result, key_path(key)
        assert path is not None
        for name in path[:-1]:
            table = table.setdefault(name, {})
        table[path[-1]] = value
    return result


def all_layers(folder: Path) -> dict[str, Any]:
    (folder / "config.toml").write_text(
        'mode = "auto"\nrecords_dir = "runs"\nbudget.rounds = 9\nsession_budget.tokens = 5\n'
        '[endpoints."a.b"]\nbase_url = "http://a/v1"\nprice = { prompt = 1, completion = 2 }\n'
        'options = { temperature = 0.5, stop = ["x"], chat_template_kwargs = { enable_thinking = false } }\n'
        '[endpoints.plain]\nbase_url = "http://b/v1"\n[roles.backup]\nendpoint = "plain"\noptions = { top_p = 1 }\n'
    )
    (folder / "project.toml").write_text('mode = "edit"\nbudget.rounds = 20\nbudget.tokens = 100\nendpoint = "a.b"\n')
    return {
        "config_file": folder / "config.toml",
        "project_file": folder / "project.toml",
        "environ": {"OPENAI_API_KEY": "k", "PERNIX_BUDGET__COST": "2.5", "PERNIX_ENDPOINTS__A_B__MODEL": "m"},
        "assignments": ["deadlines.shell=3", 'endpoints."a.b".options.seed=7', "session_budget.tokens=none"],
        "overrides": {"retry": {"attempts": 2}, "data_dir": "/data"},
    }


def test_what_is_explained_is_what_holds(tmp_path: Path):
    layers = resolve(**all_layers(tmp_path))
    told = nested({setting.key: setting.value for setting in layers.explain()})
    assert msgspec.convert(told, Settings) == layers.settings == load(**all_layers(tmp_path))


@pytest.mark.parametrize("seed", range(20))
def test_any_mixture_of_layers_is_explained_as_it_holds(tmp_path: Path, seed: int):
    chance = random.Random(seed)
    chosen = {key: chance.sample(LAYERS, chance.randint(0, len(LAYERS))) for key in KINDS}
    everything: dict[str, Any] = {
        "config_file": tmp_path / "config.toml",
        "environ": {},
        "assignments": [],
        "overrides": {},
    }
    everything |= {"project_file": tmp_path / "project.toml", "endpoints": NAMES}
    files = {
        "config_file": 'endpoints.home.base_url = "http://127.0.0.1:1/v1"\nendpoints.home.price.prompt = 0.0\n',
        "project_file": "",
    }
    files["config_file"] += toml("endpoints.home.price.completion", 7.5)
    for key, layers in chosen.items():
        if key == "endpoints.home.price.completion":
            layers = [layer for layer in layers if layer != "user file"]
        values = {layer: KINDS[key][LAYERS.index(layer)] for layer in layers if layer != "project file" or allowed(key)}
        one = given(tmp_path, key, values)
        files["config_file"] += toml(key, values["user file"]) if "user file" in values else ""
        files["project_file"] += toml(key, values["project file"]) if "project file" in values else ""
        everything["environ"] |= one["environ"]
        everything["assignments"] += one["assignments"]
        everything["overrides"] |= one["overrides"]
    for name, content in files.items():
        everything[name].write_text(content)
    layered = resolve(**everything)
    told = layered.explain()
    assert msgspec.convert(nested({setting.key: setting.value for setting in told}), Settings) == layered.settings
    for setting in told:
        assert (setting.source, setting.value) in [
            (each.source, each.value) for each in setting.layers if not each.note
        ]


def test_each_value_tells_its_layer_and_place(tmp_path: Path):
    told = {each.key: (each.source, each.place) for each in explain(**all_layers(tmp_path))}
    user, own = tmp_path / "config.toml", tmp_path / "project.toml"
    assert told["kernel_name"] == ("default", "")
    assert told["records_dir"] == ("user file", f"{user}, line 2")
    assert told['endpoints."a.b".options.temperature'] == ("user file", f"{user}, line 8")
    assert told["mode"] == ("project file", f"{own}, line 1")
    assert told["budget.rounds"] == ("user file", f"{user}, line 3")
    assert told['endpoints."a.b".model'] == ("environment", "PERNIX_ENDPOINTS__A_B__MODEL")
    assert told["endpoints.openai.base_url"] == ("environment", "OPENAI_API_KEY")
    assert told["deadlines.shell"] == ("command line", "--set deadlines.shell")
    assert told["retry.attempts"] == ("traits", "PernixApp.overrides")


def test_what_a_stricter_layer_outdoes_is_told(tmp_path: Path):
    (setting,) = explain(key="budget.rounds", **all_layers(tmp_path))
    assert [(each.source, each.value, each.note) for each in setting.layers] == [
        ("default", 60, ""),
        ("user file", 9, ""),
        ("project file", 20, "the stricter value holds"),
    ]


def test_secrets_are_never_told(config_file: Path):
    config_file.write_text(
        HOME
        + 'api_key = "sk-SECRET"\noptions = { extra_headers = { x = "SECRET" }, api-token = "SECRET", max_tokens = 5, '
        'extra_body = { auth = "SECRET", seed = 1 } }\n'
    )
    layers = resolve(config_file=config_file, environ={})
    told = {each.key: each for each in layers.explain()}
    assert "SECRET" not in repr(told)
    assert told["endpoints.home.api_key"].value == "(hidden)"
    assert told["endpoints.home.options.max_tokens"].value == 5
    assert told["endpoints.home.options.extra_body"].value == {"auth": "(hidden)", "seed": 1}
    assert "SECRET" in repr(layers.settings)


def test_a_part_of_the_settings_can_be_asked_for(config_file: Path):
    assert [each.key for each in explain(key="retry", config_file=config_file, environ={})] == [
        "retry.attempts",
        "retry.first_wait",
        "retry.ceiling",
    ]
    with pytest.raises(ConfigError, match=r"unknown setting 'retry.atempts'; did you mean 'retry.attempts'\?"):
        explain(key="retry.atempts", config_file=config_file, environ={})
    with pytest.raises(ConfigError, match=r"nothing is set in 'endpoints\.home'"):
        explain(key="endpoints.home", config_file=config_file, environ={})


def test_every_setting_says_what_it_is_for():
    assert [node.path for node in schema.values(TREE) if not node.doc] == []


def test_a_default_is_a_value_that_would_be_accepted(config_file: Path):
    told = {each.key: each.value for each in explain(config_file=config_file, environ={})}
    assert load(config_file=config_file, environ={}, overrides=told) == Settings()


# ---- the environment --------------------------------------------------------------------------------------------------------


def test_an_empty_variable_is_none(config_file: Path):
    assert load(config_file=config_file, environ={"PERNIX_MODE": "", "PERNIX_BUDGET__ROUNDS": ""}) == Settings()


@pytest.mark.parametrize(
    "name", ["PERNIX_TEST_GGUF", "PERNIX_CRASH_ROUNDS", "PERNIX_CALL", "PERNIX_BENCH_SECONDS", "HOME"]
)
def test_variables_with_another_use_are_not_settings(config_file: Path, name: str):
    assert load(config_file=config_file, environ={name: "1"}) == Settings()


def test_folders_in_the_environment_are_a_path_or_a_list(config_file: Path):
    joined = load(config_file=config_file, environ={"PERNIX_MODEL_FOLDERS": os.pathsep.join(["/a", "/b"])})
    listed = load(config_file=config_file, environ={"PERNIX_MODEL_FOLDERS": '["/a", "/b"]'})
    assert joined.model_folders == listed.model_folders == ["/a", "/b"]


def test_a_variable_finds_the_endpoint_that_the_file_names(config_file: Path):
    config_file.write_text(HOME.replace("home", '"My.Home-1"'))
    environ = {"PERNIX_ENDPOINTS__MY_HOME_1__MODEL": "m"}
    assert load(config_file=config_file, environ=environ).endpoints["My.Home-1"].model == "m"


def test_the_usual_openai_variables_make_an_endpoint(config_file: Path):
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "secret", "OPENAI_MODEL": "m"}
    endpoint = load(config_file=config_file, environ=environ).endpoints["openai"]
    assert endpoint == EndpointSettings(base_url="http://127.0.0.1:1/v1", api_key_env="OPENAI_API_KEY", model="m")
    assert endpoint.key(environ) == "secret"


def test_a_key_alone_means_the_usual_address(config_file: Path):
    endpoint = load(config_file=config_file, environ={"OPENAI_API_KEY": "secret"}).endpoints["openai"]
    assert endpoint.base_url == "https://api.openai.com/v1"


def test_a_key_alone_does_not_move_an_endpoint_of_the_file(config_file: Path):
    config_file.write_text(
        '[endpoints.openai]\nbase_url = "https://proxy.example/v1"\napi_key_env = "PROXY_KEY"\nmodel = "p"\n'
    )
    endpoint = load(config_file=config_file, environ={"OPENAI_API_KEY": "secret"}).endpoints["openai"]
    assert endpoint == EndpointSettings(base_url="https://proxy.example/v1", api_key_env="PROXY_KEY", model="p")


def test_an_address_of_the_environment_is_not_sent_the_key_of_the_file(config_file: Path):
    config_file.write_text('[endpoints.openai]\nbase_url = "https://proxy.example/v1"\napi_key = "for-the-proxy"\n')
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "secret"}
    endpoint = load(config_file=config_file, environ=environ).endpoints["openai"]
    assert (endpoint.base_url, endpoint.key(environ)) == ("http://127.0.0.1:1/v1", "secret")


def test_a_key_in_the_settings_wins_over_its_variable():
    endpoint = EndpointSettings(base_url="x", api_key="own", api_key_env="NAME")
    assert endpoint.key({"NAME": "other"}) == "own"
    assert EndpointSettings(base_url="x").key({"": "never"}) == ""


def test_variables_with_keys_are_known(config_file: Path):
    config_file.write_text(HOME + 'api_key_env = "HOME_KEY"\n')
    environ = {"PERNIX_ENDPOINTS__HOME__API_KEY": "s", "PERNIX_BUDGET__ROUNDS": "3"}
    settings = load(config_file=config_file, environ=environ)
    assert secret_variables(settings, environ) == {"HOME_KEY", "PERNIX_ENDPOINTS__HOME__API_KEY"}


# ---- files ------------------------------------------------------------------------------------------------------------------


def linked(path: Path) -> None:
    target = path.with_name("elsewhere.toml")
    target.write_text('mode = "ask"\n')
    path.symlink_to(target)


@pytest.mark.parametrize("write", [linked, lambda path: path.write_bytes(b'\xef\xbb\xbfmode = "ask"\r\n')])
def test_the_users_own_file_may_be_a_link_and_have_a_mark_in_front(config_file: Path, write: Callable[[Path], Any]):
    write(config_file)
    assert read_file(config_file) == {"mode": "ask"}


def test_settings_load_no_more_than_msgspec():
    code = (
        "import sys, jupyter_pernix, msgspec; before = set(sys.modules); import jupyter_pernix.config as c; "
        "print(sorted({name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['jupyter_pernix']"
