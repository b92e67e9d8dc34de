"""Records: the JSON shapes that cross a border (HTTP bodies, stored values, settings), and the fixed words in them.

Everything here is data. Fixed sets of words are ``Literal``s so that the JSON Schema, and the TypeScript made from it, name them.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import msgspec

from .ids import ApprovalId, CallId, ExecutionId, SessionId, StepId, TurnId

JSON = dict[str, Any]

Mode = Literal["ask", "plan", "edit", "auto"]
Origin = Literal["panel", "magic", "cli", "api", "tour"]
ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "fetch", "think", "other"]
CallStatus = Literal["pending", "in_progress", "completed", "failed", "cancelled", "unknown"]
"""``unknown``: the program ended while the call ran, and whether it had its effect could not be found out."""
ApprovalChoice = Literal["allow_once", "allow_session", "allow_always", "reject_once", "reject_always"]
Verdict = Literal["allow", "ask", "refuse"]
Place = Literal["own", "attached", "in_cell"]
ExecutionStatus = Literal["ok", "error", "aborted", "cancelled", "timeout", "dead", "restarted", "not_run"]
ModelProtocol = Literal["tools", "actions", "chat"]
Role = Literal["primary", "background", "backup"]
Purpose = Literal["act", "scout", "summary", "title"]
"""What a model request is for: a step of the turn, its plan, a summary of older turns, the session's title."""
EndpointKind = Literal["openai", "ollama", "vllm", "sglang", "llama.cpp", "lmstudio", "local", "tour"]
Constraint = Literal[
    "response_format",
    "structured_outputs",
    "guided_json",
    "json_schema",
    "json_object",
    "json_value",
    "grammar",
    "ebnf",
    "regex",
    "format",
]
"""By which field of a request an endpoint holds an answer to a schema; ``response_format`` is OpenAI's."""


class SessionState(StrEnum):
    """The ten states; see ``agent/states.py`` for what leads from one to another."""

    IDLE_READY = "idle_ready"
    SCOUTING = "scouting"
    PROCESSING = "processing"
    PAUSE_REQUESTED = "pause_requested"
    PAUSED = "paused"
    AWAITING_USER = "awaiting_user"
    AWAITING_WORKERS = "awaiting_workers"
    COMPACTING = "compacting"
    FINALIZING = "finalizing"
    CANCELLING = "cancelling"


class TerminalCode(StrEnum):
    """How a turn ended. Exit codes for the shell are in ``EXIT_CODES``."""

    ANSWERED = "answered"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    STUCK = "stuck"
    BUDGET_ROUNDS = "budget_rounds"
    BUDGET_TOKENS = "budget_tokens"
    BUDGET_TIME = "budget_time"
    BUDGET_COST = "budget_cost"
    BUDGET_LINES = "budget_lines"
    NO_MODEL = "no_model"
    MODEL_FAILED = "model_failed"
    CONTEXT_OVERFLOW = "context_overflow"
    INTERNAL_ERROR = "internal_error"


EXIT_CODES: dict[TerminalCode, int] = {
    TerminalCode.ANSWERED: 0,
    TerminalCode.INTERNAL_ERROR: 1,
    TerminalCode.NO_MODEL: 3,
    TerminalCode.MODEL_FAILED: 4,
    TerminalCode.CONTEXT_OVERFLOW: 5,
    TerminalCode.STUCK: 6,
    TerminalCode.BUDGET_ROUNDS: 7,
    TerminalCode.BUDGET_TOKENS: 8,
    TerminalCode.BUDGET_TIME: 9,
    TerminalCode.INTERRUPTED: 10,
    TerminalCode.BUDGET_COST: 11,
    TerminalCode.BUDGET_LINES: 12,
    TerminalCode.CANCELLED: 130,
}
"""Exit code of ``jupyter pernix run`` for each ending; 2 is bad usage, as in every shell tool."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the JSON bodies; unknown fields are refused with their name."""


