"""What is: a session's log folded into a ``SessionView``. Pure; the TypeScript twin is ``labextension/src/model/reduce.ts``.

Rule: an event whose ``seq`` is not above ``last_seq`` changes nothing, so a reader may reconnect with any ``after``. An event
that refers to something unknown changes nothing else but ``last_seq``. What belongs to a tool call is folded in ``fold_calls.py``.
"""

from collections.abc import Iterable

from .events import (
    ContextCompacted,
    Event,
    FileRestored,
    FileRestoreRefused,
    FilesKept,
    FilesUndoRequested,
    InstructionsRead,
    KernelRestarted,
    MessageCompleted,
    PlanUpdated,
    ProblemNoticed,
    SessionArchived,
    SessionAttached,
    SessionConfigured,
    SessionCreated,
    SessionDetached,
    SessionRenamed,
    SessionStateChanged,
    StepFallbackTaken,
    StepFinished,
    StepRetryScheduled,
    StepStarted,
    Stored,
    ThoughtCompleted,
    ToolCallRequested,
    TurnContextAdded,
    TurnEdited,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSubmitted,
    Unknown,
    WidgetsSaved,
)
from .fold_calls import Calls, InCall, apply_output
from .ids import CallId, ChangeId, ExecutionId, SessionId, StepId, TurnId
from .records import (
    ApprovalView,
    CallView,
    CellChangeView,
    ExecutionView,
    InputView,
    MessageView,
    NotebookView,
    NoticeView,
    ProblemView,
    SessionState,
    SessionView,
    StepView,
    ThoughtView,
    TurnView,
    UndoView,
    Usage,
    Waiting,
)

__all__ = ["SessionFold", "apply_output", "total"]


def _plus(one: int | None, two: int | None) -> int | None:
    return two if one is None else one if two is None else one + two


def total(one: Usage, two: Usage) -> Usage:
    """The sum; a number that neither side knows stays unknown."""
    return Usage(
        prompt_tokens=_plus(one.prompt_tokens, two.prompt_tokens),
        completion_tokens=_plus(one.completion_tokens, two.completion_tokens),
        cached_tokens=_plus(one.cached_tokens, two.cached_tokens),
    )


