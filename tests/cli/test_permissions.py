"""``jupyter pernix permissions``: saved rules without a server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.isolation import isolated_environ

from jupyter_pernix.agent.policy.rules import RuleSet
from jupyter_pernix.agent.policy.rules_file import FOLDER, RulesFile

COMMAND = [sys.executable, "-m", "jupyter_pernix.cli", "permissions"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def space(tmp_path: Path) -> Path:
    (tmp_path / "space").mkdir()
    return tmp_path / "space"


def permissions(home: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = isolated_environ(home) | {"NO_COLOR": "1"}
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def saved(home: Path, space: Path | None) -> RulesFile:
    return RulesFile(home / "jupyter_config_dir" / "pernix" / FOLDER, space)


def test_rules_are_saved_for_the_folder_or_for_all_and_listed(home: Path, space: Path):
    assert permissions(home, "add", "cargo", "test", cwd=space).returncode == 0
    assert permissions(home, "add", "exact:sed -i 's/a/b/' x", "--space", str(space), cwd=home.parent).returncode == 0
    assert permissions(home, "deny", "git", "push", "--everywhere", cwd=space).returncode == 0
    assert saved(home, space).read() == RuleSet(allow=("cargo test", "exact:sed -i 's/a/b/' x"), deny=("git push",))
    for words in ((), ("list",)):
        done = permissions(home, *words, cwd=space)
        assert (done.returncode, done.stderr) == (0, "")
        lines = [line.split("command line")[0].rstrip() for line in done.stdout.splitlines()]
        assert lines == [
            "for all spaces",
            "  deny   git push",
            f"for {space}",
            "  allow  cargo test",
            "  allow  exact:sed -i 's/a/b/' x",
        ]
    listed = json.loads(permissions(home, "list", "--json", cwd=space).stdout)
    assert (listed["space"], listed["broken"]) == (str(space), "")
    assert [(one["rule"], one["everywhere"], one["by"]) for one in listed["deny"]] == [
        ("git push", True, "command line")
    ]
    everywhere = json.loads(permissions(home, "list", "--everywhere", "--json", cwd=space).stdout)
    assert (everywhere["space"], everywhere["allow"], len(everywhere["deny"])) == ("", [], 1)


def test_a_rule_is_forgotten_of_either_kind(home: Path, space: Path):
    file = saved(home, space)
    file.add("make")
    file.add("git push", deny=True)
    assert permissions(home, "remove", "make", cwd=space).returncode == 0
    done = permissions(home, "remove", "git", "push", "--json", cwd=space)
    assert (done.returncode, json.loads(done.stdout)["deny"]) == (0, [])
    assert file.read() == RuleSet()
    done = permissions(home, "remove", "make", cwd=space)
    assert (done.returncode, done.stderr) == (2, f"jupyter pernix: there is no rule 'make' for {space}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "rm"), "'rm' can be no rule: 'rm' is never remembered: it deletes"),
        (("add", "npx", "--", "-y"), "'npx -y' can be no rule: '-y' is an option, not the program that 'npx' runs"),
        (("deny", "rm *"), "'rm *' can be no rule"),
        (("add", "make", "--space", "nowhere"), "'nowhere' is not a folder"),
    ],
)
def test_what_can_be_no_rule_is_bad_usage(home: Path, space: Path, words: tuple[str, ...], said: str):
    done = permissions(home, *words, cwd=space)
    assert done.returncode == 2
    assert said in done.stderr
    assert saved(home, space).read() == RuleSet()


def test_rules_without_effect_and_files_that_do_not_count_are_told(home: Path, space: Path):
    file = saved(home, space)
    file.add("make")
    path = file.paths[-1]
    path.write_text(path.read_text().replace('"make"', '"rm"'))
    done = permissions(home, cwd=space)
    assert done.returncode == 0
    assert "has no effect: 'rm' is never remembered: it deletes" in done.stdout
    path.write_text("{")
    for words in ((), ("list", "--json"), ("add", "make")):
        done = permissions(home, *words, cwd=space)
        assert done.returncode == 1
        assert str(path) in done.stderr
    assert path.read_text() == "{"


def test_deny_rules_of_the_settings_are_listed(home: Path, space: Path):
    settings = home / "jupyter_config_dir" / "pernix" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('permissions.deny = ["git push"]\n')
    (rule,) = json.loads(permissions(home, "--json", cwd=space).stdout)["deny"]
    assert (rule["rule"], rule["everywhere"], rule["by"]) == ("git push", True, "settings")
    assert permissions(home, cwd=space).stdout.splitlines()[1].split() == ["deny", "git", "push", "settings"]


def test_control_characters_of_a_rule_written_by_hand_do_not_reach_the_terminal(home: Path, space: Path):
    file = saved(home, space)
    file.add("make")
    path = file.paths[-1]
    path.write_text(path.read_text().replace('"make"', json.dumps("make\x1b[31m\u202e")))
    done = permissions(home, cwd=space)
    assert "make" in done.stdout
    assert not set(done.stdout) & {"\x1b", "\u202e"}


def test_listing_loads_neither_the_judges_nor_a_server(home: Path):
    code = "import sys; from jupyter_pernix.cli import main; assert main(['permissions']) == 0; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=isolated_environ(home), capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(done.stderr.split())
    assert "jupyter_pernix.agent.policy.rules_file" in loaded
    judges = ("jupyter_pernix.agent.policy.shell", "jupyter_pernix.agent.policy.cells")
    assert not any(name.startswith(judges) for name in loaded)
    assert loaded & {"tornado", "jupyter_server", "httpx", "anyio"} == set()


def test_what_a_folder_asks_to_start_is_shown_allowed_and_taken_back(home: Path, space: Path):
    (space / ".pernix").mkdir()
    (space / "check.sh").write_text("true\n")
    hook = {"type": "command", "command": "sh check.sh \u202e"}
    asked = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    (space / ".pernix" / "hooks.json").write_text(json.dumps(asked))
    shown = permissions(home, "consents", cwd=space)
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert lines[0] == "wait for your yes; nothing of it is started"
    assert lines[1].endswith("  .pernix/hooks.json")
    assert lines[2].strip().startswith("sh check.sh")
    assert lines[3].strip().startswith("runs check.sh sha256:")
    assert "\u202e" not in shown.stdout

    [one] = json.loads(permissions(home, "consents", "--json", cwd=space).stdout)["waiting"]
    assert (one["command"], one["environ"]["CLAUDE_PROJECT_DIR"]) == ("sh check.sh \u202e", str(space))
    for wrong in ("0" * 64, one["digest"][:7]):
        done = permissions(home, "consents", "--give", wrong, cwd=space)
        assert (done.returncode, "digest" in done.stderr) == (2, True)
    assert permissions(home, "consents", "--give", one["digest"][:16], cwd=space).returncode == 0
    given = json.loads(permissions(home, "consents", "--json", "--space", str(space), cwd=home).stdout)
    assert (given["waiting"], [each["by"] for each in given["consents"]]) == ([], ["command line"])
    assert permissions(home, "consents", "--take", one["digest"], cwd=space).returncode == 0
    assert len(json.loads(permissions(home, "consents", "--json", cwd=space).stdout)["waiting"]) == 1
    done = permissions(home, "consents", "--take", one["digest"], cwd=space)
    assert (done.returncode, "there is no consent" in done.stderr) == (2, True)
