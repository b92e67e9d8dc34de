"""Cost: only what is configured and reported is claimed."""

import pytest

from jupyter_pernix.agent.model.pricing import cost_of, foreseen
from jupyter_pernix.config import Price
from jupyter_pernix.records import Usage

PRICE = Price(prompt=2.0, completion=10.0, cached=0.5)


def usage(prompt: int | None = 1_000_000, completion: int | None = 100_000, cached: int | None = None) -> Usage:
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached)


def test_prompt_and_answer_have_their_own_prices() -> None:
    assert cost_of(usage(), PRICE) == pytest.approx(3.0)


def test_cached_tokens_cost_their_own_price_and_are_not_counted_twice() -> None:
    assert cost_of(usage(cached=600_000), PRICE) == pytest.approx(0.4 * 2 + 0.6 * 0.5 + 1.0)


def test_without_a_price_for_them_cached_tokens_cost_as_much_as_others() -> None:
    price = Price(prompt=2.0, completion=10.0)
    assert cost_of(usage(cached=600_000), price) == cost_of(usage(), price)


def test_cached_tokens_may_be_free() -> None:
    assert cost_of(usage(completion=0, cached=1_000_000), Price(prompt=2.0, completion=10.0, cached=0.0)) == 0.0


@pytest.mark.parametrize("told", [Usage(), usage(prompt=None), usage(completion=None)])
def test_what_the_endpoint_did_not_count_has_no_cost(told: Usage) -> None:
    assert cost_of(told, PRICE) is None


def test_without_a_configured_price_nothing_is_claimed() -> None:
    assert cost_of(usage(), None) is None
    assert foreseen(1000, None) is None


def test_counts_that_contradict_each_other_are_read_once() -> None:
    assert cost_of(usage(prompt=100, completion=0, cached=500), PRICE) == pytest.approx(100 * 0.5 / 1e6)
    assert cost_of(usage(prompt=-5, completion=-5, cached=-5), PRICE) == 0.0


def test_the_next_request_is_priced_before_it_is_made() -> None:
    assert foreseen(1_000_000, PRICE) == pytest.approx(2.0)
