from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent.budget import Spending, tallies, total
from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.agent.run_settings import RunSettings
from jupyter_pernix.agent.testing import Says, ScriptedModel, call
from jupyter_pernix.config import Price
from jupyter_pernix.errors import RateLimited
from jupyter_pernix.events import (
    Event,
    FileChanged,
    MessageCompleted,
    ProblemNoticed,
    SessionStateChanged,
    Stored,
    TurnFinished,
)
from jupyter_pernix.ids import SessionId, TurnId
from jupyter_pernix.records import Budget, FileChange, SessionState, Spent, TerminalCode, Usage

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


LINE = FileChange(path="a", before="", after="", added_lines=1, removed_lines=0)


@pytest.mark.parametrize(
    ("limit", "used", "option"),
    [
        (Budget(rounds=1), "used its 1 step.", "rounds"),
        (Budget(rounds=None, tokens=1), "of its 1 token and", "tokens"),
        (Budget(rounds=None, seconds=1), "used its 1 second.", "seconds"),
        (Budget(rounds=None, changed_lines=1), "of its 1 line and", "lines"),
    ],
)
def test_a_limit_of_one_is_told_in_the_singular_with_where_to_raise_it(limit: Budget, used: str, option: str) -> None:
    spending = Spending(budget=limit, started=0.0)
    spending.spend(Usage(prompt_tokens=2), prompt_bytes=0)
    spending.changed(LINE)
    exceeded = spending.next_change(1) or spending.next_step(2.0)
    assert exceeded is not None
    assert used in exceeded.detail
    assert exceeded.detail.endswith(f"in the settings, or --max-{option}).")


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


def test_a_step_that_is_expected_to_cost_more_than_is_left_is_not_made() -> None:
    spending = Spending(budget=Budget(cost=1.0), started=0.0)
    spending.spend(Usage(), prompt_bytes=0, cost=0.3)
    spending.spend(Usage(), prompt_bytes=0, cost=0.3)
    assert spending.next_step(0.0, cost=0.2) is None
    assert spending.next_step(0.0, cost=0.5) is not None
    spending.spend(Usage(), prompt_bytes=0, cost=0.3)
    exceeded = spending.next_step(0.0, cost=0.0)
    assert exceeded is not None
    assert exceeded.code == TerminalCode.BUDGET_COST
    assert exceeded.detail.endswith("raise the limit (budget.cost in the settings, or --max-cost).")


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        (Budget(rounds=3), TerminalCode.BUDGET_ROUNDS),
        (Budget(rounds=None, tokens=100), TerminalCode.BUDGET_TOKENS),
        (Budget(rounds=None, cost=0.5), TerminalCode.BUDGET_COST),
        (Budget(rounds=None, seconds=10), TerminalCode.BUDGET_TIME),
    ],
)
def test_what_earlier_turns_spent_counts_for_the_session(limit: Budget, code: TerminalCode) -> None:
    spending = Spending(budget=FREE, started=0.0, session=limit)
    spending.earlier.request(Usage(), tokens=90, cost=0.4, act=True)
    spending.earlier.rounds, spending.earlier.seconds = 2, 6.0
    assert spending.next_step(1.0, tokens=5, cost=0.05) is None
    spending.spend(Usage(prompt_tokens=8, completion_tokens=0), prompt_bytes=0, cost=0.2)
    exceeded = spending.next_step(5.0, tokens=5, cost=0.05)
    assert exceeded is not None
    assert exceeded.code == code
    assert exceeded.detail.startswith("The session ")
    assert "session_budget" in exceeded.detail


def test_lines_are_checked_before_the_change() -> None:
    spending = Spending(budget=Budget(changed_lines=10), started=0.0)
    spending.changed(FileChange(path="a", before=None, after="x", added_lines=6, removed_lines=2))
    assert spending.next_change(2) is None
    exceeded = spending.next_change(3)
    assert exceeded is not None
    assert exceeded.code == TerminalCode.BUDGET_LINES


def test_a_worker_gets_a_share_of_what_is_left_and_gives_back_what_it_did_not_use() -> None:
    spending = Spending(budget=Budget(rounds=10, tokens=1000, seconds=60, cost=1.0), started=0.0)
    spending.spend(Usage(prompt_tokens=100, completion_tokens=0), prompt_bytes=0, cost=0.1)
    first = spending.left_budget(10.0, parts=3)
    assert (first.rounds, first.tokens, first.seconds) == (3, 300, 50.0)
    assert first.cost == pytest.approx(0.3)
    receipt = spending.lend(first)
    assert spending.left_budget(10.0, parts=2).rounds == 3
    spending.settle(receipt, Spent(rounds=1, tokens=10, cost=0.01))
    assert spending.left_budget(10.0).rounds == 8
    assert spending.tally.tokens == 110


SES, TRN = SessionId("ses_1"), TurnId("trn_1")
T0 = datetime(2026, 1, 1, tzinfo=UTC)


def moved(seconds: float, after: SessionState, turn_id: TurnId | None = TRN) -> Stored:
    event: Event = SessionStateChanged(
        session_id=SES, turn_id=turn_id, before=SessionState.PROCESSING, after=after, reason=""
    )
    return Stored(seq=1, recorded_at=T0 + timedelta(seconds=seconds), event=event)


