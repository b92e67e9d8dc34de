"""What the host saw in a session: files changed and read, commands and exit codes, cells run, refusals. A fold of its log.

The model's word is never taken for any of it: a file counts as known if its content went through our tools, a command as passed
if its process ended with 0.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..events import (
    ApprovalResolved,
    ExecutionFinished,
    ExecutionStarted,
    FileChanged,
    PolicyDecided,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from ..ids import CallId, ExecutionId
from ..records import FileChange

EXIT_LINE = "exit code {code}"
_EXIT = re.compile(r"\Aexit code (-?\d+)\b")


@dataclass(frozen=True, kw_only=True)
class Command:
    """A shell command that was started. ``exit_code`` ``None``: it did not end by itself, or not yet."""

    call_id: CallId
    command: str
    exit_code: int | None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A piece of code that went to a kernel. ``status`` "" while it runs."""

    execution_id: ExecutionId
    code: str
    status: str = ""
    execution_count: int | None = None


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A call that was not carried out. ``rule``: what refused it; ``"user"`` for a person."""

    call_id: CallId
    rule: str


@dataclass(kw_only=True)
class Ledger:
    """Feed it a session's events in order with ``add``."""

    seen: dict[str, str] = field(default_factory=dict[str, str])
    """Files whose content the model knows: path below the space root → sha256 hex digest of that content."""
    changes: list[FileChange] = field(default_factory=list[FileChange])
    commands: dict[CallId, Command] = field(default_factory=dict[CallId, Command])
    cells: dict[ExecutionId, Cell] = field(default_factory=dict[ExecutionId, Cell])
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    granted: set[str] = field(default_factory=set[str])
    """Actions that the user has allowed for the whole session."""
    _actions: dict[CallId, str] = field(default_factory=dict[CallId, str])
    _shell: dict[CallId, str] = field(default_factory=dict[CallId, str])

    @classmethod
    def of(cls, log: Iterable[Stored]) -> "Ledger":
        ledger = cls()
        for stored in log:
            ledger.add(stored)
        return ledger

    @property
    def last_count(self) -> int | None:
        """Execution count of the last cell that has one; a lower one after it means that the kernel began anew."""
        counts = [cell.execution_count for cell in self.cells.values() if cell.execution_count is not None]
        return counts[-1] if counts else None

    def add(self, stored: Stored) -> None:
        event = stored.event
        match event:
            case FileChanged():
                self._changed(event.change)
            case PolicyDecided():
                self._actions[event.call_id] = event.action
                if event.verdict == "refuse":
                    self.refusals.append(Refusal(call_id=event.call_id, rule=event.rule))
            case ApprovalResolved():
                self._answered(event)
            case ToolCallRequested():
                if event.tool == "run_shell":
                    self._shell[event.call_id] = str(event.arguments.get("command", ""))
            case ToolCallStarted():
                if event.call_id in self._shell:
                    self._command(event.call_id, exit_code=None)
            case ToolCallFinished():
                self.seen.update(event.seen)
                found = _EXIT.match(event.result)
                if event.call_id in self.commands and found:
                    self._command(event.call_id, exit_code=int(found[1]))
            case ExecutionStarted():
                self.cells[event.execution_id] = Cell(execution_id=event.execution_id, code=event.code)
            case ExecutionFinished():
                self._executed(event)
            case _:
                pass

    def _command(self, call_id: CallId, *, exit_code: int | None) -> None:
        self.commands[call_id] = Command(call_id=call_id, command=self._shell[call_id], exit_code=exit_code)

    def _changed(self, change: FileChange) -> None:
        self.changes.append(change)
        if change.after is None:
            self.seen.pop(change.path, None)
        else:
            self.seen[change.path] = change.after

    def _answered(self, event: ApprovalResolved) -> None:
        if event.choice in ("reject_once", "reject_always"):
            self.refusals.append(Refusal(call_id=event.call_id, rule="user"))
        elif event.choice == "allow_session" and event.call_id in self._actions:
            self.granted.add(self._actions[event.call_id])

    def _executed(self, event: ExecutionFinished) -> None:
        cell = self.cells.get(event.execution_id)
        if cell is not None:
            self.cells[event.execution_id] = Cell(
                execution_id=cell.execution_id,
                code=cell.code,
                status=event.status,
                execution_count=event.execution_count,
            )
