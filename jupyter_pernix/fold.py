"""What is: a session's log folded into a ``SessionView``. Pure; the TypeScript twin is ``labextension/src/model/reduce.ts``.

Rule: an event whose ``seq`` is not above ``last_seq`` changes nothing, so a reader may reconnect with any ``after``. An event
that refers to something unknown changes nothing else but ``last_seq``.
"""

from collections.abc import Iterable

from .events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    ExecutionFinished,
    ExecutionOutput,
    ExecutionStarted,
    FileChanged,
    MessageCompleted,
    PolicyDecided,
    ProblemNoticed,
    SessionArchived,
    SessionConfigured,
    SessionCreated,
    SessionRenamed,
    SessionStateChanged,
    StepFinished,
    StepStarted,
    Stored,
    ThoughtCompleted,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
    TurnSubmitted,
    Unknown,
)
from .ids import CallId, ExecutionId, SessionId, TurnId
from .records import (
    JSON,
    ApprovalView,
    CallView,
    ExecutionView,
    MessageView,
    OutputOp,
    ProblemView,
    SessionState,
    SessionView,
    StepView,
    ThoughtView,
    TurnView,
)


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


class SessionFold:
    """Folds one session's stored events, one after the other, into ``view``."""

    def __init__(self, session_id: SessionId) -> None:
        self.view = SessionView(session_id=session_id)
        self._turns: dict[TurnId, TurnView] = {}
        self._calls: dict[CallId, CallView] = {}
        self._executions: dict[ExecutionId, ExecutionView] = {}

    @classmethod
    def of(cls, session_id: SessionId, log: Iterable[Stored]) -> "SessionFold":
        fold = cls(session_id)
        for stored in log:
            fold.add(stored)
        return fold

    def turn(self, turn_id: TurnId) -> TurnView | None:
        return self._turns.get(turn_id)

    def call(self, call_id: CallId) -> CallView | None:
        return self._calls.get(call_id)

    def open_approvals(self) -> list[ApprovalView]:
        """Questions without an answer, oldest first."""
        approvals = [call.approval for call in self._calls.values() if call.approval is not None]
        return [approval for approval in approvals if approval.choice is None]

    def add(self, stored: Stored) -> None:
        if stored.seq <= self.view.last_seq:
            return
        self.view.last_seq = stored.seq
        event = stored.event
        match event:
            case Unknown():
                pass
            case SessionCreated() | SessionRenamed() | SessionConfigured() | SessionStateChanged() | SessionArchived():
                self._session(stored, event)
            case TurnSubmitted():
                turn = TurnView(
                    turn_id=event.turn_id, text=event.text, origin=event.origin, submitted_at=stored.recorded_at
                )
                self._turns[event.turn_id] = turn
                self.view.turns.append(turn)
            case ProblemNoticed():
                turn = self._turns.get(event.turn_id) if event.turn_id else None
                if turn is not None:
                    turn.items.append(ProblemView(text=event.text, hint=event.hint))
            case ToolCallStarted() | ToolCallFinished() | PolicyDecided() | FileChanged():
                self._call(event)
            case ApprovalRequested() | ApprovalResolved():
                self._approval(stored, event)
            case ExecutionStarted() | ExecutionOutput() | ExecutionFinished():
                self._execution(event)
            case _:
                turn = self._turns.get(event.turn_id)
                if turn is not None:
                    self._in_turn(turn, stored, event)

    def _session(self, stored: Stored, event: Event) -> None:
        view = self.view
        match event:
            case SessionCreated():
                view.title, view.mode, view.endpoint = event.title, event.mode, event.endpoint
                view.kernel_name, view.place = event.kernel_name, event.place
                view.space_root, view.record_path = event.space_root, event.record_path
                view.created_at = view.state_since = stored.recorded_at
                view.state = SessionState.IDLE_READY
            case SessionRenamed():
                view.title = event.title
                view.record_path = event.record_path or view.record_path
            case SessionConfigured():
                view.mode = event.mode if event.mode is not None else view.mode
                view.endpoint = event.endpoint if event.endpoint is not None else view.endpoint
                view.kernel_name = event.kernel_name if event.kernel_name is not None else view.kernel_name
            case SessionStateChanged():
                view.state, view.state_since = event.after, stored.recorded_at
            case SessionArchived():
                view.archived = event.archived
            case _:
                raise AssertionError(event)

    def _in_turn(self, turn: TurnView, stored: Stored, event: Event) -> None:
        match event:
            case TurnStarted():
                turn.started_at, turn.mode, turn.model = stored.recorded_at, event.mode, event.model
                self.view.context_length = event.context_length
            case TurnFinished():
                turn.finished_at, turn.code = stored.recorded_at, event.code
                turn.detail, turn.usage = event.detail, event.usage
            case StepStarted():
                turn.steps.append(
                    StepView(step_id=event.step_id, index=event.index, endpoint=event.endpoint, model=event.model)
                )
            case StepFinished():
                self._step_finished(turn, event)
            case MessageCompleted():
                turn.items.append(MessageView(step_id=event.step_id, text=event.text))
            case ThoughtCompleted():
                turn.items.append(ThoughtView(step_id=event.step_id, text=event.text))
            case ToolCallRequested():
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
                self._calls[event.call_id] = call
                turn.items.append(call)
            case _:
                raise AssertionError(event)

    def _step_finished(self, turn: TurnView, event: StepFinished) -> None:
        for step in turn.steps:
            if step.step_id == event.step_id:
                step.usage, step.timings = event.usage, event.timings
                step.prefix_share, step.finish_reason = event.prefix_share, event.finish_reason
        if event.usage.prompt_tokens is not None:
            self.view.context_tokens = event.usage.prompt_tokens + (event.usage.completion_tokens or 0)

    def _call(self, event: ToolCallStarted | ToolCallFinished | PolicyDecided | FileChanged) -> None:
        call = self._calls.get(event.call_id)
        if call is None:
            return
        match event:
            case ToolCallStarted():
                call.status = "in_progress"
            case ToolCallFinished():
                call.status, call.result, call.duration = event.status, event.result, event.duration
                call.side_file = event.side_file
            case PolicyDecided():
                call.verdict, call.rule = event.verdict, event.rule
            case FileChanged():
                call.files.append(event.change)

    def _approval(self, stored: Stored, event: ApprovalRequested | ApprovalResolved) -> None:
        call = self._calls.get(event.call_id)
        if call is None:
            return
        match event:
            case ApprovalRequested():
                call.approval = ApprovalView(
                    approval_id=event.approval_id,
                    session_id=event.session_id,
                    turn_id=event.turn_id,
                    call_id=event.call_id,
                    question=event.question,
                    detail=event.detail,
                    choices=event.choices,
                    requested_at=stored.recorded_at,
                )
            case ApprovalResolved():
                approval = call.approval
                if approval is not None and approval.approval_id == event.approval_id:
                    approval.choice, approval.text, approval.by = event.choice, event.text, event.by

    def _execution(self, event: ExecutionStarted | ExecutionOutput | ExecutionFinished) -> None:
        if isinstance(event, ExecutionStarted):
            call = self._calls.get(event.call_id)
            if call is not None:
                call.execution = ExecutionView(
                    execution_id=event.execution_id, place=event.place, kernel_name=event.kernel_name, code=event.code
                )
                self._executions[event.execution_id] = call.execution
            return
        execution = self._executions.get(event.execution_id)
        if execution is None:
            return
        if isinstance(event, ExecutionOutput):
            apply_output(execution.outputs, event)
            return
        execution.status, execution.execution_count = event.status, event.execution_count
        execution.ename, execution.evalue = event.ename, event.evalue
        execution.detail, execution.duration = event.detail, event.duration
