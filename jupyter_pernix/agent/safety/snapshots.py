"""The state of a space as a commit of its repository: made with a git folder and an index of ours, so that the user's index, HEAD, branch,
stash and reflogs are not touched. Files are taken byte by byte as they are: no attribute, filter or line ending rule of the
repository has a say. Blocking.

What git ignores is not in it, nor what is in a repository within the repository, nor a changed file of more than 50 MB.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .git import DEADLINE, GitFailed, GitSlow, run
from .modes import Modes, modes_in, modes_of
from .repository import Repository
from .user_git import converts, excludes

LARGEST = 50_000_000
NOT_KEPT = ("pernix-runs",)
"""Folders that the host itself writes into."""

_ATTRIBUTES = "* -text -ident !filter !eol !crlf !working-tree-encoding !diff !merge\n"
_NOT_AGAIN = 3600.0
_BATCH = 64_000_000
_SHARED: dict[Path, threading.Lock] = {}


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """``tree``: the object that holds it. ``too_large``: files that were changed and are left as they were known before."""

    tree: str
    too_large: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One path in which two snapshots differ, relative to the space. ``None`` for an object: not there. Modes are git's: 0o100644,
    0o100755, 0o120000 for a link."""

    path: str
    before: str | None
    after: str | None
    before_mode: int = 0
    after_mode: int = 0
    before_digest: str | None = None
    after_digest: str | None = None
    """sha256 of the contents, once they were looked at."""


