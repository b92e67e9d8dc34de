"""How long to wait before the same request is made again. Pure."""

import random
from collections.abc import Callable

from ..errors import ModelError, RateLimited

ATTEMPTS = 5
LONGEST_WAIT = 120.0
_FIRST_WAIT = 1.0


def wait_before(attempt: int, error: ModelError, *, chance: Callable[[], float] = random.random) -> float | None:
    """Seconds to wait before attempt number ``attempt`` (the first retry is 2) after ``error``; ``None``: give up.

    What the endpoint asks for is the least; when it asks for more than two minutes the user is told instead.
    """
    if not error.retryable or attempt > ATTEMPTS:
        return None
    asked = error.retry_after if isinstance(error, RateLimited) else None
    wait = _FIRST_WAIT * 2.0 ** (attempt - 2) * (1 + chance() / 4)
    if asked is not None:
        wait = max(wait, asked)
    return wait if wait <= LONGEST_WAIT else None
