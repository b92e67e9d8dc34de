"""Tokens of bytes: a guess first, the endpoint's count afterwards, and no nonsense in between."""

import pytest

from jupyter_pernix.agent.model.estimate import FIRST_GUESS, TokenEstimate
from jupyter_pernix.records import Usage


def observed(*reports: tuple[int, int | None, int | None]) -> TokenEstimate:
    estimate = TokenEstimate()
    for size, prompt, cached in reports:
        estimate.observe(size, Usage(prompt_tokens=prompt, cached_tokens=cached))
    return estimate


def test_a_guess_is_a_little_high_rather_than_low() -> None:
    estimate = TokenEstimate()
    assert not estimate.measured
    assert estimate.tokens(4000) > 1000
    assert (estimate.tokens(0), estimate.tokens(1)) == (0, 1)


def test_the_first_report_replaces_the_guess_and_later_ones_move_it() -> None:
    estimate = observed((10_000, 5_000, None))
    assert estimate.measured
    assert estimate.tokens(20_000) == 10_000
    estimate.observe(10_000, Usage(prompt_tokens=2_500))
    assert 2.0 < estimate.bytes_per_token < 4.0


def test_reports_settle_on_what_the_endpoint_counts() -> None:
    estimate = observed((10_000, 5_000, None), *[(12_000, 3_000, None)] * 20)
    assert estimate.bytes_per_token == pytest.approx(4.0, rel=0.01)


def test_a_prompt_count_without_its_cached_part_is_read_with_it() -> None:
    estimate = observed((40_000, 200, 9_800))
    assert estimate.tokens(40_000) == 10_000


@pytest.mark.parametrize(
    "report",
    [
        (10_000, None, None),
        (10_000, 0, None),
        (10_000, 0, 2_500),
        (10_000, -3, None),
        (10_000, 1, None),
        (10_000, 9_000_000, None),
        (20, 15, None),
    ],
    ids=["none", "zero", "cached only", "negative", "one", "absurd", "too small to tell"],
)
def test_a_report_that_cannot_be_the_prompt_changes_nothing(report: tuple[int, int | None, int | None]) -> None:
    estimate = observed(report)
    assert (estimate.bytes_per_token, estimate.measured) == (FIRST_GUESS, False)


def test_a_refusal_as_too_long_is_a_lower_bound() -> None:
    estimate = TokenEstimate()
    estimate.overflowed(20_000, 8_000)
    assert estimate.tokens(20_000) >= 8_000
    before = estimate.bytes_per_token
    estimate.overflowed(200_000, 8_000)
    assert estimate.bytes_per_token == before
    estimate.overflowed(20_000, 0)
    assert estimate.bytes_per_token == before


def test_bytes_that_fit_are_the_inverse_of_tokens() -> None:
    estimate = observed((10_000, 4_000, None))
    assert estimate.tokens(estimate.size(1_000)) == 1_000
    assert estimate.size(-5) == 0