class Snapshots:
    """Of one space in one repository. ``folder`` is ours; several sessions may share it."""

    def __init__(self, repository: Repository, space: Path, folder: Path) -> None:
        self._repository = repository
        self._space = space
        named = hashlib.sha256(os.fsencode(repository.top) + b"\0" + os.fsencode(space)).hexdigest()[:24]
        self._folder = folder / "git" / named
        self._index = self._folder / "index"
        self._slow = self._folder / "slow"
        self._lock = _SHARED.setdefault(self._folder, threading.Lock())
        self._until = 0.0

    # ---- taking ---------------------------------------------------------------------------------------------------------

    def take(self) -> Snapshot:
        """The space as it is now.

        :raises GitFailed: if it cannot be taken; for an hour after it took too long without trying
        """
        if self._was_slow():
            raise GitFailed(f"git needed more than {DEADLINE:g} s for it")
        try:
            return self._take()
        except GitSlow as exc:
            with contextlib.suppress(OSError):
                self._slow.touch()
            raise GitFailed(f"git needed more than {DEADLINE:g} s for it") from exc

    def _was_slow(self) -> bool:
        try:
            return time.time() - self._slow.stat().st_mtime < _NOT_AGAIN
        except OSError:
            return False

    def _take(self) -> Snapshot:
        with self._alone():
            self._prepare()
            fresh = not self._index.exists()
            listed = self._seeded() if fresh else None
            if listed is None:
                tracked = self._tracked() if fresh else []
                listed = [*tracked, *self._listed()]
            wanted, gone, too_large = self._sorted(listed)
            for names, how in ((gone, ("--force-remove",)), (wanted, ("--add", "--remove", "--replace"))):
                if names:
                    self._git("update-index", *how, "-z", "--stdin", stdin=b"".join(name + b"\0" for name in names))
            tree = self._git("write-tree", "--missing-ok").decode().strip()
            return Snapshot(tree=tree, too_large=tuple(os.fsdecode(name) for name in too_large))

    def commit(self, snapshot: Snapshot, *, ref: str, says: str) -> str:
        """A commit of it under the name ``ref``.

        :raises GitFailed: if it cannot be made or named
        """
        with self._alone():
            names = self._git("ls-files", "-z", "--", ".").split(b"\0")[:-1]
            message = says + "\n" + modes_of(self._space, names).in_message()
            commit = self._git("commit-tree", snapshot.tree, stdin=os.fsencode(message)).decode().strip()
        self._repository.name_commit(ref, commit)
        return commit

    def _prepare(self) -> None:
        (self._folder / "refs").mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ("objects", "info"):
            (self._folder / name).mkdir(exist_ok=True)
        version, more = ("1", "[extensions]\n\tobjectFormat = sha256\n") if self._repository.sha256 else ("0", "")
        self._write("HEAD", "ref: refs/heads/none\n")
        self._write("config", f"[core]\n\trepositoryformatversion = {version}\n\tbare = false\n{more}")
        self._write("info/attributes", _ATTRIBUTES)
        with contextlib.suppress(FileNotFoundError):
            # nobody else works here: it is of a process that was ended
            self._index.with_name("index.lock").unlink()

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    def _seeded(self) -> list[bytes] | None:
        """What has changed since the user's own index, which saves reading every file once; ``None``: it cannot be used."""
        own = self._repository.own / "index"
        if not own.exists() or converts(self._repository):
            return None
        try:
            listed = self._git("ls-files", "-v", "-z", index=own).split(b"\0")[:-1]
            if any(not line.startswith(b"H ") or line.endswith(b".gitattributes") for line in listed):
                return None
            shutil.copy2(own, self._index)  # with its time: by that git tells what may have been changed right after it
            return self._listed()
        except (GitFailed, OSError):
            with contextlib.suppress(FileNotFoundError):
                self._index.unlink()
            return None

    def _tracked(self) -> list[bytes]:
        """The user's tracked files, ignored ones among them."""
        own = self._repository.own / "index"
        try:
            return self._git("ls-files", "-z", "--", ".", index=own).split(b"\0")[:-1] if own.exists() else []
        except GitFailed:
            return []

    def _listed(self) -> list[bytes]:
        """Paths below the space that differ from our index, or are not in it and not ignored."""
        patterns = [f"--exclude-from={path}" for path in excludes(self._repository)]
        output = self._git("ls-files", "-z", "-m", "-d", "-o", "--exclude-standard", *patterns, "--", ".")
        return output.split(b"\0")[:-1]

    def _sorted(self, listed: Iterable[bytes]) -> tuple[list[bytes], list[bytes], list[bytes]]:
        """What is to be taken, what is a file no more, and what is too large."""
        wanted: list[bytes] = []
        gone: list[bytes] = []
        too_large: list[bytes] = []
        for name in dict.fromkeys(listed):
            # a repository in the repository ends with "/"
            if name.endswith(b"/") or os.fsdecode(name).split("/", 1)[0] in NOT_KEPT:
                continue
            path = os.path.join(os.fsencode(self._space), name)  # noqa: PTH118 - bytes
            try:
                found = os.lstat(path)
            except OSError:
                gone.append(name)
                continue
            if stat.S_ISREG(found.st_mode) and found.st_size > LARGEST:
                too_large.append(name)
            elif stat.S_ISLNK(found.st_mode) or (stat.S_ISREG(found.st_mode) and os.access(path, os.R_OK)):
                wanted.append(name)
            elif stat.S_ISDIR(found.st_mode) and not os.path.lexists(os.path.join(path, b".git")):  # noqa: PTH118
                gone.append(name)
        return wanted, gone, too_large

    # ---- reading --------------------------------------------------------------------------------------------------------

    def differences(self, before: str, after: str) -> list[Difference]:
        """Between two commits or trees, by path.

        :raises GitFailed: if one of them is not there
        """
        with self._alone():
            self._prepare()
            options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--relative")
            fields = self._git("diff-tree", *options, before, after, "--", ".").split(b"\0")[:-1]
        return [_difference(head.decode(), name) for head, name in zip(fields[::2], fields[1::2], strict=True)]

    def modes(self, commit: str) -> Modes:
        """The permission bits of the files in a commit.

        :raises GitFailed: if there is no such commit
        """
        with self._alone():
            self._prepare()
            return modes_in(self._git("cat-file", "commit", commit).decode("utf-8", "surrogateescape"))

    def read(self, blob: str) -> bytes:
        """:raises GitFailed: if there is no such object"""
        with self._alone():
            return self._git("cat-file", "blob", blob)

    def digests(self, blobs: Sequence[str]) -> dict[str, str]:
        """The sha256 digests of the contents of objects; of those that are there.

        :raises GitFailed: if git fails
        """
        found: dict[str, str] = {}
        with self._alone():
            self._prepare()
            for batch in self._batches(blobs):
                output = self._git("cat-file", "--batch", stdin=_lines(batch))
                place = 0
                for blob in batch:
                    end = output.index(b"\n", place)
                    size = int(output[place:end].split(b" ")[2])
                    found[blob] = hashlib.sha256(memoryview(output)[end + 1 : end + 1 + size]).hexdigest()
                    place = end + 1 + size + 1
        return found

    def _batches(self, blobs: Sequence[str]) -> Iterator[list[str]]:
        """Those that are there, so many at once as memory should hold."""
        batch: list[str] = []
        total = 0
        for line in self._git("cat-file", "--batch-check", stdin=_lines(blobs)).decode().splitlines():
            blob, kind, *size = line.split(" ")
            if kind != "blob":
                continue
            if batch and total + int(size[0]) > _BATCH:
                yield batch
                batch, total = [], 0
            batch.append(blob)
            total += int(size[0])
        if batch:
            yield batch

    # ---- git ------------------------------------------------------------------------------------------------------------

    @contextmanager
    def _alone(self) -> Generator[None]:
        if not self._lock.acquire(timeout=DEADLINE):
            raise GitFailed("another session is taking the same folder")
        self._until = time.monotonic() + DEADLINE
        try:
            yield
        except OSError as exc:
            raise GitFailed(str(exc.strerror or exc)) from exc
        finally:
            self._lock.release()

    def _git(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> bytes:
        environment = {
            "GIT_DIR": str(self._folder),
            "GIT_WORK_TREE": str(self._repository.top),
            "GIT_INDEX_FILE": str(index or self._index),
            "GIT_OBJECT_DIRECTORY": str(self._repository.objects),
        }
        left = max(0.1, self._until - time.monotonic())
        return run(arguments, cwd=self._space, environment=environment, stdin=stdin, deadline=left)


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _difference(head: str, name: bytes) -> Difference:
    before_mode, after_mode, before, after, _ = head.lstrip(":").split(" ")
    return Difference(
        path=os.fsdecode(name),
        before=before if before.strip("0") else None,
        after=after if after.strip("0") else None,
        before_mode=int(before_mode, 8),
        after_mode=int(after_mode, 8),
    )


def too_large_said(names: Sequence[str], *, most: int = 5) -> str:
    """A sentence about files that are not kept, "" if there are none."""
    if not names:
        return ""
    shown = ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    return f"Too large to be kept (more than {LARGEST // 1_000_000} MB), so changes by commands cannot be put back: {shown}."