class SessionFold:
    """Folds one session's stored events, one after the other, into ``view``."""

    def __init__(self, session_id: SessionId) -> None:
        self.view = SessionView(session_id=session_id)
        self._turns: dict[TurnId, TurnView] = {}
        self._steps: dict[StepId, StepView] = {}
        self._calls = Calls()

    @classmethod
    def of(cls, session_id: SessionId, log: Iterable[Stored]) -> "SessionFold":
        fold = cls(session_id)
        for stored in log:
            fold.add(stored)
        return fold

    def turn(self, turn_id: TurnId) -> TurnView | None:
        return self._turns.get(turn_id)

    def call(self, call_id: CallId) -> CallView | None:
        return self._calls.calls.get(call_id)

    def change(self, change_id: ChangeId) -> CellChangeView | None:
        return self._calls.changes.get(change_id)

    def changes(self) -> list[CellChangeView]:
        """Of cells, oldest first."""
        return list(self._calls.changes.values())

    def execution(self, execution_id: ExecutionId) -> ExecutionView | None:
        return self._calls.executions.get(execution_id)

    def executions(self) -> list[ExecutionView]:
        """Oldest first."""
        return list(self._calls.executions.values())

    def open_inputs(self) -> list[InputView]:
        """Lines that running code waits for."""
        return [each for execution in self.executions() for each in execution.inputs if not each.by]

    def open_approvals(self) -> list[ApprovalView]:
        """Questions without an answer, oldest first."""
        approvals = [call.approval for call in self._calls.calls.values() if call.approval is not None]
        return [approval for approval in approvals if approval.choice is None]

    def add(self, stored: Stored) -> None:
        if stored.seq <= self.view.last_seq:
            return
        self.view.last_seq = stored.seq
        event = stored.event
        if isinstance(event, InCall):
            self._calls.add(stored, event)
            return
        match event:
            case Unknown():
                pass
            case SessionCreated() | SessionRenamed() | SessionConfigured() | SessionStateChanged() | SessionArchived():
                self._session(stored, event)
            case SessionAttached() | SessionDetached() | KernelRestarted():
                self._kernel(event)
            case TurnSubmitted():
                turn = TurnView(
                    turn_id=event.turn_id,
                    text=event.text,
                    origin=event.origin,
                    submitted_at=stored.recorded_at,
                    mentions=list(event.mentions),
                )
                self._turns[event.turn_id] = turn
                self.view.turns.append(turn)
            case ProblemNoticed():
                turn = self._turns.get(event.turn_id) if event.turn_id else None
                if turn is not None:
                    turn.items.append(ProblemView(text=event.text, hint=event.hint))
            case StepStarted() | StepRetryScheduled() | StepFallbackTaken() | StepFinished():
                self._step(stored, event)
            case ContextCompacted():
                self._compacted(event)
            case FilesUndoRequested() | FileRestored() | FileRestoreRefused():
                self._undo(stored, event)
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
                view.budget, view.parent = event.budget, event.parent
                view.sandbox, view.network = event.sandbox, event.network
                view.created_at = view.state_since = stored.recorded_at
                view.state = SessionState.IDLE_READY
            case SessionRenamed():
                view.title = event.title
                view.record_path = event.record_path or view.record_path
            case SessionConfigured():
                view.mode = event.mode if event.mode is not None else view.mode
                view.endpoint = event.endpoint if event.endpoint is not None else view.endpoint
                view.kernel_name = event.kernel_name if event.kernel_name is not None else view.kernel_name
                view.budget = event.budget if event.budget is not None else view.budget
                view.sandbox = event.sandbox if event.sandbox is not None else view.sandbox
                view.network = event.network if event.network is not None else view.network
            case SessionStateChanged():
                view.state, view.state_since = event.after, stored.recorded_at
                view.waiting = None
            case SessionArchived():
                view.archived = event.archived
            case _:
                raise AssertionError(event)

    def _kernel(self, event: SessionAttached | SessionDetached | KernelRestarted) -> None:
        """Between turns a new kernel is told at the end of the last turn that began."""
        view = self.view
        match event:
            case SessionAttached():
                view.notebook = NotebookView(path=event.path, kernel_id=event.kernel_id, kernel_name=event.kernel_name)
                view.place = "attached"
            case SessionDetached():
                view.notebook, view.place = None, "own"
            case KernelRestarted():
                turn = self._turns.get(event.turn_id) if event.turn_id else self._last_begun()
                if turn is not None:
                    turn.items.append(NoticeView(kind="kernel", text=event.text))

    def _undo(self, stored: Stored, event: FilesUndoRequested | FileRestored | FileRestoreRefused) -> None:
        if isinstance(event, FilesUndoRequested):
            self.view.undos.append(
                UndoView(undo_id=event.undo_id, turn_id=event.turn_id, by=event.by, requested_at=stored.recorded_at)
            )
            return
        undo = next((each for each in self.view.undos if each.undo_id == event.undo_id), None)
        if undo is None:
            return
        if isinstance(event, FileRestoreRefused):
            undo.refused = {**undo.refused, event.path: event.reason}
            return
        undo.done.append(event.path)
        for call_id in event.call_ids:
            call = self._calls.calls.get(call_id)
            if call is not None and event.path not in call.restored:
                call.restored.append(event.path)

    def _last_begun(self) -> TurnView | None:
        return next((turn for turn in reversed(self.view.turns) if turn.started_at is not None), None)

    def _in_turn(self, turn: TurnView, stored: Stored, event: Event) -> None:
        match event:
            case TurnStarted():
                turn.started_at, turn.mode, turn.model = stored.recorded_at, event.mode, event.model
                turn.budget, turn.protocol = event.budget, event.protocol
                self.view.context_length = event.context_length
            case TurnEdited():
                turn.text = event.text
            case TurnResumed():
                turn.items.append(NoticeView(kind="resumed", text=event.text))
            case TurnFinished():
                turn.finished_at, turn.code = stored.recorded_at, event.code
                turn.detail, turn.usage, turn.cost = event.detail, event.usage, event.cost
            case FilesKept():
                turn.kept = turn.kept or event.how
            case PlanUpdated():
                turn.plan = event.plan
            case InstructionsRead():
                if event.text or not event.digest:
                    said = "changed" if event.digest else "is gone"
                    turn.items.append(NoticeView(kind="instructions", text=f"{event.name} {said}."))
            case TurnContextAdded():
                turn.context.append(event.item)
            case WidgetsSaved():
                self.view.widgets = {**self.view.widgets, **event.models}
            case MessageCompleted():
                turn.items.append(
                    MessageView(step_id=event.step_id, text=event.text, corrections=list(event.corrections))
                )
            case ThoughtCompleted():
                turn.items.append(ThoughtView(step_id=event.step_id, text=event.text))
            case ToolCallRequested():
                turn.items.append(self._calls.begin(stored, event))
            case _:
                raise AssertionError(event)

    def _step(self, stored: Stored, event: StepStarted | StepRetryScheduled | StepFallbackTaken | StepFinished) -> None:
        turn = self._turns.get(event.turn_id) if event.turn_id else None
        if turn is None and event.turn_id is not None:
            return
        if self.view.waiting is not None and self.view.waiting.step_id == event.step_id:
            self.view.waiting = None
        match event:
            case StepStarted():
                if turn is not None:
                    step = StepView(
                        step_id=event.step_id,
                        index=event.index,
                        endpoint=event.endpoint,
                        model=event.model,
                        role=event.role,
                        purpose=event.purpose,
                        started_at=stored.recorded_at,
                    )
                    self._steps[event.step_id] = step
                    turn.steps.append(step)
            case StepRetryScheduled():
                self.view.waiting = Waiting(
                    step_id=event.step_id, text=event.text, since=stored.recorded_at, seconds=event.seconds
                )
                if turn is not None:
                    turn.items.append(NoticeView(kind="retry", text=event.text, hint=event.hint))
            case StepFallbackTaken():
                step = self._steps.get(event.step_id)
                if step is not None:
                    step.endpoint, step.model, step.role = event.endpoint, event.model, "backup"
                if turn is not None:
                    turn.items.append(NoticeView(kind="fallback", text=event.text))
            case StepFinished():
                self._step_finished(event)

    def _step_finished(self, event: StepFinished) -> None:
        """What a step between turns used counts for the session; the step itself is shown nowhere."""
        view, step = self.view, self._steps.get(event.step_id)
        if step is None and event.turn_id is not None:
            return
        view.usage = total(view.usage, event.usage)
        if event.cost is not None:
            view.cost = (view.cost or 0.0) + event.cost
        if step is None:
            return
        step.usage, step.timings = event.usage, event.timings
        step.prefix_share, step.finish_reason = event.prefix_share, event.finish_reason
        step.cost = event.cost
        if step.purpose == "act" and event.usage.prompt_tokens is not None:
            view.context_tokens = event.usage.prompt_tokens + (event.usage.completion_tokens or 0)

    def _compacted(self, event: ContextCompacted) -> None:
        """Between turns it is told at the end of the last one that began."""
        if event.turn_id is None:
            turn = self._last_begun()
        else:
            turn = self._turns.get(event.turn_id)
            if turn is None:
                return
        self.view.context_tokens = event.tokens_after
        if turn is not None:
            text = f"The conversation was made shorter: {event.tokens_before:,} → {event.tokens_after:,} tokens."
            turn.items.append(NoticeView(kind="compaction", text=text, hint=event.dropped))
