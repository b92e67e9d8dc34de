"""What a turn keeps before it changes anything, when it keeps nothing, and what it says when it cannot."""

import hashlib
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from agent.acting import Acting, answer
from agent.tools.doing import did, edit, read, write

from jupyter_pernix.agent.safety import snapshots
from jupyter_pernix.agent.safety.copies import Copies
from jupyter_pernix.agent.testing import Says, call
from jupyter_pernix.events import FileChanged, FilesKept, ProblemNoticed


def shell(command: str) -> tuple[str, dict[str, str]]:
    return "run_shell", {"command": command}


@pytest.fixture
def keeping(acting: Acting) -> Acting:
    acting.host.kept_folder = acting.root / "own" / "kept"
    return acting


@pytest.fixture
def in_git(keeping: Acting) -> Acting:
    subprocess.run(["git", "init", "-q"], cwd=keeping.space, check=True)
    (keeping.space / "a.txt").write_text("a\n")
    return keeping


def kept(acting: Acting) -> list[FilesKept]:
    return acting.of(FilesKept)


def said(acting: Acting) -> list[str]:
    return [event.text for event in acting.of(ProblemNoticed)]


def git(acting: Acting, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=acting.space, check=True, capture_output=True, text=True).stdout


def refs(acting: Acting) -> list[str]:
    return git(acting, "for-each-ref", "--format=%(refname)", "refs/pernix").split()


async def test_a_file_is_kept_once_a_turn_with_its_mode_before_it_is_changed(keeping: Acting) -> None:
    (keeping.space / "a.txt").write_bytes(b"one\n")
    (keeping.space / "a.txt").chmod(0o640)
    await did(keeping, read("a.txt"), edit("a.txt", "one", "two"), edit("a.txt", "two", "three"))
    (one,) = kept(keeping)
    assert (one.how, one.path, one.where, one.mode) == ("copies", "a.txt", hashlib.sha256(b"one\n").hexdigest(), 0o640)
    copies = Copies(keeping.root / "own" / "kept")
    assert copies.read(one.where) == b"one\n"
    (file,) = [path for path in (keeping.root / "own" / "kept").rglob("*") if path.is_file()]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    order = [type(event) for event in keeping.host.events if isinstance(event, FilesKept | FileChanged)]
    assert order == [FilesKept, FileChanged, FileChanged]
    await did(keeping, edit("a.txt", "three", "four"))
    assert copies.read(kept(keeping)[1].where) == b"three\n"


async def test_that_a_file_was_not_there_is_kept_with_the_folders_that_were_not(keeping: Acting) -> None:
    (keeping.space / "there").mkdir()
    await did(keeping, write("there/not/deep/a.txt", "a\n"))
    (one,) = kept(keeping)
    assert (one.where, one.mode, one.missing) == ("", None, ["there/not", "there/not/deep"])


async def test_a_file_that_cannot_be_kept_is_not_changed(keeping: Acting) -> None:
    (keeping.root / "own").mkdir()
    (keeping.root / "own" / "kept").write_text("in the way")
    (keeping.space / "a.txt").write_bytes(b"one\n")
    results = await did(keeping, read("a.txt"), write("a.txt", "two\n"))
    assert "could not be kept" in results[-1]
    assert (keeping.space / "a.txt").read_bytes() == b"one\n" and keeping.of(FileChanged) == []


async def test_without_a_place_nothing_is_kept(acting: Acting) -> None:
    await did(acting, write("a.txt", "a\n"), shell("echo b > b.txt"))
    assert kept(acting) == []


async def test_a_refused_change_keeps_nothing(in_git: Acting) -> None:
    await did(in_git, write("a.txt", "never read\n"), read("a.txt"), edit("a.txt", "none", "x"))
    assert kept(in_git) == [] and refs(in_git) == []


