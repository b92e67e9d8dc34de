"""The words of the vocabulary: closed sets, and the two enumerations."""

from enum import StrEnum
from typing import Any, Literal

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
