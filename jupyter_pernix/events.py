"""Events: what happened, as frozen facts; and deltas: passing progress that nobody needs afterwards.

An event's tag (``noun.past_verb``) is data that lies in people's databases and never changes; a new meaning is a new tag.
The store adds ``seq`` (one sequence over all sessions) and ``recorded_at`` (aware UTC): see ``Stored``.
A delta travels over the bus only. Adding an event: the class here, the union, ``fold.py``, then ``make types``; the completeness
tests on both sides name what was forgotten.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, get_args

import msgspec

from .ids import ApprovalId, CallId, ChangeId, ExecutionId, InputId, SessionId, StepId, TurnId, UndoId
from .records import (
    JSON,
    ApprovalChoice,
    Budget,
    CallStatus,
    CellChange,
    ChangeDecision,
    ContextItem,
    ExecutionStatus,
    FileChange,
    HookDecision,
    HookPhase,
    KeptHow,
    Mention,
    Mode,
    ModelProtocol,
    NotebookOwner,
    Origin,
    Picture,
    Place,
    Plan,
    Purpose,
    Role,
    Ruling,
    SessionState,
    Spent,
    TerminalCode,
    Timings,
    ToolKind,
    Usage,
    Verdict,
)


class EventBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """A fact about one session. Unknown fields are ignored: a newer program may have written more."""

    session_id: SessionId


class SessionCreated(EventBase, frozen=True, tag="session.created"):
    """A session exists and is idle. ``record_path`` is where its run notebook will be, relative to the server root."""

    title: str
    space_root: str
    record_path: str
    mode: Mode
    endpoint: str | None
    kernel_name: str
    place: Place
    origin: Origin
    budget: Budget | None = None
    parent: SessionId | None = None
    sandbox: bool = False
    network: bool = False


class SessionRenamed(EventBase, frozen=True, tag="session.renamed"):
    """``record_path``: where the run notebook will be from now on; "" leaves it. It moves only while no file has been written.
    ``by``: ``host`` took the title from the first message, ``model`` wrote it; neither replaces a title that the user gave."""

    title: str
    record_path: str = ""
    by: Literal["user", "host", "model"] = "user"


class SessionConfigured(EventBase, frozen=True, tag="session.configured"):
    """The given settings hold from now on; ``None`` means unchanged."""

    mode: Mode | None = None
    endpoint: str | None = None
    kernel_name: str | None = None
    budget: Budget | None = None
    sandbox: bool | None = None
    network: bool | None = None


class SessionStateChanged(EventBase, frozen=True, tag="session.state_changed"):
    turn_id: TurnId | None
    before: SessionState
    after: SessionState
    reason: str


class SessionArchived(EventBase, frozen=True, tag="session.archived"):
    """``archived`` false: it was taken out of the archive again."""

    archived: bool


class SessionAttached(EventBase, frozen=True, tag="session.attached"):
    """Code runs in the kernel of this open notebook from now on. Again with another path: it was renamed."""

    path: str
    kernel_id: str
    kernel_name: str


class SessionDetached(EventBase, frozen=True, tag="session.detached"):
    """Code runs in a kernel of the session's own again; ``reason`` is a sentence unless the user asked for it."""

    reason: str = ""


class TurnSubmitted(EventBase, frozen=True, tag="turn.submitted"):
    """The user's message is safe; its turn waits for its place in the queue. ``can_ask``, ``budget``: as in ``TurnCreate``."""

    turn_id: TurnId
    text: str
    origin: Origin
    can_ask: bool = True
    budget: Budget | None = None
    mentions: list[Mention] = []


class TurnEdited(EventBase, frozen=True, tag="turn.edited"):
    """The user changed a message that still waited for its turn."""

    turn_id: TurnId
    text: str


class TurnStarted(EventBase, frozen=True, tag="turn.started"):
    turn_id: TurnId
    mode: Mode
    endpoint: str
    model: str
    protocol: ModelProtocol
    context_length: int | None
    budget: Budget


class TurnResumed(EventBase, frozen=True, tag="turn.resumed"):
    """A turn that an earlier server left paused, or waiting for a person, goes on in this one. Variables of its kernel are gone."""

    turn_id: TurnId
    text: str


