"""The events that close what a turn left open. Pure: from what the log says to what ends it. Nothing is run again."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..events import (
    ApprovalResolved,
    CellChanged,
    CellChangeRefused,
    Event,
    ExecutionFinished,
    FileChanged,
    InputAnswered,
    StepFinished,
    StepStarted,
    Stored,
    ToolCallFinished,
    TurnFinished,
    WorkerReported,
)
from ..fold import SessionFold, total
from ..ids import CallId, SessionId, StepId, TurnId
from ..records import CallStatus, CallView, ExecutionStatus, FileChange, TerminalCode, Timings, TurnView, Usage

BEGUN = "the call was cut off while it ran and may have had its effect; it was not run again"
NOT_BEGUN = "the call was not started"
CHANGE_UNKNOWN = "It was cut off, and it is not known whether the cell was changed; look at the notebook."
WORKER_LOST = "The server ended while this worker ran. What it had done by then stays; it was not run again."


class CallEnd(NamedTuple):
    """How a call that had begun ended, as far as it could be found out. ``changes``, ``seen``: what the host knows of files by that."""

    status: CallStatus
    text: str
    changes: Sequence[FileChange] = ()
    seen: Mapping[str, str] = MappingProxyType({})


CUT_OFF = CallEnd("unknown", BEGUN)

Results = Mapping[CallId, CallEnd]

_NOT_KNOWN: Results = MappingProxyType({})


def spent(turn: TurnView) -> tuple[Usage, float | None]:
    """Usage and cost of the turn's steps; the cost is ``None`` unless every step has one."""
    usage = Usage()
    for step in turn.steps:
        usage = total(usage, step.usage or Usage())
    costs = [step.cost for step in turn.steps]
    priced = [cost for cost in costs if cost is not None]
    return usage, sum(priced) if costs and len(priced) == len(costs) else None


def closing_events(
    session_id: SessionId,
    turn: TurnView,
    *,
    code: TerminalCode,
    detail: str,
    execution: ExecutionStatus,
    steps: Sequence[StepId] = (),
    results: Results = _NOT_KNOWN,
) -> list[Event]:
    """What ends everything that is open in ``turn``, and the turn itself unless it has ended. ``steps``: its open requests."""
    events = closing_calls(session_id, turn, execution=execution, results=results, waiting_too=True)
    events += [given_up(session_id, turn.turn_id, step_id) for step_id in steps]
    if turn.code is None:
        usage, cost = spent(turn)
        events.append(
            TurnFinished(session_id=session_id, turn_id=turn.turn_id, code=code, detail=detail, usage=usage, cost=cost)
        )
    return events


def closing_turn(stored: Sequence[Stored], turn_id: TurnId, *, code: TerminalCode, detail: str) -> list[Event]:
    """``closing_events`` of one turn of the session with this log."""
    if not stored:
        return []
    session_id = stored[0].event.session_id
    turn = SessionFold.of(session_id, stored).turn(turn_id)
    if turn is None:
        return []
    steps = [step_id for step_id, of in open_steps(stored).items() if of == turn_id and turn.code is None]
    return closing_events(session_id, turn, code=code, detail=detail, execution="cancelled", steps=steps)


def open_steps(stored: Sequence[Stored]) -> dict[StepId, TurnId | None]:
    """Requests without an end, with their turn."""
    open_: dict[StepId, TurnId | None] = {}
    for each in stored:
        event = each.event
        if isinstance(event, StepStarted):
            open_[event.step_id] = event.turn_id
        elif isinstance(event, StepFinished):
            open_.pop(event.step_id, None)
    return open_


def calls_of(turn: TurnView) -> list[CallView]:
    return [item for item in turn.items if isinstance(item, CallView)]


def closing_calls(
    session_id: SessionId, turn: TurnView, *, execution: ExecutionStatus, results: Results, waiting_too: bool
) -> list[Event]:
    """``waiting_too``: calls that have not begun, and their questions, are ended as well."""
    events: list[Event] = []
    for call in calls_of(turn):
        if waiting_too or call.status == "in_progress":
            events += _closing_call(session_id, turn.turn_id, call, execution=execution, results=results)
    return events


def _closing_call(
    session_id: SessionId, turn_id: TurnId, call: CallView, *, execution: ExecutionStatus, results: Results
) -> list[Event]:
    events: list[Event] = []
    ids: dict[str, Any] = {"session_id": session_id, "turn_id": turn_id}
    approval, running, worker = call.approval, call.execution, call.worker
    if approval is not None and approval.choice is None:
        events.append(
            ApprovalResolved(
                **ids,
                call_id=call.call_id,
                approval_id=approval.approval_id,
                choice="reject_once",
                text="",
                by="host",
            )
        )
    if running is not None and running.status is None:
        events += [
            InputAnswered(**ids, execution_id=running.execution_id, input_id=asked.input_id, text=None, by="host")
            for asked in running.inputs
            if not asked.by
        ]
        events.append(
            ExecutionFinished(
                **ids,
                execution_id=running.execution_id,
                status=execution,
                execution_count=None,
                ename="",
                evalue="",
                detail="its end was not seen; the code may have had its effect",
                duration=0.0,
            )
        )
    end = _end_of(call, results)
    events += _closing_changes(ids, call, end)
    if worker is not None and worker.code is None:
        events.append(
            WorkerReported(
                **ids,
                call_id=call.call_id,
                worker_id=worker.worker_id,
                code=TerminalCode.INTERRUPTED,
                answer=WORKER_LOST,
            )
        )
    if call.status in ("pending", "in_progress"):
        events += [FileChanged(**ids, call_id=call.call_id, change=change) for change in end.changes]
        events.append(
            ToolCallFinished(
                **ids, call_id=call.call_id, status=end.status, result=end.text, duration=0.0, seen=dict(end.seen)
            )
        )
    return events


def _end_of(call: CallView, results: Results) -> CallEnd:
    return results.get(call.call_id, CUT_OFF) if call.status == "in_progress" else CallEnd("cancelled", NOT_BEGUN)


def _closing_changes(ids: dict[str, Any], call: CallView, end: CallEnd) -> list[Event]:
    """Of the call's changes of cells that are under way: made, as far as the end of the call tells, else not."""
    events: list[Event] = []
    for view in call.cells:
        if view.status != "requested":
            continue
        about: dict[str, Any] = {**ids, "call_id": call.call_id, "change_id": view.change.change_id}
        if end.status == "completed":
            events.append(CellChanged(**about, owner="file"))
        else:
            reason = CHANGE_UNKNOWN if end.status == "unknown" else end.text
            events.append(CellChangeRefused(**about, reason=reason))
    return events


def given_up(session_id: SessionId, turn_id: TurnId | None, step_id: StepId) -> StepFinished:
    return StepFinished(
        session_id=session_id,
        turn_id=turn_id,
        step_id=step_id,
        usage=Usage(),
        timings=Timings(),
        prefix_share=None,
        finish_reason="failed",
    )
