"""``jupyter pernix permissions explain``: what would be decided, for people and for programs."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.isolation import isolated_environ

from jupyter_pernix.agent.policy.rules_file import FOLDER, RulesFile

COMMAND = [sys.executable, "-m", "jupyter_pernix.cli", "permissions", "explain"]
CASES = json.loads((Path(__file__).parents[1] / "cases" / "shell_gate.json").read_text())
FILES = ("src/a.py", "tests/test_a.py", "scripts/x.py", "scripts/y.py", "scripts/x.sh", "other/x.sh", "data/in.csv")
TOP = ("README.md", "list.txt", "a", "x", "y", ".env", "Makefile", "package.json")

JSON = dict[str, Any]


@dataclass(frozen=True)
class World:
    """A user's home with a little project in it."""

    home: Path
    root: Path

    def explain(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        environ = isolated_environ(self.home) | {"NO_COLOR": "1"}
        command = [*COMMAND, "--root", str(self.root), "--home", str(self.home), *arguments]
        return subprocess.run(
            command, cwd=self.home, env=environ, input=given, capture_output=True, text=True, timeout=60
        )

    def answers(self, lines: Sequence[JSON], *arguments: str) -> list[JSON]:
        done = self.explain("--json", *arguments, given="".join(json.dumps(line) + "\n" for line in lines))
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    home = tmp_path_factory.mktemp("world") / "home"
    root = home / "proj"
    for name in (*FILES, *TOP, "../.ssh/id_rsa"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    return World(home=home, root=root)


@pytest.fixture(scope="module")
def matched(world: World) -> list[JSON]:
    return world.answers([{"cmd": case["cmd"], "rules": case["rules"]} for case in CASES["rule_matching"]])


@pytest.mark.parametrize("case", CASES["rule_matching"], ids=lambda case: case["id"])
def test_a_rule_allows_what_it_says_and_nothing_else(matched: list[JSON], case: JSON):
    said = matched[CASES["rule_matching"].index(case)]
    assert (said["verdict"] == "auto") is case["allowed"], (case, said)


@pytest.fixture(scope="module")
def refused(world: World) -> list[JSON]:
    return world.answers([{"cmd": case["cmd"], "deny": case["deny"]} for case in CASES["deny"]])


@pytest.mark.parametrize("case", CASES["deny"], ids=lambda case: case["id"])
def test_a_deny_rule_refuses_every_spelling_and_nothing_else(refused: list[JSON], case: JSON):
    said = refused[CASES["deny"].index(case)]
    assert (said["verdict"] == "denied") is case["refused"], (case, said)


def test_each_line_is_answered_with_one(world: World):
    lines = [
        {"cmd": "cat README.md"},
        {"cmd": "cargo test --release > out.txt"},
        {"cmd": "rm -rf data"},
        {"cell": "x = 1\n!rm -rf data", "lang": "python"},
        {"cell": "1 + 1"},
        {"tool": "web_fetch"},
        {"tool": "notes.add", "deny": ["notes.*"]},
    ]
    answers = world.answers(lines)
    assert all(answer.pop("why") for answer in answers)
    assert answers == [
        {"verdict": "auto", "rule": None},
        {"verdict": "ask", "rule": ["cargo test", ">"]},
        {"verdict": "ask_always", "rule": None},
        {
            "verdict": "ask_always",
            "rule": None,
            "magic_shell": ["rm -rf data"],
            "obvious_effects": ["runs_process", "deletes"],
        },
        {"verdict": "ask", "rule": None, "magic_shell": [], "obvious_effects": []},
        {"verdict": "ask", "rule": ["tool:web_fetch"]},
        {"verdict": "denied", "rule": None},
    ]


def test_what_is_not_known_in_a_line_is_told(world: World):
    (answer,) = world.answers([{"cmd": "ls", "id": 7, "rulez": ["ls"], "note": ""}])
    assert (answer["verdict"], answer["ignored"]) == ("auto", ["note", "rulez"])


def test_a_bare_line_is_a_command_where_ipython_takes_it_for_one(world: World):
    lines = [{"cell": "rm list.txt"}, {"cell": "rm list.txt", "automagic": False}]
    assert [answer["magic_shell"] for answer in world.answers(lines)] == [["rm list.txt"], []]


@pytest.mark.parametrize(
    ("mode", "verdicts"),
    [
        ("ask", ["auto", "denied", "denied", "denied", "denied"]),
        ("plan", ["auto", "denied", "denied", "denied", "denied"]),
        ("edit", ["auto", "ask", "ask_always", "ask_always", "ask"]),
        ("auto", ["auto", "auto", "ask_always", "auto", "auto"]),
    ],
)
def test_the_mode_decides_with_the_ruling(world: World, mode: str, verdicts: list[str]):
    lines = [{"cmd": "ls"}, {"cmd": "make"}, {"cmd": "rm -rf data"}, {"cmd": "python -c 'print(1)'"}, {"cell": "1 + 1"}]
    answers = world.answers(lines, "--mode", mode)
    assert [answer["verdict"] for answer in answers] == verdicts
    assert all("mode" in answer["why"] for answer in answers if answer["verdict"] == "denied")


def test_a_rule_that_can_be_none_allows_nothing(world: World):
    lines = [{"cmd": "rm x", "rules": ["rm", "exact:rm x"]}, {"cmd": "python x", "rules": ["python"]}]
    assert {answer["verdict"] for answer in world.answers(lines)} <= {"ask", "ask_always"}


def test_bad_lines_are_answered_with_an_error_and_the_others_as_ever(world: World):
    bad = [
        "no JSON",
        "[1]",
        "{}",
        '{"cmd": 1}',
        '{"cmd": "ls", "cell": "1"}',
        '{"cmd": "ls", "rules": 1}',
        '{"cmd": "ls", "rules": [1]}',
        '{"cmd": "ls", "deny": ["rm *"]}',
        '{"cell": "1", "lang": 1}',
        '{"cell": "1", "automagic": 1}',
        "[" * 100_000,
    ]
    good = '{"cmd": "ls"}'
    done = world.explain("--json", given="\n".join([good, "", *bad, good]))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 2
    assert [sorted(answer) for answer in answers] == [
        ["rule", "verdict", "why"],
        *[["error"]] * len(bad),
        ["rule", "verdict", "why"],
    ]
    assert all(answer["error"] for answer in answers[1:-1])


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "echo \ud800", "rm\u202e", "'", "\\", "a" * 200_000])
def test_any_text_is_judged_and_none_of_the_odd_ones_is_let_through(world: World, text: str):
    (answer,) = world.answers([{"cmd": text}])
    assert answer["verdict"] in (("auto", "ask_always") if not text.strip() else ("ask", "ask_always", "denied"))


