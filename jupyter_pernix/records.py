"""Records: the JSON shapes that cross a border (HTTP bodies, stored values, settings), and the fixed words in them.

Everything here is data. Fixed sets of words are ``Literal``s so that the JSON Schema, and the TypeScript made from it, name them.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import msgspec

from .ids import ApprovalId, CallId, ChangeId, ExecutionId, InputId, SessionId, StepId, TurnId, UndoId

JSON = dict[str, Any]

Mode = Literal["ask", "plan", "edit", "auto"]
Origin = Literal["panel", "magic", "cli", "api", "tour"]
ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "fetch", "think", "other"]
CallStatus = Literal["pending", "in_progress", "completed", "failed", "cancelled", "unknown"]
"""``unknown``: the program ended while the call ran, and whether it had its effect could not be found out."""
ApprovalChoice = Literal["allow_once", "allow_session", "allow_always", "reject_once", "reject_always"]
Verdict = Literal["allow", "ask", "refuse"]
Ruling = Literal["auto", "ask", "ask_always", "denied"]
"""What a call was judged to be: known to only read in the space; to be asked about, and may be remembered; to be asked about each time;
refused whatever is allowed."""
HookPhase = Literal["PreToolUse", "PostToolUse"]
HookDecision = Literal["allow", "deny", "ask", "failed"]
"""``failed``: it could not be run, or ended in a way that means neither; that counts as ``deny`` before a call."""
KeptHow = Literal["git", "copies"]
"""How the state before a change is kept: a commit of the space's repository under a name of ours, or copies of single files."""
Place = Literal["own", "attached", "in_cell"]
CellType = Literal["code", "markdown", "raw"]
CellOp = Literal["insert", "edit", "delete", "move"]
NotebookOwner = Literal["page", "ydoc", "file"]
"""Who holds an open notebook and changes it for us: a browser page, the server's shared document, or nobody but the file."""
ChangeDecision = Literal["keep", "undo"]
ContextKind = Literal["environment", "inventory", "variable", "cell", "kernel", "notebook", "files"]
"""What the host tells the model beside a message: the kernel's surroundings, its variables in short, one variable, one cell, what
became of the kernel, what changed in the attached notebook, which files the user has put back."""
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


class Picture(Record, frozen=True):
    """An image that the model is shown. ``data``: base64."""

    mime: str
    data: str


class ContextItem(Record, frozen=True):
    """Told to the model once, with the message that begins the turn. ``text`` is exactly what it reads."""

    kind: ContextKind
    name: str
    text: str
    pictures: list[Picture] = []


class Mention(Record, frozen=True):
    """Something that a message is about. ``variable``: ``name`` in the session's kernel. ``cell``: the cell with the id ``name`` of the
    notebook at ``path``, relative to the server's root as in ``OpenNotebook`` ("" is the attached one)."""

    kind: Literal["variable", "cell"]
    name: str
    path: str = ""


class CellSnapshot(Record, frozen=True):
    """One cell of a notebook at one moment; ``outputs`` are nbformat 4 outputs."""

    cell_id: str
    cell_type: CellType
    source: str
    outputs: list[JSON] = []
    execution_count: int | None = None
    metadata: JSON = {}
    attachments: JSON = {}
    """Files of a markdown or raw cell."""


class CellChange(Record, frozen=True):
    """One change of one cell. ``before`` ``None``: it is inserted; ``after`` ``None``: it is deleted. ``behind``: the id of the cell
    that it stands behind afterwards, ``was_behind`` before; "" is the top, ``None`` when it is not there then."""

    change_id: ChangeId
    path: str
    """Relative to the server's root."""
    op: CellOp
    cell_id: str
    before: CellSnapshot | None
    after: CellSnapshot | None
    behind: str | None = None
    was_behind: str | None = None


class Column(Record, frozen=True):
    name: str
    dtype: str


class Variable(Record, frozen=True):
    """A variable of a kernel, looked at without running any code of its own class. ``preview``: some text of its value, or "".
    ``hidden``: its value looks like a secret and is not shown."""

    name: str
    type: str
    shape: list[int] | None = None
    dtype: str = ""
    length: int | None = None
    size_bytes: int | None = None
    preview: str = ""
    columns: list[Column] = []
    more_columns: int = 0
    hidden: bool = False


