"""Which texts of which facts are masked before they are stored or told: those that tools, kernels, endpoints and files bring back, and
what a model makes of them.

As they were written stay: what the user says, and what is carried out and must be known exactly: the arguments of a call, code that
runs, a question about it, and the cells that a change may be undone to.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ..events import (
    ApprovalRequested,
    ApprovalResolved,
    CellChanged,
    CellChangeRefused,
    CellChangeRequested,
    CellChangeResolved,
    ContextCompacted,
    Event,
    ExecutionFinished,
    ExecutionMirrored,
    ExecutionOutput,
    ExecutionStarted,
    FileChanged,
    FileRestored,
    FileRestoreRefused,
    FilesKept,
    FilesUndoRequested,
    HookEnded,
    InputAnswered,
    InputRequested,
    InstructionsRead,
    KernelRestarted,
    MessageCompleted,
    PlanUpdated,
    PolicyDecided,
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
    ThoughtCompleted,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    TurnContextAdded,
    TurnEdited,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSubmitted,
    Unknown,
    WidgetsSaved,
    WorkerReported,
    WorkerSpawned,
)
from ..records import ContextItem, FileChange, Plan, PlanStep
from .masker import Masker

MASKED: Mapping[type, tuple[str, ...]] = {
    SessionRenamed: ("title",),
    SessionDetached: ("reason",),
    TurnFinished: ("detail",),
    StepRetryScheduled: ("text", "hint"),
    StepFallbackTaken: ("text",),
    ContextCompacted: ("summary", "kept", "dropped"),
    PlanUpdated: ("plan",),
    InstructionsRead: ("text",),
    TurnContextAdded: ("item",),
    MessageCompleted: ("text", "corrections"),
    ThoughtCompleted: ("text",),
    ToolCallFinished: ("result",),
    HookEnded: ("reason",),
    ExecutionOutput: ("output", "text"),
    ExecutionFinished: ("evalue", "detail"),
    InputRequested: ("prompt",),
    InputAnswered: ("text",),
    KernelRestarted: ("text",),
    WidgetsSaved: ("models",),
    CellChangeRefused: ("reason",),
    CellChangeResolved: ("detail",),
    FileChanged: ("change",),
    FileRestoreRefused: ("reason",),
    WorkerReported: ("answer",),
    ProblemNoticed: ("text", "hint"),
}
"""The fields of each kind of fact whose texts are masked."""

AS_WRITTEN: frozenset[type] = frozenset(
    {
        SessionCreated,
        SessionConfigured,
        SessionStateChanged,
        SessionArchived,
        SessionAttached,
        TurnSubmitted,
        TurnEdited,
        TurnStarted,
        TurnResumed,
        StepStarted,
        StepFinished,
        ToolCallRequested,
        ToolCallStarted,
        PolicyDecided,
        ApprovalRequested,
        ApprovalResolved,
        ExecutionStarted,
        ExecutionMirrored,
        CellChangeRequested,
        CellChanged,
        FilesKept,
        FilesUndoRequested,
        FileRestored,
        WorkerSpawned,
    }
)
"""Facts without such a text."""


def masked_event(event: Event, masker: Masker) -> Event:
    """The fact without its secrets; the same object if it has none. Doing it again changes nothing."""
    changed: dict[str, Any] = {}
    for name in MASKED.get(type(event), ()):
        value = getattr(event, name)
        masked = _masked(value, masker)
        if masked is not value and masked != value:
            changed[name] = masked
    return msgspec.structs.replace(event, **changed) if changed else event


def masked_any(event: Event | Unknown, masker: Masker) -> Event | Unknown:
    """As ``masked_event``; a fact of another version stays as it was written."""
    return event if isinstance(event, Unknown) else masked_event(event, masker)


def _masked(value: Any, masker: Masker) -> Any:
    match value:
        case str():
            return masker.text(value)
        case list():
            return [_masked(one, masker) for one in cast(list[Any], value)]
        case ContextItem():
            return msgspec.structs.replace(value, text=masker.text(value.text))
        case FileChange():
            return msgspec.structs.replace(value, diff=masker.text(value.diff))
        case Plan():
            steps = [_masked(step, masker) for step in value.steps]
            return msgspec.structs.replace(value, approach=masker.text(value.approach), steps=steps)
        case PlanStep():
            return msgspec.structs.replace(value, text=masker.text(value.text))
        case dict() if "output_type" in value:
            return masker.output(cast(dict[str, Any], value))
        case _:
            return masker.json(value)
