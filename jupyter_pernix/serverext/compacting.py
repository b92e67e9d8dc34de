"""A compaction between turns: how it is carried out, and how the session comes to rest after it."""

import logging

import anyio

from ..errors import PernixError
from ..events import ProblemNoticed
from ..ids import TurnId
from ..records import SessionState
from .host import Host, Parts, QueuedTurn

log = logging.getLogger(__name__)


async def compact(parts: Parts, scope: anyio.CancelScope) -> None:
    """Carry out the compaction that the session's state says has begun; ``scope`` is cancelled to stop it. However it ends, the session
    is idle then, and what went wrong is said in its log.

    :raises StoreError: if the store does not take the end
    """
    said = hint = ""
    try:
        with scope:
            said = await _carry_out(parts)
    except Exception as exc:  # The edge of a compaction: the session lives on.
        if not isinstance(exc, PernixError):
            log.exception("session %s: the compaction failed", parts.log.session_id)
        said = f"The conversation could not be made shorter: {exc}"
        hint = str(getattr(exc, "hint", ""))
    finally:
        with anyio.CancelScope(shield=True):
            await _end(parts, said, hint)


async def _carry_out(parts: Parts) -> str:
    """What there is to say about it beside its own event."""
    around = parts.log.around
    if around.compact is None:
        return "There is no model that could make the conversation shorter."
    host = Host(QueuedTurn(turn_id=TurnId(""), can_ask=False), parts, alive=lambda: None)
    history = await around.store.events(parts.log.session_id)
    shorter = await around.compact(host, history)
    return "" if shorter else "There was nothing that could be left out of the conversation yet."


async def _end(parts: Parts, said: str, hint: str) -> None:
    log_ = parts.log
    if said:
        await log_.append(ProblemNoticed(session_id=log_.session_id, turn_id=None, text=said, hint=hint))
    cancelled = log_.summary.state is SessionState.CANCELLING
    await log_.move("turn_ended" if cancelled else "settled")
