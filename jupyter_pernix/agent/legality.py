"""Whether a session's log is legal. Pure; the tests and the crash harness ask it, nothing else depends on it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..errors import InvalidTransition
from ..events import (
    ApprovalRequested,
    ApprovalResolved,
    CellChanged,
    CellChangeRefused,
    CellChangeRequested,
    CellChangeResolved,
    ContextCompacted,
    Event,
    ExecutionFinished,
    ExecutionMirrored,
    ExecutionOutput,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    KernelRestarted,
    ProblemNoticed,
    SessionStateChanged,
    StepFinished,
    StepStarted,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    TurnEdited,
    TurnFinished,
    TurnStarted,
    TurnSubmitted,
    Unknown,
    WorkerReported,
    WorkerSpawned,
)
from ..ids import ApprovalId, CallId, ChangeId, ExecutionId, InputId, SessionId, StepId, TurnId
from ..records import SessionState
from .states import REASONS, Reason, advance

K = TypeVar("K", bound=str)

WAITING = (SessionState.AWAITING_USER, SessionState.PAUSED)
"""States in which a session may be left behind by one server and found by the next."""

_KNOWN: dict[str, Reason] = {name: name for name in REASONS}

_LATE = (
    ExecutionOutput,
    ExecutionMirrored,
    CellChangeResolved,
    KernelRestarted,
    ProblemNoticed,
    SessionStateChanged,
    ContextCompacted,
)
"""What may still be said of a turn that is over."""


def illegalities(log: Sequence[Stored], *, at_rest: bool = True) -> list[str]:
    """What is wrong with the log of one session, in words; empty: it is legal. ``at_rest``: no program works on it now, so each
    turn has ended, but for one that waits for a person or is paused, and those queued behind it."""
    check = _Check()
    for stored in log:
        check.add(stored)
    if at_rest:
        check.rest()
    return check.found


@dataclass
class _Turn:
    started: bool = False
    finished: bool = False
    calls: set[CallId] = field(default_factory=set[CallId])
    steps: set[StepId] = field(default_factory=set[StepId])


class _Check:
    """Open things are kept by id, and taken away by their end."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._seq = 0
        self._state = SessionState.IDLE_READY
        self._turns: dict[TurnId, _Turn] = {}
        self._begun: dict[CallId, bool] = {}
        self._asked: dict[ApprovalId, TurnId] = {}
        self._executions: dict[ExecutionId, TurnId] = {}
        self._inputs: dict[InputId, TurnId] = {}
        self._workers: dict[SessionId, TurnId] = {}
        self._changes: dict[ChangeId, TurnId] = {}
        self._between: set[StepId] = set()
        self._used: set[str] = set()

    def add(self, stored: Stored) -> None:
        if stored.seq <= self._seq:
            self._wrong(stored.seq, "its number is not above the one before")
        self._seq = stored.seq
        event = stored.event
        if isinstance(event, Unknown):
            return
        turn_id: TurnId | None = getattr(event, "turn_id", None)
        turn = self._turns.get(turn_id) if turn_id else None
        if turn_id and turn is None and not isinstance(event, TurnSubmitted):
            self._wrong(stored.seq, f"{turn_id} was never submitted")
            return
        if turn is not None and turn.finished and not isinstance(event, _LATE):
            self._wrong(stored.seq, f"{type(event).__name__} after the end of {turn_id}")
        self._one(stored.seq, event, turn)

    def _one(self, seq: int, event: Event, turn: _Turn | None) -> None:
        match event:
            case SessionStateChanged():
                self._moved(seq, event)
            case TurnSubmitted() | TurnEdited() | TurnStarted() | TurnFinished():
                self._turn(seq, event, turn)
            case StepStarted() | StepFinished():
                self._step(seq, event, turn)
            case ToolCallRequested() | ToolCallStarted() | ToolCallFinished():
                self._call(seq, event, turn)
            case ApprovalRequested():
                self._opens(seq, self._asked, event.approval_id, event.turn_id)
                if event.call_id not in self._begun:
                    self._wrong(seq, f"{event.approval_id} asks about a call that is not open")
            case ApprovalResolved():
                self._closes(seq, self._asked, event.approval_id)
            case ExecutionStarted():
                self._opens(seq, self._executions, event.execution_id, event.turn_id)
                if not self._begun.get(event.call_id):
                    self._wrong(seq, f"{event.execution_id} began before its call")
            case ExecutionFinished():
                self._closes(seq, self._executions, event.execution_id)
            case CellChangeRequested():
                self._opens(seq, self._changes, event.change.change_id, event.turn_id)
                if not self._begun.get(event.call_id):
                    self._wrong(seq, f"{event.change.change_id} was asked for before its call began")
            case CellChanged() | CellChangeRefused():
                self._closes(seq, self._changes, event.change_id)
            case InputRequested():
                self._opens(seq, self._inputs, event.input_id, event.turn_id)
                if event.execution_id not in self._executions:
                    self._wrong(seq, f"{event.input_id} belongs to an execution that is not open")
            case InputAnswered():
                self._closes(seq, self._inputs, event.input_id)
            case WorkerSpawned():
                self._opens(seq, self._workers, event.worker_id, event.turn_id)
            case WorkerReported():
                self._closes(seq, self._workers, event.worker_id)
            case _:
                pass

    def _moved(self, seq: int, event: SessionStateChanged) -> None:
        if event.before is not self._state:
            self._wrong(seq, f"the state was {self._state}, not {event.before}")
        reason = _KNOWN.get(event.reason)
        try:
            after = None if reason is None else advance(event.before, reason)
        except InvalidTransition:
            after = None
        if after is not event.after:
            self._wrong(seq, f"{event.before} → {event.after} by {event.reason!r} is not in the table")
        self._state = event.after

    def _turn(
        self, seq: int, event: TurnSubmitted | TurnEdited | TurnStarted | TurnFinished, turn: _Turn | None
    ) -> None:
        if isinstance(event, TurnSubmitted):
            if turn is not None:
                self._wrong(seq, f"{event.turn_id} was submitted before")
            self._turns.setdefault(event.turn_id, _Turn())
            return
        assert turn is not None
        match event:
            case TurnEdited():
                if turn.started:
                    self._wrong(seq, f"{event.turn_id} was changed after it had begun")
            case TurnStarted():
                if turn.started:
                    self._wrong(seq, f"{event.turn_id} began twice")
                if any(other.started and not other.finished for other in self._turns.values() if other is not turn):
                    self._wrong(seq, f"{event.turn_id} began while another turn ran")
                turn.started = True
            case TurnFinished():
                self._left_open(seq, event.turn_id, turn)
                turn.finished = True

    def _left_open(self, seq: int, turn_id: TurnId, turn: _Turn) -> None:
        for kind, open_ in (
            ("call", [call_id for call_id in turn.calls if call_id in self._begun]),
            ("step", list(turn.steps)),
            ("approval", _of(self._asked, turn_id)),
            ("execution", _of(self._executions, turn_id)),
            ("input", _of(self._inputs, turn_id)),
            ("worker", _of(self._workers, turn_id)),
            ("change", _of(self._changes, turn_id)),
        ):
            for name in open_:
                self._wrong(seq, f"{turn_id} ended and left the {kind} {name} open")

    def _step(self, seq: int, event: StepStarted | StepFinished, turn: _Turn | None) -> None:
        steps = self._between if turn is None else turn.steps
        if isinstance(event, StepStarted):
            if turn is not None and not turn.started:
                self._wrong(seq, f"{event.step_id} belongs to a turn that has not begun")
            self._once(seq, event.step_id)
            steps.add(event.step_id)
        elif event.step_id in steps:
            steps.remove(event.step_id)
        else:
            self._wrong(seq, f"{event.step_id} ended and was not open")

    def _call(
        self, seq: int, event: ToolCallRequested | ToolCallStarted | ToolCallFinished, turn: _Turn | None
    ) -> None:
        assert turn is not None
        call_id = event.call_id
        match event:
            case ToolCallRequested():
                self._once(seq, call_id)
                self._begun[call_id] = False
                turn.calls.add(call_id)
            case ToolCallStarted():
                if self._begun.get(call_id, True):
                    self._wrong(seq, f"{call_id} began and was not waiting")
                self._begun[call_id] = True
            case ToolCallFinished():
                if call_id not in self._begun:
                    self._wrong(seq, f"{call_id} has a second result, or none was asked for")
                self._begun.pop(call_id, None)

    def rest(self) -> None:
        """What may be open when no program works on the log."""
        running = [turn_id for turn_id, turn in self._turns.items() if turn.started and not turn.finished]
        queued = [turn_id for turn_id, turn in self._turns.items() if not turn.started and not turn.finished]
        if self._state is SessionState.IDLE_READY:
            for turn_id in [*running, *queued]:
                self._wrong(self._seq, f"the session is idle and {turn_id} has not ended")
        elif self._state not in WAITING or len(running) != 1:
            self._wrong(self._seq, f"the session was left {self._state} with {len(running)} turns that run")
        if self._state is SessionState.AWAITING_USER and not self._asked:
            self._wrong(self._seq, "the session waits for an answer and has no open question")
        for turn_id in running:
            for step_id in self._turns[turn_id].steps:
                self._wrong(self._seq, f"nobody will end {step_id}")
        for call_id in [call_id for call_id, begun in self._begun.items() if begun]:
            self._wrong(self._seq, f"nobody will end {call_id}")
        for step_id in self._between:
            self._wrong(self._seq, f"nobody will end {step_id}")

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _wrong(self, seq: int, text: str) -> None:
        self.found.append(f"{seq}: {text}")

    def _once(self, seq: int, name: str) -> None:
        if name in self._used:
            self._wrong(seq, f"{name} was there before")
        self._used.add(name)

    def _opens(self, seq: int, open_: dict[K, TurnId], name: K, turn_id: TurnId) -> None:
        self._once(seq, name)
        open_[name] = turn_id

    def _closes(self, seq: int, open_: dict[K, TurnId], name: K) -> None:
        if open_.pop(name, None) is None:
            self._wrong(seq, f"{name} ended and was not open")


def _of(open_: dict[K, TurnId], turn_id: TurnId) -> list[str]:
    return [str(name) for name, of in open_.items() if of == turn_id]
