"""What is wrong in a layer of the settings, and the exact advice. No layer is left out because it is bad."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pernix.config import load, resolve
from jupyter_pernix.errors import ConfigError

HOME = '[endpoints.home]\nbase_url = "http://127.0.0.1:1/v1"\n'


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def fault(config_file: Path, **layers: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load(**({"config_file": config_file, "environ": {}} | layers))
    return str(caught.value)


FILE: list[tuple[str, str]] = [
    # keys
    ('mood = "good"', "line 1: unknown setting 'mood'; did you mean 'mode'?"),
    ('\n# a comment\nrecords-dir = "x"', "line 3: unknown setting 'records-dir'; did you mean 'records_dir'?"),
    ("[budget]\nround = 3", "line 2: unknown setting 'budget.round'; did you mean 'budget.rounds'?"),
    ("budget.Rounds = 3", "line 1: unknown setting 'budget.Rounds'; did you mean 'budget.rounds'?"),
    ("rounds = 3", "line 1: unknown setting 'rounds'; did you mean 'budget.rounds'?"),
    ("[retries]\nattempts = 3", "line 1: unknown setting 'retries'; did you mean 'retry'?"),
    ('[role.backup]\nendpoint = "x"', "line 1: unknown setting 'role'; did you mean 'roles'?"),
    ("[deadlines]\nshel = 3", "line 2: unknown setting 'deadlines.shel'; did you mean 'deadlines.shell'?"),
    (
        '[endpoints.home]\nbase_ur = "x"',
        "line 2: unknown setting 'endpoints.home.base_ur'; did you mean 'endpoints.home.base_url'?",
    ),
    ('base_url = "http://x/v1"', "line 1: unknown setting 'base_url'; did you mean 'endpoints.NAME.base_url'?"),
    (
        '[roles.background]\nendpiont = "x"',
        "line 2: unknown setting 'roles.background.endpiont'; did you mean 'roles.background.endpoint'?",
    ),
    (
        f"{HOME}price = {{ promt = 1.0 }}",
        "line 3: unknown setting 'endpoints.home.price.promt'; did you mean 'endpoints.home.price.prompt'?",
    ),
    ("compaction.zzz = 1", "line 1: unknown setting 'compaction.zzz'; known in 'compaction': keep, threshold"),
    # kinds
    (
        "budget = 3",
        "line 1: 'budget' is a table; set what is in it, e.g. budget.rounds, budget.tokens, budget.seconds; given: 3",
    ),
    ("mode.x = 3", "line 1: 'mode' must be one of 'ask', 'plan', 'edit', 'auto'; given: a table"),
    ('mode = "yolo"', "line 1: 'mode' must be one of 'ask', 'plan', 'edit', 'auto'; given: 'yolo'"),
    ("mode = 1", "line 1: 'mode' must be one of 'ask', 'plan', 'edit', 'auto'; given: 1"),
    ('discover = "false"', "line 1: 'discover' must be true or false; given: 'false'"),
    ("scout = 1", "line 1: 'scout' must be true or false; given: 1"),
    ('budget.rounds = "20"', "line 1: 'budget.rounds' must be a whole number from 1 up, or \"none\"; given: '20'"),
    ("budget.rounds = 2.5", "line 1: 'budget.rounds' must be a whole number from 1 up, or \"none\"; given: 2.5"),
    ("budget.rounds = true", "line 1: 'budget.rounds' must be a whole number from 1 up, or \"none\"; given: true"),
    ("retry.attempts = 'none'", "line 1: 'retry.attempts' must be a whole number from 1 up; given: 'none'"),
    ("kernel_name = 3", "line 1: 'kernel_name' must be text; given: 3"),
    ('model_folders = "/a"', "line 1: 'model_folders' must be a list of texts; given: '/a'"),
    ("model_folders = [1]", "line 1: 'model_folders' must be a list of texts; given: [1]"),
    ("data_dir = 1979-05-27", "line 1: 'data_dir' must be text; given: \"1979-05-27\""),
    # values
    ("budget.rounds = 0", "line 1: 'budget.rounds' must be a whole number from 1 up, or \"none\"; given: 0"),
    ("budget.seconds = -1", "line 1: 'budget.seconds' must be a number above 0, or \"none\"; given: -1"),
    ("budget.seconds = nan", "line 1: 'budget.seconds' must be a number above 0, or \"none\"; given: NaN"),
    ("session_budget.cost = 0", "line 1: 'session_budget.cost' must be a number above 0, or \"none\"; given: 0"),
    (
        "budget.changed_lines = -1",
        "line 1: 'budget.changed_lines' must be a whole number from 0 up, or \"none\"; given: -1",
    ),
    ("deadlines.shell = inf", "line 1: 'deadlines.shell' must be a number above 0; given: Infinity"),
    ("compaction.threshold = 80", "line 1: 'compaction.threshold' must be a number from 0 to 1; given: 80"),
    (
        "compaction.keep = 0.9",
        "line 1: 'compaction.keep' (0.9) must be below 'compaction.threshold' (0.8)",
    ),
    (
        'records_dir = "../x"',
        "line 1: 'records_dir' must be a folder below the session's own, without '..'; given: '../x'",
    ),
    ('records_dir = "/x"', "line 1: 'records_dir' must be a folder below the session's own, without '..'; given: '/x'"),
    ('records_dir = ""', "line 1: 'records_dir' must be a folder below the session's own, without '..'; given: ''"),
    ('endpoint = "a b"', "line 1: 'endpoint' must be the name of an endpoint; given: 'a b'"),
    # endpoints
    (
        "endpoints = 3",
        "line 1: 'endpoints' is a table; set what is in it, e.g. endpoints.NAME.base_url, endpoints.NAME.model, endpoints.NAME.api_key; given: 3",
    ),
    ("[endpoints.home]\nmodel = 'm'", "line 1: 'endpoints.home.base_url' is missing"),
    (f"{HOME}price.prompt = 1", "line 3: 'endpoints.home.price.completion' is missing"),
    (
        f"{HOME}price = {{ prompt = -1, completion = 1 }}",
        "line 3: 'endpoints.home.price.prompt' must be a number from 0 up; given: -1",
    ),
    (
        f'{HOME}price = {{ prompt = 1, completion = 1, currency = "euro" }}',
        "line 3: 'endpoints.home.price.currency' must be three capital letters, as USD; given: 'euro'",
    ),
    (
        f'{HOME}kind = "olama"',
        "line 3: 'endpoints.home.kind' must be one of 'openai', 'ollama', 'vllm', 'sglang', 'llama.cpp', 'lmstudio', 'local', "
        "'tour'; given: 'olama'",
    ),
    (
        f'{HOME}protocol = "tool"',
        "line 3: 'endpoints.home.protocol' must be one of 'auto', 'tools', 'actions', 'chat'; given: 'tool'",
    ),
    (
        '[endpoints.home]\nbase_url = "home.example/v1"',
        "line 2: 'endpoints.home.base_url' must be an http:// or https:// address without name, password and query",
    ),
    (
        '[endpoints.home]\nbase_url = "https://me:SECRET@home.example/v1"',
        "line 2: 'endpoints.home.base_url' must be an http:// or https:// address without name, password and query",
    ),
    (f'{HOME}api_key = "SEC RET"', "line 3: 'endpoints.home.api_key' must be a key, without spaces and line ends"),
    (
        f'{HOME}api_key_env = "sk-SECRET"',
        "line 3: 'endpoints.home.api_key_env' must be the name of a variable, not the key itself",
    ),
    (
        f"{HOME}context_length = 0",
        "line 3: 'endpoints.home.context_length' must be a whole number from 1 up, or \"none\"; given: 0",
    ),
    (
        f"{HOME}options.stream = false",
        "line 3: 'endpoints.home.options.stream' cannot be set: every answer is streamed",
    ),
    (
        '[roles.backup.options]\nmodel = "x"',
        "line 2: 'roles.backup.options.model' cannot be set: set `model` of the endpoint or role instead",
    ),
    (
        f"{HOME}options = {{ seed = inf }}",
        "line 3: 'endpoints.home.options.seed' must be a value that JSON has; given: Infinity",
    ),
    (
        f"{HOME}options.until = 1979-05-27",
        "line 3: 'endpoints.home.options.until' must be a value that JSON has; given: \"1979-05-27\"",
    ),
    (
        '[endpoints."a b"]\nbase_url = "http://x/v1"',
        "line 1: 'endpoints.\"a b\"': the name must be letters, digits, '.', '_' and '-', at most 64, beginning with a letter or "
        "digit, and not local or tour",
    ),
    (
        '[endpoints.tour]\nbase_url = "http://x/v1"',
        "line 1: 'endpoints.tour': the name must be letters, digits, '.', '_' and '-', at most 64, beginning with a letter or "
        "digit, and not local or tour",
    ),
    # not TOML
    ("mode = ", "Invalid value (at end of document)"),
    ('mode = "ask"\nmode = "plan"', "Cannot overwrite a value (at end of document)"),
]


@pytest.mark.parametrize(("text", "message"), FILE)
def test_what_is_wrong_in_a_file_is_named_with_its_line_and_what_is_right(config_file: Path, text: str, message: str):
    config_file.write_text(text)
    said = fault(config_file)
    assert said == f"{config_file}: {message}"
    assert "SECRET" not in said


ENVIRONMENT: list[tuple[str, str, str]] = [
    ("PERNIX_MOOD", "ask", "PERNIX_MOOD is not a setting; did you mean PERNIX_MODE?"),
    ("PERNIX_BUDGET_ROUNDS", "3", "PERNIX_BUDGET_ROUNDS is not a setting; did you mean PERNIX_BUDGET__ROUNDS?"),
    ("PERNIX_BUDGET__ROUND", "3", "PERNIX_BUDGET__ROUND is not a setting; did you mean PERNIX_BUDGET__ROUNDS?"),
    ("PERNIX_mode", "ask", "PERNIX_mode is not a setting; did you mean PERNIX_MODE?"),
    ("PERNIX_MODE__X", "ask", "PERNIX_MODE__X is not a setting; did you mean PERNIX_MODE?"),
    (
        "PERNIX_ENDPOINTS__WORK__KEY",
        "k",
        "PERNIX_ENDPOINTS__WORK__KEY is not a setting; did you mean PERNIX_ENDPOINTS__WORK__API_KEY?",
    ),
    ("PERNIX_", "1", "PERNIX_ is not a setting; `jupyter pernix config` lists the settings"),
    ("PERNIX_QQQ", "1", "PERNIX_QQQ is not a setting; `jupyter pernix config` lists the settings"),
    ("PERNIX_BUDGET", "3", "PERNIX_BUDGET: 'budget' is a table; set what is in it, e.g. PERNIX_BUDGET__ROUNDS"),
    (
        "PERNIX_BUDGET__ROUNDS",
        "many",
        "PERNIX_BUDGET__ROUNDS: 'budget.rounds' must be a whole number from 1 up, or \"none\"; given: 'many'",
    ),
    ("PERNIX_DISCOVER", "maybe", "PERNIX_DISCOVER: 'discover' must be true or false; given: 'maybe'"),
    ("PERNIX_MODE", "yolo", "PERNIX_MODE: 'mode' must be one of 'ask', 'plan', 'edit', 'auto'; given: 'yolo'"),
    ("PERNIX_MODEL_FOLDERS", "[1", "PERNIX_MODEL_FOLDERS: 'model_folders' must be a list of texts; given: '[1'"),
    ("PERNIX_ENDPOINTS__WORK__MODEL", "m", "PERNIX_ENDPOINTS__WORK__MODEL: 'endpoints.work.base_url' is missing"),
    (
        "OPENAI_BASE_URL",
        "api.example.org",
        "OPENAI_BASE_URL: 'endpoints.openai.base_url' must be an http:// or https:// address without name, password and query",
    ),
]


@pytest.mark.parametrize(("name", "value", "message"), ENVIRONMENT)
def test_what_is_wrong_in_the_environment_is_named_with_its_variable(
    config_file: Path, name: str, value: str, message: str
):
    assert fault(config_file, environ={name: value}) == f"environment: {message}"


ASSIGNMENTS: list[tuple[str, str]] = [
    ("budget.round=3", "--set budget.round: unknown setting 'budget.round'; did you mean 'budget.rounds'?"),
    ("budget.rounds", "--set budget.rounds: a value is missing; write KEY=VALUE"),
    ("a b=3", "--set a b=3: 'a b' is not a key, as budget.rounds is one"),
    ("=3", "--set =3: '' is not a key, as budget.rounds is one"),
    ("x\ny=3", "--set x\ny=3: 'x\\ny' is not a key, as budget.rounds is one"),
    ("titles=off", "--set titles: 'titles' must be true or false; given: 'off'"),
    (
        "endpoints.home.api_key=SECRET",
        "--set endpoints.home.api_key: a key on a command line is seen by everyone on this machine; name a variable in "
        "endpoints.home.api_key_env, or set PERNIX_ENDPOINTS__HOME__API_KEY",
    ),
]


@pytest.mark.parametrize(("assignment", "message"), ASSIGNMENTS)
def test_what_is_wrong_on_the_command_line_is_named(config_file: Path, assignment: str, message: str):
    assert fault(config_file, assignments=[assignment]) == f"command line: {message}"


TRAITS: list[tuple[dict[str, Any], str]] = [
    ({"budget": {"round": 3}}, "PernixApp.overrides: unknown setting 'budget.round'; did you mean 'budget.rounds'?"),
    ({"a b": 3}, "PernixApp.overrides: 'a b' is not a key, as budget.rounds is one"),
    ({"scout": "perhaps"}, "PernixApp.overrides: 'scout' must be true or false; given: 'perhaps'"),
    ({"data_folder": 3}, "PernixApp.data_folder: 'data_dir' must be text; given: 3"),
]


@pytest.mark.parametrize(("given", "message"), TRAITS)
def test_what_is_wrong_in_the_traits_is_named(config_file: Path, given: dict[str, Any], message: str):
    assert fault(config_file, overrides=given) == f"traits: {message}"


def test_a_bad_layer_is_not_mended_by_a_better_one_above(config_file: Path):
    config_file.write_text("budget.rounds = -1\n")
    assert "given: -1" in fault(config_file, environ={"PERNIX_BUDGET__ROUNDS": "5"}, overrides={"budget.rounds": 5})


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def not_text(path: Path) -> None:
    path.write_bytes(b"mode = '\xff'")


def huge(path: Path) -> None:
    path.write_text("# " + "x" * (1 << 20))


def deep(path: Path) -> None:
    path.write_text("a = " + "[" * 5000)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (folder, "is not a file"),
        (pipe, "is not a file"),
        (not_text, "is not text in UTF-8 (byte 9)"),
        (huge, "is longer than 1024 KiB, which no settings are"),
        (deep, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_settings_is_named(config_file: Path, write: Callable[[Path], None], message: str):
    write(config_file)
    said = fault(config_file)
    assert said.startswith(f"{config_file}: ")
    assert message in said or write is deep


def test_a_file_that_may_not_be_read_is_named(config_file: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert fault(config_file) == f"{config_file}: cannot be read: Permission denied"


def test_absent_files_say_nothing(tmp_path: Path):
    (tmp_path / ".pernix").write_text("a file, not a folder")
    layers = resolve(
        config_file=tmp_path / "none" / "config.toml", project_file=tmp_path / ".pernix" / "config.toml", environ={}
    )
    assert [layer.data for layer in layers.layers] == [{}] * 5