class Usage(Record, frozen=True):
    """Tokens as the endpoint reported them. ``None``: it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


class Timings(Record, frozen=True):
    """Seconds of one step."""

    first_token: float | None = None
    total: float = 0.0


class Budget(Record, frozen=True):
    """Limits of one turn, or of a whole session; ``None`` is no limit. Checked before the spend.

    ``cost`` is in the currency of the endpoint's price and needs one. ``changed_lines`` counts lines added and removed.
    """

    rounds: int | None = 60
    tokens: int | None = None
    seconds: float | None = 3600.0
    cost: float | None = None
    changed_lines: int | None = None


NO_LIMITS = Budget(rounds=None, seconds=None)


class Spent(Record, frozen=True):
    """What a worker's turn used, in the units of ``Budget``. ``cost`` ``None``: a step of it has no price."""

    rounds: int = 0
    tokens: int = 0
    cost: float | None = None
    changed_lines: int = 0


class PlanStep(Record, frozen=True):
    text: str
    status: Literal["pending", "in_progress", "completed"] = "pending"


class Plan(Record, frozen=True):
    """How a turn is meant to go. ``by``: who made it."""

    approach: str
    steps: list[PlanStep] = []
    tools: list[str] = []
    by: Literal["scout", "agent"] = "scout"


# ---- requests -----------------------------------------------------------------------------------------------------------


class SessionCreate(Record, frozen=True):
    """``space_root``: a folder below the server's root, relative to it ("" is the root itself). ``kernel_name`` "" = the default."""

    title: str = ""
    space_root: str = ""
    mode: Mode | None = None
    endpoint: str | None = None
    kernel_name: str = ""
    origin: Origin = "api"
    place: Place = "own"
    budget: Budget | None = None
    """Limits over all turns of the session."""


class SessionPatch(Record, frozen=True):
    """What is given changes; what is absent stays."""

    title: str | None = None
    archived: bool | None = None
    mode: Mode | None = None
    endpoint: str | None = None
    kernel_name: str | None = None
    budget: Budget | None = None


class TurnCreate(Record, frozen=True):
    """``can_ask`` false: nobody can answer a question during this turn; what would be asked is refused instead.
    ``budget``: instead of the one in the settings."""

    text: str
    origin: Origin = "api"
    can_ask: bool = True
    budget: Budget | None = None


class TurnPatch(Record, frozen=True):
    """A new text for a message that still waits for its turn."""

    text: str


class TurnAccepted(Record, frozen=True):
    """The turn is stored; ``seq`` is its ``turn.submitted`` event, or the change by which it goes on or got another text."""

    turn_id: TurnId
    seq: int


class ApprovalAnswer(Record, frozen=True):
    """``text`` with a rejection tells the agent what to do instead."""

    choice: ApprovalChoice
    text: str = ""


class EndpointCreate(Record, frozen=True):
    """``model`` "" takes the first that the endpoint lists. ``protocol`` "auto" lets the probe decide."""

    name: str
    base_url: str
    model: str = ""
    api_key: str = ""
    kind: EndpointKind = "openai"
    protocol: Literal["auto", "tools", "actions", "chat"] = "auto"
    context_length: int | None = None


class LocalStart(Record, frozen=True):
    """Serve this GGUF file on loopback and add it as an endpoint."""

    path: str
    context_length: int = 8192


class OutputOp(Record, frozen=True):
    """One step of building an execution's list of outputs.

    ``append``: put ``output`` at the end. ``extend``: add ``text`` to the stream output at ``index``. ``replace``: put ``output``
    at ``index``. ``clear``: the list becomes empty.
    """

    op: Literal["append", "extend", "replace", "clear"]
    index: int = 0
    output: JSON | None = None
    text: str = ""


class ExecutionResult(Record, frozen=True):
    """How one execution ended. ``ename`` is from the error output, not from the reply; ``detail`` is a sentence when there is something to say."""

    status: ExecutionStatus
    execution_count: int | None = None
    ename: str = ""
    evalue: str = ""
    detail: str = ""


class OutputsPosted(Record, frozen=True):
    """What a cell that executes for its session sends back while it runs."""

    ops: list[OutputOp]


