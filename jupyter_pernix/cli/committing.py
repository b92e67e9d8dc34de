"""``jupyter pernix run --commit``: commit what the session changed, as the user would: their identity, their hooks, their git."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from ..client import JSON, Client
from ..livetext import one_line

_LONGEST_SUBJECT = 72
_LINK = "link:"


class NotCommitted(Exception):
    """Nothing was committed; the text says why."""


def commit_files(client: Client, session: JSON, message: str) -> str:
    """Commit exactly the files that the session changed; what else is staged stays staged. The id of the commit, "" if there was nothing
    to commit.

    :raises NotCommitted: if a file holds changes that are not the session's, or git does not take them
    """
    files = [file for file in client.files(session["session_id"]) if not file["undone"]]
    elses = [file["path"] for file in files if file["now"] != file["after"]]
    if elses:
        raise NotCommitted(f"changed by somebody else since: {_listed(elses)}")
    root = Path(client.info().get("server_root") or client.address.root)
    space = Space(root / session["space_root"])
    committed = {file["path"]: space.committed(file["path"]) for file in space.not_ignored(files)}
    changed = [file for file in files if file["path"] in committed and file["now"] != committed[file["path"]]]
    dirty = [
        file["path"] for file in changed if file["before"] != committed[file["path"]] or space.staged(file["path"])
    ]
    if dirty:
        raise NotCommitted(f"these held changes that were not committed before the session: {_listed(dirty)}")
    return space.commit([file["path"] for file in changed], message) if changed else ""


def subject(request: str) -> str:
    return one_line(next((line for line in request.splitlines() if line.strip()), ""), _LONGEST_SUBJECT)


def _listed(paths: list[str], most: int = 5) -> str:
    return ", ".join(paths[:most]) + (f" and {len(paths) - most} more" if len(paths) > most else "")


class Space:
    """A session's folder, in a work tree of git."""

    def __init__(self, folder: Path) -> None:
        """:raises NotCommitted: if it is in none"""
        self._folder = folder
        if self._git("rev-parse", "--is-inside-work-tree", may_fail=True).strip() != b"true":
            raise NotCommitted(f"{folder} is not in the work tree of a git repository")

    def not_ignored(self, files: list[JSON]) -> list[JSON]:
        names = b"".join(os.fsencode(file["path"]) + b"\0" for file in files)
        ignored = self._git("check-ignore", "-z", "--stdin", stdin=names, may_fail=True).split(b"\0")
        return [file for file in files if os.fsencode(file["path"]) not in ignored and not file["path"].startswith("/")]

    def committed(self, path: str) -> str | None:
        """The digest of a file as the last commit would check it out; ``None``: it is not in there."""
        entry = self._git("ls-tree", "-z", "HEAD", "--", path, may_fail=True)
        if not entry:
            return None
        mode, _, blob = entry.split(b"\t")[0].decode().split(" ")
        link = mode == "120000"
        content = self._git("cat-file", *(("blob",) if link else ("--filters", f"--path={path}")), blob)
        return (_LINK if link else "") + hashlib.sha256(content).hexdigest()

    def staged(self, path: str) -> bool:
        """Whether the index has another state of it than the last commit."""
        return bool(self._git("diff", "--cached", "--name-only", "--no-ext-diff", "--", path, may_fail=True))

    def commit(self, paths: list[str], message: str) -> str:
        """:raises NotCommitted: if git, or a hook, refuses"""
        known = self._git("ls-files", "-z", "--", *paths).split(b"\0")
        new = [path for path in paths if os.fsencode(path) not in known]
        if new:
            self._git("add", "--intent-to-add", "--", *new)
        try:
            # what git and the hooks say is for the user, and our standard output may be read by a program
            self._run(["commit", "--quiet", "--only", "-m", message, "--", *paths], stdout=sys.stderr.fileno())
        except NotCommitted:
            if new:
                self._git("reset", "--quiet", "--", *new, may_fail=True)
            raise
        return self._git("rev-parse", "HEAD").decode().strip()

    def _git(self, *arguments: str, stdin: bytes = b"", may_fail: bool = False) -> bytes:
        try:
            found = subprocess.run(
                ["git", *arguments],
                cwd=self._folder,
                input=stdin,
                capture_output=True,
                env={**os.environ, "GIT_LITERAL_PATHSPECS": "1"},
            )
        except OSError as exc:
            raise NotCommitted(f"git: {exc.strerror or exc}") from exc
        if found.returncode and not may_fail:
            raise NotCommitted(found.stderr.decode("utf-8", "replace").strip() or f"git {arguments[0]} failed")
        return found.stdout if not found.returncode else b""

    def _run(self, arguments: list[str], *, stdout: int) -> None:
        environment = {**os.environ, "GIT_LITERAL_PATHSPECS": "1"}
        done = subprocess.run(["git", *arguments], cwd=self._folder, stdout=stdout, env=environment)
        if done.returncode:
            raise NotCommitted("git did not commit it; its own words are above")
