from pathlib import Path

import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.agent.testing import Executes, FakeExecutor, MemoryHost, Says, call, printed, shown
from jupyter_pernix.errors import KernelDied, KernelMissing
from jupyter_pernix.events import (
    ExecutionFinished,
    ExecutionOutput,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    ToolCallFinished,
    encode_event,
)
from jupyter_pernix.records import ExecutionResult, OutputOp, Picture

PNG = "iVBORw0KGgo="


async def ran(root: Path, *plays: Executes, codes: tuple[str, ...] = ("work()",)) -> Acting:
    acting = Acting(root=root, executor=FakeExecutor(plays))
    await acting.say([*(Says(calls=(call("run_code", code=code),)) for code in codes), answer()])
    return acting


def error(name: str, value: str, traceback: list[str]) -> OutputOp:
    return OutputOp(
        op="append", output={"output_type": "error", "ename": name, "evalue": value, "traceback": traceback}
    )


async def test_the_events_stand_around_the_effect(tmp_path: Path) -> None:
    ops = (printed("a\n"), OutputOp(op="extend", index=0, text="b\n"))
    acting = await ran(tmp_path, Executes(ops=ops))

    types = acting.types_after("tool_call.requested")
    assert types[:7] == [
        "policy.decided",
        "tool_call.started",
        "execution.started",
        "execution.output",
        "execution.output",
        "execution.finished",
        "tool_call.finished",
    ]
    started, finished = acting.of(ExecutionStarted)[0], acting.of(ExecutionFinished)[0]
    assert (started.place, started.kernel_name, started.code) == ("own", "python3", "work()")
    assert (finished.status, finished.execution_count) == ("ok", 1)
    assert {event.execution_id for event in [*acting.of(ExecutionOutput), finished]} == {started.execution_id}
    assert acting.results == ["ok [1]\na\nb"]


async def test_results_are_told_as_text_and_pictures_are_named(tmp_path: Path) -> None:
    table = {"text/html": "<table>…</table>", "text/plain": "   a\n0  1"}
    ops = (
        shown(table),
        shown({"image/png": PNG, "text/plain": "<Figure size 640x480>"}),
        shown({"text/html": "<b>"}),
    )
    acting = await ran(tmp_path, Executes(ops=ops))

    assert acting.results == [
        "ok [1]\n   a\n0  1\n<Figure size 640x480>\n[image/png, shown to the user]\n[text/html, shown to the user]"
    ]
    assert acting.of(ToolCallFinished)[0].pictures == [Picture(mime="image/png", data=PNG)]


async def test_a_picture_that_no_model_takes_is_told_of(tmp_path: Path) -> None:
    acting = await ran(tmp_path, Executes(ops=(shown({"image/svg+xml": "<svg/>"}),)))

    assert acting.results == [
        "ok [1]\n[image/svg+xml, shown to the user]\n"
        "(1 of 1 pictures are shown to the user alone: too many, too large, or of a form that models do not take.)"
    ]
    assert acting.of(ToolCallFinished)[0].pictures == []


async def test_an_error_is_told_with_its_traceback_without_colours(tmp_path: Path) -> None:
    trace = ["\x1b[31m-----\x1b[39m", "\x1b[31mKeyError\x1b[39m  Traceback (most recent call last)", "KeyError: 'x'"]
    failed = ExecutionResult(status="error", execution_count=2, ename="KeyError", evalue="'x'")
    acting = await ran(tmp_path, Executes(ops=(printed("before\n"), error("KeyError", "'x'", trace)), result=failed))

    assert acting.statuses == ["failed"]
    assert acting.results == [
        "error [2]: KeyError: 'x'\nbefore\n-----\nKeyError  Traceback (most recent call last)\nKeyError: 'x'"
    ]


async def test_a_long_traceback_keeps_its_start_and_its_end(tmp_path: Path) -> None:
    trace = [f"frame {number} {'x' * 50}" for number in range(500)]
    failed = ExecutionResult(status="error", ename="RecursionError", evalue="too deep")
    acting = await ran(tmp_path, Executes(ops=(error("RecursionError", "too deep", trace),), result=failed))

    result = acting.results[0]
    assert len(result) < 4500
    assert "frame 0 " in result
    assert "frame 499 " in result


async def test_an_error_without_a_traceback_is_still_a_failure(tmp_path: Path) -> None:
    failed = ExecutionResult(status="error", ename="ValueError", evalue="bad")
    acting = await ran(tmp_path, Executes(ops=(error("ValueError", "bad", []),), result=failed))

    assert acting.results == ["error: ValueError: bad\nValueError: bad"]


async def test_a_file_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    missing = Executes(result=ExecutionResult(status="error", ename="FileNotFoundError", evalue="people.csv"))
    acting = await ran(tmp_path, missing)
    assert acting.results == ["error: FileNotFoundError: people.csv\nThe space's folder is empty."]

    (acting.space / "data.csv").write_text("a\n")
    (acting.space / "more").mkdir()
    (acting.space / ".hidden").write_text("")
    again = await ran(tmp_path, missing)
    assert again.results == ["error: FileNotFoundError: people.csv\nIn the space's folder are: data.csv, more/"]


