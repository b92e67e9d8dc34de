"""Models that go round in circles, over a real wire."""

from collections.abc import Callable

import anyio
from faults.registry import fault
from faults.stage import Stage, does, says

from jupyter_pernix.agent.testing import Executes, FakeExecutor, printed
from jupyter_pernix.events import ApprovalRequested, FileChanged
from jupyter_pernix.records import ApprovalAnswer, TerminalCode


@fault("same-call-3x")
async def test_the_same_call_runs_twice_is_told_once_and_ends_stuck(stage: Stage) -> None:
    (stage.space / "a").write_text("a\n")
    stage.play(does("read_file", path="a"))
    finished = await stage.say("Read it")

    assert (finished.code, stage.ran) == (TerminalCode.STUCK, 2)
    assert len(stage.requests) <= 6
    assert sum("finish and say what is missing" in result for result in stage.results) == 1
    assert finished.detail.startswith("The model asked for the same call 5 times in a row: read_file(a).")


@fault("same-call-3x")
async def test_two_calls_in_turn_that_bring_nothing_new_end_stuck_too(stage: Stage) -> None:
    for name in "ab":
        (stage.space / name).write_text(name)
    stage.play(*[does("read_file", path="a"), does("read_file", path="b")] * 20)
    finished = await stage.say("Read them")
    assert (finished.code, stage.ran) == (TerminalCode.STUCK, 4)


@fault("same-call-other-order")
async def test_order_of_arguments_and_a_new_reason_do_not_hide_a_repeat(stage: Stage) -> None:
    (stage.space / "a").write_text("a\n")
    stage.play(
        does("read_file", path="a", start_line=1),
        does("read_file", start_line=1, path="a", why="once more"),
        does("read_file", explanation="to be sure", start_line="1", path="a"),
        does("read_file", path="a", description="again"),
        says("It says a."),
    )
    await stage.say("Read it")
    assert (stage.ran, [result.startswith("Not done") for result in stage.results]) == (2, [False, False, True, True])


@fault("same-call-varying-output")
async def test_an_output_that_counts_up_does_not_hide_a_repeat(stage: Stage) -> None:
    stage.play(does("run_shell", command="date +%s%N; echo x >> count; wc -l count"))
    finished = await stage.say("What is the time?")
    assert (finished.code, stage.ran) == (TerminalCode.STUCK, 2)
    assert (stage.space / "count").read_text() == "x\nx\n"


@fault("same-call-varying-output")
async def test_a_cell_that_counts_up_does_not_hide_a_repeat(stage_of: Callable[..., Stage]) -> None:
    executor = FakeExecutor([Executes(ops=(printed(f"{number}\n"),)) for number in range(9)])
    stage = stage_of(executor=executor)
    stage.play(does("run_code", code="next(counter)"))
    finished = await stage.say("Count")
    assert (finished.code, len(executor.codes)) == (TerminalCode.STUCK, 2)


@fault("declined-again")
async def test_what_was_declined_is_asked_once_in_any_spelling(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of(mode="edit", answers=[ApprovalAnswer(choice="reject_once")])
    stage.play(
        does("run_shell", command="rm -r build"),
        does("run_shell", command="rm  -r  build", why="really"),
        does("list_files"),
        does("run_shell", command="rm -r build;", timeout_seconds=9),
        says("You declined it."),
    )
    await stage.say("Remove the build folder")

    assert len(stage.of(ApprovalRequested)) == 1
    assert [result.startswith("Not done: the user has already declined") for result in stage.results] == [
        False,
        True,
        False,
        True,
    ]


@fault("stale-edit-storm")
async def test_an_edit_behind_a_formatter_gets_the_text_and_succeeds(stage: Stage) -> None:
    file = stage.space / "a.py"
    file.write_text("x=1\n")
    edit = does("edit_file", path="a.py", old_text="x = 1", new_text="x = 2")
    stage.play(
        does("read_file", path="a.py"), does("run_shell", command="echo 'x = 1' > a.py"), edit, edit, says("Done.")
    )
    await stage.say("Set x to 2")

    assert stage.results[2].endswith("Its content now, so that you can make the change:\n1\tx = 1")
    assert (file.read_text(), len(stage.of(FileChanged))) == ("x = 2\n", 1)


@fault("stale-edit-storm")
async def test_a_file_that_is_rewritten_all_the_time_ends_the_turn_after_three_refusals(stage: Stage) -> None:
    file = stage.space / "a.py"
    file.write_text("x = 0\n")
    stage.play(
        does("read_file", path="a.py"),
        *[does("edit_file", path="a.py", old_text="x = ", new_text=f"y{n} = ") for n in range(9)],
    )
    done = anyio.Event()

    async def formats() -> None:
        number = 0
        while not done.is_set():
            number += 1
            file.write_text(f"x = {number}\n")
            await anyio.sleep(0.001)

    async with anyio.create_task_group() as group:
        group.start_soon(formats)
        finished = await stage.say("Rename x")
        done.set()

    assert finished.code == TerminalCode.STUCK
    assert finished.detail.startswith("The file 'a.py' was changed 3 times between reading and editing it")
    assert stage.of(FileChanged) == []


@fault("double-action-text")
async def test_a_reply_that_repeats_one_block_is_cut(stage: Stage) -> None:
    stage.play({"text": "The answer is " + "abc" * 30_000, "chunk_chars": 3})
    finished = await stage.say("What is it?")

    assert (finished.code, len(stage.requests) <= 2) == (TerminalCode.STUCK, True)
    assert sum(len(getattr(delta, "text", "")) for delta in stage.host.deltas) < 10_000
    assert stage.reply.text.startswith("The answer is abcabc")


@fault("double-action-text")
async def test_a_sentence_that_repeats_without_end_is_cut_too(stage: Stage) -> None:
    stage.play({"text": "I will look at the file again.\n" * 3000, "chunk_chars": 7})
    finished = await stage.say("What is it?")
    assert finished.code == TerminalCode.STUCK
