"""What a turn keeps before it changes anything: the whole space as a commit where it is in a git repository, and each file that a tool
is about to change as a copy. Stored as ``files.kept`` before the effect; a turn that changes nothing keeps nothing.

Where the space cannot be kept as a commit, the user is told once why. A file that cannot be kept is not changed.
"""

import errno
import os
import stat
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from ...errors import ToolFailed
from ...events import Event, FilesKept, PolicyDecided, ProblemNoticed
from ...ids import CallId, TurnId
from ...ports import TurnHost
from ..journal import Journal
from ..policy.opening import folder_of
from ..policy.scope import Located
from .copies import Copies
from .git import GitFailed, installed
from .repository import find_repository
from .snapshots import Snapshots, too_large_said

COMMANDS = frozenset({"shell", "execute"})
"""The actions of which it is not known before which files they change."""

_NO_COMMIT = "The state of the folder before this turn is not kept as a commit"
_WHY = "{said}: {reason}. Files that the agent's tools change can be put back; what commands and cells change cannot."


class Keeping:
    """For one turn. Without a folder to keep things in, nothing is kept."""

    def __init__(self, *, host: TurnHost, turn_id: TurnId, journal: Journal) -> None:
        self._host = host
        self._turn_id = turn_id
        self._journal = journal
        self._lock = anyio.Lock()
        self._snapshots: Snapshots | None = None
        self._looked = False
        self._commit: str = ""
        """The last that was kept in this turn."""
        self._tree: str = ""
        kept = [
            each.event for each in journal.log if isinstance(each.event, FilesKept) and each.event.turn_id == turn_id
        ]
        self._paths = {event.path for event in kept if event.path}
        self._named = any(event.how == "git" for event in kept)
        """A commit has the turn's own name; later ones of the turn get a number behind it."""

    # ---- files ----------------------------------------------------------------------------------------------------------

    async def file(self, located: Located, before: bytes | None) -> None:
        """Keep a file that is about to be changed; ``before`` ``None``: it is about to be made.

        :raises ToolFailed: if it cannot be kept
        """
        folder = self._host.kept_folder
        if folder is None:
            return
        async with self._lock:
            events: list[Event] = [] if self._commit else await self._taken(None)
            if located.name not in self._paths:
                events.append(await anyio.to_thread.run_sync(self._copied, folder, located, before))
            if events:
                await self._journal.add(*events)
            self._paths.add(located.name)

    def _copied(self, folder: Path, located: Located, before: bytes | None) -> FilesKept:
        try:
            digest = "" if before is None else Copies(folder).keep(before)
        except OSError as exc:
            raise ToolFailed(
                f"Not done: {located.name!r} could not be kept as it is before the change ({exc.strerror or exc})."
            ) from exc
        return FilesKept(
            session_id=self._host.session_id,
            turn_id=self._turn_id,
            how="copies",
            where=digest,
            path=located.name,
            mode=None if before is None else _mode(located),
            missing=_missing(located) if before is None else [],
        )

    # ---- commands -------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def around(self, call_id: CallId, action: str, decided: Sequence[Event]) -> AsyncGenerator[None]:
        """While the call runs: what the space holds is kept before and after, if it is a command or a cell that may change it."""
        if action not in COMMANDS or self._host.kept_folder is None or _only_reads(decided):
            yield
            return
        await self._keep(None)
        try:
            yield
        finally:
            if self._commit:
                with anyio.CancelScope(shield=True):
                    await self._keep(call_id)

    async def _keep(self, call_id: CallId | None) -> None:
        async with self._lock:
            events = await self._taken(call_id)
            if events:
                await self._journal.add(*events)

    # ---- the whole space ------------------------------------------------------------------------------------------------

    async def _taken(self, call_id: CallId | None) -> list[Event]:
        """Of the space as it is now, if it is another state than the last that was kept."""
        folder = self._host.kept_folder
        assert folder is not None
        try:
            kept = await anyio.to_thread.run_sync(self._take, folder)
        except GitFailed as exc:
            self._snapshots = None
            return self._said(_WHY.format(said=_NO_COMMIT, reason=exc), once=_NO_COMMIT)
        if kept is None:
            return []
        commit, too_large = kept
        events = self._said(said, once=said) if (said := too_large_said(too_large)) else []
        if commit:
            events.append(self._kept(commit, call_id))
        return events

    def _take(self, folder: Path) -> tuple[str, tuple[str, ...]] | None:
        """The new commit, "" if nothing has changed since the last one, and what is not in it; ``None``: the space is in no repository."""
        if not self._looked:
            self._looked = True
            self._snapshots = self._found(folder)
        if self._snapshots is None:
            return None
        snapshot = self._snapshots.take()
        if snapshot.tree == self._tree:
            return "", ()
        number = f"-{time.time_ns():x}" if self._named else ""
        ref = f"refs/pernix/{self._host.session_id}/{self._turn_id}{number}"
        says = f"jupyter_pernix: the files of {self._host.space.name} in turn {self._turn_id}"
        commit = self._snapshots.commit(snapshot, ref=ref, says=says)
        self._tree, self._commit, self._named = snapshot.tree, commit, True
        return commit, snapshot.too_large

    def _found(self, folder: Path) -> Snapshots | None:
        repository = find_repository(self._host.space)
        if repository is None:
            return None
        if not installed():
            raise GitFailed("git is not installed")
        return Snapshots(repository, self._host.space, folder)

    def _kept(self, commit: str, call_id: CallId | None) -> FilesKept:
        return FilesKept(
            session_id=self._host.session_id, turn_id=self._turn_id, how="git", where=commit, call_id=call_id
        )

    def _said(self, text: str, *, once: str) -> list[Event]:
        """Nothing, if the session was told something that begins with ``once``."""
        told = (stored.event for stored in self._journal.log)
        if any(isinstance(event, ProblemNoticed) and event.text.startswith(once) for event in told):
            return []
        return [ProblemNoticed(session_id=self._host.session_id, turn_id=self._turn_id, text=text)]


def _only_reads(decided: Sequence[Event]) -> bool:
    return any(
        isinstance(event, PolicyDecided) and event.action == "shell" and event.ruling == "auto" for event in decided
    )


def _mode(located: Located) -> int | None:
    try:
        with folder_of(located, create=False) as folder:
            return stat.S_IMODE(os.stat(located.parts[-1], dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return None


def _missing(located: Located) -> list[str]:
    """The folders on the way to a file that are not there, the outermost first."""
    found: list[str] = []
    for count in range(1, len(located.parts)):
        parts = located.parts[:count]
        try:
            os.lstat(located.root.joinpath(*parts))
        except OSError as exc:
            if exc.errno == errno.ENOENT:
                found.append("/".join(parts))
    return found