class Variables(Record, frozen=True):
    """The user's variables of a kernel. ``total`` counts those that ``variables`` leaves out too; ``busy``: code was running."""

    kernel_name: str
    language: str
    busy: bool
    total: int
    variables: list[Variable]


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
    notebook: str = ""
    """Attach it at once to this notebook, a path relative to the server's root."""
    sandbox: bool | None = None
    """Run its kernel and commands in the sandbox; ``None``: as the settings say."""
    network: bool | None = None
    """Whether the sandbox lets the network through; ``None``: as the settings say."""


class SessionPatch(Record, frozen=True):
    """What is given changes; what is absent stays."""

    title: str | None = None
    archived: bool | None = None
    mode: Mode | None = None
    endpoint: str | None = None
    kernel_name: str | None = None
    budget: Budget | None = None
    sandbox: bool | None = None
    network: bool | None = None


class TurnCreate(Record, frozen=True):
    """``can_ask`` false: nobody can answer a question during this turn; what would be asked is refused instead.
    ``budget``: instead of the one in the settings."""

    text: str
    origin: Origin = "api"
    can_ask: bool = True
    budget: Budget | None = None
    mentions: list[Mention] = []
    kernel_id: str = ""
    """Of the cell that asks, as the server lists it; only of a session whose code runs in that cell."""


class TurnPatch(Record, frozen=True):
    """A new text for a message that still waits for its turn."""

    text: str


class TurnAccepted(Record, frozen=True):
    """The turn is stored; ``seq`` is its ``turn.submitted`` event, or the change by which it goes on or got another text."""

    turn_id: TurnId
    seq: int


class ApprovalAnswer(Record, frozen=True):
    """``text`` with a rejection tells the agent what to do instead. ``rules``: which of the offered rules to remember, with
    ``allow_session`` and ``allow_always``; ``None``: all."""

    choice: ApprovalChoice
    text: str = ""
    rules: list[str] | None = None


class PermissionChange(Record, frozen=True):
    """A rule to be saved or forgotten: of the space that the session works in, or ``everywhere``."""

    rule: str
    deny: bool = False
    session_id: SessionId | None = None
    everywhere: bool = False


class SavedRule(Record, frozen=True):
    """A rule of the user's. ``everywhere``: for all spaces. ``added_at`` (ISO 8601) and ``by`` are "" where it was written by hand; a
    rule ``by`` ``settings`` is changed there. ``fault``: why it has no effect, "" if it has."""

    rule: str
    everywhere: bool = False
    added_at: str = ""
    by: str = ""
    fault: str = ""


class ConsentChange(Record, frozen=True):
    """A yes to a command that waits for it, or the taking back of one; for the space of a session."""

    digest: str
    session_id: SessionId


class WaitingCommand(Record, frozen=True):
    """What the configuration of a space asks to start, and does not start. ``origin``: the file that asks, relative to the space.
    ``environ``: what is added to the environment. ``scripts``: files of the space that it runs, with digests. ``digest`` is of all that."""

    origin: str
    command: str
    environ: dict[str, str]
    scripts: list[str]
    digest: str


class GivenConsent(Record, frozen=True):
    """A yes that was given. ``given_at``: ISO 8601, UTC."""

    origin: str
    command: str
    digest: str
    given_at: str
    by: str


class Permissions(Record, frozen=True):
    """What may be done unasked, and what never. ``space``: the folder, "" for all. ``session``: rules for this session only. ``broken``:
    why saved rules do not count, "" if they do. ``waiting``: commands of the space's configuration that wait for a yes; ``consents``:
    those that had one."""

    space: str
    allow: list[SavedRule]
    deny: list[SavedRule]
    session: list[str]
    broken: str = ""
    waiting: list[WaitingCommand] = []
    consents: list[GivenConsent] = []


class FilesUndo(Record, frozen=True):
    """Put files back to what they were before. ``turn_id`` ``None``: before the session's first change, else before that turn.
    ``paths`` (relative to the space) empty: all that was changed."""

    turn_id: TurnId | None = None
    paths: list[str] = []


class FileUndone(Record, frozen=True):
    """What became of one file. ``reason`` "": it was put back."""

    path: str
    reason: str = ""


class ChangedFile(Record, frozen=True):
    """A file that the session has changed, all its changes together. ``before``: sha256 digest of what it was before the first one,
    ``None``: it did not exist; ``after``: of what the last one left; ``now``: of what is there; of a link, "link:" and the digest of
    where it points. ``undone``: it was put back and not changed since. ``by_commands``: a command or a cell changed it. ``diff``: from
    before to now, or a line that says why there is none; "" unless it was asked for."""

    path: str
    before: str | None
    after: str | None
    now: str | None
    turns: list[TurnId] = []
    added_lines: int = 0
    removed_lines: int = 0
    undone: bool = False
    by_commands: bool = False
    diff: str = ""