class TurnFinished(EventBase, frozen=True, tag="turn.finished"):
    """The turn is over; ``detail`` says why in words unless it was answered. A turn that never started can be finished too.
    ``cost``: ``None`` unless every step has a price."""

    turn_id: TurnId
    code: TerminalCode
    detail: str
    usage: Usage
    cost: float | None = None


class StepStarted(EventBase, frozen=True, tag="step.started"):
    """A request goes to the model. ``prompt_bytes`` of it, of which ``prefix_bytes`` repeat the previous request exactly.
    Only steps with the purpose ``act`` are part of the conversation; the others are requests beside it. ``turn_id`` ``None``:
    between turns (a compaction that the user asked for, a title)."""

    turn_id: TurnId | None
    step_id: StepId
    index: int
    endpoint: str
    model: str
    prompt_bytes: int
    prefix_bytes: int
    role: Role = "primary"
    purpose: Purpose = "act"


class StepRetryScheduled(EventBase, frozen=True, tag="step.retry_scheduled"):
    """The request failed and is made again after ``seconds``. ``attempt`` of ``attempts`` comes next; ``asked``: the server named the time."""

    turn_id: TurnId | None
    step_id: StepId
    attempt: int
    attempts: int
    seconds: float
    asked: bool
    text: str
    hint: str = ""


class StepFallbackTaken(EventBase, frozen=True, tag="step.fallback_taken"):
    """The role's endpoint failed for good, so this step and the rest of the turn go to the backup; ``text`` says why."""

    turn_id: TurnId | None
    step_id: StepId
    endpoint: str
    model: str
    failed_endpoint: str
    failed_model: str
    text: str


class StepFinished(EventBase, frozen=True, tag="step.finished"):
    """The model's answer is complete, or the request was given up (``finish_reason`` ``"failed"``). ``prefix_share``: part of the
    request that repeated the previous one, ``None`` for the first. ``cost``: ``None`` without a configured price."""

    turn_id: TurnId | None
    step_id: StepId
    usage: Usage
    timings: Timings
    prefix_share: float | None
    finish_reason: str
    cost: float | None = None


class ContextCompacted(EventBase, frozen=True, tag="context.compacted"):
    """The model's input was made shorter; the log keeps everything. What events up to ``upto_seq`` had put into it is replaced:
    ``outputs``: the results of tool calls up to there by one line each; ``summary``: all of it by ``summary``.

    ``kept``: what is told word for word beside the summary (the user's rules, open tasks, files changed). ``dropped`` says in words
    what is no longer there. Token counts are the host's estimates of the whole input."""

    turn_id: TurnId | None
    level: Literal["outputs", "summary"]
    upto_seq: int
    summary: str
    kept: list[str]
    dropped: str
    tokens_before: int
    tokens_after: int


class PlanUpdated(EventBase, frozen=True, tag="plan.updated"):
    turn_id: TurnId
    plan: Plan


class InstructionsRead(EventBase, frozen=True, tag="instructions.read"):
    """A file with instructions as it is from this turn on. ``text`` "" with a digest: it stands in the system part of the session.
    ``digest`` "": the file is gone."""

    turn_id: TurnId
    name: str
    digest: str
    text: str


class TurnContextAdded(EventBase, frozen=True, tag="turn.context_added"):
    """The host tells the model this with the message; before the first step, or, about the kernel, with the next one."""

    turn_id: TurnId
    item: ContextItem


class MessageCompleted(EventBase, frozen=True, tag="message.completed"):
    """``corrections``: what the host's record says against the text, or what the text leaves out; every face shows them before it."""

    turn_id: TurnId
    step_id: StepId
    text: str
    corrections: list[str] = []


class ThoughtCompleted(EventBase, frozen=True, tag="thought.completed"):
    turn_id: TurnId
    step_id: StepId
    text: str


class ToolCallRequested(EventBase, frozen=True, tag="tool_call.requested"):
    """The model asked for this; nothing has been done. ``wire_id`` is the id by which the endpoint knows the call, unique in its
    session. ``raw``: the arguments as the model wrote them, "" when that is their plain JSON (``json.dumps``, not ASCII only)."""

    turn_id: TurnId
    step_id: StepId
    call_id: CallId
    wire_id: str
    tool: str
    kind: ToolKind
    title: str
    arguments: JSON
    raw: str = ""


class ToolCallStarted(EventBase, frozen=True, tag="tool_call.started"):
    """From now on the call may have had its effect."""

    turn_id: TurnId
    call_id: CallId


