"""Tool calls folded: what became of each, with its executions and its changes of cells. The part of ``fold.py`` below a turn."""

from .events import (
    ApprovalRequested,
    ApprovalResolved,
    CellChanged,
    CellChangeRefused,
    CellChangeRequested,
    CellChangeResolved,
    ExecutionFinished,
    ExecutionMirrored,
    ExecutionOutput,
    ExecutionStarted,
    FileChanged,
    HookEnded,
    InputAnswered,
    InputRequested,
    PolicyDecided,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    WorkerReported,
    WorkerSpawned,
)
from .ids import CallId, ChangeId, ExecutionId
from .records import (
    JSON,
    ApprovalView,
    CallView,
    CellChangeView,
    ExecutionView,
    HookView,
    InputView,
    OutputOp,
    WorkerView,
)

ApprovalEvent = ApprovalRequested | ApprovalResolved
WorkerEvent = WorkerSpawned | WorkerReported
CallEvent = ToolCallStarted | ToolCallFinished | PolicyDecided | FileChanged | HookEnded | ApprovalEvent | WorkerEvent
InputEvent = InputRequested | InputAnswered
ExecutionEvent = ExecutionStarted | ExecutionOutput | ExecutionFinished | ExecutionMirrored | InputEvent
CellEvent = CellChangeRequested | CellChanged | CellChangeRefused | CellChangeResolved
InCall = CallEvent | ExecutionEvent | CellEvent
"""What ``Calls.add`` takes."""


def apply_output(outputs: list[JSON], op: OutputOp | ExecutionOutput) -> None:
    """Carry out one step on a list of nbformat outputs, in place; a step that does not fit the list changes nothing."""
    if op.op == "clear":
        outputs.clear()
    elif op.op == "append" and op.output is not None:
        outputs.append(dict(op.output))
    elif 0 <= op.index < len(outputs):
        if op.op == "replace" and op.output is not None:
            outputs[op.index] = dict(op.output)
        elif op.op == "extend":
            output = outputs[op.index]
            output["text"] = str(output.get("text", "")) + op.text


class Calls:
    """The calls of one session with all that belongs to them, each found by its id; oldest first."""

    def __init__(self) -> None:
        self.calls: dict[CallId, CallView] = {}
        self.executions: dict[ExecutionId, ExecutionView] = {}
        self.changes: dict[ChangeId, CellChangeView] = {}

    def begin(self, stored: Stored, event: ToolCallRequested) -> CallView:
        call = CallView(
            call_id=event.call_id,
            step_id=event.step_id,
            tool=event.tool,
            kind=event.kind,
            title=event.title,
            arguments=event.arguments,
            status="pending",
            requested_at=stored.recorded_at,
        )
        self.calls[event.call_id] = call
        return call

    def add(self, stored: Stored, event: InCall) -> None:
        """One more event; one about something unknown changes nothing."""
        match event:
            case ExecutionStarted():
                self._execution_started(event)
            case CellChangeRequested():
                self._change_requested(event)
            case ExecutionOutput() | ExecutionFinished() | ExecutionMirrored() | InputRequested() | InputAnswered():
                execution = self.executions.get(event.execution_id)
                if execution is not None:
                    _in_execution(execution, stored, event)
            case CellChanged() | CellChangeRefused() | CellChangeResolved():
                change = self.changes.get(event.change_id)
                if change is not None:
                    _in_change(change, event)
            case _:
                call = self.calls.get(event.call_id)
                if call is not None:
                    _in_call(call, stored, event)

    def _execution_started(self, event: ExecutionStarted) -> None:
        call = self.calls.get(event.call_id)
        if call is None:
            return
        if call.execution is not None:
            call.earlier.append(call.execution)
        call.execution = ExecutionView(
            execution_id=event.execution_id,
            place=event.place,
            kernel_name=event.kernel_name,
            code=event.code,
            notebook=event.notebook,
            cell_id=event.cell_id,
            trusted=event.trusted,
        )
        self.executions[event.execution_id] = call.execution

    def _change_requested(self, event: CellChangeRequested) -> None:
        call = self.calls.get(event.call_id)
        if call is not None:
            change = CellChangeView(change=event.change, turn_id=event.turn_id)
            self.changes[event.change.change_id] = change
            call.cells.append(change)


def _in_call(call: CallView, stored: Stored, event: CallEvent) -> None:
    match event:
        case ToolCallStarted():
            call.status, call.started_at = "in_progress", stored.recorded_at
        case ToolCallFinished():
            call.status, call.result, call.duration = event.status, event.result, event.duration
            call.side_file, call.pictures = event.side_file, list(event.pictures)
        case PolicyDecided():
            call.verdict, call.rule = event.verdict, event.rule
            call.ruling, call.why, call.effects = event.ruling, event.why, list(event.effects)
        case FileChanged():
            call.files.append(event.change)
        case ApprovalRequested() | ApprovalResolved():
            _in_approval(call, stored, event)
        case HookEnded():
            call.hooks.append(
                HookView(
                    phase=event.phase,
                    command=event.command,
                    decision=event.decision,
                    reason=event.reason,
                    duration=event.duration,
                )
            )
        case WorkerSpawned():
            call.worker = WorkerView(worker_id=event.worker_id, title=event.title)
        case WorkerReported():
            if call.worker is not None and call.worker.worker_id == event.worker_id:
                call.worker.code, call.worker.answer = event.code, event.answer
                call.worker.spent = event.spent


def _in_approval(call: CallView, stored: Stored, event: ApprovalEvent) -> None:
    if isinstance(event, ApprovalRequested):
        call.approval = ApprovalView(
            approval_id=event.approval_id,
            session_id=event.session_id,
            turn_id=event.turn_id,
            call_id=event.call_id,
            question=event.question,
            detail=event.detail,
            choices=event.choices,
            requested_at=stored.recorded_at,
            why=event.why,
            rules=list(event.rules),
            effects=list(event.effects),
            expires_at=event.expires_at,
        )
        return
    approval = call.approval
    if approval is not None and approval.approval_id == event.approval_id:
        approval.choice, approval.text, approval.by = event.choice, event.text, event.by
        approval.granted = list(event.rules)
        approval.resolved_at = stored.recorded_at


def _in_execution(
    execution: ExecutionView,
    stored: Stored,
    event: ExecutionOutput | ExecutionFinished | ExecutionMirrored | InputEvent,
) -> None:
    match event:
        case ExecutionOutput():
            apply_output(execution.outputs, event)
        case ExecutionFinished():
            execution.status, execution.execution_count = event.status, event.execution_count
            execution.ename, execution.evalue = event.ename, event.evalue
            execution.detail, execution.duration = event.detail, event.duration
        case ExecutionMirrored():
            execution.mirrored = True
        case InputRequested():
            execution.inputs.append(
                InputView(
                    input_id=event.input_id,
                    prompt=event.prompt,
                    password=event.password,
                    requested_at=stored.recorded_at,
                )
            )
        case InputAnswered():
            for asked in execution.inputs:
                if asked.input_id == event.input_id:
                    asked.text, asked.by, asked.answered_at = event.text, event.by, stored.recorded_at


def _in_change(view: CellChangeView, event: CellChanged | CellChangeRefused | CellChangeResolved) -> None:
    match event:
        case CellChanged():
            view.status, view.owner = "made", event.owner
        case CellChangeRefused():
            view.status, view.detail = "refused", event.reason
        case CellChangeResolved():
            view.status, view.detail = "kept" if event.decision == "keep" else "undone", event.detail
