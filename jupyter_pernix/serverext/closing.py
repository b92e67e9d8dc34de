"""How a turn that did not come to its own end is closed. Pure: from what the log says to the events that end it.

Used at start for turns that a previous server left behind, and after each turn for what it may have left open. Nothing is run
again: a call that had begun may have had its effect, and is said to.
"""

from collections.abc import Iterable

from ..events import ApprovalResolved, Event, ExecutionFinished, SessionStateChanged, ToolCallFinished, TurnFinished
from ..ids import SessionId, TurnId
from ..records import CallView, ExecutionStatus, SessionState, TerminalCode, TurnView, Usage

BEGUN = "the call was cut off while it ran and may have had its effect; it was not run again"
NOT_BEGUN = "the call was not started"


def usage_of(turn: TurnView) -> Usage:
    """Sum of what the turn's steps reported; ``None`` where no step said anything."""

    def total(values: Iterable[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    usages = [step.usage for step in turn.steps if step.usage is not None]
    return Usage(
        prompt_tokens=total(usage.prompt_tokens for usage in usages),
        completion_tokens=total(usage.completion_tokens for usage in usages),
        cached_tokens=total(usage.cached_tokens for usage in usages),
    )


def closing_events(
    session_id: SessionId, turn: TurnView, *, code: TerminalCode, detail: str, execution: ExecutionStatus
) -> list[Event]:
    """What ends everything that is open in ``turn``, and the turn itself unless it has ended."""
    events: list[Event] = []
    for item in turn.items:
        if isinstance(item, CallView):
            events += _closing_call(session_id, turn.turn_id, item, execution=execution)
    if turn.code is None:
        events.append(
            TurnFinished(session_id=session_id, turn_id=turn.turn_id, code=code, detail=detail, usage=usage_of(turn))
        )
    return events


def _closing_call(session_id: SessionId, turn_id: TurnId, call: CallView, *, execution: ExecutionStatus) -> list[Event]:
    events: list[Event] = []
    approval, running = call.approval, call.execution
    if approval is not None and approval.choice is None:
        events.append(
            ApprovalResolved(
                session_id=session_id,
                turn_id=turn_id,
                call_id=call.call_id,
                approval_id=approval.approval_id,
                choice="reject_once",
                text="",
                by="host",
            )
        )
    if running is not None and running.status is None:
        events.append(
            ExecutionFinished(
                session_id=session_id,
                turn_id=turn_id,
                execution_id=running.execution_id,
                status=execution,
                execution_count=None,
                ename="",
                evalue="",
                detail="its end was not seen; the code may have had its effect",
                duration=0.0,
            )
        )
    if call.status in ("pending", "in_progress"):
        begun = call.status == "in_progress"
        events.append(
            ToolCallFinished(
                session_id=session_id,
                turn_id=turn_id,
                call_id=call.call_id,
                status="failed" if begun else "cancelled",
                result=BEGUN if begun else NOT_BEGUN,
                duration=0.0,
            )
        )
    return events


def recovery_events(session_id: SessionId, turns: Iterable[TurnView], state: SessionState) -> list[Event]:
    """What brings a session that a previous server left behind back to idle: each open turn is interrupted."""
    events: list[Event] = []
    last: TurnId | None = None
    for turn in turns:
        last = turn.turn_id
        detail = (
            "the server ended while this turn ran; what was finished is kept"
            if turn.started_at is not None
            else "the server ended before this turn began"
        )
        events += closing_events(session_id, turn, code=TerminalCode.INTERRUPTED, detail=detail, execution="dead")
    if state is not SessionState.IDLE_READY:
        events.append(
            SessionStateChanged(
                session_id=session_id, turn_id=last, before=state, after=SessionState.IDLE_READY, reason="recovered"
            )
        )
    return events
