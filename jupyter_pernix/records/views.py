"""The folded session, as every screen and every record draws it."""

from datetime import datetime
from typing import Literal

import msgspec

from ..ids import ApprovalId, CallId, ExecutionId, InputId, SessionId, StepId, TurnId, UndoId
from .values import Budget, CellChange, ContextItem, Mention, Picture, Plan, Record, Spent, Timings, Usage
from .words import (
    JSON,
    ApprovalChoice,
    CallStatus,
    ExecutionStatus,
    HookDecision,
    HookPhase,
    KeptHow,
    Mode,
    ModelProtocol,
    NotebookOwner,
    Origin,
    Place,
    Purpose,
    Role,
    Ruling,
    SessionState,
    TerminalCode,
    ToolKind,
    Verdict,
)


class View(msgspec.Struct, kw_only=True):
    """Base of what a log folds into. Only ``fold.py`` changes one; everybody else reads."""


class ApprovalView(View):
    approval_id: ApprovalId
    session_id: SessionId
    turn_id: TurnId
    call_id: CallId
    question: str
    detail: str
    choices: list[ApprovalChoice]
    requested_at: datetime
    why: str = ""
    rules: list[str] = []
    """What "always" and "for this session" would remember."""
    effects: list[str] = []
    """What it is seen to do, in words; advice, not proof."""
    expires_at: datetime | None = None
    resolved_at: datetime | None = None
    choice: ApprovalChoice | None = None
    text: str = ""
    by: str = ""
    granted: list[str] = []
    """The rules that were remembered with the answer."""


class HookView(View):
    """What a hook said of a call."""

    phase: HookPhase
    command: str
    decision: HookDecision
    reason: str = ""
    duration: float = 0.0


class UndoView(View):
    """Files that were put back by the user. ``done``: paths; ``refused``: path → why not."""

    undo_id: UndoId
    turn_id: TurnId | None
    by: str
    requested_at: datetime
    done: list[str] = []
    refused: dict[str, str] = {}


class InputView(View):
    """A line that running code asked for. ``by`` "": it waits. ``text`` ``None``: not given, or a password."""

    input_id: InputId
    prompt: str
    password: bool
    requested_at: datetime
    answered_at: datetime | None = None
    text: str | None = None
    by: str = ""


class ExecutionView(View):
    """``outputs`` are nbformat 4 outputs. ``status`` is ``None`` while it runs. ``notebook`` and ``cell_id``: the cell that was run,
    "" for code beside any notebook; ``mirrored``: its outputs stand there."""

    execution_id: ExecutionId
    place: Place
    kernel_name: str
    code: str
    outputs: list[JSON] = []
    status: ExecutionStatus | None = None
    execution_count: int | None = None
    ename: str = ""
    evalue: str = ""
    detail: str = ""
    duration: float | None = None
    notebook: str = ""
    cell_id: str = ""
    mirrored: bool = False
    trusted: bool = False
    """The code of the cell is the user's own, not the agent's."""
    inputs: list[InputView] = []


class FileChange(Record, frozen=True):
    """``before`` / ``after`` are sha256 hex digests; ``None``: the file did not exist then."""

    path: str
    before: str | None
    after: str | None
    added_lines: int = 0
    removed_lines: int = 0
    diff: str = ""


class CellChangeView(View):
    """A change of a cell and what became of it. ``status``: ``requested`` is under way, ``refused`` was not made."""

    change: CellChange
    turn_id: TurnId
    status: Literal["requested", "made", "refused", "kept", "undone"] = "requested"
    owner: NotebookOwner | None = None
    detail: str = ""


