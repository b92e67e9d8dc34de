"""A turn that an earlier program began and left paused, or waiting for a person: where it stands. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..events import (
    MessageCompleted,
    StepFallbackTaken,
    StepStarted,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    TurnFinished,
    TurnStarted,
)
from ..ids import CallId, TurnId


def is_reopened(log: Iterable[Stored], turn_id: TurnId) -> bool:
    """Whether the turn has begun and has no end."""
    begun = False
    for stored in log:
        event = stored.event
        if isinstance(event, TurnStarted | TurnFinished) and event.turn_id == turn_id:
            begun = isinstance(event, TurnStarted)
    return begun


@dataclass(kw_only=True)
class Left:
    """``open_calls``: those of the last reply without a result; ``text``: what was said with them; ``failed``: a tool of that reply
    that has failed. ``steps``: requests so far. ``promised``: a reply without a call did not end the turn already."""

    open_calls: list[ToolCallRequested] = field(default_factory=list[ToolCallRequested])
    text: str = ""
    failed: str = ""
    steps: int = 0
    fell_back: bool = False
    promised: bool = False


def left_behind(log: Sequence[Stored], turn_id: TurnId) -> Left:
    """Where the turn stands."""
    left = Left()
    calls: dict[CallId, ToolCallRequested] = {}
    for stored in log:
        event = stored.event
        match event:
            case StepStarted() if event.turn_id == turn_id:
                left.steps += 1
                if event.purpose == "act":
                    left.promised = left.promised or bool(left.text and not calls)
                    left.text, left.failed, calls = "", "", {}
            case StepFallbackTaken() if event.turn_id == turn_id:
                left.fell_back = True
            case MessageCompleted() if event.turn_id == turn_id:
                left.text = event.text
            case ToolCallRequested() if event.turn_id == turn_id:
                calls[event.call_id] = event
                left.open_calls.append(event)
            case ToolCallFinished() if event.call_id in calls:
                left.open_calls.remove(calls[event.call_id])
                if event.status == "failed":
                    left.failed = calls[event.call_id].tool
            case _:
                pass
    return left
