"""The settings that come with a folder: what they may say, and that they only ever make limits and permissions tighter."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jupyter_pernix.config import TREE, Settings, known_endpoints, load, resolve
from jupyter_pernix.errors import ConfigError
from jupyter_pernix.settings import schema
from jupyter_pernix.settings.project import ALLOWED, allowed

USER = 'mode = "edit"\n[endpoints.home]\nbase_url = "http://127.0.0.1:1/v1"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".pernix").mkdir()
    (tmp_path / "config.toml").write_text(USER)
    return tmp_path


def project(folder: Path, text: str, **layers: Any) -> Settings:
    (folder / ".pernix/config.toml").write_text(text)
    return read(folder, **layers)


def read(folder: Path, **layers: Any) -> Settings:
    given = {"config_file": folder / "config.toml", "project_file": folder / ".pernix/config.toml", "environ": {}}
    return load(**(given | layers))


def fault(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        project(folder, text)
    return str(caught.value).removeprefix(str(folder / ".pernix/config.toml") + ": ")


def test_every_key_is_allowed_or_refused_on_purpose():
    keys = {schema.dotted(node.path) for node in schema.values(TREE)}
    refused = {key for key in keys if not allowed(key)}
    assert refused == {
        "data_dir",
        "discover",
        "model_folders",
        *(f"permissions.{name}" for name in ("deny", "expires", "hooks")),
        *(f"sandbox.{name}" for name in ("memory_gib", "processes", "readable")),
        *(f"retry.{name}" for name in ("attempts", "ceiling", "first_wait")),
        *(f"roles.{role}.{name}" for role in ("primary", "background", "backup") for name in ("model", "options.NAME")),
        *(key for key in keys if key.startswith("endpoints.")),
    }
    assert all(any(allowed(key) is rule for key in keys) for rule in ALLOWED.values())


EXAMPLES: dict[str, Any] = {
    "data_dir": "/tmp/elsewhere",
    "discover": True,
    "model_folders": ["models"],
    "permissions.deny": ["make"],
    "permissions.expires": 0.0,
    "permissions.hooks": False,
    "sandbox.readable": ["/"],
    "sandbox.processes": 1,
    "sandbox.memory_gib": 1.0,
    "retry.attempts": 1,
    "retry.ceiling": 1.0,
    "retry.first_wait": 0.0,
    "roles.primary.model": "other",
    "roles.primary.options.seed": 1,
    "endpoints.home.base_url": "http://evil.example/v1",
    "endpoints.home.api_key_env": "AWS_SECRET_ACCESS_KEY",
    "endpoints.home.options.extra_headers": {"x": "y"},
    "endpoints.new.base_url": "http://evil.example/v1",
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_what_a_project_may_not_say_is_refused_with_where_it_may_stand(folder: Path, key: str):
    value = EXAMPLES[key]
    text = '{ x = "y" }' if isinstance(value, dict) else msgspec.json.encode(value).decode()
    said = fault(folder, f"# mine\n{key} = {text}\n")
    assert said.startswith(f"line 2: a project may not set {key!r}: it could ")
    assert (
        f"; it may stand in your own settings ({folder / 'config.toml'}), or in PERNIX_{key.upper().replace('.', '__')}"
        in said
    )


@pytest.mark.parametrize("text", ["[endpoints]", "[endpoints.home]", "[roles.backup.options]"])
def test_empty_tables_of_what_is_refused_are_refused(folder: Path, text: str):
    assert "a project may not set" in fault(folder, text)


@pytest.mark.parametrize("text", ["[budget]", "[roles]", "[roles.backup]", "[deadlines]", ""])
def test_empty_tables_of_what_is_allowed_say_nothing(folder: Path, text: str):
    assert project(folder, text) == project(folder, "")


STRICTER: list[tuple[str, Any, Any, Any]] = [
    # key, the user's, the project's, what holds
    ("mode", "auto", "edit", "edit"),
    ("mode", "edit", "auto", "edit"),
    ("mode", "ask", "auto", "ask"),
    ("mode", "ask", "plan", "plan"),
    ("mode", "edit", "edit", "edit"),
    ("budget.rounds", 20, 10, 10),
    ("budget.rounds", 20, 30, 20),
    ("budget.rounds", 20, "none", 20),
    ("budget.rounds", "none", 30, 30),
    ("budget.tokens", "none", "none", None),
    ("budget.cost", 1.5, 0.5, 0.5),
    ("session_budget.changed_lines", "none", 0, 0),
    ("session_budget.seconds", 10.0, 20.0, 10.0),
    ("deadlines.shell", 100.0, 50.0, 50.0),
    ("deadlines.shell", 100.0, 5000.0, 100.0),
    ("scout", True, False, False),
    ("scout", False, True, False),
    ("titles", False, True, False),
    ("titles", True, False, False),
    ("compaction.threshold", 0.8, 0.9, 0.9),
    ("kernel_name", "mine", "theirs", "theirs"),
    ("records_dir", "mine", "theirs/below", "theirs/below"),
]


@pytest.mark.parametrize(("key", "user", "own", "holds"), STRICTER)
def test_the_stricter_of_two_holds(folder: Path, key: str, user: Any, own: Any, holds: Any):
    def line(value: Any) -> str:
        return f"{key} = {msgspec.json.encode(value).decode()}\n"

    (folder / "config.toml").write_text(line(user))
    settings: Any = project(folder, line(own))
    for name in key.split("."):
        settings = getattr(settings, name)
    assert settings == holds


def test_limits_are_compared_with_the_defaults_where_the_user_gives_none(folder: Path):
    settings = project(folder, "[budget]\nrounds = 1000\nseconds = 5\n[deadlines]\nsilence = 1e9\n")
    assert (settings.budget.rounds, settings.budget.seconds, settings.deadlines.silence) == (60, 5.0, 900.0)


def test_what_the_user_says_for_this_start_covers_the_project(folder: Path):
    settings = project(
        folder, 'mode = "ask"\nbudget.rounds = 1\n', environ={"PERNIX_MODE": "auto"}, assignments=["budget.rounds=99"]
    )
    assert (settings.mode, settings.budget.rounds) == ("auto", 99)


@pytest.mark.parametrize(
    "key", ["endpoint", "roles.primary.endpoint", "roles.background.endpoint", "roles.backup.endpoint"]
)
def test_only_endpoints_of_the_users_own_can_be_named(folder: Path, key: str):
    assert fault(folder, f'{key} = "evil"') == (
        f"line 1: {key!r}: a project may only name an endpoint that you have; 'evil' is none of them (yours are: home)"
    )
    for name in ("home", "local", "tour", ""):
        project(folder, f"{key} = {msgspec.json.encode(name).decode()}")
    project(folder, f'{key} = "saved"', endpoints=["saved"])
    project(folder, f'{key} = "openai"', environ={"OPENAI_API_KEY": "k"})


def test_endpoints_that_the_user_added_are_known(tmp_path: Path):
    assert known_endpoints(tmp_path) == frozenset()
    (tmp_path / "endpoints.json").write_text('{"endpoints": {"a": {}}, "found": {"b": {}}, "default": "a"}')
    assert known_endpoints(tmp_path) == {"a", "b"}
    (tmp_path / "endpoints.json").write_text('{"endpoints": {"a": {}}, "found": null}')
    assert known_endpoints(tmp_path) == {"a"}
    (tmp_path / "endpoints.json").write_text("[]")
    assert known_endpoints(tmp_path) == frozenset()


@pytest.mark.parametrize("value", [".git/hooks", "runs/.hidden", ".pernix"])
def test_run_notebooks_do_not_go_into_hidden_folders(folder: Path, value: str):
    assert "may not keep run notebooks in a hidden folder" in fault(folder, f"records_dir = {value!r}")


@pytest.mark.parametrize("value", ["../elsewhere", "/etc", "~/x", "a/../../b", "a\\\\b"])
def test_run_notebooks_stay_inside(folder: Path, value: str):
    assert "must be a folder below the session's own" in fault(folder, f"records_dir = '{value}'")


def test_an_unknown_key_is_named_as_in_any_file(folder: Path):
    assert (
        fault(folder, "[budget]\nround = 3") == "line 2: unknown setting 'budget.round'; did you mean 'budget.rounds'?"
    )


def link(path: Path) -> None:
    target = path.with_name("target.toml")
    target.write_text('mode = "ask"\n')
    path.symlink_to(target)


def linked_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("real"))
    path.parent.with_name("real").joinpath("config.toml").write_text('mode = "ask"\n')
    path.parent.symlink_to("real")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (link, "is a link, or in a folder that is one; a project's settings must be a file of its own"),
        (linked_folder, "is a link, or in a folder that is one; a project's settings must be a file of its own"),
        (lambda path: path.mkdir(), "is not a file"),
        (lambda path: path.write_bytes(b"\x00\xff"), "is not text in UTF-8 (byte 2)"),
        (lambda path: path.write_text("#" * (1 << 16) + "#"), "is longer than 64 KiB, which no settings are"),
    ],
)
def test_a_project_file_that_is_none_is_named(folder: Path, write: Callable[[Path], Any], message: str):
    path = folder / ".pernix/config.toml"
    write(path)
    with pytest.raises(ConfigError) as caught:
        read(folder)
    assert str(caught.value) == f"{path}: {message}"


def test_a_folder_without_a_project_file_changes_nothing(folder: Path):
    layers = resolve(config_file=folder / "config.toml", project_file=folder / ".pernix/config.toml", environ={})
    assert layers.settings == load(config_file=folder / "config.toml", environ={})
