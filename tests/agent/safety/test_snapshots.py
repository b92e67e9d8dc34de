"""The state of a space as a commit: exact, beside what is the user's, and without running anything of a repository's."""

import os
import subprocess
from pathlib import Path

import pytest
from faults.registry import fault

from jupyter_pernix.agent.safety.git import GitFailed, run
from jupyter_pernix.agent.safety.repository import find_repository
from jupyter_pernix.agent.safety.snapshots import LARGEST, Snapshots

ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env=ENV).stdout


@pytest.fixture
def space(tmp_path: Path) -> Path:
    folder = (tmp_path / "space").resolve()
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("a\n")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def snapshots(space: Path, tmp_path: Path) -> Snapshots:
    repository = find_repository(space)
    assert repository is not None
    return Snapshots(repository, space, tmp_path / "kept")


def taken(space: Path, tmp_path: Path) -> dict[str, bytes]:
    """Every file of a snapshot of the space, as a reader of the commit gets it."""
    commit = committed(space, tmp_path)
    entries = [
        line.split(b"\t", 1) for line in git(space, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]
    ]
    blobs = {name.decode(): head.split()[2].decode() for head, name in entries if b" blob " in head}
    return {name: git(space, "cat-file", "blob", blob) for name, blob in blobs.items()}


def committed(space: Path, tmp_path: Path) -> str:
    taker = snapshots(space, tmp_path)
    return taker.commit(taker.take(), ref="refs/pernix/test/one", says="test")