async def test_in_git_the_whole_space_is_kept_before_the_first_change_of_a_turn(in_git: Acting) -> None:
    await did(in_git, read("a.txt"), write("a.txt", "A\n"), write("b.txt", "b\n"))
    assert [(event.how, event.path) for event in kept(in_git)] == [
        ("git", ""),
        ("copies", "a.txt"),
        ("copies", "b.txt"),
    ]
    assert git(in_git, "show", f"{refs(in_git)[0]}:a.txt") == "a\n"
    await did(in_git, write("b.txt", "B\n"))
    assert [event.how for event in kept(in_git)] == ["git", "copies", "copies", "git", "copies"]
    assert len(refs(in_git)) == 2


async def test_a_command_that_is_known_to_only_read_keeps_nothing(in_git: Acting) -> None:
    await did(in_git, shell("cat a.txt"))
    assert kept(in_git) == [] and refs(in_git) == []


async def test_a_command_is_kept_before_and_after_and_a_state_only_once(in_git: Acting) -> None:
    await did(in_git, shell("echo b > b.txt"), shell("sleep 0.01 # changes nothing"), shell("echo c > c.txt"))
    assert [event.call_id is not None for event in kept(in_git)] == [False, True, True]


async def test_a_command_that_fails_or_is_stopped_is_kept_after_too(in_git: Acting) -> None:
    command = call("run_shell", command="echo b > b.txt; sleep 60", timeout_seconds=0.5)
    await in_git.say([Says(calls=(command,)), answer()])
    assert [event.call_id is not None for event in kept(in_git)] == [False, True]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (lambda space: (space / ".git" / "HEAD").unlink(), "broken"),
        (lambda space: (space / ".git" / "config").write_text("[core\n"), "bad config"),
        (lambda space: (space / ".git" / "refs" / "pernix").write_text("in the way"), "update-ref"),
    ],
)
async def test_where_git_cannot_the_user_is_told_once_and_files_are_copied(
    in_git: Acting, broken: Callable[[Path], object], reason: str
) -> None:
    broken(in_git.space)
    await did(in_git, read("a.txt"), write("a.txt", "A\n"), shell("echo b > b.txt"))
    await did(in_git, write("a.txt", "B\n"), shell("echo c > c.txt"))
    assert [(event.how, event.path) for event in kept(in_git)] == [("copies", "a.txt")] * 2
    (text,) = said(in_git)
    assert reason in text and "cannot" in text
    assert (in_git.space / "c.txt").exists()


async def test_a_repository_that_takes_too_long_is_not_tried_again_at_once(
    in_git: Acting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\necho x >> {tmp_path}/tried\nexec sleep 1000\n")
    (folder / "git").chmod(0o755)
    (in_git.space / ".git" / "config").unlink()  # so that finding it needs no git
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(snapshots, "DEADLINE", 0.3)
    for _ in range(2):
        await did(in_git, read("a.txt"), write("new.txt", f"{len(kept(in_git))}\n"))
    assert [event.how for event in kept(in_git)] == ["copies", "copies"]
    assert len(said(in_git)) == 1 and "git needed more than" in said(in_git)[0]
    assert (tmp_path / "tried").read_text() == "x\n"


async def test_without_git_installed_files_are_copied(in_git: Acting, monkeypatch: pytest.MonkeyPatch) -> None:
    (in_git.space / ".git" / "config").unlink()
    monkeypatch.setenv("PATH", "/nonexistent")
    await did(in_git, read("a.txt"), write("a.txt", "A\n"))
    assert [event.how for event in kept(in_git)] == ["copies"]
    assert "not installed" in said(in_git)[0]


async def test_files_that_are_too_large_are_named(in_git: Acting) -> None:
    with (in_git.space / "big.bin").open("wb") as file:
        file.truncate(snapshots.LARGEST + 1)
    await did(in_git, shell("echo b > b.txt"), shell("echo c > c.txt"))
    assert said(in_git) == [snapshots.too_large_said(["big.bin"])]


def test_a_copy_that_was_damaged_is_none(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    digest = copies.keep(b"content")
    assert copies.keep(b"content") == digest and copies.read(digest) == b"content"
    (file,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    file.write_bytes(b"other")
    assert copies.read(digest) is None and copies.read("0" * 64) is None
