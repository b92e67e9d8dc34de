"""The one place where a model request is made again. Neither the client nor the library below it does.

A request is made again only when its error says that the same request may succeed. A server that says how long to wait is
believed; one that asks for more than the ceiling is given up at once.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from ...errors import EndpointFailed, ModelError, RateLimited
from ...ports import Clock

T = TypeVar("T")

_AT_ONCE = ("unsupported_param", "bad_history", "empty_reply")


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """``attempts`` counts the first one; seconds double from ``first_wait`` and never exceed ``ceiling``."""

    attempts: int = 4
    first_wait: float = 1.0
    ceiling: float = 60.0


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A pause before attempt number ``attempt``. ``asked``: the server named the time."""

    attempt: int
    seconds: float
    asked: bool
    error: ModelError

    def __str__(self) -> str:
        if self.seconds == 0:
            return f"asking again: {self.error}"
        why = "the server asked for it" if self.asked else str(self.error)
        return f"waiting {self.seconds:.0f} s: {why}" if self.seconds >= 1 else f"asking again soon: {why}"


def next_wait(
    error: ModelError, attempt: int, policy: RetryPolicy, *, random_share: Callable[[], float] = random.random
) -> Wait | None:
    """The pause after attempt number ``attempt`` (from 1) failed; ``None``: give up."""
    if not error.retryable or attempt >= policy.attempts:
        return None
    kind = error.kind if isinstance(error, EndpointFailed) else ""
    if kind in _AT_ONCE:
        # One of these says what to change, or is a whim of the model: a second time in a row it is neither.
        return Wait(attempt=attempt + 1, seconds=0.0, asked=False, error=error) if attempt == 1 else None
    asked = error.retry_after if isinstance(error, RateLimited) else None
    if asked is not None:
        return Wait(attempt=attempt + 1, seconds=asked, asked=True, error=error) if asked <= policy.ceiling else None
    grown = min(policy.ceiling, policy.first_wait * 2 ** (attempt - 1))
    return Wait(attempt=attempt + 1, seconds=grown * (0.5 + random_share() / 2), asked=False, error=error)


async def with_retries(
    attempt: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    on_wait: Callable[[Wait], Awaitable[None]],
    policy: RetryPolicy | None = None,
) -> T:
    """The result of the first attempt that succeeds. ``on_wait`` is awaited before each pause; cancelling ends the pause.

    :raises ModelError: the last attempt's
    """
    policy = policy or RetryPolicy()
    number = 1
    while True:
        try:
            return await attempt()
        except ModelError as exc:
            wait = next_wait(exc, number, policy)
            if wait is None:
                raise
        await on_wait(wait)
        if wait.seconds:
            await clock.sleep(wait.seconds)
        number = wait.attempt