def test_only_the_time_in_which_the_session_worked_is_its_time() -> None:
    log = [
        moved(0, SessionState.PROCESSING),
        moved(5, SessionState.AWAITING_USER),
        moved(1005, SessionState.PROCESSING),
        moved(1007, SessionState.PAUSED),
        moved(9999, SessionState.PROCESSING),
        moved(10_002, SessionState.IDLE_READY),
    ]
    assert tallies(log)[TRN].seconds == 10.0


# ---- in a turn ----------------------------------------------------------------------------------------------------------------

PRICE = Price(prompt=10.0, completion=10.0)
STEP = Usage(prompt_tokens=40_000, completion_tokens=10_000)


def steps(*names: str) -> list[Says]:
    return [Says(calls=(call("list_files", path=name),), usage=STEP) for name in names]


async def test_money_is_checked_before_a_request_is_made(acting: Acting) -> None:
    model = ScriptedModel(steps("a", "b", "c", "d"), price=PRICE)
    finished = await acting.say(model, budget=Budget(cost=1.2))

    assert finished.code == TerminalCode.BUDGET_COST
    assert len(model.requests) == 2
    assert finished.cost == 1.0


async def test_a_limit_of_money_on_a_model_without_a_price_is_said_not_to_hold_once(acting: Acting) -> None:
    finished = await acting.say([*steps("a", "b"), answer()], budget=Budget(cost=0.01))

    assert finished.code == TerminalCode.ANSWERED
    said = [event.text for event in acting.of(ProblemNoticed)]
    assert said == ["What scripted-1 at script costs is not known, so the limit of cost does not hold for it."]


async def test_the_session_has_a_budget_over_all_its_turns(acting: Acting) -> None:
    acting.settings = RunSettings(session_budget=Budget(rounds=3, seconds=None))
    await acting.say([*steps("a"), answer()])
    finished = await acting.say([*steps("a", "b"), answer()])

    assert finished.code == TerminalCode.BUDGET_ROUNDS
    assert finished.detail.startswith("The session used its 3 steps, all its turns together.")
    assert len(acting.model.requests) == 1


async def test_a_change_that_would_go_beyond_the_lines_is_not_made(acting: Acting) -> None:
    (acting.space / "a").write_text("one\ntwo\n")
    script = [
        Says(calls=(call("read_file", path="a"),)),
        Says(calls=(call("edit_file", path="a", old_text="one", new_text="1"),)),
        Says(calls=(call("write_file", path="b", content="x\n" * 9),)),
    ]
    finished = await acting.say([*script, answer()], budget=Budget(changed_lines=10))

    assert finished.code == TerminalCode.BUDGET_LINES
    assert "changed 2 of its 10 lines" in finished.detail
    assert not (acting.space / "b").exists()
    assert acting.statuses == ["completed", "completed", "cancelled"]


async def test_lines_of_earlier_turns_count_for_the_session(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path)
    acting.settings = RunSettings(session_budget=Budget(rounds=None, seconds=None, changed_lines=5))
    await acting.say([Says(calls=(call("write_file", path="a", content="x\n" * 4),)), answer()])
    finished = await acting.say([Says(calls=(call("write_file", path="b", content="x\n" * 2),)), answer()])

    assert finished.code == TerminalCode.BUDGET_LINES
    assert len(acting.of(FileChanged)) == 1


async def test_a_wait_that_is_longer_than_the_time_left_is_not_begun(acting: Acting) -> None:
    limited = Says(error=RateLimited("slow down", retry_after=50.0))
    finished = await acting.say([limited, answer()], budget=Budget(seconds=30))

    assert finished.code == TerminalCode.BUDGET_TIME
    assert acting.clock.slept == []
    assert len(acting.model.requests) == 1


async def test_another_try_is_checked_against_the_budget_too(acting: Acting) -> None:
    def slow(_: object) -> Says:
        acting.clock.advance(29.5)
        return Says(error=RateLimited("slow down", retry_after=0.4))

    finished = await acting.say([slow, slow, slow, answer()], budget=Budget(seconds=31))

    assert finished.code == TerminalCode.BUDGET_TIME
    assert len(acting.model.requests) == 2


async def test_a_plan_is_not_made_with_tokens_that_are_not_there(acting: Acting) -> None:
    acting.background = ScriptedModel([Says(text="{}")])
    finished = await acting.say([answer()], text="Count the rows of all the files here", budget=Budget(tokens=50))

    assert finished.code == TerminalCode.BUDGET_TOKENS
    assert acting.background.requests == []
    assert isinstance(acting.host.events[-2], TurnFinished)


async def test_an_answer_that_does_not_end_is_cut_off_by_the_time(acting: Acting) -> None:
    with anyio.fail_after(20):
        finished = await acting.say(
            [Says(text="It begins well", waits=True)], budget=Budget(seconds=0.2, rounds=None, tokens=None)
        )
    assert finished.code == TerminalCode.BUDGET_TIME
    assert [message.text for message in acting.of(MessageCompleted)] == ["It begins well"]
    assert illegalities(acting.host.log) == []


async def test_a_plan_is_not_waited_for_beyond_the_time(tmp_path: Path) -> None:
    acting = Acting(
        root=tmp_path, background=ScriptedModel([Says(waits=True)]), settings=RunSettings(budget=Budget(seconds=0.2))
    )
    with anyio.fail_after(10):
        finished = await acting.say([answer()], text="Read the file a.csv, fix the import in it and add a test")
    assert finished.code == TerminalCode.ANSWERED
