"""The changed files of one session: what they were, what they are, and putting them back. Blocking; what is done is stored by the caller.

A file is put back only if it is exactly as the agent left it, and if nobody else has changed it between two of the changes that are to go.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import ToolError, ToolFailed, ToolRetry
from ...events import Stored
from ...ids import CallId, TurnId
from ...records import ChangedFile
from ..policy.scope import Located
from ..tools.textfile import decode, unified_diff
from .copies import Copies
from .git import GitFailed
from .history import NOTEBOOK, Change, History, State, Traces, with_digests
from .modes import Modes
from .putting import Found, Wanted, content_of, digest_of, look, put
from .repository import find_repository
from .snapshots import LARGEST, Difference, Snapshots

log = logging.getLogger(__name__)

_LARGEST_DIFF = 1_000_000
_NOT_KEPT = "what it was before is not kept any more"
_BETWEEN = "it was changed by somebody else between the changes that are to be undone; undo the later turns alone"
_NAME_IT = "it is a notebook that was changed behind its editor; to put the whole file back, name it"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One file to be put back. ``reason``: why it cannot be, "" if it can. ``named``: the user named this very file."""

    path: str
    changes: tuple[Change, ...] = ()
    reason: str = ""
    named: bool = False

    @property
    def call_ids(self) -> list[CallId]:
        return list(dict.fromkeys(change.call_id for change in self.changes))


