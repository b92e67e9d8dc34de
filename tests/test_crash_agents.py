"""A job of many calls whose program is killed and started again: every call has its effect once. More: ``benchmarks/crash_agents.py``."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.adding import Job, Work, answer_of, written
from support.crashing_jobs import PROGRAM, crash_job, run_once
from support.model_server import ModelServer

from jupyter_pernix.records import ApprovalAnswer, CallView, TurnView

pytestmark = pytest.mark.timeout(300)

CALLS = 6


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program=f"{PROGRAM}:decide?n={CALLS}") as server:
        yield server


def job_in(folder: Path, model: ModelServer, **fields: object) -> Job:
    job = Job(url=model.url, key=f"conv-{folder.name}", calls=CALLS, folder=folder, ledger=folder / "ledger")
    return replace(job, **fields)  # type: ignore[arg-type]


def test_a_job_that_is_killed_twice_runs_every_call_once(model: ModelServer, tmp_path: Path) -> None:
    found = crash_job(tmp_path, model.url, calls=CALLS, kills=2, blind=False, chance=random.Random(7))
    assert (found.runs, found.doubled, found.lost, found.answer) == (CALLS, 0, 0, f"done {CALLS}")


async def go_on(job: Job, *, choice: str = "") -> TurnView:
    """The last turn after a start; a question is given this answer, if any."""
    work = Work(job)
    async with work.sessions() as sessions:
        turn = await work.go(sessions)
        for approval in await sessions.approvals() if choice else []:
            await sessions.answer(approval.approval_id, ApprovalAnswer(choice=choice), by="test")  # type: ignore[arg-type]
            turn = await work.go(sessions)
        return turn


def calls_of(turn: TurnView) -> list[CallView]:
    return [item for item in turn.items if isinstance(item, CallView)]


async def test_a_call_whose_effect_can_be_looked_up_is_completed_after_a_crash(
    model: ModelServer, tmp_path: Path
) -> None:
    job = job_in(tmp_path, model)
    assert run_once(replace(job, die_at=2))[0] == -9
    assert written(job.ledger) == [0, 1, 2]
    work = Work(replace(job, resume=True))
    async with work.sessions() as sessions:
        (turn,) = (await sessions.view(await work.session(sessions))).turns
        assert [(call.arguments["a"], call.status, call.result) for call in calls_of(turn)][-1] == (
            2,
            "completed",
            "sum=3",
        )
        assert answer_of(await work.go(sessions)) == f"done {CALLS}"
    assert written(job.ledger) == list(range(CALLS))


async def test_a_call_that_cannot_be_looked_up_is_unknown_and_not_run_again_when_nobody_can_be_asked(
    model: ModelServer, tmp_path: Path
) -> None:
    job = job_in(tmp_path, model, blind=True, can_ask=False)
    assert run_once(replace(job, die_at=2))[0] == -9
    work = Work(replace(job, resume=True))
    async with work.sessions() as sessions:
        (turn,) = (await sessions.view(await work.session(sessions))).turns
        assert calls_of(turn)[-1].status == "unknown"
        after = await work.go(sessions)
    (refused,) = calls_of(after)
    assert (refused.status, refused.arguments["a"]) == ("failed", 2)
    assert refused.result.startswith("Not done: this may already have been done")
    assert answer_of(after).startswith("I could not.")
    assert written(job.ledger) == [0, 1, 2]


@pytest.mark.parametrize(
    ("choice", "ledger"),
    [("allow_once", [0, 1, 2, 2, 3, 4, 5]), ("reject_once", [0, 1, 2])],
)
async def test_a_call_that_cannot_be_looked_up_is_asked_about_though_the_mode_allows_it(
    model: ModelServer, tmp_path: Path, choice: str, ledger: list[int]
) -> None:
    job = job_in(tmp_path, model, blind=True)
    assert run_once(replace(job, die_at=2))[0] == -9
    asked = await go_on(replace(job, resume=True))
    assert answer_of(asked).startswith("asks: The program ended while this ran before")
    assert written(job.ledger) == [0, 1, 2], "nothing is done before the answer"
    await go_on(replace(job, resume=True), choice=choice)
    assert written(job.ledger) == ledger