class ToolCallFinished(EventBase, frozen=True, tag="tool_call.finished"):
    """``result`` is exactly what the model reads. ``side_file``: address of the full text below ``/pernix/api/`` when ``result`` was cut.
    ``seen``: files whose content the model knows from now on, by path below the space root: sha256 hex digest; a cell by
    ``path#cell_id``: its ``cell_digest``. ``pictures``: shown to the model with the result."""

    turn_id: TurnId
    call_id: CallId
    status: CallStatus
    result: str
    duration: float
    side_file: str = ""
    seen: dict[str, str] = {}
    pictures: list[Picture] = []


class PolicyDecided(EventBase, frozen=True, tag="policy.decided"):
    """What the host decided about a call before any effect. ``targets``: canonical paths, a command line, a kernel. ``effects``: what
    it is seen to do, in words."""

    turn_id: TurnId
    call_id: CallId
    action: str
    verdict: Verdict
    rule: str
    mode: Mode
    targets: list[str]
    ruling: Ruling | None = None
    why: str = ""
    effects: list[str] = []


class ApprovalRequested(EventBase, frozen=True, tag="approval.requested"):
    turn_id: TurnId
    call_id: CallId
    approval_id: ApprovalId
    question: str
    detail: str
    choices: list[ApprovalChoice]
    why: str = ""
    rules: list[str] = []
    effects: list[str] = []
    expires_at: datetime | None = None


class ApprovalResolved(EventBase, frozen=True, tag="approval.resolved"):
    """``by`` says who answered: a face of the product, or ``host`` when the turn ended first or the question expired. ``rules``: what
    is remembered with it."""

    turn_id: TurnId
    call_id: CallId
    approval_id: ApprovalId
    choice: ApprovalChoice
    text: str
    by: str
    rules: list[str] = []


class HookEnded(EventBase, frozen=True, tag="hook.ended"):
    """A hook was run about a call. ``decision`` ``ask``: it wants a person to decide. ``exit_code`` ``None``: it could not be started, or
    was ended before it had one."""

    turn_id: TurnId
    call_id: CallId
    phase: HookPhase
    command: str
    decision: HookDecision
    reason: str
    exit_code: int | None
    duration: float


class ExecutionStarted(EventBase, frozen=True, tag="execution.started"):
    """``notebook`` (relative to the server's root) and ``cell_id``: the cell that holds the code, "" for code beside any notebook.
    ``trusted``: that cell is the user's own writing, so its outputs are shown as if the user had run it."""

    turn_id: TurnId
    call_id: CallId
    execution_id: ExecutionId
    place: Place
    kernel_name: str
    code: str
    notebook: str = ""
    cell_id: str = ""
    trusted: bool = False


class ExecutionOutput(EventBase, frozen=True, tag="execution.output"):
    """One step of building the outputs; the fields are those of ``OutputOp``."""

    turn_id: TurnId
    execution_id: ExecutionId
    op: Literal["append", "extend", "replace", "clear"]
    index: int = 0
    output: JSON | None = None
    text: str = ""


class ExecutionFinished(EventBase, frozen=True, tag="execution.finished"):
    turn_id: TurnId
    execution_id: ExecutionId
    status: ExecutionStatus
    execution_count: int | None
    ename: str
    evalue: str
    detail: str
    duration: float


class ExecutionMirrored(EventBase, frozen=True, tag="execution.mirrored"):
    """The outputs of a cell that was run stand in its notebook."""

    turn_id: TurnId
    execution_id: ExecutionId
    owner: NotebookOwner


class InputRequested(EventBase, frozen=True, tag="input.requested"):
    """Running code waits for a line from the user."""

    turn_id: TurnId
    execution_id: ExecutionId
    input_id: InputId
    prompt: str
    password: bool


class InputAnswered(EventBase, frozen=True, tag="input.answered"):
    """``text`` ``None``: a password, which is never kept, or no answer; ``by`` "host": the code ended first."""

    turn_id: TurnId
    execution_id: ExecutionId
    input_id: InputId
    text: str | None
    by: str


class KernelRestarted(EventBase, frozen=True, tag="kernel.restarted"):
    """The session's kernel is another process than before: all variables are gone. ``text`` says so, and why."""

    turn_id: TurnId | None
    kernel_name: str
    text: str


