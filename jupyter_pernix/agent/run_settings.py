"""What a Run is told about limits and habits, out of the settings."""

from dataclasses import dataclass, field

from ..config import Compaction, Deadlines, Retry, Settings
from ..records import NO_LIMITS, Budget, Role
from .model.parts import Model


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """``budget`` is the turn's, ``session_budget`` that of all turns of its session. ``scout``: plan a substantive turn first.
    ``deny``: rules of what is never done. ``hooks``: those that there are are run."""

    budget: Budget = field(default_factory=Budget)
    session_budget: Budget = NO_LIMITS
    deadlines: Deadlines = field(default_factory=Deadlines)
    retry: Retry = field(default_factory=Retry)
    compaction: Compaction = field(default_factory=Compaction)
    scout: bool = True
    deny: tuple[str, ...] = ()
    hooks: bool = True

    @classmethod
    def of(
        cls, settings: Settings, *, budget: Budget | None = None, session_budget: Budget | None = None
    ) -> "RunSettings":
        """``budget`` and ``session_budget``: instead of those in the settings."""
        return cls(
            budget=settings.budget if budget is None else budget,
            session_budget=settings.session_budget if session_budget is None else session_budget,
            deadlines=settings.deadlines,
            retry=settings.retry,
            compaction=settings.compaction,
            scout=settings.scout,
            deny=tuple(settings.permissions.deny),
            hooks=settings.permissions.hooks,
        )


@dataclass(frozen=True)
class OneModel:
    """Implements ``parts.Models`` with a primary alone; ``None``: there is no model at all."""

    model: Model | None

    async def get(self, role: Role) -> Model | None:
        return self.model if role == "primary" else None
