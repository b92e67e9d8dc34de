"""Bringing a session that another program left behind to a legal state.

Used at start. Nothing is run again: a call that had begun is reconciled by its tool when that can tell what happened, else it is
``unknown``. A question that waits for a person, and a pause, survive: they are states, not accidents.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..events import Event, SessionCreated, SessionStateChanged, Stored
from ..fold import SessionFold
from ..ids import TurnId
from ..records import (
    CallView,
    MessageView,
    NoticeView,
    SessionState,
    SessionView,
    TerminalCode,
    ThoughtView,
    TurnView,
)
from .closing import (
    CUT_OFF,
    WORKER_LOST,
    CallEnd,
    calls_of,
    closing_calls,
    closing_events,
    given_up,
    open_steps,
)
from .legality import WAITING, illegalities

if TYPE_CHECKING:
    from .tools.base import ReconcileContext, Tool

__all__ = ["illegalities", "kept_turn", "settle"]

log = logging.getLogger(__name__)

_RAN = "the server ended while this turn ran; what was finished is kept"
_WAITED = "the server ended before this turn began"
_STOPPED = "the user stopped the turn; the server ended before it was closed"


def kept_turn(view: SessionView) -> TurnView | None:
    """The turn with which a session may wait for a person through the end of a server: one that asks, or is paused. A worker's
    may not: the turn that it works for is over."""
    running = [turn for turn in view.turns if turn.started_at is not None and turn.code is None]
    if view.parent is not None or view.state not in WAITING or len(running) != 1:
        return None
    asks = any(call.approval is not None and call.approval.choice is None for call in calls_of(running[0]))
    return running[0] if asks or view.state is SessionState.PAUSED else None


async def settle(stored: Sequence[Stored], space: Path, tools: "Mapping[str, Tool[Any]] | None" = None) -> list[Event]:
    """What brings the session with this log, which another program left behind, to a legal state. To be stored all at once. ``tools``:
    those that its turns had; ``None``: the agent's own.

    ``space`` is looked at, never changed. A session that needs nothing gets nothing.
    """
    if not stored:
        return []
    session_id = stored[0].event.session_id
    view = SessionFold.of(session_id, stored).view
    known = _Known(stored, space, tools)
    ends = {
        call.call_id: await _end(call, known)
        for turn in view.turns
        if turn.code is None
        for call in calls_of(turn)
        if call.status == "in_progress"
    }
    steps = open_steps(stored)
    kept = kept_turn(view)
    if kept is not None:
        events = closing_calls(session_id, kept, execution="dead", results=ends, waiting_too=False)
        return events + [given_up(session_id, turn_id, step_id) for step_id, turn_id in steps.items()]
    events: list[Event] = []
    for turn in view.turns:
        code, detail = _ending(turn, stored, view.state)
        mine = [step_id for step_id, turn_id in steps.items() if turn_id == turn.turn_id and turn.code is None]
        events += closing_events(session_id, turn, code=code, detail=detail, execution="dead", steps=mine, results=ends)
    events += [given_up(session_id, None, step_id) for step_id, turn_id in steps.items() if turn_id is None]
    if view.state is not SessionState.IDLE_READY:
        events.append(
            SessionStateChanged(
                session_id=session_id,
                turn_id=_last_turn(stored),
                before=view.state,
                after=SessionState.IDLE_READY,
                reason="recovered",
            )
        )
    return events


def _last_turn(stored: Sequence[Stored]) -> TurnId | None:
    """Of the last change of state."""
    changes = (each.event for each in reversed(stored) if isinstance(each.event, SessionStateChanged))
    last = next(changes, None)
    return None if last is None else last.turn_id


def _ending(turn: TurnView, stored: Sequence[Stored], state: SessionState) -> tuple[TerminalCode, str]:
    """How a turn that has no end has ended, as far as its log tells."""
    asked_to_stop = any(
        isinstance(each.event, SessionStateChanged)
        and each.event.turn_id == turn.turn_id
        and each.event.reason == "cancel_asked"
        for each in stored
    )
    if asked_to_stop:
        return TerminalCode.CANCELLED, _STOPPED
    if turn.started_at is None:
        return TerminalCode.INTERRUPTED, _WAITED
    if state is SessionState.FINALIZING and _is_answered(turn):
        return TerminalCode.ANSWERED, ""
    return TerminalCode.INTERRUPTED, _RAN


def _is_answered(turn: TurnView) -> bool:
    """The last thing in it is what the model said, with all calls done: it was about to end with that answer."""
    items = [item for item in turn.items if not isinstance(item, ThoughtView | NoticeView)]
    closed = all(call.status not in ("pending", "in_progress") for call in calls_of(turn))
    if items and isinstance(items[-1], CallView) and items[-1].tool == "finish":
        items.pop()
    return closed and bool(items) and isinstance(items[-1], MessageView)


class _Known:
    """What tools need to tell what became of their calls; read when one is asked, since most sessions have no such call."""

    def __init__(self, stored: Sequence[Stored], space: Path, tools: "Mapping[str, Tool[Any]] | None") -> None:
        self._stored = stored
        self._space = space
        self._tools = tools

    def tool(self, name: str) -> "Tool[Any] | None":
        if self._tools is None:
            # Imported here: it loads every tool, and a server starts sooner without.
            from .tools.registry import TOOLS

            self._tools = TOOLS
        return self._tools.get(name)

    @cached_property
    def context(self) -> "ReconcileContext":
        from .ledger import Ledger
        from .policy.scope import Scope
        from .tools.base import ReconcileContext

        created = (each.event for each in self._stored if isinstance(each.event, SessionCreated))
        return ReconcileContext(
            scope=Scope(self._space),
            ledger=Ledger.of(self._stored),
            space_root=next((event.space_root for event in created), ""),
        )


async def _end(call: CallView, known: _Known) -> CallEnd:
    """What became of a call that had begun: as its tool can tell, else ``unknown``."""
    if call.worker is not None:
        if call.worker.code is None:
            return CallEnd("unknown", WORKER_LOST)
        good = call.worker.code is TerminalCode.ANSWERED
        return CallEnd("completed" if good else "failed", call.worker.answer)
    tool = known.tool(call.tool)
    if tool is None or tool.reconcile is None:
        return CUT_OFF
    try:
        context = replace(known.context, changes=tuple(call.files), cells=tuple(call.cells))
        found = await tool.reconcile(call.arguments, context)
    except Exception:
        # the edge of a tool: what cannot be found out is unknown, and the server starts
        log.exception("what became of call %s of %s could not be found out", call.call_id, call.tool)
        return CUT_OFF
    if found is None:
        return CUT_OFF
    told = {change.path for change in call.files}
    changes = [change for change in found.changes if change.path not in told]
    return CallEnd("failed" if found.failed else "completed", found.text, changes, found.seen)
