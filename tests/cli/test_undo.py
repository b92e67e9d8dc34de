"""``diff``, ``undo`` and ``run --commit`` as a person uses them: a real server, a scripted model, real git."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.lab import Lab
from support.model_server import ModelServer

from jupyter_pernix.headless import WITHOUT_PAGES

pytestmark = [pytest.mark.server, pytest.mark.timeout(120)]

ADA = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}
Pernix = Callable[..., "subprocess.CompletedProcess[str]"]
Script = Callable[..., None]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def write(path: str, content: str) -> dict[str, Any]:
    return call("write_file", path=path, content=content)


def read(path: str) -> dict[str, Any]:
    return call("read_file", path=path)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def lab(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home, root = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("root")
    with Lab(home=home, root=root, endpoint=model.url, arguments=WITHOUT_PAGES, settings="scout = false\n") as server:
        yield server


@pytest.fixture
def script(model: ModelServer) -> Script:
    def say(*turns: dict[str, Any]) -> None:
        model.ctl("reset", {})
        model.ctl("script", {"turns": [*turns, {"text": "Done."}], "advance": "counter", "on_end": "last"})

    return say


@pytest.fixture
def space(lab: Lab, request: pytest.FixtureRequest) -> Path:
    folder = lab.root / re.sub(r"\W+", "-", request.node.name)
    folder.mkdir()
    return folder


@pytest.fixture
def repository(space: Path) -> Path:
    git(space, "init", "-q")
    (space / "a.txt").write_text("a\n")
    (space / "b.txt").write_text("b\n")
    git(space, "add", "-A")
    git(space, "commit", "-q", "-m", "first")
    return space


@pytest.fixture
def pernix(lab: Lab, space: Path) -> Pernix:
    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "jupyter_pernix.cli", *arguments],
            cwd=space,
            env={**lab.environ, **ADA},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
        )

    return run


def git(folder: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], **ADA}
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env=environment
    ).stdout


def session_of(ran: "subprocess.CompletedProcess[str]") -> str:
    found = re.search(r"ses_\w+", ran.stderr)
    assert found is not None, ran.stderr
    return found.group()


def test_a_session_is_shown_and_put_back(space: Path, pernix: Pernix, script: Script) -> None:
    (space / "a.txt").write_text("one\n")
    script(read("a.txt"), write("a.txt", "two\n"), write("new/b.txt", "b\n"))
    session = session_of(pernix("run", "Go", "--mode", "auto"))
    script(write("a.txt", "three\n"))
    assert pernix("run", "Go on", "--session", session).returncode == 0
    shown = pernix("diff", session)
    assert "-one\n+three\n" in shown.stdout and "+b\n" in shown.stdout
    shown = pernix("diff", session, "--names", "new")
    assert shown.stdout == "new/b.txt (new, +1 -0)\n", shown.stderr
    assert "would be put back" in pernix("undo", session, "--dry-run").stdout
    assert (space / "a.txt").read_text() == "three\n"
    assert pernix("undo", session, "--turn", "2").stdout == "a.txt: put back\n"
    assert (space / "a.txt").read_text() == "two\n"
    (space / "a.txt").write_text("mine\n")
    refused = pernix("undo", session[:-2])
    assert refused.returncode == 1
    assert (
        "new/b.txt: put back" in refused.stdout and "a.txt: not put back: it was changed by somebody" in refused.stdout
    )
    assert not (space / "new").exists()
    assert pernix("undo", session, "--turn", "3").returncode == 2
    assert "not changed it" in pernix("undo", session, "c.txt").stdout


def test_exactly_what_the_session_changed_is_committed(repository: Path, pernix: Pernix, script: Script) -> None:
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    (repository / "b.txt").write_text("staged\n")
    git(repository, "add", "b.txt")
    (repository / "mine.txt").write_text("mine\n")
    script(read("a.txt"), write("a.txt", "A\n"), write("new/c.txt", "c\n"))
    ran = pernix("run", "Make it better\nand more", "--mode", "auto", "--commit")
    assert ran.returncode == 0, ran.stderr
    head = git(repository, "rev-parse", "HEAD").strip()
    assert f"committed {head}" in ran.stderr
    assert git(repository, "show", "--format=%an %s", "--name-only", "HEAD").split("\n") == [
        "Ada Make it better",
        "",
        "a.txt",
        "new/c.txt",
        "",
    ]
    assert git(repository, "diff", "--cached", "--name-only") == "b.txt\n"
    assert git(repository, "show", ":b.txt") == "staged\n"
    assert (repository / "hooked").exists()
    assert "?? mine.txt" in git(repository, "status", "--porcelain")


def test_a_message_is_taken(repository: Path, pernix: Pernix, script: Script) -> None:
    script(read("a.txt"), write("a.txt", "A\n"))
    assert pernix("run", "Go", "--mode", "auto", "--commit", "Say it so").returncode == 0
    assert git(repository, "log", "-1", "--format=%s") == "Say it so\n"


@pytest.mark.parametrize(
    ("before", "reason"),
    [("dirty", "not committed before the session"), ("hook", "did not commit it"), ("plain", "not in the work tree")],
)
def test_it_says_why_nothing_was_committed(
    space: Path, pernix: Pernix, script: Script, before: str, reason: str, request: pytest.FixtureRequest
) -> None:
    if before == "plain":
        (space / "a.txt").write_text("a\n")
    else:
        request.getfixturevalue("repository")
    if before == "dirty":
        (space / "a.txt").write_text("mine\n")
    if before == "hook":
        (space / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
        (space / ".git" / "hooks" / "pre-commit").chmod(0o755)
    script(read("a.txt"), write("a.txt", "A\n"), write("c.txt", "c\n"))
    ran = pernix("run", "Go", "--mode", "auto", "--commit")
    assert ran.returncode == 1 and reason in ran.stderr
    if before != "plain":
        assert git(space, "rev-list", "--count", "HEAD") == "1\n"
        assert git(space, "diff", "--cached", "--name-only") == ""
        assert "?? c.txt" in git(space, "status", "--porcelain")


def test_after_a_turn_that_did_not_end_well_nothing_is_committed(
    repository: Path, pernix: Pernix, script: Script
) -> None:
    script(read("a.txt"), write("a.txt", "A\n"), write("a.txt", "B\n"))
    ran = pernix("run", "Go", "--mode", "auto", "--commit", "--max-rounds", "2")
    assert ran.returncode == 7 and "not committed" in ran.stderr
    assert git(repository, "rev-list", "--count", "HEAD") == "1\n"
    assert (repository / "a.txt").read_text() == "A\n"


def test_a_turn_that_changed_nothing_has_nothing_to_commit(repository: Path, pernix: Pernix, script: Script) -> None:
    script(read("a.txt"))
    ran = pernix("run", "Go", "--mode", "auto", "--commit")
    assert ran.returncode == 0 and "nothing to commit" in ran.stderr
