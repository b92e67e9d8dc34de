"""Carrying a turn with the real agent: find the session's models, then hand over to ``agent.run.Run``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..config import Settings
from ..events import Event, SessionConfigured, SessionCreated, Stored, TurnSubmitted
from ..ids import SessionId, TurnId
from ..ports import TurnHost
from ..records import NO_LIMITS, Budget
from .endpoints import Endpoints
from .store import EventStore
from .worker_models import WorkerModels

if TYPE_CHECKING:
    from ..agent.run_settings import RunSettings


class AgentTurns:
    """``carry`` is ``surroundings.Carry``."""

    def __init__(self, *, store: EventStore, endpoints: Endpoints, settings: Settings) -> None:
        self._store = store
        self._endpoints = endpoints
        self._settings = settings

    async def carry(self, host: TurnHost, turn_id: TurnId, log: Sequence[Stored]) -> None:
        # Imported here: it loads every tool, and the first turn is early enough.
        from ..agent.run import Run

        async with self._endpoints.models(self._endpoint(host.session_id)) as models:
            used = WorkerModels(models) if host.is_worker else models
            settings = self._run_settings(log, turn_id, is_worker=host.is_worker)
            await Run(host, turn_id, log, used, settings).carry()

    async def compact(self, host: TurnHost, log: Sequence[Stored]) -> bool:
        """``surroundings.Compact``."""
        # Imported here: it loads every tool.
        from ..agent.compaction import compact_now

        async with self._endpoints.models(self._endpoint(host.session_id)) as models:
            settings = self._run_settings(log, None, is_worker=host.is_worker)
            return await compact_now(host, log, models, settings) is not None

    async def title(self, session_id: SessionId, log: Sequence[Stored]) -> tuple[Sequence[Event], str | None]:
        """``surroundings.Title``."""
        if not self._settings.titles:
            return [], None
        # Imported here: it loads every tool.
        from ..agent.titles import title_for

        async with self._endpoints.models(self._endpoint(session_id)) as models:
            return await title_for(log, models)

    def _run_settings(self, log: Sequence[Stored], turn_id: TurnId | None, *, is_worker: bool) -> "RunSettings":
        # Imported here: it is the agent's.
        from ..agent.run_settings import RunSettings

        # a worker has what is left to the turn that it works for, and that is its turn's own budget
        session_budget = _session_budget(log) or (NO_LIMITS if is_worker else self._settings.session_budget)
        budget = _turn_budget(log, turn_id) or self._settings.budget
        return RunSettings.of(self._settings, budget=budget, session_budget=session_budget)

    def _endpoint(self, session_id: SessionId) -> str:
        summary = self._store.summary(session_id)
        assert summary is not None
        return summary.endpoint or ""


def _session_budget(log: Sequence[Stored]) -> Budget | None:
    """As the session was given one last; ``None``: the settings'."""
    for stored in reversed(log):
        if isinstance(stored.event, SessionCreated | SessionConfigured) and stored.event.budget is not None:
            return stored.event.budget
    return None


def _turn_budget(log: Sequence[Stored], turn_id: TurnId | None) -> Budget | None:
    """As the message was submitted with; ``None``: the settings'."""
    for stored in reversed(log):
        if isinstance(stored.event, TurnSubmitted) and stored.event.turn_id == turn_id:
            return stored.event.budget
    return None
