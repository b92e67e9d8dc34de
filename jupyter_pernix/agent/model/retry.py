"""The one place where a model request is made again. Neither the client nor the library below it does.

A request is made again only when its error says that the same request may succeed. A server that says how long to wait is
believed, and waited for a little longer than it says so that not all its clients come back in the same moment; one that asks for
more than the ceiling is given up at once. All pauses of one request together are bounded too.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from ...config import Retry
from ...errors import EndpointFailed, ModelError, RateLimited
from ...ports import Clock

T = TypeVar("T")

_CHANGED = ("unsupported_param", "bad_history", "bad_pictures")
"""The next request is another one: without what was refused, or mended. The client says so once for each."""


_LONGER = 0.1
"""At most so much of the time that a server names is added to it."""
TOTAL = 600.0


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """``attempts`` counts the first one; seconds double from ``first_wait`` and never exceed ``ceiling``, all of them together
    not ``total``."""

    attempts: int = 4
    first_wait: float = 1.0
    ceiling: float = 60.0
    total: float = TOTAL

    @classmethod
    def of(cls, settings: Retry) -> "RetryPolicy":
        return cls(attempts=settings.attempts, first_wait=settings.first_wait, ceiling=settings.ceiling)


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A pause of ``seconds`` before attempt number ``attempt`` of ``attempts``. ``asked``: the server named the time."""

    attempt: int
    attempts: int
    seconds: float
    asked: bool
    error: ModelError

    @property
    def text(self) -> str:
        """For a person: what is waited for, why, and which try comes next."""
        count = f"try {self.attempt} of {self.attempts}"
        if self.seconds == 0:
            return f"asking again at once ({count}): {self.error}"
        asked = ", the server asked for it" if self.asked else ""
        seconds = f"{self.seconds:.0f}" if self.seconds >= 1 else f"{self.seconds:.1f}"
        return f"waiting {seconds} s{asked} ({count}): {self.error}"

    def __str__(self) -> str:
        return self.text


def next_wait(
    error: ModelError,
    attempt: int,
    policy: RetryPolicy,
    *,
    waited: float = 0.0,
    random_share: Callable[[], float] = random.random,
) -> Wait | None:
    """The pause after attempt number ``attempt`` (from 1) failed, ``waited`` seconds into the pauses; ``None``: give up."""
    if not error.retryable or attempt >= policy.attempts:
        return None
    kind = error.kind if isinstance(error, EndpointFailed) else ""
    if kind == "empty_reply":
        # A whim of the model: a second time in a row it is none.
        return _wait(error, attempt, policy, seconds=0.0) if attempt == 1 else None
    if kind in _CHANGED:
        return _wait(error, attempt, policy, seconds=0.0)
    asked = _asked(error)
    if asked is not None and asked > policy.ceiling:
        return None
    grown = min(policy.ceiling, policy.first_wait * 2 ** min(attempt - 1, 60))
    seconds = grown * (0.5 + random_share() / 2) if asked is None else asked * (1 + _LONGER * random_share())
    if waited + seconds > policy.total:
        return None
    return _wait(error, attempt, policy, seconds=seconds, asked=asked is not None)


def _wait(error: ModelError, attempt: int, policy: RetryPolicy, *, seconds: float, asked: bool = False) -> Wait:
    return Wait(attempt=attempt + 1, attempts=policy.attempts, seconds=seconds, asked=asked, error=error)


def _asked(error: ModelError) -> float | None:
    """Seconds that the server named."""
    return error.retry_after if isinstance(error, RateLimited | EndpointFailed) else None


def _say_the_time(error: ModelError, policy: RetryPolicy) -> None:
    """An error that is given up because the server asks for too long a pause says so."""
    asked = _asked(error)
    if error.retryable and asked is not None and asked > policy.ceiling:
        error.args = (
            f"{error}; the server asks to wait {_span(asked)}, longer than the {_span(policy.ceiling)} that are waited",
        )
        error.hint = error.hint or "ask again later, use another endpoint, or raise retry.ceiling in the settings"


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


async def with_retries(
    attempt: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    on_wait: Callable[[Wait], Awaitable[None]],
    policy: RetryPolicy | None = None,
    random_share: Callable[[], float] = random.random,
) -> T:
    """The result of the first attempt that succeeds. ``on_wait`` is awaited before each pause; cancelling ends the pause.

    :raises ModelError: the last attempt's
    """
    policy = policy or RetryPolicy()
    number, waited = 1, 0.0
    while True:
        try:
            return await attempt()
        except ModelError as exc:
            wait = next_wait(exc, number, policy, waited=waited, random_share=random_share)
            if wait is None:
                _say_the_time(exc, policy)
                raise
        await on_wait(wait)
        if wait.seconds:
            await clock.sleep(wait.seconds)
        number, waited = wait.attempt, waited + wait.seconds
