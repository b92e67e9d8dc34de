"""What a session has changed, told from its log: for each path its changes that stand, oldest first, each with the state before and after.

Changes by tools are in the log one by one. What a command or a cell changed is the difference between the commits kept before and after it;
git is asked for that through ``Differences``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from ...events import FileChanged, FileRestored, FilesKept, Stored, ToolCallFinished, ToolCallRequested, TurnSubmitted
from ...ids import CallId, TurnId
from .putting import LINK
from .snapshots import NOT_KEPT, Difference

Differences = Callable[[str, str | None], list[Difference]]
"""Commits → what differs, with digests for object names; ``None``: the space as it is now."""

_GIT_LINK = 0o120000
_EXECUTABLE = 0o111
NOTEBOOK = ".ipynb"


@dataclass(frozen=True, kw_only=True)
class State:
    """``digest`` as in ``putting``. ``blob``: the object that holds the content, "" if that is a copy. ``mode``: git's, 0 if not known."""

    digest: str | None
    blob: str = ""
    mode: int = 0

    @property
    def link(self) -> bool:
        return (self.digest or "").startswith(LINK)

    @property
    def executable(self) -> bool | None:
        """``None``: not known."""
        return bool(self.mode & _EXECUTABLE) if self.mode and not self.link else None


@dataclass(frozen=True, kw_only=True)
class Change:
    """``kept_mode`` and ``missing``: as in ``files.kept``, of a change by a tool. ``commit``: the one before a change by a command."""

    path: str
    turn_id: TurnId
    call_id: CallId
    before: State
    after: State
    by_command: bool = False
    lines: tuple[int, int] = (0, 0)
    kept_mode: int | None = None
    missing: tuple[str, ...] = ()
    commit: str = ""


@dataclass(kw_only=True)
class Traces:
    """Of one path. ``standing``: the changes that were not undone; ``undone``: those that were, by the last undo."""

    standing: list[Change] = field(default_factory=list[Change])
    undone: list[Change] = field(default_factory=list[Change])


@dataclass(frozen=True, kw_only=True)
class _Span:
    """A command ran between two commits."""

    turn_id: TurnId
    call_id: CallId
    before: str
    after: str | None
    in_kernel: bool


@dataclass(kw_only=True)
class _Reading:
    steps: list[FileChanged | FileRestored | _Span] = field(default_factory=list[FileChanged | FileRestored | _Span])
    kept: dict[tuple[TurnId, str], FilesKept] = field(default_factory=dict[tuple[TurnId, str], FilesKept])
    turns: list[TurnId] = field(default_factory=list[TurnId])
    commit: str = ""
    commit_turn: TurnId | None = None
    tools: dict[CallId, str] = field(default_factory=dict[CallId, str])
    cut_off: tuple[TurnId, CallId, str] | None = None
    """A command of which is not known how it ended, and the commit before it."""

    def add(self, stored: Stored) -> None:
        event = stored.event
        match event:
            case TurnSubmitted():
                self.turns.append(event.turn_id)
            case ToolCallRequested():
                self.tools[event.call_id] = event.tool
            case FilesKept():
                self._kept(event)
            case FileChanged() | FileRestored():
                self.steps.append(event)
            case ToolCallFinished() if event.status == "unknown" and self.commit_turn == event.turn_id:
                if self.tools.get(event.call_id) in _COMMANDS:
                    self.cut_off = event.turn_id, event.call_id, self.commit
            case _:
                pass

    def _kept(self, event: FilesKept) -> None:
        if event.path:
            self.kept.setdefault((event.turn_id, event.path), event)
            return
        if event.call_id is not None and self.commit:
            self._span(event.turn_id, event.call_id, self.commit, event.where)
        else:
            self.close(event.where)
        self.commit, self.commit_turn = event.where, event.turn_id

    def close(self, now: str | None) -> None:
        if self.cut_off is not None:
            turn_id, call_id, before = self.cut_off
            self.cut_off = None
            self._span(turn_id, call_id, before, now)

    def _span(self, turn_id: TurnId, call_id: CallId, before: str, after: str | None) -> None:
        in_kernel = self.tools.get(call_id) != "run_shell"
        self.steps.append(_Span(turn_id=turn_id, call_id=call_id, before=before, after=after, in_kernel=in_kernel))


