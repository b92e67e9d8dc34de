import pytest

from jupyter_pernix.agent.model.retry import RetryPolicy, Wait, next_wait, with_retries
from jupyter_pernix.errors import ContextOverflow, EndpointFailed, ModelError, RateLimited, StreamBroken


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

    async def run(self) -> str:
        return await with_retries(self.attempt, clock=self.clock, on_wait=self.note)


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
    assert script.clock.slept == [12]
    assert str(script.waits[0]) == "waiting 12 s: the server asked for it"


async def test_a_wait_beyond_the_ceiling_is_given_up() -> None:
    script = Script(RateLimited("slow down", retry_after=3600))
    with pytest.raises(RateLimited):
        await script.run()
    assert script.tries == 1


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
