"""What a turn may spend. Pure; asked before each spend, never after."""

from dataclasses import dataclass, field

from ..records import Budget, TerminalCode, Usage


@dataclass(frozen=True, kw_only=True)
class Exceeded:
    """``detail`` says to a person what is used up and what to do."""

    code: TerminalCode
    detail: str


def _plus(one: int | None, two: int | None) -> int | None:
    return two if one is None else one if two is None else one + two


def total(one: Usage, two: Usage) -> Usage:
    """The sum; a number that neither side knows stays unknown."""
    return Usage(
        prompt_tokens=_plus(one.prompt_tokens, two.prompt_tokens),
        completion_tokens=_plus(one.completion_tokens, two.completion_tokens),
        cached_tokens=_plus(one.cached_tokens, two.cached_tokens),
    )


@dataclass(kw_only=True)
class Spending:
    """What a turn has spent so far, against its budget. ``started`` is the clock's time at its start, moved on by
    what it waited for a person."""

    budget: Budget
    started: float
    rounds: int = 0
    usage: Usage = field(default_factory=Usage)
    _last: int = 0
    _tokens: int = 0

    def spend(self, usage: Usage, *, prompt_bytes: int) -> None:
        """Count one step. An endpoint that reports no usage is counted by four bytes a token."""
        self.rounds += 1
        self.usage = total(self.usage, usage)
        prompt = usage.prompt_tokens if usage.prompt_tokens is not None else prompt_bytes // 4
        self._last = prompt + (usage.completion_tokens or 0)
        self._tokens += self._last

    def waited(self, seconds: float) -> None:
        """The turn waited for a person; that is not its time."""
        self.started += seconds

    def next_step(self, now: float) -> Exceeded | None:
        """``None`` if another step may be made; it is expected to cost at least as much as the last one."""
        budget = self.budget
        if budget.rounds is not None and self.rounds >= budget.rounds:
            detail = f"The turn used its {budget.rounds} steps. Send a message to go on, or raise budget.rounds in the settings."
            return Exceeded(code=TerminalCode.BUDGET_ROUNDS, detail=detail)
        if budget.tokens is not None and self._tokens + self._last > budget.tokens:
            detail = (
                f"The turn used {self._tokens:,} of its {budget.tokens:,} tokens and the next step would go beyond. "
                "Send a message to go on, or raise budget.tokens in the settings."
            )
            return Exceeded(code=TerminalCode.BUDGET_TOKENS, detail=detail)
        return self.next_call(now)

    def next_call(self, now: float) -> Exceeded | None:
        """``None`` if another tool call may be made."""
        left = self.left(now)
        if left is None or left > 0:
            return None
        detail = f"The turn used its {self.budget.seconds:g} seconds. Send a message to go on, or raise budget.seconds in the settings."
        return Exceeded(code=TerminalCode.BUDGET_TIME, detail=detail)

    def left(self, now: float) -> float | None:
        """Seconds that are left; ``None``: no limit."""
        if self.budget.seconds is None:
            return None
        return self.started + self.budget.seconds - now
