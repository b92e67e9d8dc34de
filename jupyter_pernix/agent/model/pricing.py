"""What a request cost. Only configured prices count: without one, or without the endpoint's own counts, nothing is claimed. Pure."""

import math

from ...config import Price
from ...records import Usage

_MILLION = 1_000_000


def cost_of(usage: Usage, price: Price | None) -> float | None:
    """In the price's currency; ``None``: unpriced, or the endpoint did not report how much it used.

    Tokens that the endpoint had already cost their own price where there is one. Counts that contradict each other (more cached
    than sent) are read so that nothing is counted twice.
    """
    if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    sent = max(0, usage.prompt_tokens)
    cached = min(max(0, usage.cached_tokens or 0), sent)
    written = max(0, usage.completion_tokens)
    for_cached = price.prompt if price.cached is None else price.cached
    cost = ((sent - cached) * price.prompt + cached * for_cached + written * price.completion) / _MILLION
    return cost if math.isfinite(cost) else None


def foreseen(tokens: int, price: Price | None) -> float | None:
    """The least that a request with so many prompt tokens will cost, nothing of it cached; ``None``: unpriced."""
    return cost_of(Usage(prompt_tokens=tokens, completion_tokens=0), price)