@fault("repo-git-config")
@pytest.mark.parametrize("attributes", [False, True])
def test_nothing_that_a_repository_configures_is_run(space: Path, tmp_path: Path, attributes: bool) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {ran}\ncat\n')
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-index-change", "pre-commit", "post-commit", "fsmonitor-watchman"):
        for folder in (hooks, space / ".git" / "hooks"):
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(program.read_text())
            (folder / name).chmod(0o755)
    for key, value in {
        "core.fsmonitor": str(program),
        "core.hooksPath": str(hooks),
        "core.pager": str(program),
        "core.editor": str(program),
        "core.sshCommand": str(program),
        "core.askPass": str(program),
        "core.worktree": "/",
        "core.gitProxy": str(program),
        "core.alternateRefsCommand": str(program),
        "diff.external": str(program),
        "diff.x.command": str(program),
        "diff.x.textconv": str(program),
        "merge.x.driver": str(program),
        "filter.x.clean": str(program),
        "filter.x.smudge": str(program),
        "filter.x.process": str(program),
        "filter.x.required": "true",
        "commit.gpgSign": "true",
        "gpg.program": str(program),
        "credential.helper": f"!{program}",
        "alias.ls-files": f"!{program}",
        "alias.write-tree": f"!{program}",
        "uploadpack.packObjectsHook": str(program),
        "extensions.partialClone": "origin",
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
    }.items():
        git(space, "config", key, value)
    git(space, "config", "core.repositoryFormatVersion", "1")
    if attributes:
        (space / ".gitattributes").write_text("* filter=x diff=x merge=x text eol=crlf\n")
        (space / ".git" / "info").mkdir(exist_ok=True)
        (space / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
    (space / "nested").mkdir()
    git(space / "nested", "init", "-q")
    git(space / "nested", "config", "core.fsmonitor", str(program))
    ran.unlink(missing_ok=True)  # making all that ran some of it
    (space / "a.txt").write_bytes(b"A\n")
    taker = snapshots(space, tmp_path)
    one = taker.commit(taker.take(), ref="refs/pernix/test/one", says="test")
    (space / "b.txt").write_bytes(b"b\r\n")
    two = taker.commit(taker.take(), ref="refs/pernix/test/two", says="test")
    found = taker.differences(one, two)
    assert [each.path for each in found] == ["b.txt"]
    assert taker.read(str(found[0].after)) == b"b\r\n"
    assert not ran.exists(), ran.read_text()


def test_the_test_above_can_fail(space: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "program.sh").write_text(f"#!/bin/sh\necho x >> {ran}\n")
    (tmp_path / "program.sh").chmod(0o755)
    git(space, "config", "core.fsmonitor", str(tmp_path / "program.sh"))
    git(space, "status")
    assert ran.exists()


@pytest.mark.parametrize("seeded", [True, False])
def test_files_are_kept_byte_by_byte(space: Path, tmp_path: Path, seeded: bool) -> None:
    if not seeded:
        (space / ".gitattributes").write_text("* text=auto eol=lf ident\n*.u16 working-tree-encoding=UTF-16\n")
        git(space, "config", "core.autocrlf", "true")
    contents = {
        "crlf.txt": b"one\r\ntwo\r\n",
        "mixed.txt": b"a\r\nb\nc\rd",
        "ident.txt": b"$Id: x $\n",
        "text.u16": "\ufeffü".encode("utf-16-le"),
        "empty": b"",
        "bytes": bytes(range(256)),
        'odd "name\\ \u00fc\n\t.txt': b"odd\n",
        "-n": b"dash",
        "sub/:(glob)*": b"magic",
    }
    for name, content in contents.items():
        (space / name).parent.mkdir(exist_ok=True)
        (space / name).write_bytes(content)
    kept = taken(space, tmp_path)
    assert {name: kept[name] for name in contents} == contents


def test_tracked_files_are_kept_even_if_they_are_ignored_and_ignored_ones_are_not(space: Path, tmp_path: Path) -> None:
    (space / ".gitignore").write_text("*.log\n")
    (space / "forced.log").write_text("forced\n")
    (space / "not.log").write_text("not\n")
    (space / ".git" / "info" / "exclude").write_text("mine\n")
    (space / "mine").write_text("mine\n")
    git(space, "add", "-f", "forced.log")
    (space / "forced.log").write_text("forced, changed\n")
    for attributes in ("", "*.x text\n"):
        (space / ".gitattributes").write_text(attributes)
        kept = taken(space, tmp_path / (attributes or "none").strip())
        assert kept["forced.log"] == b"forced, changed\n"
        assert not {"not.log", "mine"} & set(kept)


def test_what_is_outside_of_the_space_is_not_looked_at(space: Path, tmp_path: Path) -> None:
    below = space / "below"
    below.mkdir()
    (below / "x.txt").write_text("x\n")
    taker = snapshots(below, tmp_path)
    one = taker.commit(taker.take(), ref="refs/pernix/test/one", says="test")
    (space / "a.txt").write_text("changed\n")
    (below / "x.txt").write_text("y\n")
    two = taker.commit(taker.take(), ref="refs/pernix/test/two", says="test")
    assert [each.path for each in taker.differences(one, two)] == ["x.txt"]


def test_links_modes_and_deletions(space: Path, tmp_path: Path) -> None:
    (space / "link").symlink_to("/etc/passwd")
    (space / "run").write_text("x\n")
    (space / "run").chmod(0o755)
    taker = snapshots(space, tmp_path)
    one = taker.commit(taker.take(), ref="refs/pernix/test/one", says="test")
    (space / "link").unlink()
    (space / "link").symlink_to("a.txt")
    (space / "run").chmod(0o644)
    (space / "a.txt").unlink()
    (space / "a.txt").mkdir()
    (space / "a.txt" / "b").write_text("b\n")
    two = taker.commit(taker.take(), ref="refs/pernix/test/two", says="test")
    found = {each.path: (each.before_mode, each.after_mode) for each in taker.differences(one, two)}
    assert found == {
        "a.txt": (0o100644, 0),
        "a.txt/b": (0, 0o100644),
        "link": (0o120000, 0o120000),
        "run": (0o100755, 0o100644),
    }


def test_a_large_file_that_changes_stays_as_it_was_known_and_is_named(space: Path, tmp_path: Path) -> None:
    taker = snapshots(space, tmp_path)
    before = taker.take()
    with (space / "a.txt").open("ab") as file:
        file.truncate(LARGEST + 1)
    os.truncate(space / "a.txt", LARGEST + 1)
    after = taker.take()
    assert after.tree == before.tree and after.too_large == ("a.txt",)


def test_a_changed_file_of_the_same_size_and_time_is_seen(space: Path, tmp_path: Path) -> None:
    """The user's index is taken over with its own time, by which git knows what may have been changed in the same moment."""
    times = (space / "a.txt").stat()
    os.utime(space / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    git(space, "update-index", "--refresh")
    (space / "a.txt").write_text("b\n")
    os.utime(space / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    index = (space / ".git" / "index").stat()
    os.utime(space / ".git" / "index", ns=(index.st_atime_ns, times.st_mtime_ns))
    assert taken(space, tmp_path)["a.txt"] == b"b\n"


@pytest.mark.parametrize("option", ["split-index", "untracked-cache", "fsmonitor", "skip-worktree", "conflict", "none"])
def test_whatever_the_users_index_is_like(space: Path, tmp_path: Path, option: str) -> None:
    (space / "b.txt").write_text("b\n")
    git(space, "add", "b.txt")
    if option == "skip-worktree":
        git(space, "update-index", "--skip-worktree", "--assume-unchanged", "a.txt")
    elif option == "none":
        (space / ".git" / "index").unlink()
    elif option == "conflict":
        blob = git(space, "rev-parse", "HEAD:a.txt").decode().strip()
        entries = "".join(f"100644 {blob} {stage}\tb.txt\n" for stage in (1, 2, 3))
        subprocess.run(
            ["git", "update-index", "--index-info"],
            input=f"0 {'0' * 40}\tb.txt\n{entries}".encode(),
            cwd=space,
            check=True,
        )
    elif option != "fsmonitor":
        git(space, "update-index", f"--{option}")
    (space / "a.txt").write_text("changed\n")
    kept = taken(space, tmp_path)
    assert kept["a.txt"] == b"changed\n" and kept["b.txt"] == b"b\n"


def test_a_linked_work_tree_and_a_submodule(space: Path, tmp_path: Path) -> None:
    git(space, "worktree", "add", "-q", str(tmp_path / "linked"))
    linked = (tmp_path / "linked").resolve()
    (linked / "new.txt").write_text("new\n")
    assert set(taken(linked, tmp_path)) == {"a.txt", "new.txt"}
    git(space, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(linked), "sub")
    (space / "sub" / "in.txt").write_text("in\n")
    assert "sub/in.txt" not in taken(space, tmp_path)
    assert "in.txt" in taken(space / "sub", tmp_path)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda top, other: (top / ".git").write_text(f"gitdir: {other / '.git'}\n"), "does not know of it"),
        (lambda top, other: (top / ".git").symlink_to(other / ".git"), "a link"),
        (lambda top, other: (top / ".git").mkdir(), "broken"),
        (lambda top, other: (top / ".git").write_text("what\n"), "not understood"),
    ],
)
def test_a_repository_that_is_not_what_it_seems_is_not_used(
    space: Path, tmp_path: Path, make: object, reason: str
) -> None:
    top = tmp_path / "top"
    top.mkdir()
    assert callable(make)
    make(top, space)
    with pytest.raises(GitFailed, match=reason):
        find_repository(top)


