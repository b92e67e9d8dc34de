"""What a turn has left, shared out to the workers that it starts."""

from ..errors import ToolFailed
from ..ports import Clock
from ..records import Budget, Spent
from .budget import Spending


class Shares:
    """Implements ``tools.delegate.Desk`` over what a turn has left. ``waiting``: workers that are still to be started, each of which
    gets an equal share."""

    def __init__(self, spending: Spending, clock: Clock) -> None:
        self._spending = spending
        self._clock = clock
        self.waiting = 1

    def lend(self) -> tuple[Budget, Spent]:
        budget = self._spending.left_budget(self._clock.monotonic(), parts=max(1, self.waiting))
        self.waiting -= 1
        if any(left is not None and left <= 0 for left in (budget.rounds, budget.tokens, budget.seconds, budget.cost)):
            raise ToolFailed(
                "Not done: the budget of this turn leaves nothing for a worker. Do it yourself, or finish."
            )
        return budget, self._spending.lend(budget)

    def settle(self, receipt: Spent, spent: Spent) -> None:
        self._spending.settle(receipt, spent)