_COMMANDS = frozenset({"run_shell", "run_code", "run_cells"})


@dataclass(kw_only=True)
class History:
    """``turns``: in their order. ``paths``: in the order of their first change. ``made``: folders that were made for a file."""

    turns: list[TurnId]
    paths: dict[str, Traces]
    made: set[str] = field(default_factory=set[str])

    @classmethod
    def of(cls, log: Iterable[Stored], differences: Differences) -> "History":
        reading = _Reading()
        for stored in log:
            reading.add(stored)
        reading.close(None)
        history = cls(turns=reading.turns, paths={})
        for step in reading.steps:
            match step:
                case FileChanged():
                    history._add(_by_tool(step, reading.kept.get((step.turn_id, step.change.path))))
                case FileRestored():
                    history._restored(step)
                case _Span():
                    for difference in differences(step.before, step.after):
                        if _counts(difference.path, step):
                            history._add(_by_command(difference, step))
        return history

    def _add(self, change: Change) -> None:
        self.paths.setdefault(change.path, Traces()).standing.append(change)
        self.made.update(change.missing)

    def _restored(self, event: FileRestored) -> None:
        traces = self.paths.get(event.path)
        if traces is None:
            return
        gone = set(event.call_ids)
        traces.undone = [change for change in traces.standing if change.call_id in gone]
        traces.standing = [change for change in traces.standing if change.call_id not in gone]

    def since(self, path: str, turn_id: TurnId | None) -> list[Change]:
        """The standing changes of ``path`` from the first one on that was made in this turn or a later one; ``None``: all."""
        standing = self.paths[path].standing if path in self.paths else []
        if turn_id is None:
            return standing
        later = set(self.turns[self.turns.index(turn_id) :])
        first = next((place for place, change in enumerate(standing) if change.turn_id in later), len(standing))
        return standing[first:]


def _counts(path: str, span: _Span) -> bool:
    """A notebook that changes while code runs in a kernel is changed by its editor."""
    return path.split("/", 1)[0] not in NOT_KEPT and not (span.in_kernel and path.endswith(NOTEBOOK))


def _by_tool(event: FileChanged, kept: FilesKept | None) -> Change:
    change = event.change
    return Change(
        path=change.path,
        turn_id=event.turn_id,
        call_id=event.call_id,
        before=State(digest=change.before),
        after=State(digest=change.after),
        lines=(change.added_lines, change.removed_lines),
        kept_mode=kept.mode if kept is not None else None,
        missing=tuple(kept.missing) if kept is not None and change.before is None else (),
    )


def _by_command(difference: Difference, span: _Span) -> Change:
    return Change(
        path=difference.path,
        turn_id=span.turn_id,
        call_id=span.call_id,
        before=_state(difference.before, difference.before_digest, difference.before_mode),
        after=_state(difference.after, difference.after_digest, difference.after_mode),
        by_command=True,
        commit=span.before,
    )


def _state(blob: str | None, digest: str | None, mode: int) -> State:
    if blob is None or digest is None:
        return State(digest=None)
    return State(digest=LINK + digest if mode == _GIT_LINK else digest, blob=blob, mode=mode)


def with_digests(differences: Iterable[Difference], digests: dict[str, str]) -> list[Difference]:
    """Those whose objects are there."""
    return [
        replace(one, before_digest=digests.get(one.before or ""), after_digest=digests.get(one.after or ""))
        for one in differences
        if (one.before is None or one.before in digests) and (one.after is None or one.after in digests)
    ]
