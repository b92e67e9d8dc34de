"""Carrying a turn with the real agent: find the session's model, then hand over to ``agent.run.Run``."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from ..config import Settings
from ..errors import PernixError
from ..events import ProblemNoticed, Stored, TurnFinished
from ..ids import TurnId
from ..ports import TurnHost
from ..records import TerminalCode, Usage
from .endpoints import Endpoints
from .store import EventStore


class AgentTurns:
    """``carry`` is ``surroundings.Carry``."""

    def __init__(self, *, store: EventStore, endpoints: Endpoints, settings: Settings) -> None:
        self._store = store
        self._endpoints = endpoints
        self._settings = settings

    async def carry(self, host: TurnHost, turn_id: TurnId, log: Sequence[Stored]) -> None:
        summary = self._store.summary(host.session_id)
        assert summary is not None
        async with AsyncExitStack() as stack:
            try:
                model = await stack.enter_async_context(self._endpoints.model(summary.endpoint or ""))
            except PernixError as exc:
                await self._without_model(host, turn_id, exc)
                return
            # Imported here: it loads every tool, and the first turn is early enough.
            from ..agent.run import Run

            await Run(host, turn_id, log, model, self._settings.budget, self._settings.deadlines).carry()

    async def _without_model(self, host: TurnHost, turn_id: TurnId, exc: PernixError) -> None:
        hint = str(getattr(exc, "hint", "")) or "Choose another endpoint for this session, or add one."
        await host.move("turn_started")
        await host.append(ProblemNoticed(session_id=host.session_id, turn_id=turn_id, text=str(exc), hint=hint))
        await host.move("turn_ending")
        await host.append(
            TurnFinished(
                session_id=host.session_id,
                turn_id=turn_id,
                code=TerminalCode.NO_MODEL,
                detail=str(exc),
                usage=Usage(),
            )
        )
        await host.move("turn_ended")
