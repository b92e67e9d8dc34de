from jupyter_pernix.agent.budget import Spending, total
from jupyter_pernix.records import Budget, TerminalCode, Usage

FREE = Budget(rounds=None, tokens=None, seconds=None)


def test_without_limits_nothing_is_exceeded() -> None:
    spending = Spending(budget=FREE, started=0.0)
    for _ in range(1000):
        spending.spend(Usage(prompt_tokens=10**6, completion_tokens=10**6), prompt_bytes=0)
    assert spending.next_step(10.0**9) is None
    assert spending.left(10.0**9) is None


def test_a_limit_of_rounds_allows_exactly_so_many() -> None:
    spending = Spending(budget=Budget(rounds=2), started=0.0)
    spending.spend(Usage(), prompt_bytes=0)
    assert spending.next_step(0.0) is None
    spending.spend(Usage(), prompt_bytes=0)
    exceeded = spending.next_step(0.0)
    assert exceeded is not None
    assert exceeded.code == TerminalCode.BUDGET_ROUNDS


def test_a_step_that_would_go_beyond_the_tokens_is_not_made() -> None:
    spending = Spending(budget=Budget(tokens=100), started=0.0)
    spending.spend(Usage(prompt_tokens=40, completion_tokens=10), prompt_bytes=0)
    assert spending.next_step(0.0) is None
    spending.spend(Usage(prompt_tokens=41, completion_tokens=0), prompt_bytes=0)
    exceeded = spending.next_step(0.0)
    assert exceeded is not None
    assert exceeded.code == TerminalCode.BUDGET_TOKENS


def test_an_endpoint_that_reports_no_usage_is_counted_by_its_bytes() -> None:
    spending = Spending(budget=Budget(tokens=100), started=0.0)
    spending.spend(Usage(), prompt_bytes=240)
    assert spending.next_step(0.0) is not None


def test_time_runs_from_the_start_of_the_turn() -> None:
    spending = Spending(budget=Budget(seconds=60), started=1000.0)
    assert spending.next_call(1059.0) is None
    assert spending.left(1059.0) == 1.0
    exceeded = spending.next_call(1060.0)
    assert exceeded is not None
    assert exceeded.code == TerminalCode.BUDGET_TIME


def test_usages_add_up_and_what_nobody_knows_stays_unknown() -> None:
    one, two = Usage(prompt_tokens=1), Usage(prompt_tokens=2, completion_tokens=3)
    assert total(one, two) == Usage(prompt_tokens=3, completion_tokens=3)


def test_waiting_for_a_person_costs_no_time() -> None:
    spending = Spending(budget=Budget(seconds=60), started=0.0)
    spending.waited(3600.0)
    assert spending.left(3610.0) == 50.0