def test_a_repository_that_leads_elsewhere_is_not_written_into(space: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("refs/pernix", "objects", "refs"):
        part = space / ".git" / name
        part.mkdir(exist_ok=True)
        part.rename(other / part.name)
        part.symlink_to(other / part.name)
        with pytest.raises(GitFailed, match="links"):
            find_repository(space)
        part.unlink()
        (other / part.name).rename(part)
    assert find_repository(space) is not None
    (space / ".git" / "commondir").write_text(f"{other}\n")
    with pytest.raises(GitFailed, match="names another"):
        find_repository(space)


def test_a_broken_configuration_is_an_error_with_gits_words(space: Path, tmp_path: Path) -> None:
    (space / ".git" / "config").write_text("[core\n")
    with pytest.raises(GitFailed, match="config"):
        snapshots(space, tmp_path)


def test_a_repository_with_other_object_names(tmp_path: Path) -> None:
    space = (tmp_path / "space").resolve()
    space.mkdir()
    git(space, "init", "-q", "--object-format=sha256")
    (space / "a.txt").write_text("a\n")
    assert taken(space, tmp_path) == {"a.txt": b"a\n"}


def test_a_lock_that_an_ended_process_left_is_no_obstacle(space: Path, tmp_path: Path) -> None:
    taker = snapshots(space, tmp_path)
    taker.take()
    (index,) = (tmp_path / "kept" / "git").glob("*/index")
    index.with_name("index.lock").touch()
    (space / ".git" / "index.lock").touch()
    (space / "b.txt").write_text("b\n")
    assert "b.txt" in taken(space, tmp_path)


def test_git_that_does_not_end_is_ended_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "git").write_text("#!/bin/sh\nsleep 1000 & echo $! > child; wait\n")
    (fake / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")
    with pytest.raises(GitFailed, match="took longer"):
        run(["status"], cwd=tmp_path, environment={}, deadline=0.5)
    child = int((tmp_path / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"
