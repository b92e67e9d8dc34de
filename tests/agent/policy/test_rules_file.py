"""The user's saved rules: read again when they change, never lost, never taken from what is not the user's."""

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jupyter_pernix.agent.policy.rules import RuleSet
from jupyter_pernix.agent.policy.rules_file import RulesFile, name_for
from jupyter_pernix.errors import Conflict, InvalidInput

HOME = "/home/u"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "config" / "permissions"


@pytest.fixture
def space(tmp_path: Path) -> Path:
    (tmp_path / "space").mkdir()
    return tmp_path / "space"


@pytest.fixture
def rules(folder: Path, space: Path) -> RulesFile:
    return RulesFile(folder, space, home=HOME)


def written(rules: RulesFile, **content: Any) -> Path:
    """The space's file, as if by hand."""
    rules.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    path = rules.paths[-1]
    path.write_text(json.dumps({"version": 1, "space": rules.space, **content}))
    path.chmod(0o600)
    return path


def test_without_files_there_are_no_rules(rules: RulesFile):
    assert (rules.read(), rules.listed(), rules.folder.exists()) == (RuleSet(), [], False)


def test_rules_of_the_space_and_of_all_spaces_hold_together(rules: RulesFile, folder: Path, tmp_path: Path):
    rules.add("cargo test", by="page")
    rules.add("cargo  test", by="again")
    rules.add("git push", deny=True, by="page")
    rules.add("pytest", everywhere=True)
    assert rules.read() == RuleSet(allow=("pytest", "cargo test"), deny=("git push",))
    other = RulesFile(folder, tmp_path / "other")
    assert other.read() == RuleSet(allow=("pytest",))
    assert RulesFile(folder, None).read() == RuleSet(allow=("pytest",))
    said = [(one.rule, one.deny, one.everywhere, one.by, bool(one.added_at)) for one in rules.listed()]
    assert said == [
        ("pytest", False, True, "", True),
        ("cargo test", False, False, "page", True),
        ("git push", True, False, "page", True),
    ]