# ---- answers ------------------------------------------------------------------------------------------------------------


class SessionSummary(Record, frozen=True):
    """One line of the session list."""

    session_id: SessionId
    title: str
    state: SessionState
    mode: Mode
    endpoint: str | None
    kernel_name: str
    space_root: str
    record_path: str
    """Path of the run notebook, relative to the server root; the file exists once a turn has finished."""
    archived: bool
    created_at: datetime
    updated_at: datetime
    last_seq: int
    open_approvals: int = 0
    turns: int = 0
    parent: SessionId | None = None
    """The session that this one works for."""


class Ability(Record, frozen=True):
    """One thing a probe looked for. ``ok`` is ``None`` when it could not be found out."""

    name: Literal["reachable", "key", "model", "context", "streams", "tools", "json_schema"]
    ok: bool | None
    detail: str = ""


class EndpointInfo(Record, frozen=True):
    """An endpoint as the panel shows it; never carries a key. ``protocol`` is the effective one, ``None`` until probed."""

    name: str
    kind: EndpointKind
    base_url: str
    model: str
    models: list[str] = []
    protocol: ModelProtocol | None = None
    constraint: Constraint | None = None
    """``None``: it holds no answer to a schema, or that was not tried."""
    context_length: int | None = None
    has_key: bool = False
    source: Literal["settings", "environment", "saved", "found", "local", "tour"] = "settings"
    status: Literal["unknown", "ready", "limited", "failed"] = "unknown"
    abilities: list[Ability] = []
    hint: str = ""
    default: bool = False
    roles: list[Role] = []
    """What the settings say it does beside answering where it is chosen."""


class Discovery(Record, frozen=True):
    """One loopback address that was tried, and what answered."""

    kind: EndpointKind
    base_url: str
    found: bool
    detail: str = ""


class LocalModel(Record, frozen=True):
    """A GGUF file that could be served, or is."""

    path: str
    size_bytes: int
    state: Literal["available", "loading", "ready", "failed"]
    detail: str = ""
    base_url: str = ""


class LocalStatus(Record, frozen=True):
    """``installed`` is false when the extra ``[local]`` is missing; ``hint`` then says how to get it."""

    installed: bool
    hint: str
    models: list[LocalModel]


class Finding(Record, frozen=True):
    """One line of ``doctor``."""

    name: str
    status: Literal["ok", "warning", "problem"]
    detail: str
    hint: str = ""


class Problem(Record, frozen=True):
    """The body of every HTTP error."""

    message: str
    place: str = ""
    hint: str = ""


# ---- the folded session -------------------------------------------------------------------------------------------------


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
    choice: ApprovalChoice | None = None
    text: str = ""
    by: str = ""


class ExecutionView(View):
    """``outputs`` are nbformat 4 outputs. ``status`` is ``None`` while it runs."""

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


class FileChange(Record, frozen=True):
    """``before`` / ``after`` are sha256 hex digests; ``None``: the file did not exist then."""

    path: str
    before: str | None
    after: str | None
    added_lines: int = 0
    removed_lines: int = 0
    diff: str = ""


class CallView(View, tag="call"):
    call_id: CallId
    step_id: StepId
    tool: str
    kind: ToolKind
    title: str
    arguments: JSON
    status: CallStatus
    requested_at: datetime
    verdict: Verdict | None = None
    rule: str = ""
    approval: ApprovalView | None = None
    execution: ExecutionView | None = None
    files: list[FileChange] = []
    result: str = ""
    side_file: str = ""
    duration: float | None = None
    worker: "WorkerView | None" = None


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

    kind: Literal["retry", "fallback", "compaction", "instructions", "resumed"]
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
    items: list[Item] = []
    steps: list[StepView] = []


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
    budget: Budget | None = None
    usage: Usage = Usage()
    """Of all finished steps."""
    cost: float | None = None
    """Of all finished steps that have a price."""
    waiting: Waiting | None = None
    turns: list[TurnView] = []
