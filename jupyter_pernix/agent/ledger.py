"""What the host saw in a session: files changed and read, commands and exit codes, cells run, refusals. A fold of its log.

The model's word is never taken for any of it: a file counts as known if its content went through our tools, a command as passed
if its process ended with 0. Every fact has its place in the log (``seq``), so that "after the last change" can be answered.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..cells import digest_of
from ..events import (
    ApprovalResolved,
    CellChanged,
    CellChangeRequested,
    ExecutionFinished,
    ExecutionStarted,
    FileChanged,
    PolicyDecided,
    SessionCreated,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from ..ids import CallId, ChangeId, ExecutionId, TurnId
from ..records import CellChange, FileChange
from .cellchange import file_change
from .policy.judgement import RUN_CODE

EXIT_LINE = "exit code {code}"
_EXIT = re.compile(r"\Aexit code (-?\d+)\b")
_TAIL = 600
_SEEN_THROUGH = frozenset(
    (
        "read_file",
        "list_files",
        "search_files",
        "write_file",
        "edit_file",
        "run_code",
        "finish",
        "read_notebook",
        "edit_notebook",
        "run_cells",
        "inspect_variables",
    )
)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A shell command that was started. ``exit_code`` ``None``: it did not end by itself, or not yet. ``tail``: the last of its output."""

    call_id: CallId
    command: str
    exit_code: int | None
    turn_id: TurnId = field(default=TurnId(""), compare=False)
    seq: int = field(default=0, compare=False)
    ended: bool = field(default=False, compare=False)
    tail: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A piece of code that went to a kernel. ``status`` "" while it runs."""

    execution_id: ExecutionId
    code: str
    status: str = ""
    execution_count: int | None = None
    turn_id: TurnId = field(default=TurnId(""), compare=False)
    seq: int = field(default=0, compare=False)
    ename: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A call that was not carried out. ``rule``: what refused it; ``"user"`` for a person. ``title``: the call in words."""

    call_id: CallId
    rule: str
    turn_id: TurnId = field(default=TurnId(""), compare=False)
    seq: int = field(default=0, compare=False)
    title: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of a file, and its place in the log."""

    seq: int
    turn_id: TurnId
    call_id: CallId
    change: FileChange


@dataclass(kw_only=True)
class Facts:
    """What was seen in one turn, each kind in the order of the log. ``elsewhere``: how many calls were begun whose effects are not seen
    here: workers, whose logs are their own, and tools that this ledger does not know."""

    changes: list[Change] = field(default_factory=list[Change])
    commands: dict[CallId, Command] = field(default_factory=dict[CallId, Command])
    cells: dict[ExecutionId, Cell] = field(default_factory=dict[ExecutionId, Cell])
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    calls: int = 0
    elsewhere: int = 0
    changed_lines: int = 0


@dataclass(kw_only=True)
class Ledger:
    """Feed it a session's events in order with ``add``, which takes the same time however long the log is."""

    seen: dict[str, str] = field(default_factory=dict[str, str])
    """Files whose content the model knows: path below the space root → sha256 hex digest of that content."""
    changes: list[FileChange] = field(default_factory=list[FileChange])
    commands: dict[CallId, Command] = field(default_factory=dict[CallId, Command])
    cells: dict[ExecutionId, Cell] = field(default_factory=dict[ExecutionId, Cell])
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    granted: set[str] = field(default_factory=set[str])
    """Rules that hold for the whole session."""
    changed_lines: int = 0
    """Lines added and removed, in the whole session."""
    last_change: dict[str, int] = field(default_factory=dict[str, int])
    """Path → ``seq`` of its last change."""
    last_count: int | None = None
    """Execution count of the last cell that has one; a lower one after it means that the kernel began anew."""
    _turns: dict[TurnId, Facts] = field(default_factory=dict[TurnId, Facts])
    _actions: dict[CallId, str] = field(default_factory=dict[CallId, str])
    _shell: dict[CallId, str] = field(default_factory=dict[CallId, str])
    _titles: dict[CallId, str] = field(default_factory=dict[CallId, str])
    _elsewhere: set[CallId] = field(default_factory=set[CallId])
    _requested: dict[ChangeId, CellChange] = field(default_factory=dict[ChangeId, CellChange])
    _space_root: str = ""

    @classmethod
    def of(cls, log: Iterable[Stored]) -> "Ledger":
        ledger = cls()
        for stored in log:
            ledger.add(stored)
        return ledger

    def turn(self, turn_id: TurnId) -> Facts:
        """What was seen in this turn; nothing if it is not known. To be read only."""
        return self._turns.get(turn_id) or Facts()

    def add(self, stored: Stored) -> None:
        event = stored.event
        match event:
            case FileChanged():
                self._changed(stored.seq, event)
            case PolicyDecided():
                self._actions[event.call_id] = event.action
                if event.verdict == "refuse":
                    self._refused(stored.seq, event.turn_id, event.call_id, event.rule)
            case ApprovalResolved():
                self._answered(stored.seq, event)
            case ToolCallRequested():
                self._titles[event.call_id] = event.title
                if event.tool == "run_shell":
                    self._shell[event.call_id] = str(event.arguments.get("command", ""))
                elif event.tool not in _SEEN_THROUGH:
                    self._elsewhere.add(event.call_id)
            case ToolCallStarted():
                self._facts(event.turn_id).calls += 1
                if event.call_id in self._shell:
                    self._command_started(stored.seq, event)
                elif event.call_id in self._elsewhere:
                    self._facts(event.turn_id).elsewhere += 1
            case ToolCallFinished():
                self.seen.update(event.seen)
                self._command_ended(event)
            case SessionCreated():
                self._space_root = event.space_root
            case CellChangeRequested():
                self._requested[event.change.change_id] = event.change
            case CellChanged():
                self._cell_changed(stored.seq, event)
            case ExecutionStarted():
                cell = Cell(execution_id=event.execution_id, code=event.code, turn_id=event.turn_id, seq=stored.seq)
                self.cells[event.execution_id] = self._facts(event.turn_id).cells[event.execution_id] = cell
            case ExecutionFinished():
                self._executed(event)
            case _:
                pass

    def _facts(self, turn_id: TurnId) -> Facts:
        facts = self._turns.get(turn_id)
        if facts is None:
            facts = self._turns[turn_id] = Facts()
        return facts

    def _command_started(self, seq: int, event: ToolCallStarted) -> None:
        command = Command(
            call_id=event.call_id,
            command=self._shell[event.call_id],
            exit_code=None,
            turn_id=event.turn_id,
            seq=seq,
        )
        self.commands[event.call_id] = self._facts(event.turn_id).commands[event.call_id] = command

    def _command_ended(self, event: ToolCallFinished) -> None:
        command = self.commands.get(event.call_id)
        if command is None:
            return
        found = _EXIT.match(event.result)
        command = replace(command, exit_code=int(found[1]) if found else None, ended=True, tail=event.result[-_TAIL:])
        self.commands[event.call_id] = self._facts(command.turn_id).commands[event.call_id] = command

    def _changed(self, seq: int, event: FileChanged) -> None:
        change = event.change
        self.changes.append(change)
        facts = self._facts(event.turn_id)
        facts.changes.append(Change(seq=seq, turn_id=event.turn_id, call_id=event.call_id, change=change))
        lines = change.added_lines + change.removed_lines
        self.changed_lines += lines
        facts.changed_lines += lines
        self.last_change[change.path] = seq
        if change.after is None:
            self.seen.pop(change.path, None)
        else:
            self.seen[change.path] = change.after

    def _cell_changed(self, seq: int, event: CellChanged) -> None:
        """A notebook counts as changed like any file; what its file holds then is not known by that."""
        change = self._requested.pop(event.change_id, None)
        if change is None:
            return
        file = file_change(change, space_root=self._space_root)
        self.changes.append(file)
        facts = self._facts(event.turn_id)
        facts.changes.append(Change(seq=seq, turn_id=event.turn_id, call_id=event.call_id, change=file))
        lines = file.added_lines + file.removed_lines
        self.changed_lines += lines
        facts.changed_lines += lines
        self.last_change[file.path] = seq
        key = f"{file.path}#{change.cell_id}"
        if change.after is None:
            self.seen.pop(key, None)
        else:
            self.seen[key] = digest_of(change.after)

    def declined(self, turn_id: TurnId, call_id: CallId, *, seq: int = 0) -> None:
        """A person said no. For a live Run, whose host stores the answer past its journal; in a log it is ``approval.resolved``."""
        self._refused(seq, turn_id, call_id, "user")

    def _refused(self, seq: int, turn_id: TurnId, call_id: CallId, rule: str) -> None:
        refusal = Refusal(call_id=call_id, rule=rule, turn_id=turn_id, seq=seq, title=self._titles.get(call_id, ""))
        self.refusals.append(refusal)
        self._facts(turn_id).refusals.append(refusal)

    def _answered(self, seq: int, event: ApprovalResolved) -> None:
        if event.choice in ("reject_once", "reject_always"):
            self._refused(seq, event.turn_id, event.call_id, "user" if event.by != "host" else "host")
        elif event.choice in ("allow_session", "allow_always"):
            self.granted.update(event.rules)
            if not event.rules and self._actions.get(event.call_id) == "execute":
                # as an earlier version stored it, which knew no rules
                self.granted.add(RUN_CODE)

    def _executed(self, event: ExecutionFinished) -> None:
        cell = self.cells.get(event.execution_id)
        if cell is None:
            return
        cell = replace(cell, status=event.status, execution_count=event.execution_count, ename=event.ename)
        self.cells[event.execution_id] = self._facts(cell.turn_id).cells[event.execution_id] = cell
        if event.execution_count is not None:
            self.last_count = event.execution_count
