"""The life of a session: one exhaustive table of (state, reason) → state.

What is not in the table is rejected, logged and changes nothing. Every reason is used somewhere and every state can reach
``idle_ready``; the tests walk the whole product of states and reasons, and the picture in the docs is drawn from here.
"""

from typing import Literal, get_args

from ..errors import InvalidTransition
from ..records import SessionState

Reason = Literal[
    "turn_started",
    "scout_started",
    "scout_done",
    "approval_requested",
    "approval_resolved",
    "input_requested",
    "input_answered",
    "workers_started",
    "workers_done",
    "compaction_started",
    "compaction_done",
    "settled",
    "pause_asked",
    "step_ended",
    "resumed",
    "cancel_asked",
    "turn_ending",
    "turn_ended",
    "recovered",
]

REASONS: tuple[Reason, ...] = get_args(Reason)

_S = SessionState

TRANSITIONS: dict[SessionState, dict[Reason, SessionState]] = {
    _S.IDLE_READY: {
        "turn_started": _S.PROCESSING,
        "compaction_started": _S.COMPACTING,
    },
    _S.SCOUTING: {
        "scout_done": _S.PROCESSING,
        "cancel_asked": _S.CANCELLING,
        "turn_ending": _S.FINALIZING,
        "recovered": _S.IDLE_READY,
    },
    _S.PROCESSING: {
        "scout_started": _S.SCOUTING,
        "approval_requested": _S.AWAITING_USER,
        "input_requested": _S.AWAITING_USER,
        "workers_started": _S.AWAITING_WORKERS,
        "compaction_started": _S.COMPACTING,
        "pause_asked": _S.PAUSE_REQUESTED,
        "cancel_asked": _S.CANCELLING,
        "turn_ending": _S.FINALIZING,
        "recovered": _S.IDLE_READY,
    },
    _S.PAUSE_REQUESTED: {
        "step_ended": _S.PAUSED,
        "resumed": _S.PROCESSING,
        "scout_started": _S.SCOUTING,
        "approval_requested": _S.AWAITING_USER,
        "input_requested": _S.AWAITING_USER,
        "workers_started": _S.AWAITING_WORKERS,
        "compaction_started": _S.COMPACTING,
        "cancel_asked": _S.CANCELLING,
        "turn_ending": _S.FINALIZING,
        "recovered": _S.IDLE_READY,
    },
    _S.PAUSED: {
        "resumed": _S.PROCESSING,
        "cancel_asked": _S.CANCELLING,
        "recovered": _S.IDLE_READY,
    },
    _S.AWAITING_USER: {
        "approval_resolved": _S.PROCESSING,
        "input_answered": _S.PROCESSING,
        "cancel_asked": _S.CANCELLING,
        "turn_ending": _S.FINALIZING,
        "recovered": _S.IDLE_READY,
    },
    _S.AWAITING_WORKERS: {
        "workers_done": _S.PROCESSING,
        "cancel_asked": _S.CANCELLING,
        "turn_ending": _S.FINALIZING,
        "recovered": _S.IDLE_READY,
    },
    _S.COMPACTING: {
        "compaction_done": _S.PROCESSING,
        "settled": _S.IDLE_READY,
        "cancel_asked": _S.CANCELLING,
        "turn_ending": _S.FINALIZING,
        "recovered": _S.IDLE_READY,
    },
    _S.FINALIZING: {
        "turn_ended": _S.IDLE_READY,
        "recovered": _S.IDLE_READY,
    },
    _S.CANCELLING: {
        "turn_ending": _S.FINALIZING,
        "turn_ended": _S.IDLE_READY,
        "recovered": _S.IDLE_READY,
    },
}


def advance(state: SessionState, reason: Reason) -> SessionState:
    """The state after ``reason``.

    :raises InvalidTransition: if the table has no entry for the pair
    """
    after = TRANSITIONS[state].get(reason)
    if after is None:
        raise InvalidTransition(state.value, reason)
    return after


def picture() -> str:
    """The table as a Mermaid state diagram, for the docs."""
    lines = ["stateDiagram-v2", f"    [*] --> {_S.IDLE_READY.value}"]
    for state, exits in TRANSITIONS.items():
        lines += [f"    {state.value} --> {after.value}: {reason}" for reason, after in exits.items()]
    return "\n".join(lines) + "\n"