class CallView(View, tag="call"):
    call_id: CallId
    step_id: StepId
    tool: str
    kind: ToolKind
    title: str
    arguments: JSON
    status: CallStatus
    requested_at: datetime
    started_at: datetime | None = None
    verdict: Verdict | None = None
    rule: str = ""
    ruling: Ruling | None = None
    why: str = ""
    effects: list[str] = []
    """What it was seen to do before it ran, in words."""
    approval: ApprovalView | None = None
    hooks: list[HookView] = []
    execution: ExecutionView | None = None
    earlier: list[ExecutionView] = []
    """What the call ran before ``execution``, oldest first: a call may run several cells."""
    files: list[FileChange] = []
    restored: list[str] = []
    """Paths of ``files`` that were put back to what they were before this call."""
    result: str = ""
    side_file: str = ""
    duration: float | None = None
    worker: "WorkerView | None" = None
    cells: list[CellChangeView] = []
    pictures: list[Picture] = []
    """What the model was shown with the result."""


class WorkerView(View):
    """A session that does a part of this one's work. ``code`` ``None``: it is not done."""

    worker_id: SessionId
    title: str
    code: TerminalCode | None = None
    answer: str = ""
    spent: Spent = Spent()


class MessageView(View, tag="message"):
    """``corrections`` are shown before the text."""

    step_id: StepId
    text: str
    corrections: list[str] = []


class ThoughtView(View, tag="thought"):
    step_id: StepId
    text: str


class ProblemView(View, tag="problem"):
    text: str
    hint: str = ""


class NoticeView(View, tag="notice"):
    """Something that the host did and says aloud."""

    kind: Literal["retry", "fallback", "compaction", "instructions", "resumed", "kernel", "notebook"]
    text: str
    hint: str = ""


class Waiting(View):
    """What a session waits for that is neither the model's words nor a person: ``seconds`` from ``since``, then step ``step_id`` tries again."""

    step_id: StepId
    text: str
    since: datetime
    seconds: float


Item = MessageView | ThoughtView | CallView | ProblemView | NoticeView


class StepView(View):
    step_id: StepId
    index: int
    endpoint: str
    model: str
    role: Role = "primary"
    purpose: Purpose = "act"
    started_at: datetime | None = None
    usage: Usage | None = None
    timings: Timings | None = None
    prefix_share: float | None = None
    cost: float | None = None
    finish_reason: str = ""


class TurnView(View):
    """``started_at`` ``None``: still queued; ``code`` ``None``: not finished."""

    turn_id: TurnId
    text: str
    origin: Origin
    submitted_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    mode: Mode | None = None
    model: str = ""
    budget: Budget | None = None
    """Its limits, known once it has started."""
    protocol: ModelProtocol | None = None
    """How its model was driven, known once it has started."""
    code: TerminalCode | None = None
    detail: str = ""
    usage: Usage | None = None
    cost: float | None = None
    """``None``: at least one of its steps has no price."""
    plan: Plan | None = None
    mentions: list[Mention] = []
    context: list[ContextItem] = []
    """What the model was told beside the message."""
    kept: KeptHow | None = None
    """How the files are kept as they were before this turn changed any."""
    items: list[Item] = []
    steps: list[StepView] = []


class NotebookView(View):
    """The notebook that a session is attached to."""

    path: str
    kernel_id: str
    kernel_name: str


class SessionView(View):
    """The whole session as its log tells it; every screen and every record is drawn from this."""

    session_id: SessionId
    title: str = ""
    state: SessionState = SessionState.IDLE_READY
    state_since: datetime | None = None
    mode: Mode = "edit"
    endpoint: str | None = None
    kernel_name: str = ""
    place: Place = "own"
    space_root: str = ""
    record_path: str = ""
    archived: bool = False
    created_at: datetime | None = None
    last_seq: int = 0
    context_tokens: int | None = None
    context_length: int | None = None
    parent: SessionId | None = None
    sandbox: bool = False
    network: bool = False
    undos: list[UndoView] = []
    budget: Budget | None = None
    usage: Usage = Usage()
    """Of all finished steps."""
    cost: float | None = None
    """Of all finished steps that have a price."""
    waiting: Waiting | None = None
    notebook: NotebookView | None = None
    turns: list[TurnView] = []
    widgets: dict[str, JSON] = {}
    """By the id of its model the state of each widget that an output shows, as it was at the end of a turn."""
