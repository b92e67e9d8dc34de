"""Work that is handed to workers: side by side, within one budget, and with an end that is always told."""

from pathlib import Path

import anyio
from agent.acting import Acting, answer
from agent.test_cancelling import assert_legal, stop_when

from jupyter_pernix.agent.testing import Says, Works, call
from jupyter_pernix.events import SessionStateChanged, ToolCallFinished, WorkerReported
from jupyter_pernix.records import Budget, Spent, TerminalCode


def hands(*tasks: str) -> Says:
    return Says(calls=tuple(call("delegate", task=task, title=task[:8]) for task in tasks))


async def test_a_worker_gets_the_task_and_its_answer_is_the_result(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, workers=[Works(answer="Three rows.")])
    finished = await acting.say([hands("Count the rows of data.csv"), answer("It has three.")])

    assert finished.code == TerminalCode.ANSWERED
    assert [(one.title, one.task) for one in acting.host.delegated] == [("Count th", "Count the rows of data.csv")]
    assert acting.results == ["The worker's answer:\nThree rows."]
    moves = [event.reason for event in acting.of(SessionStateChanged)]
    assert moves == ["turn_started", "workers_started", "workers_done", "turn_ending", "turn_ended"]


async def test_workers_of_one_reply_work_side_by_side_and_are_answered_in_order(tmp_path: Path) -> None:
    last = anyio.Event()
    works = [Works(answer="one", until=last), Works(answer="two", until=last), Works(answer="three", until=last)]
    acting = Acting(root=tmp_path, workers=works)
    run = acting.run([hands("a", "b", "c"), answer()])
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run.carry)
            while len(acting.host.delegated) < 3:
                await anyio.lowlevel.checkpoint()
            last.set()

    assert [result.splitlines()[1] for result in acting.results] == ["one", "two", "three"]
    assert_legal(acting.host)


async def test_not_more_than_three_work_at_a_time(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path)
    run = acting.run([hands("a", "b", "c", "d", "e")])

    async def three() -> None:
        while len(acting.host.delegated) < 3:
            await anyio.lowlevel.checkpoint()
        for _ in range(50):
            await anyio.lowlevel.checkpoint()

    await stop_when(run, three)

    assert len(acting.host.delegated) == 3
    assert_legal(acting.host)
    assert [event.status for event in acting.of(ToolCallFinished)] == ["cancelled"] * 5
    assert [event.code for event in acting.of(WorkerReported)] == [TerminalCode.CANCELLED] * 3


async def test_other_calls_of_the_reply_wait_for_the_workers_before_them(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, workers=[Works(answer="one")])
    await acting.say([Says(calls=(*hands("a").calls, call("list_files"))), answer()])

    types = acting.host.types
    assert types.index("worker.reported") < types.index("tool_call.finished")
    assert len(acting.results) == 2


async def test_a_worker_that_fails_is_told_as_a_failure(tmp_path: Path) -> None:
    works = Works(code=TerminalCode.BUDGET_ROUNDS, answer="Its steps were used up.")
    acting = Acting(root=tmp_path, workers=[works])
    await acting.say([hands("a"), answer()])

    assert acting.results == ["The worker did not finish (budget_rounds). Its steps were used up."]
    assert acting.statuses == ["failed"]


async def test_workers_share_what_is_left_of_the_budget(tmp_path: Path) -> None:
    works = [Works(answer="x", spent=Spent(rounds=2, tokens=300, cost=0.0, changed_lines=4))] * 4
    acting = Acting(root=tmp_path, workers=works)
    budget = Budget(rounds=10, tokens=100_000, seconds=None, changed_lines=30)
    await acting.say([hands("a", "b", "c"), hands("d"), answer()], budget=budget)

    given = [one.budget for one in acting.host.delegated]
    assert [one.rounds for one in given[:3]] == [3, 3, 3]
    assert [one.changed_lines for one in given[:3]] == [10, 10, 10]
    assert all(one.tokens is not None and one.tokens < 33_334 for one in given[:3])
    assert given[3].rounds == 10 - 2 - 6
    assert given[3].changed_lines == 30 - 12


async def test_what_workers_spent_ends_the_turn_that_delegated(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, workers=[Works(answer="x", spent=Spent(rounds=4))])
    finished = await acting.say([hands("a"), answer()], budget=Budget(rounds=5))

    assert finished.code == TerminalCode.BUDGET_ROUNDS
    assert len(acting.model.requests) == 1


async def test_when_nothing_is_left_no_worker_is_started(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, workers=[Works(answer="x")])
    finished = await acting.say([hands("a"), answer()], budget=Budget(rounds=1))

    assert finished.code == TerminalCode.BUDGET_ROUNDS
    assert acting.host.delegated == []
    assert acting.results[0].startswith("Not done: the budget of this turn leaves nothing for a worker.")


async def test_stopping_a_turn_stops_its_workers(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path)
    run = acting.run([hands("a")])

    async def started() -> None:
        while not acting.host.delegated:
            await anyio.lowlevel.checkpoint()

    await stop_when(run, started)

    assert_legal(acting.host)
    assert [event.code for event in acting.of(WorkerReported)] == [TerminalCode.CANCELLED]


async def test_a_long_answer_is_cut_and_kept_whole(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, workers=[Works(answer="a line of it\n" * 5_000)])
    await acting.say([hands("a"), answer()])

    ended = acting.of(ToolCallFinished)[0]
    assert len(ended.result) < 20_000
    assert (acting.root / "side" / Path(ended.side_file).name).read_text() == "a line of it\n" * 5_000
