"""``jupyter pernix config`` and ``--set``, with and without a server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.isolation import isolated_environ
from support.lab import Lab

from jupyter_pernix.headless import WITHOUT_PAGES

COMMAND = [sys.executable, "-m", "jupyter_pernix.cli"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def pernix(home: Path, *arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=isolated_environ(home) | {"NO_COLOR": "1"} | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
    )


def user_file(home: Path, text: str) -> Path:
    path = home / "jupyter_config_dir/pernix/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_without_a_server_it_reads_what_one_would_read(home: Path, tmp_path: Path):
    file = user_file(home, 'mode = "auto"\n[endpoints.home]\nbase_url = "http://x/v1"\napi_key = "SECRET"\n')
    (tmp_path / ".pernix").mkdir()
    (tmp_path / ".pernix/config.toml").write_text('mode = "ask"\n')
    done = pernix(home, "config", "--set", "titles=false", cwd=tmp_path, PERNIX_BUDGET__ROUNDS="5")
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"as a server started in {tmp_path} would have them\n"
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in done.stdout.splitlines()}
    assert lines["mode"] == f'"ask" project file: {tmp_path}/.pernix/config.toml, line 1'
    assert lines["budget.rounds"] == "5 environment: PERNIX_BUDGET__ROUNDS"
    assert lines["titles"] == "false command line: --set titles"
    assert lines["budget.cost"] == "none default"
    assert lines["endpoints.home.api_key"] == f'"(hidden)" user file: {file}, line 4'
    assert "SECRET" not in done.stdout


def test_one_setting_is_told_with_what_it_is_for_and_what_every_layer_says(home: Path, tmp_path: Path):
    file = user_file(home, "budget.rounds = 20\n")
    (tmp_path / ".pernix").mkdir()
    (tmp_path / ".pernix/config.toml").write_text("budget.rounds = 90\n")
    done = pernix(home, "config", "budget.rounds", cwd=tmp_path, COLUMNS="200")
    assert done.stdout.splitlines() == [
        "budget.rounds = 20",
        "    How many model requests. For one turn.",
        f"    project file  90  {tmp_path}/.pernix/config.toml, line 1 (the stricter value holds)",
        f"  → user file     20  {file}, line 1",
        "    default       60",
    ]


def test_json_is_one_setting_a_line(home: Path, tmp_path: Path):
    done = pernix(home, "config", "retry", "--json", cwd=tmp_path)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["key"], each["value"], each["source"]) for each in told] == [
        ("retry.attempts", 4, "default"),
        ("retry.first_wait", 1.0, "default"),
        ("retry.ceiling", 60.0, "default"),
    ]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["config", "budget.round"], "settings: unknown setting 'budget.round'; did you mean 'budget.rounds'?"),
        (
            ["config", "--set", "mood=x"],
            "command line: --set mood: unknown setting 'mood'; did you mean 'mode'?",
        ),
        (
            ["sessions", "--set", "budget.rounds=-1"],
            "command line: --set budget.rounds: 'budget.rounds' must be a whole number from 1 up, or \"none\"; given: '-1'",
        ),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_started(home: Path, tmp_path: Path, arguments: list[str], said: str):
    done = pernix(home, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"jupyter pernix: {said}\n")


@pytest.mark.server
def test_a_server_that_a_command_starts_has_what_the_command_sets(home: Path, tmp_path: Path):
    data = tmp_path / "data"
    done = pernix(
        home, "doctor", "--json", "--set", "roles.backup.endpoint=gone", "--set", f"data_dir={data}", cwd=tmp_path
    )
    findings = {each["name"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert "'gone' (--set roles.backup.endpoint)" in findings["role backup"]["detail"], done.stderr
    assert findings["store"]["detail"].startswith(str(data / "pernix.duckdb"))


@pytest.fixture
def lab(home: Path, tmp_path: Path) -> Iterator[Lab]:
    root = tmp_path / "root"
    root.mkdir()
    arguments = [*WITHOUT_PAGES, "--PernixApp.overrides=budget.rounds=7", "--PernixApp.overrides=mode=ask"]
    with Lab(home=home, root=root, arguments=arguments) as server:
        yield server


@pytest.mark.server
def test_with_a_server_it_tells_that_servers_settings_and_set_is_refused(home: Path, lab: Lab, tmp_path: Path):
    done = pernix(home, "config", cwd=tmp_path, PERNIX_BUDGET__TOKENS="5")
    assert done.returncode == 0, done.stderr
    assert f"process {lab.pid}" in done.stderr
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in done.stdout.splitlines()}
    assert lines["budget.rounds"] == "7 traits: PernixApp.overrides"
    assert lines["mode"] == '"ask" traits: PernixApp.overrides'
    assert lines["budget.tokens"] == "none default"
    done = pernix(home, "sessions", "--set", "budget.rounds=9", cwd=lab.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--set is for a server that this command starts" in done.stderr


def test_settings_may_stand_before_and_after_the_command_and_the_later_holds(home: Path, tmp_path: Path):
    given = ["--set", "titles=false", "config", "--set", "scout=false", "--set", "scout=true", "--json"]
    done = pernix(home, *given, cwd=tmp_path)
    told = {each["key"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert {key: told[key]["value"] for key in told if told[key]["source"] == "command line"} == {
        "titles": False,
        "scout": True,
    }
