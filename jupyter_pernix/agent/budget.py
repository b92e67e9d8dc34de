"""What a turn, and its session as a whole, may spend. Pure; asked before each spend, never after.

What is counted comes from the log, so a turn that goes on in another program knows what it has spent. Time runs only while the
session works: not while it waits for a person or is paused.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..events import (
    FileChanged,
    SessionStateChanged,
    StepFinished,
    StepStarted,
    Stored,
    TurnStarted,
    WorkerReported,
)
from ..fold import total
from ..ids import StepId, TurnId
from ..records import NO_LIMITS, Budget, FileChange, SessionState, Spent, TerminalCode, Usage

RESTING = frozenset({SessionState.IDLE_READY, SessionState.AWAITING_USER, SessionState.PAUSED})
"""States in which no time is spent."""

GUESS = 4
"""Bytes for a token where the endpoint reports no usage."""

__all__ = ["Exceeded", "Spending", "Tally", "total"]


@dataclass(frozen=True, kw_only=True)
class Exceeded:
    """``detail`` says to a person what is used up and what to do."""

    code: TerminalCode
    detail: str


def counted(usage: Usage, prompt_bytes: int) -> int:
    """Tokens of one request; guessed from its bytes if the endpoint does not say."""
    prompt = usage.prompt_tokens if usage.prompt_tokens is not None else prompt_bytes // GUESS
    return prompt + (usage.completion_tokens or 0)


@dataclass(kw_only=True)
class Tally:
    """What was spent. ``unpriced``: requests whose cost is not known; ``usage``: as the endpoints reported it."""

    rounds: int = 0
    tokens: int = 0
    cost: float = 0.0
    lines: int = 0
    seconds: float = 0.0
    unpriced: int = 0
    priced: int = 0
    usage: Usage = field(default_factory=Usage)

    def request(self, usage: Usage, *, tokens: int, cost: float | None, act: bool) -> None:
        self.rounds += act
        self.tokens += tokens
        self.usage = total(self.usage, usage)
        if cost is None:
            self.unpriced += 1
        else:
            self.priced += 1
            self.cost += cost

    def change(self, change: FileChange) -> None:
        self.lines += change.added_lines + change.removed_lines

    def worker(self, spent: Spent) -> None:
        self.rounds += spent.rounds
        self.tokens += spent.tokens
        self.lines += spent.changed_lines
        if spent.cost is None:
            self.unpriced += spent.rounds > 0
        else:
            self.priced += 1
            self.cost += spent.cost

    @property
    def known_cost(self) -> float | None:
        """``None`` unless every request has a price."""
        return None if self.unpriced or not self.priced else self.cost


def tallies(log: Iterable[Stored]) -> dict[TurnId | None, Tally]:
    """What each turn has spent so far; under ``None`` what was spent between turns."""
    found: dict[TurnId | None, Tally] = {}
    sizes: dict[StepId, StepStarted] = {}
    works_since: tuple[TurnId | None, float] | None = None
    for stored in log:
        event = stored.event
        match event:
            case StepStarted():
                sizes[event.step_id] = event
            case StepFinished() if event.step_id in sizes:
                begun, failed = sizes[event.step_id], event.finish_reason == "failed"
                tokens = 0 if failed and event.usage.prompt_tokens is None else counted(event.usage, begun.prompt_bytes)
                if tokens or not failed:
                    found.setdefault(event.turn_id, Tally()).request(
                        event.usage, tokens=tokens, cost=event.cost, act=begun.purpose == "act" and not failed
                    )
            case FileChanged():
                found.setdefault(event.turn_id, Tally()).change(event.change)
            case WorkerReported():
                found.setdefault(event.turn_id, Tally()).worker(event.spent)
            case TurnStarted():
                found.setdefault(event.turn_id, Tally())
            case SessionStateChanged():
                now = stored.recorded_at.timestamp()
                if works_since is not None:
                    turn_id, since = works_since
                    found.setdefault(turn_id, Tally()).seconds += max(0.0, now - since)
                works_since = None if event.after in RESTING else (event.turn_id, now)
            case _:
                pass
    return found


def _summed(parts: Iterable[Tally]) -> Tally:
    whole = Tally()
    for part in parts:
        whole.rounds += part.rounds
        whole.tokens += part.tokens
        whole.cost += part.cost
        whole.lines += part.lines
        whole.seconds += part.seconds
        whole.unpriced += part.unpriced
        whole.priced += part.priced
        whole.usage = total(whole.usage, part.usage)
    return whole


@dataclass(kw_only=True)
class Spending:
    """What a turn has spent so far, against its budget and its session's. ``started`` is the clock's time at its start, moved on by
    what it waited for a person. ``earlier``: what the session's other turns have spent."""

    budget: Budget
    started: float
    session: Budget = NO_LIMITS
    earlier: Tally = field(default_factory=Tally)
    tally: Tally = field(default_factory=Tally)
    _last: int = 0
    _last_cost: float = 0.0
    _lent: list[Spent] = field(default_factory=list[Spent])

    @classmethod
    def of(cls, log: Iterable[Stored], turn_id: TurnId, *, budget: Budget, session: Budget, now: float) -> "Spending":
        """As the log tells it; what the turn has used of its time lies before ``now``."""
        found = tallies(log)
        mine = found.pop(turn_id, Tally())
        return cls(
            budget=budget, started=now - mine.seconds, session=session, earlier=_summed(found.values()), tally=mine
        )

    @property
    def rounds(self) -> int:
        return self.tally.rounds

    @property
    def usage(self) -> Usage:
        return self.tally.usage

    @property
    def cost(self) -> float | None:
        """Of the turn; ``None`` unless every request has a price."""
        return self.tally.known_cost

    @property
    def limits_cost(self) -> bool:
        return self.budget.cost is not None or self.session.cost is not None

    # ---- counting ---------------------------------------------------------------------------------------------------

    def spend(self, usage: Usage, *, prompt_bytes: int, cost: float | None = None, act: bool = True) -> None:
        """Count one request. An endpoint that reports no usage is counted by four bytes a token."""
        tokens = counted(usage, prompt_bytes)
        if act:
            self._last, self._last_cost = tokens, cost or 0.0
        self.tally.request(usage, tokens=tokens, cost=cost, act=act)

    def changed(self, change: FileChange) -> None:
        self.tally.change(change)

    def waited(self, seconds: float) -> None:
        """The turn waited for a person; that is not its time."""
        self.started += seconds

    # ---- asking -----------------------------------------------------------------------------------------------------

    def next_step(self, now: float, *, tokens: int = 0, cost: float | None = None) -> Exceeded | None:
        """``None`` if another step may be made. It is expected to use ``tokens`` and ``cost``, and at least as much as the last one."""
        found = self._rounds() or self._tokens(max(tokens, self._last)) or self._cost(max(cost or 0.0, self._last_cost))
        return found or self.next_call(now)

    def next_request(self, now: float, *, tokens: int = 0, cost: float | None = None) -> Exceeded | None:
        """The same for a request that is no step of its own: another try, a plan, a summary."""
        return self._tokens(tokens) or self._cost(cost or 0.0) or self.next_call(now)

    def next_call(self, now: float) -> Exceeded | None:
        """``None`` if another tool call may be made."""
        left = self.left(now)
        if left is None or left > 0:
            return None
        budget, session = self.budget.seconds, self.session.seconds
        if session is not None and (budget is None or self.started + budget - now > 0):
            return _session(TerminalCode.BUDGET_TIME, f"used its {_count(session, 'second')}", "seconds")
        return _turn(TerminalCode.BUDGET_TIME, f"used its {_count(budget or 0.0, 'second')}", "seconds")

    def next_change(self, lines: int) -> Exceeded | None:
        """``None`` if a call may be made that changes ``lines`` lines of files (0: not known)."""
        wanted = max(1, lines)
        turn, session = self.budget.changed_lines, self.session.changed_lines
        if turn is not None and self.tally.lines + wanted > turn:
            used = f"changed {self.tally.lines:,} of its {_count(turn, 'line')} and the next change would go beyond"
            return _turn(TerminalCode.BUDGET_LINES, used, "changed_lines")
        whole = self.earlier.lines + self.tally.lines
        if session is not None and whole + wanted > session:
            used = f"changed {whole:,} of its {_count(session, 'line')} and the next change would go beyond"
            return _session(TerminalCode.BUDGET_LINES, used, "changed_lines")
        return None

    @property
    def limits_lines(self) -> bool:
        return self.budget.changed_lines is not None or self.session.changed_lines is not None

    def left(self, now: float) -> float | None:
        """Seconds that are left; ``None``: no limit."""
        ends: list[float] = []
        if self.budget.seconds is not None:
            ends.append(self.started + self.budget.seconds - now)
        if self.session.seconds is not None:
            ends.append(self.started + self.session.seconds - self.earlier.seconds - now)
        return min(ends, default=None)

    # ---- workers ----------------------------------------------------------------------------------------------------

    def left_budget(self, now: float, *, parts: int = 1) -> Budget:
        """What a worker may spend, of what is left and not lent to another one: one of ``parts`` equal shares. Time is not shared out,
        workers run side by side."""
        lent = Tally()
        for spent in self._lent:
            lent.worker(spent)
        return Budget(
            rounds=_share(self.budget.rounds, self.session.rounds, self, "rounds", lent.rounds, parts),
            tokens=_share(self.budget.tokens, self.session.tokens, self, "tokens", lent.tokens, parts),
            seconds=None if (left := self.left(now)) is None else max(0.0, left),
            cost=self._cost_share(lent.cost, parts),
            changed_lines=_share(
                self.budget.changed_lines, self.session.changed_lines, self, "lines", lent.lines, parts
            ),
        )

    def lend(self, budget: Budget) -> Spent:
        """Set ``budget`` aside for a worker; give the receipt to ``settle``."""
        receipt = Spent(
            rounds=budget.rounds or 0,
            tokens=budget.tokens or 0,
            cost=budget.cost or 0.0,
            changed_lines=budget.changed_lines or 0,
        )
        self._lent.append(receipt)
        return receipt

    def settle(self, receipt: Spent, spent: Spent) -> None:
        """The worker has ended; ``spent`` is what it really used."""
        for index, lent in enumerate(self._lent):
            if lent is receipt:
                del self._lent[index]
                break
        self.tally.worker(spent)

    def _cost_share(self, lent: float, parts: int) -> float | None:
        spent = self.tally.cost + lent
        lefts = [limit - spent for limit in (self.budget.cost,) if limit is not None]
        lefts += [limit - spent - self.earlier.cost for limit in (self.session.cost,) if limit is not None]
        return max(0.0, min(lefts) / parts) if lefts else None

    # ---- the limits -------------------------------------------------------------------------------------------------

    def _rounds(self) -> Exceeded | None:
        turn, session = self.budget.rounds, self.session.rounds
        if turn is not None and self.tally.rounds >= turn:
            return _turn(TerminalCode.BUDGET_ROUNDS, f"used its {_count(turn, 'step')}", "rounds")
        if session is not None and self.earlier.rounds + self.tally.rounds >= session:
            return _session(TerminalCode.BUDGET_ROUNDS, f"used its {_count(session, 'step')}", "rounds")
        return None

    def _tokens(self, next_one: int) -> Exceeded | None:
        turn, session = self.budget.tokens, self.session.tokens
        mine = self.tally.tokens
        if turn is not None and mine + next_one > turn:
            used = f"used {mine:,} of its {_count(turn, 'token')} and the next request would go beyond"
            return _turn(TerminalCode.BUDGET_TOKENS, used, "tokens")
        whole = self.earlier.tokens + mine
        if session is not None and whole + next_one > session:
            used = f"used {whole:,} of its {_count(session, 'token')} and the next request would go beyond"
            return _session(TerminalCode.BUDGET_TOKENS, used, "tokens")
        return None

    def _cost(self, next_one: float) -> Exceeded | None:
        turn, session = self.budget.cost, self.session.cost
        mine = self.tally.cost
        if turn is not None and (mine + next_one > turn or mine >= turn > 0):
            used = f"cost {mine:.4f} of its {turn:g} and the next request would go beyond"
            return _turn(TerminalCode.BUDGET_COST, used, "cost")
        whole = self.earlier.cost + mine
        if session is not None and (whole + next_one > session or whole >= session > 0):
            used = f"cost {whole:.4f} of its {session:g} and the next request would go beyond"
            return _session(TerminalCode.BUDGET_COST, used, "cost")
        return None


def _share(turn: int | None, session: int | None, spending: Spending, name: str, lent: int, parts: int) -> int | None:
    mine = int(getattr(spending.tally, name)) + lent
    lefts = [turn - mine] if turn is not None else []
    if session is not None:
        lefts.append(session - mine - int(getattr(spending.earlier, name)))
    return max(0, min(lefts) // parts) if lefts else None


def _count(number: float, one: str) -> str:
    """``number`` of something, in the singular or the plural."""
    told = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{told} {one}" if number == 1 else f"{told} {one}s"


def _turn(code: TerminalCode, used: str, setting: str) -> Exceeded:
    option = "lines" if setting == "changed_lines" else setting
    detail = f"The turn {used}. Send a message to go on, or raise the limit (budget.{setting} in the settings, or --max-{option})."
    return Exceeded(code=code, detail=detail)


def _session(code: TerminalCode, used: str, setting: str) -> Exceeded:
    detail = (
        f"The session {used}, all its turns together. "
        f"Raise the session's budget ({setting}; session_budget.{setting} in the settings), or go on in a new session."
    )
    return Exceeded(code=code, detail=detail)