class WidgetsSaved(EventBase, frozen=True, tag="widgets.saved"):
    """The state of widgets that outputs of the session show: of those models that are new or changed since it was stored last. By
    the id of the model, each as a notebook's metadata has it."""

    turn_id: TurnId
    models: dict[str, JSON]


class CellChangeRequested(EventBase, frozen=True, tag="cell.change_requested"):
    """About to be made; holds all that an undo needs."""

    turn_id: TurnId
    call_id: CallId
    change: CellChange


class CellChanged(EventBase, frozen=True, tag="cell.changed"):
    turn_id: TurnId
    call_id: CallId
    change_id: ChangeId
    owner: NotebookOwner


class CellChangeRefused(EventBase, frozen=True, tag="cell.change_refused"):
    """Nothing was changed; ``reason`` is a sentence."""

    turn_id: TurnId
    call_id: CallId
    change_id: ChangeId
    reason: str


class CellChangeResolved(EventBase, frozen=True, tag="cell.change_resolved"):
    """The user keeps the change, or it was undone. ``detail``: what an undo could not restore."""

    turn_id: TurnId
    change_id: ChangeId
    decision: ChangeDecision
    by: str
    detail: str = ""


class FileChanged(EventBase, frozen=True, tag="file.changed"):
    turn_id: TurnId
    call_id: CallId
    change: FileChange


class FilesKept(EventBase, frozen=True, tag="files.kept"):
    """What the space held before the turn changes anything is kept. ``where``: the commit, or the digest of what was copied ("": there
    was no such file); ``path``: the one file it is about, "" for the whole space. ``call_id`` with a commit: what the space held when
    this command or cell had ended; all that differs from the state kept before it is its doing. ``mode``: permission bits of what
    was copied. ``missing``: the folders on the way to ``path`` that were not there either, the outermost first."""

    turn_id: TurnId
    how: KeptHow
    where: str
    path: str = ""
    call_id: CallId | None = None
    mode: int | None = None
    missing: list[str] = []


class FilesUndoRequested(EventBase, frozen=True, tag="files.undo_requested"):
    """The user wants files put back; ``paths`` are relative to the space."""

    undo_id: UndoId
    turn_id: TurnId | None
    paths: list[str]
    by: str


class FileRestored(EventBase, frozen=True, tag="file.restored"):
    """A file was put back. ``before`` / ``after``: digests of what it was and is now, ``None``: no such file. ``call_ids``: whose
    changes are gone with it."""

    undo_id: UndoId
    path: str
    before: str | None
    after: str | None
    call_ids: list[CallId]


class FileRestoreRefused(EventBase, frozen=True, tag="file.restore_refused"):
    undo_id: UndoId
    path: str
    reason: str


class WorkerSpawned(EventBase, frozen=True, tag="worker.spawned"):
    """A call was handed to a session of its own."""

    turn_id: TurnId
    call_id: CallId
    worker_id: SessionId
    title: str
    task: str


class WorkerReported(EventBase, frozen=True, tag="worker.reported"):
    """However the worker ended, its session says so here. ``spent`` counts against the budgets of the turn and the session."""

    turn_id: TurnId
    call_id: CallId
    worker_id: SessionId
    code: TerminalCode
    answer: str
    spent: Spent = Spent()


class ProblemNoticed(EventBase, frozen=True, tag="problem.noticed"):
    """Something went wrong that did not end the turn, or the reason why one ended; ``hint`` says what to do."""

    turn_id: TurnId | None
    text: str
    hint: str = ""


Event = (
    SessionCreated
    | SessionRenamed
    | SessionConfigured
    | SessionStateChanged
    | SessionArchived
    | SessionAttached
    | SessionDetached
    | TurnSubmitted
    | TurnEdited
    | TurnStarted
    | TurnResumed
    | TurnFinished
    | StepStarted
    | StepRetryScheduled
    | StepFallbackTaken
    | StepFinished
    | ContextCompacted
    | PlanUpdated
    | InstructionsRead
    | TurnContextAdded
    | MessageCompleted
    | ThoughtCompleted
    | ToolCallRequested
    | ToolCallStarted
    | ToolCallFinished
    | PolicyDecided
    | ApprovalRequested
    | ApprovalResolved
    | ExecutionStarted
    | ExecutionOutput
    | ExecutionFinished
    | ExecutionMirrored
    | InputRequested
    | InputAnswered
    | KernelRestarted
    | WidgetsSaved
    | CellChangeRequested
    | CellChanged
    | CellChangeRefused
    | CellChangeResolved
    | FileChanged
    | FilesKept
    | FilesUndoRequested
    | FileRestored
    | FileRestoreRefused
    | HookEnded
    | WorkerSpawned
    | WorkerReported
    | ProblemNoticed
)


class DeltaBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Passing progress. ``text`` belongs at ``offset`` (characters) of what is being written; offset 0 starts afresh, so a
    delta that is applied twice, or after a reconnect, does no harm."""

    session_id: SessionId
    turn_id: TurnId
    step_id: StepId
    offset: int
    text: str


class MessageDelta(DeltaBase, frozen=True, tag="message.delta"):
    pass


class ThoughtDelta(DeltaBase, frozen=True, tag="thought.delta"):
    pass


class ToolCallDelta(DeltaBase, frozen=True, tag="tool_call.delta"):
    """The arguments of a call that the model is still writing; ``index`` counts the calls of this step from 0."""

    index: int
    tool: str


Delta = MessageDelta | ThoughtDelta | ToolCallDelta


class PageRequest(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="page.requested"):
    """The server asks one browser page to read or change a notebook that it has open; over the bus only, answered by HTTP with a
    ``PageAnswer``. Others ignore it. ``read``: give the cells. ``change``: carry out ``change`` if the cell still is as its ``before``
    says. ``run``: cell ``cell_id`` begins to run if its source still is ``source``: its outputs go. ``outputs``: they are now these.
    ``save``: write the file. A page that cannot answer within ``seconds`` must not do it later. The ``request_id`` of a ``change`` is
    its change's id. ``trusted``: as in ``ExecutionStarted``."""

    session_id: SessionId
    page_id: str
    request_id: str
    op: Literal["read", "change", "run", "outputs", "save"]
    path: str
    seconds: float
    change: CellChange | None = None
    cell_id: str = ""
    source: str = ""
    execution_id: ExecutionId | None = None
    outputs: list[JSON] = []
    execution_count: int | None = None
    trusted: bool = False


Passing = Delta | PageRequest
"""What goes over the bus and is not stored."""

EVENT_TYPES: dict[str, type[Event]] = {str(cls.__struct_config__.tag): cls for cls in get_args(Event)}
DELTA_TYPES: dict[str, type[Delta]] = {str(cls.__struct_config__.tag): cls for cls in get_args(Delta)}


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a newer program wrote: kept whole, shown as newer than this version."""

    session_id: SessionId
    type: str
    body: dict[str, Any]


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its place in the log."""

    seq: int
    recorded_at: datetime
    event: Event | Unknown


_encoder = msgspec.json.Encoder()
_event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Annotated[Event, msgspec.Meta()])  # type: ignore[arg-type]


def event_type(event: Event | Unknown) -> str:
    """The tag under which an event is stored."""
    return event.type if isinstance(event, Unknown) else str(event.__struct_config__.tag)


def encode_event(event: Event | Unknown) -> bytes:
    """JSON of the event alone, with ``type`` first: what the store keeps."""
    return _encoder.encode(event.body if isinstance(event, Unknown) else event)


def decode_event(body: bytes | str) -> Event | Unknown:
    """Inverse of ``encode_event``; an unknown tag, or a known one in a shape this version cannot read, becomes ``Unknown``."""
    try:
        return _event_decoder.decode(body)
    except msgspec.ValidationError:
        raw: dict[str, Any] = msgspec.json.decode(body)
        return Unknown(session_id=SessionId(str(raw.get("session_id", ""))), type=str(raw.get("type", "")), body=raw)


def encode_stored(stored: Stored) -> bytes:
    """The wire form: one flat object, ``seq`` and ``recorded_at`` before the event's own fields."""
    head = _encoder.encode({"seq": stored.seq, "recorded_at": stored.recorded_at})
    return head[:-1] + b"," + encode_event(stored.event)[1:]


def decode_stored(body: bytes | str) -> Stored:
    """Inverse of ``encode_stored``."""
    raw: dict[str, Any] = msgspec.json.decode(body)
    seq = int(raw.pop("seq"))
    recorded_at = msgspec.convert(raw.pop("recorded_at"), datetime)
    return Stored(seq=seq, recorded_at=recorded_at, event=decode_event(_encoder.encode(raw)))


def encode_delta(delta: Passing) -> bytes:
    return _encoder.encode(delta)