def test_saved_rules_count_when_asked_for(world: World):
    file = RulesFile(world.home / "jupyter_config_dir" / "pernix" / FOLDER, world.root)
    file.add("make")
    file.add("ls", deny=True)
    lines = [{"cmd": "make"}, {"cmd": "ls"}]
    try:
        assert [answer["verdict"] for answer in world.answers(lines)] == ["ask", "auto"]
        assert [answer["verdict"] for answer in world.answers(lines, "--saved")] == ["auto", "denied"]
        file.paths[-1].chmod(0o666)
        answers = world.answers([{"cmd": "make"}, {"cmd": "cat x"}], "--saved")
        assert [(answer["verdict"], answer["rule"]) for answer in answers] == [("ask", None), ("ask", None)]
        assert "others may write" in answers[0]["why"]
    finally:
        file.paths[-1].unlink()


def test_deny_rules_of_the_settings_count_with_the_saved_ones(world: World):
    settings = world.home / "jupyter_config_dir" / "pernix" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('permissions.deny = ["ls"]\n')
    try:
        assert [answer["verdict"] for answer in world.answers([{"cmd": "ls"}])] == ["auto"]
        assert [answer["verdict"] for answer in world.answers([{"cmd": "ls"}], "--saved")] == ["denied"]
        assert "is refused" in world.explain("ls").stdout
        assert "runs unasked" in world.explain("--no-saved", "ls").stdout
    finally:
        settings.unlink()


def test_a_person_is_told_in_words(world: World):
    done = world.explain("cat README.md", "cargo test", "rm -rf data\x1b[31m")
    assert (done.returncode, done.stderr) == (0, "")
    blocks = done.stdout.splitlines()
    assert blocks[0] == "cat README.md"
    assert blocks[1].startswith("  runs unasked: ")
    assert blocks[2] == "cargo test"
    assert blocks[3].startswith("  is asked: ")
    assert blocks[4] == '  "always" would save: cargo test'
    assert blocks[6].startswith("  is asked each time: ")
    assert blocks[7] == '  "always" is not offered'
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("arguments", [(), ("--mode", "yolo", "ls"), ("--root", "/nowhere/at/all", "ls")])
def test_bad_usage_is_told(world: World, arguments: tuple[str, ...]):
    done = world.explain(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