class EndpointCreate(Record, frozen=True):
    """``model`` "" takes the first that the endpoint lists. ``protocol`` "auto" lets the probe decide."""

    name: str
    base_url: str
    model: str = ""
    api_key: str = ""
    kind: EndpointKind = "openai"
    protocol: Literal["auto", "tools", "actions", "chat"] = "auto"
    context_length: int | None = None
    vision: bool | None = None
    """Whether the model is shown pictures; ``None``: if the endpoint says that it sees."""


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


class InputAnswer(Record, frozen=True):
    """What the user typed for running code that asked for a line. ``text`` ``None``: they will not; the code is interrupted."""

    text: str | None


class NotebookAttach(Record, frozen=True):
    """The notebook to attach a session to, relative to the server's root. ``kernel_name``: for a notebook that has no kernel yet."""

    path: str
    kernel_name: str = ""


class ChangesDecide(Record, frozen=True):
    """Keep or undo changes of cells. ``undo`` restores source and outputs; nothing that ran is undone in the kernel."""

    decision: ChangeDecision


class OpenNotebook(Record, frozen=True):
    """A notebook that a page has open. ``used_at``: when the user last worked in it, milliseconds since 1970 by the page's clock."""

    path: str
    kernel_id: str = ""
    dirty: bool = False
    read_only: bool = False
    visible: bool = False
    used_at: float = 0.0


class PageState(Record, frozen=True):
    """What a browser page has open; sent when it changes, and again and again while the page lives."""

    page_id: str
    notebooks: list[OpenNotebook]


class PageAnswer(Record, frozen=True):
    """What became of a ``PageRequest``. ``refused``: why nothing was changed, "" if it was done. ``cells``: the answer to ``read``."""

    request_id: str
    refused: str = ""
    cells: list[CellSnapshot] = []
    dirty: bool = False


class SqlQuery(Record, frozen=True):
    """A reading query over the user's own events; at most ``limit`` rows come back."""

    query: str
    limit: int = 1000


class RecordImport(Record, frozen=True):
    """A run notebook to go on from: a path relative to the server's root."""

    path: str


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
    """What waits for a person: approvals, and lines that running code asked for."""
    turns: int = 0
    parent: SessionId | None = None
    """The session that this one works for."""
    sandbox: bool = False
    network: bool = False
    notebook: str = ""
    """The notebook that it is attached to, relative to the server root."""


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
    vision: bool | None = None
    """Whether the model sees pictures; ``None``: the endpoint does not say, and it is shown none."""
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


class SqlResult(Record, frozen=True):
    """``types`` are DuckDB's names. Times are ISO 8601 texts, bytes and nested values JSON. ``truncated``: there were more rows."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    truncated: bool = False


class Finding(Record, frozen=True):
    """One line of ``doctor``."""

    name: str
    status: Literal["ok", "warning", "problem"]
    detail: str
    hint: str = ""


class SandboxStatus(Record, frozen=True):
    """Whether kernels and commands can run in the sandbox on this machine. ``why``: why not, and what to do. ``unlimited``: limits of the
    settings that do not hold here, as sentences."""

    works: bool
    why: str = ""
    unlimited: list[str] = []


class GpuProcess(Record, frozen=True):
    """A process that holds memory of a GPU. ``name`` "" and ``used_bytes`` ``None``: this user may not know, or the driver does not say."""

    pid: int
    name: str = ""
    used_bytes: int | None = None


class GpuDevice(Record, frozen=True):
    """One NVIDIA GPU at one moment, or one MIG slice of it (``slice``: its number). ``None``: the driver does not say.

    ``problem``: what could not be read and why, "" when nothing is missing that the card could tell.
    """

    index: int
    name: str
    uuid: str
    slice: int | None = None
    total_bytes: int | None = None
    used_bytes: int | None = None
    free_bytes: int | None = None
    utilization: int | None = None
    """Percent of the last moment in which code ran on it."""
    temperature: int | None = None
    """Degrees Celsius."""
    power_watts: float | None = None
    power_limit_watts: float | None = None
    processes: list[GpuProcess] = []
    problem: str = ""


class GpuDevices(Record, frozen=True):
    """The GPUs of the machine that the server runs on. ``detail``: why there are none to be seen, "" when there are."""

    devices: list[GpuDevice] = []
    driver: str = ""
    detail: str = ""


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
