import json
from functools import partial

import anyio
import pytest

from jupyter_pernix.agent.model.faults import classify_body
from jupyter_pernix.agent.model.retry import RetryPolicy, Wait, next_wait, with_retries
from jupyter_pernix.config import Retry
from jupyter_pernix.errors import (
    ContextOverflow,
    EndpointFailed,
    EndpointRefused,
    ModelError,
    RateLimited,
    StreamBroken,
)


class FakeClock:
    def __init__(self) -> None:
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Script:
    """Raises its errors one after another, then succeeds."""

    def __init__(self, *errors: ModelError) -> None:
        self.errors = list(errors)
        self.tries = 0
        self.waits: list[Wait] = []
        self.clock = FakeClock()

    async def attempt(self) -> str:
        self.tries += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    async def note(self, wait: Wait) -> None:
        self.waits.append(wait)

    async def run(self, policy: RetryPolicy | None = None) -> str:
        return await with_retries(self.attempt, clock=self.clock, on_wait=self.note, policy=policy)


async def test_a_dropped_answer_is_asked_for_again() -> None:
    script = Script(StreamBroken("dropped"), StreamBroken("dropped"))
    assert await script.run() == "answer"
    assert script.tries == 3
    assert [wait.attempt for wait in script.waits] == [2, 3]
    assert script.clock.slept == [wait.seconds for wait in script.waits]


async def test_four_attempts_and_no_more() -> None:
    script = Script(*[StreamBroken("dropped") for _ in range(9)])
    with pytest.raises(StreamBroken):
        await script.run()
    assert script.tries == 4


async def test_what_cannot_succeed_is_not_asked_again() -> None:
    script = Script(ContextOverflow("too long"))
    with pytest.raises(ContextOverflow):
        await script.run()
    assert (script.tries, script.waits) == (1, [])


async def test_the_server_is_believed_about_the_time_and_the_user_is_told() -> None:
    script = Script(RateLimited("slow down", retry_after=12))
    assert await script.run() == "answer"
    (slept,) = script.clock.slept
    assert 12 <= slept <= 13.2  # never sooner than asked, and not all clients in the same moment
    (wait,) = script.waits
    assert (wait.attempt, wait.attempts, wait.asked) == (2, 4, True)
    assert wait.text == f"waiting {slept:.0f} s, the server asked for it (try 2 of 4): slow down"


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("slow down", retry_after=9000),
        EndpointFailed("overloaded", status=503, retryable=True, retry_after=9000),
    ],
)
async def test_a_wait_beyond_the_ceiling_is_given_up_at_once_and_the_time_is_said(error: ModelError) -> None:
    script = Script(error)
    with pytest.raises(type(error), match=r"asks to wait 2\.5 h, longer than the 60 s") as caught:
        await script.run()
    assert (script.tries, script.clock.slept) == (1, [])
    assert "retry.ceiling" in caught.value.hint


async def test_all_pauses_of_a_request_together_are_bounded() -> None:
    script = Script(*[RateLimited("slow down", retry_after=50) for _ in range(1000)])
    with pytest.raises(RateLimited):
        await script.run(RetryPolicy(attempts=1000))
    assert 500 < sum(script.clock.slept) <= 600


async def test_the_retries_of_the_settings_are_those_that_are_made() -> None:
    policy = RetryPolicy.of(Retry(attempts=2, first_wait=0.5, ceiling=3.0))
    script = Script(*[RateLimited("slow down", retry_after=2.9) for _ in range(9)])
    with pytest.raises(RateLimited):
        await script.run(policy)
    assert script.tries == 2
    over = next_wait(RateLimited("slow down", retry_after=3.1), 1, policy)
    assert over is None


async def test_cancelling_ends_the_pause_at_once() -> None:
    asleep = anyio.Event()

    class Stopped:
        def monotonic(self) -> float:
            return 0.0

        async def sleep(self, seconds: float) -> None:
            asleep.set()
            await anyio.sleep_forever()

    script = Script(RateLimited("slow down", retry_after=50))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(partial(with_retries, script.attempt, clock=Stopped(), on_wait=script.note))
            await asleep.wait()
            group.cancel_scope.cancel()
    assert script.tries == 1


async def test_a_used_up_quota_is_never_asked_again() -> None:
    body = {
        "error": {
            "message": "You exceeded your current quota",
            "type": "insufficient_quota",
            "code": "insufficient_quota",
        }
    }
    error = classify_body(429, json.dumps(body).encode(), {"retry-after": "1"})
    script = Script(error)
    with pytest.raises(EndpointRefused):
        await script.run()
    assert (script.tries, script.waits) == (1, [])


@pytest.mark.parametrize("status", [503, 529])
def test_an_overloaded_server_is_believed_about_the_time_too(status: int) -> None:
    error = classify_body(status, b'{"error": {"message": "overloaded"}}', {"retry-after": "7"})
    wait = next_wait(error, 1, RetryPolicy(), random_share=lambda: 0.0)
    assert wait is not None
    assert (wait.seconds, wait.asked) == (7, True)


async def test_an_empty_answer_is_asked_for_once_more_at_once() -> None:
    empty = [EndpointFailed("empty", retryable=True, kind="empty_reply") for _ in range(2)]
    script = Script(*empty)
    with pytest.raises(EndpointFailed):
        await script.run()
    assert (script.tries, script.clock.slept) == (2, [])


def test_waits_double_up_to_the_ceiling() -> None:
    policy = RetryPolicy(attempts=20, first_wait=1, ceiling=60)
    waits = [next_wait(StreamBroken("x"), number, policy, random_share=lambda: 1.0) for number in range(1, 9)]
    assert [wait and wait.seconds for wait in waits] == [1, 2, 4, 8, 16, 32, 60, 60]
    least = next_wait(StreamBroken("x"), 3, policy, random_share=lambda: 0.0)
    assert least
    assert least.seconds == 2