def test_a_space_is_known_by_where_it_really_is(rules: RulesFile, folder: Path, space: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(space)
    rules.add("cargo test")
    assert RulesFile(folder, tmp_path / "link").read() == RuleSet(allow=("cargo test",))


def test_the_file_and_its_folder_are_the_users_alone(rules: RulesFile):
    old = os.umask(0)
    try:
        rules.add("cargo test")
    finally:
        os.umask(old)
    assert stat.S_IMODE(rules.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in rules.folder.iterdir()} == {0o600}
    content = json.loads(rules.paths[-1].read_text())
    assert content["space"] == rules.space
    assert rules.paths[-1].name == name_for(rules.space)


def test_a_removed_rule_is_gone_and_the_others_stay(rules: RulesFile):
    for rule in ("cargo test", "make"):
        rules.add(rule)
    rules.add("make", deny=True)
    assert rules.remove(" make ") is True
    assert rules.remove("make") is False
    assert rules.remove("make", everywhere=True) is False
    assert rules.read() == RuleSet(allow=("cargo test",), deny=("make",))
    assert rules.remove("make", deny=True) is True
    assert rules.read() == RuleSet(allow=("cargo test",))


def test_what_can_be_no_rule_is_not_saved(rules: RulesFile):
    for rule in ("rm", "dir:/", "", "tool:run_code"):
        with pytest.raises(InvalidInput):
            rules.add(rule)
    with pytest.raises(InvalidInput):
        rules.add("rm *", deny=True)
    assert not rules.folder.exists()


def test_a_rule_written_by_hand_that_can_be_none_is_ignored_and_shown_as_such(rules: RulesFile):
    written(rules, allow=["cargo test", "rm", {"rule": "npx -y"}, "tool:run_code"], deny=["sudo"])
    assert rules.read() == RuleSet(allow=("cargo test",), deny=("sudo",))
    assert [(one.rule, bool(one.fault)) for one in rules.listed()] == [
        ("cargo test", False),
        ("rm", True),
        ("npx -y", True),
        ("tool:run_code", True),
        ("sudo", False),
    ]


def test_a_deny_rule_that_forbids_nothing_stops_the_other_rules(rules: RulesFile):
    written(rules, allow=["cargo test"], deny=["rm *", "git push"])
    read = rules.read()
    assert (read.allow, read.deny) == ((), ("git push",))
    assert "'rm *'" in read.broken


def test_a_change_by_another_program_is_seen_at_once(rules: RulesFile, folder: Path, space: Path):
    other = RulesFile(folder, space)
    for number in range(50):
        # rules of one length in a row: neither size nor, within a tick of the clock, the time need differ
        other.add(f"make a{number:02}")
        assert rules.read().allow == (f"make a{number:02}",)
        other.remove(f"make a{number:02}")
        assert rules.read().allow == ()


BAD: dict[str, bytes] = {
    "half of it": b'{"version": 1, "space": "/x", "allow": [{"ru',
    "empty": b"",
    "no JSON": b"cargo test\n",
    "not text": b"\xff\xfe\x00",
    "a list": b"[]",
    "a number as rule": b'{"version": 1, "allow": [3]}',
    "a word misspelled": b'{"version": 1, "denny": ["make"]}',
    "nested too deeply": b"[" * 200_000,
    "too large": b" " * 1_000_001 + b"{}",
    "newer": b'{"version": 2}',
    "another space": b'{"version": 1, "space": "/elsewhere"}',
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("everywhere", [False, True])
def test_a_file_that_cannot_be_understood_allows_nothing_and_is_left_as_it_is(
    rules: RulesFile, content: bytes, everywhere: bool
):
    rules.add("make", deny=True, everywhere=not everywhere)
    rules.add("cargo test", everywhere=not everywhere)
    path = rules.paths[0 if everywhere else 1]
    path.write_bytes(content)
    path.chmod(0o600)
    for _ in range(2):
        read = rules.read()
        assert (read.allow, read.deny) == ((), ("make",))
        assert str(path) in read.broken
    with pytest.raises(Conflict, match="was not saved"):
        rules.add("pytest", everywhere=everywhere)
    with pytest.raises(Conflict, match="was not saved"):
        rules.remove("make", deny=True, everywhere=everywhere)
    assert path.read_bytes() == content
    path.unlink()
    assert rules.read() == RuleSet(allow=("cargo test",), deny=("make",))


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_to_is_not_believed(rules: RulesFile, mode: int):
    rules.add("cargo test")
    rules.paths[-1].chmod(mode)
    assert rules.read().allow == ()
    assert "others may write" in rules.read().broken
    with pytest.raises(Conflict):
        rules.add("pytest")
    rules.paths[-1].chmod(0o600)
    assert rules.read() == RuleSet(allow=("cargo test",))


def test_a_folder_that_others_may_write_to_is_not_believed(rules: RulesFile):
    rules.add("cargo test")
    rules.folder.chmod(0o770)
    assert rules.read().allow == ()
    assert "others may write" in rules.read().broken
    with pytest.raises(Conflict):
        rules.add("pytest")


def test_a_file_of_another_user_is_not_believed(rules: RulesFile, monkeypatch: pytest.MonkeyPatch):
    rules.add("cargo test")
    # who asks is another one, since giving a file away takes rights that a test does not have
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert (
        "belongs to another user" in rules.read().broken
        or "belongs to another user" in RulesFile(rules.folder, Path(rules.space)).read().broken
    )


def test_a_file_in_the_space_where_the_agent_may_write_is_not_believed(space: Path, tmp_path: Path):
    RulesFile(space / "conf", tmp_path / "elsewhere").add("cargo test", everywhere=True)
    rules = RulesFile(space / "conf", space, home=str(tmp_path))
    assert rules.read().allow == ()
    assert "where the agent may write" in rules.read().broken
    with pytest.raises(Conflict, match="where the agent may write"):
        rules.add("pytest")
    rules.paths[0].unlink()
    assert rules.read() == RuleSet()


def test_in_a_space_that_is_the_home_folder_the_usual_place_is_believed(tmp_path: Path):
    for place in (".jupyter", ".config/jupyter"):
        rules = RulesFile(tmp_path / place / "pernix" / "permissions", tmp_path, home=str(tmp_path))
        rules.add("cargo test")
        assert rules.read() == RuleSet(allow=("cargo test",))


def test_links_are_not_followed(rules: RulesFile, tmp_path: Path):
    rules.add("cargo test")
    path = rules.paths[-1]
    aside = tmp_path / "aside.json"
    path.rename(aside)
    path.symlink_to(aside)
    before = aside.read_bytes()
    assert rules.read().allow == ()
    assert "is a link" in rules.read().broken
    with pytest.raises(Conflict):
        rules.add("pytest")
    assert (aside.read_bytes(), path.is_symlink()) == (before, True)


def test_a_folder_that_is_a_link_is_not_followed(rules: RulesFile, tmp_path: Path):
    (tmp_path / "theirs").mkdir()
    rules.folder.parent.mkdir()
    rules.folder.symlink_to(tmp_path / "theirs")
    assert rules.read().broken
    with pytest.raises(Conflict):
        rules.add("pytest")
    assert list((tmp_path / "theirs").iterdir()) == []


def test_a_pipe_in_its_place_holds_nothing_up(rules: RulesFile):
    rules.folder.mkdir(parents=True, mode=0o700)
    os.mkfifo(rules.paths[-1], 0o600)
    assert "is not a file" in rules.read().broken


def test_rules_of_many_threads_are_all_kept(folder: Path, space: Path):
    def add(thread: int) -> None:
        mine = RulesFile(folder, space)
        for number in range(15):
            mine.add(f"make t{thread}n{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    assert set(RulesFile(folder, space).read().allow) == {
        f"make t{thread}n{number}" for thread in range(4) for number in range(15)
    }


def program(folder: Path, space: Path, body: str) -> list[str]:
    """What starts a program of its own that has ``rules``."""
    head = "from pathlib import Path\nfrom jupyter_pernix.agent.policy.rules_file import RulesFile\n"
    given = f"rules = RulesFile(Path({str(folder)!r}), Path({str(space)!r}))\n"
    return [sys.executable, "-c", head + given + body]


def test_rules_of_many_programs_are_all_kept(folder: Path, space: Path):
    body = "input()\nfor number in range(15): rules.add(f'make p{NUMBER}n{number}')"
    with contextlib.ExitStack() as stack:
        running: list[subprocess.Popen[str]] = []
        for number in range(4):
            command = program(folder, space, body.replace("NUMBER", str(number)))
            running.append(stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, text=True)))
        for one in running:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        assert [one.wait(60) for one in running] == [0, 0, 0, 0]
    assert set(RulesFile(folder, space).read().allow) == {
        f"make p{one}n{number}" for one in range(4) for number in range(15)
    }


@pytest.mark.parametrize("moment", ["rename", "fsync"])
def test_a_program_killed_while_it_saves_leaves_the_old_rules_and_no_lock(
    rules: RulesFile, folder: Path, space: Path, moment: str
):
    rules.add("cargo test")
    before = rules.paths[-1].read_bytes()
    body = f"import os, signal\nos.{moment} = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\nrules.add('make')"
    assert subprocess.run(program(folder, space, body), timeout=60).returncode == -signal.SIGKILL
    assert rules.paths[-1].read_bytes() == before
    assert any(path.suffix == ".tmp" for path in folder.iterdir())
    rules.add("pytest")
    assert rules.read() == RuleSet(allow=("cargo test", "pytest"))
    assert not any(path.suffix == ".tmp" for path in folder.iterdir())
