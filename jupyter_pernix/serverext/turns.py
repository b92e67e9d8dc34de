"""Carrying a turn with the real agent: find the session's models, then hand over to ``agent.run.Run``."""

from collections.abc import Sequence

from ..config import Settings
from ..errors import PernixError
from ..events import ProblemNoticed, Stored, TurnFinished, TurnSubmitted
from ..ids import SessionId, TurnId
from ..ports import TurnHost
from ..records import Budget, TerminalCode, Usage
from .endpoints import Endpoints
from .store import EventStore
from .worker_models import WorkerModels


class AgentTurns:
    """``carry`` is ``surroundings.Carry``."""

    def __init__(self, *, store: EventStore, endpoints: Endpoints, settings: Settings) -> None:
        self._store = store
        self._endpoints = endpoints
        self._settings = settings

    async def carry(self, host: TurnHost, turn_id: TurnId, log: Sequence[Stored]) -> None:
        # Imported here: it loads every tool, and the first turn is early enough.
        from ..agent.run import Run
        from ..agent.run_settings import RunSettings

        async with self._endpoints.models(self._endpoint(host.session_id)) as models:
            used = WorkerModels(models) if host.is_worker else models
            budget = _turn_budget(log, turn_id) or self._settings.budget
            await Run(host, turn_id, log, used, RunSettings.of(self._settings, budget=budget)).carry()

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

    def _endpoint(self, session_id: SessionId) -> str:
        summary = self._store.summary(session_id)
        assert summary is not None
        return summary.endpoint or ""


def _turn_budget(log: Sequence[Stored], turn_id: TurnId) -> Budget | None:
    """As the message was submitted with; ``None``: the settings'."""
    for stored in reversed(log):
        if isinstance(stored.event, TurnSubmitted) and stored.event.turn_id == turn_id:
            return stored.event.budget
    return None
