"""What is sent to the server; unknown fields are refused."""

from typing import Literal

from ..ids import SessionId, TurnId
from .values import Budget, CellSnapshot, Mention, Record
from .words import JSON, ApprovalChoice, ChangeDecision, EndpointKind, ExecutionStatus, Mode, Origin, Place


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