async def test_a_flood_of_output_is_cut_for_the_model_and_kept_for_the_user(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(200_000))
    acting = await ran(tmp_path, Executes(ops=(printed(text),)))

    finished = acting.of(ToolCallFinished)[0]
    assert len(finished.result) < 17_000
    assert "characters cut here" in finished.result
    assert finished.result.endswith("line 199999")
    assert finished.side_file == f"side/{finished.call_id}.txt"
    assert (tmp_path / finished.side_file).read_text() == text


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            ExecutionResult(status="timeout", detail="after 5 s"),
            "timeout: the code ran too long and was interrupted (after 5 s)",
        ),
        (
            ExecutionResult(status="dead", detail="exit code -9, likely out of memory"),
            "dead: the kernel died; its variables are gone, the next call starts a new one (exit code -9, likely out of memory)",
        ),
        (
            ExecutionResult(status="restarted"),
            "restarted: the kernel was restarted while the code ran; its variables are gone",
        ),
        (ExecutionResult(status="aborted"), "aborted: the code did not run to its end"),
    ],
)
async def test_each_other_end_is_said_plainly(tmp_path: Path, result: ExecutionResult, said: str) -> None:
    acting = await ran(tmp_path, Executes(result=result))

    assert acting.results == [said]
    assert acting.statuses == ["failed"]
    assert acting.of(ExecutionFinished)[0].status == result.status


async def test_a_kernel_that_dies_under_the_code_is_a_result(tmp_path: Path) -> None:
    acting = await ran(tmp_path, Executes(ops=(printed("half\n"),), error=KernelDied("python3", "exit code -11")))

    assert acting.of(ExecutionFinished)[0].status == "dead"
    assert acting.results[0].startswith("dead: the kernel died; its variables are gone")
    assert acting.results[0].endswith("\nhalf")


async def test_a_restart_between_two_cells_is_said_in_the_next_result(tmp_path: Path) -> None:
    counts = [ExecutionResult(status="ok", execution_count=count) for count in (7, 1, 2)]
    acting = await ran(tmp_path, *(Executes(result=result) for result in counts), codes=("a", "b", "c"))

    said = "The kernel was restarted since your last cell: earlier variables and imports are gone."
    assert [said in result for result in acting.results] == [False, True, False]


class WithoutKernel(MemoryHost):
    async def executor(self) -> FakeExecutor:
        raise KernelMissing("julia", ["python3"])


async def test_a_kernel_that_cannot_be_had_is_a_result_and_nothing_was_executed(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path)
    acting.host = WithoutKernel(space=acting.space, side=tmp_path / "side")
    await acting.say([Says(calls=(call("run_code", code="1"),)), answer()])

    assert acting.results == ["Not run: there is no kernelspec 'julia'; installed: python3."]
    assert acting.of(ExecutionStarted) == []


async def test_empty_code_is_not_sent(acting: Acting) -> None:
    await acting.say([Says(calls=(call("run_code", code=" \n"),)), answer()])

    assert acting.results == ["Not done: the code is empty."]
    assert acting.executor.codes == []


async def test_in_a_cell_the_start_is_stored_before_the_executor_is_asked(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, executor=FakeExecutor(place="in_cell"))
    await acting.say([Says(calls=(call("run_code", code="x = 1"),)), answer()])

    assert acting.of(ExecutionStarted)[0].place == "in_cell"


async def test_output_that_is_no_unicode_is_stored_all_the_same(tmp_path: Path) -> None:
    acting = await ran(tmp_path, Executes(ops=(printed("a\ud800b\n"), OutputOp(op="extend", index=0, text="\udfff"))))

    assert acting.results == ["ok [1]\na?b\n?"]
    assert all(encode_event(event) for event in acting.host.events)


async def test_code_asks_a_person_for_lines(tmp_path: Path) -> None:
    executor = FakeExecutor([Executes(asks=("name? ", "age? "))])
    acting = Acting(root=tmp_path, executor=executor, can_ask=True)
    acting.host.lines = ["Ada", "36"]
    await acting.say([Says(calls=(call("run_code", code="input()"),)), answer()])

    assert executor.typed == ["Ada", "36"]
    asked = [(event.prompt, event.password) for event in acting.of(InputRequested)]
    assert asked == [("name? ", False), ("age? ", False)]
    assert [(event.text, event.by) for event in acting.of(InputAnswered)] == [("Ada", "script"), ("36", "script")]
    assert illegalities(acting.host.log) == []


async def test_code_asks_nobody_where_nobody_is(tmp_path: Path) -> None:
    executor = FakeExecutor([Executes(asks=("name? ",))])
    acting = Acting(root=tmp_path, executor=executor, can_ask=False)
    await acting.say([Says(calls=(call("run_code", code="input()"),)), answer()])
    assert (executor.typed, acting.of(InputRequested)) == ([None], [])