class Undoing:
    """``kept``: where copies are; ``None``: nowhere."""

    def __init__(self, *, space: Path, kept: Path | None, log: Sequence[Stored]) -> None:
        self._space = space
        self._kept = kept
        self._log = log
        self._modes: dict[str, Modes] = {}

    @cached_property
    def history(self) -> History:
        return History.of(self._log, self._differences)

    @cached_property
    def _snapshots(self) -> Snapshots | None:
        if self._kept is None:
            return None
        try:
            repository = find_repository(self._space)
        except GitFailed as exc:
            log.warning("%s: what commands changed cannot be told: %s", self._space, exc)
            return None
        return None if repository is None else Snapshots(repository, self._space, self._kept)

    def _differences(self, before: str, after: str | None) -> list[Difference]:
        snapshots = self._snapshots
        if snapshots is None:
            return []
        try:
            found = snapshots.differences(before, after or snapshots.take().tree)
            blobs = {blob for one in found for blob in (one.before, one.after) if blob is not None}
            return with_digests(found, snapshots.digests(sorted(blobs)))
        except GitFailed as exc:
            log.warning("%s: what commands changed cannot be told: %s", self._space, exc)
            return []

    # ---- listing --------------------------------------------------------------------------------------------------------

    def changed(self, *, path: str = "", diff: bool = False) -> list[ChangedFile]:
        """All files that the session has changed, or the one at ``path``."""
        found = self.history.paths
        return [
            self._changed(name, traces, diff=diff)
            for name, traces in found.items()
            if (not path or name == path) and (traces.standing or traces.undone)
        ]

    def _changed(self, path: str, traces: Traces, *, diff: bool) -> ChangedFile:
        changes = traces.standing or traces.undone
        first, last = changes[0], changes[-1]
        now = self._look(path)
        text, added, removed = self._diff(path, first.before, now)
        if added is None or removed is None:
            added, removed = (sum(change.lines[side] for change in changes) for side in (0, 1))
        return ChangedFile(
            path=path,
            before=first.before.digest,
            after=last.after.digest,
            now=now.digest,
            turns=list(dict.fromkeys(change.turn_id for change in changes)),
            added_lines=added,
            removed_lines=removed,
            undone=not traces.standing,
            by_commands=any(change.by_command for change in changes),
            diff=text if diff else "",
        )

    def _look(self, path: str) -> Found:
        try:
            return look(self._located(path))
        except ToolError as exc:
            log.info("%s: %s", path, exc)
            return Found(kind="other")

    def _diff(self, path: str, before: State, now: Found) -> tuple[str, int | None, int | None]:
        """From before to now; no numbers where there is no text to compare."""
        if now.kind in ("folder", "other"):
            return "[there is no file in its place now]\n", None, None
        if before.digest == now.digest:
            return "", 0, 0
        if before.link or now.kind == "link":
            return "[a link]\n", None, None
        try:
            was = self._content(before) or b""
        except ToolError:
            return f"[{_NOT_KEPT}]\n", None, None
        there = content_of(self._located(path), limit=_LARGEST_DIFF)
        is_ = (there or b"") if now.kind == "file" else b""
        if len(was) > _LARGEST_DIFF or (there is None and now.kind == "file"):
            return "[too large for a diff]\n", None, None
        try:
            return unified_diff(decode(was, name=path).text, decode(is_, name=path).text, name=path)
        except ToolError:
            return f"[binary: {len(was):,} → {len(is_):,} bytes]\n", None, None

    # ---- putting back ---------------------------------------------------------------------------------------------------

    def steps(self, turn_id: TurnId | None, paths: Sequence[str]) -> list[Step]:
        """What is to be done, in an order in which it can be: what is to go first, what is to come back after it. A path may be that of a
        folder."""
        found: list[Step] = []
        for path in self.history.paths:
            changes = tuple(self.history.since(path, turn_id))
            if changes and (not paths or any(_is_in(path, given) for given in paths)):
                found.append(Step(path=path, changes=changes, named=path in paths))
        gone = sorted((one for one in found if one.changes[0].before.digest is None), key=_depth, reverse=True)
        back = sorted((one for one in found if one.changes[0].before.digest is not None), key=_depth)
        missing = [
            Step(path=given, reason=self._why_not(given, turn_id))
            for given in dict.fromkeys(paths)
            if not any(_is_in(step.path, given) for step in found)
        ]
        return [*missing, *gone, *back]

    def _why_not(self, given: str, turn_id: TurnId | None) -> str:
        if any(_is_in(path, given) for path in self.history.paths):
            return "it was not changed since that turn began" if turn_id else "it was put back already"
        return "this session has not changed it"

    def restore(self, step: Step) -> tuple[str | None, str | None]:
        """Put one file back; the digests before and after. May be done again.

        :raises ToolError: with the reason, if it was not done
        """
        if step.reason:
            raise ToolRetry(step.reason)
        first, last = step.changes[0], step.changes[-1]
        located = self._located(step.path)
        now = look(located)
        if now.digest != first.before.digest or now.kind == "folder":
            self._check(step, now)
        wanted = self._wanted(step)
        missing = [folder for folder in self.history.made if step.path.startswith(f"{folder}/")]
        put(located, wanted, left=frozenset({last.after.digest}), missing=missing)
        return now.digest, wanted.digest

    def _check(self, step: Step, now: Found) -> None:
        if step.path.endswith(NOTEBOOK) and not step.named and any(change.by_command for change in step.changes):
            raise ToolRetry(_NAME_IT)
        if now.digest != step.changes[-1].after.digest:
            raise ToolRetry("it was changed by somebody else since; it was not touched")
        pairs = zip(step.changes, step.changes[1:], strict=False)
        if any(earlier.after.digest != later.before.digest for earlier, later in pairs):
            raise ToolRetry(_BETWEEN)

    def _wanted(self, step: Step) -> Wanted:
        first = step.changes[0]
        content = self._content(first.before)
        if content is None or first.before.link:
            return Wanted(content=content, link=first.before.link)
        return Wanted(content=content, mode=self._mode(first), executable=first.before.executable)

    def _mode(self, first: Change) -> int | None:
        """The permission bits that the file had; a file that was for its owner alone is so again."""
        if not first.by_command or self._snapshots is None:
            return first.kept_mode
        modes = self._modes.get(first.commit)
        if modes is None:
            try:
                modes = self._snapshots.modes(first.commit)
            except GitFailed as exc:
                raise ToolFailed(f"{_NOT_KEPT} ({exc})") from exc
            self._modes[first.commit] = modes
        return modes.of(first.path, executable=first.before.executable is True)

    def _content(self, state: State) -> bytes | None:
        """:raises ToolFailed: if it is not kept"""
        if state.digest is None:
            return None
        content = None if self._kept is None or state.link else Copies(self._kept).read(state.digest)
        if content is None and state.blob and self._snapshots is not None:
            try:
                content = self._snapshots.read(state.blob)
            except GitFailed as exc:
                raise ToolFailed(f"{_NOT_KEPT} ({exc})") from exc
        if content is None or digest_of(content, link=state.link) != state.digest or len(content) > LARGEST:
            raise ToolFailed(_NOT_KEPT)
        return content

    def _located(self, path: str) -> Located:
        """Of a path in the log: its own parts, no link followed.

        :raises ToolRetry: if it could lead anywhere else
        """
        outside = path.startswith("/")
        parts = tuple(path.lstrip("/").split("/"))
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise ToolRetry("this is not a path that could be put back")
        return Located(root=Path("/") if outside else self._space, parts=parts)


def _is_in(path: str, given: str) -> bool:
    given = given.removeprefix("./").rstrip("/")
    return given in ("", ".", path) or path.startswith(f"{given}/")


def _depth(step: Step) -> int:
    return step.path.count("/")
