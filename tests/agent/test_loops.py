"""Models that go round in circles, and what ends them."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from agent.acting import Acting, answer

from jupyter_pernix.agent.context import PROMISE
from jupyter_pernix.agent.testing import Executes, FakeExecutor, Says, call, printed
from jupyter_pernix.events import ApprovalRequested, FileChanged, MessageCompleted, PolicyDecided, ToolCallStarted
from jupyter_pernix.records import JSON, ApprovalAnswer, TerminalCode


async def test_the_same_call_again_and_again_is_run_twice_then_said_then_ended(acting: Acting) -> None:
    (acting.space / "a").write_text("a\n")
    finished = await acting.say([Says(calls=(call("read_file", path="a"),))] * 6)

    assert finished.code == TerminalCode.STUCK
    assert len(acting.of(ToolCallStarted)) == 2
    assert len(acting.model.requests) == 5
    assert acting.results[2].startswith("Not done: this is the same call 3 times in a row")


async def test_order_of_arguments_and_descriptions_make_no_other_call(acting: Acting) -> None:
    (acting.space / "a").write_text("a\n")
    arguments: list[JSON] = [
        {"path": "a", "start_line": 1},
        {"start_line": 1, "path": "a", "why": "once more"},
        {"why": "because", "path": "a", "start_line": 1},
        {"path": "a"},
        {"path": "a", "end_line": None},
    ]
    finished = await acting.say([Says(calls=(call("read_file", **given),)) for given in arguments])

    assert finished.code == TerminalCode.STUCK
    assert len(acting.of(ToolCallStarted)) == 2


async def test_an_output_that_changes_does_not_hide_a_repeat(tmp_path: Path) -> None:
    executor = FakeExecutor([Executes(ops=(printed(f"{number}\n"),)) for number in range(9)])
    acting = Acting(root=tmp_path, executor=executor)
    finished = await acting.say([Says(calls=(call("run_code", code="now()"),))] * 9)

    assert finished.code == TerminalCode.STUCK
    assert len(executor.codes) == 2


async def test_the_same_call_with_another_between_is_no_repeat(acting: Acting) -> None:
    def edit(number: int) -> Says:
        return Says(calls=(call("write_file", path="a", content=f"{number}\n"),))

    test = Says(calls=(call("run_shell", command="true"),))
    finished = await acting.say([step for number in range(4) for step in (test, edit(number))] + [answer()])

    assert finished.code == TerminalCode.ANSWERED
    assert acting.statuses == ["completed"] * 8


async def test_the_same_unreadable_call_is_a_repeat_too(acting: Acting) -> None:
    finished = await acting.say([Says(calls=(call("no_such_tool", x=1),))] * 6)

    assert finished.code == TerminalCode.STUCK
    assert len(acting.model.requests) == 5


async def test_failures_without_end_end_the_turn(acting: Acting) -> None:
    numbers = itertools.count()

    def fails(_: Sequence[JSON]) -> Says:
        return Says(calls=(call("read_file", path=f"none-{next(numbers)}"),))

    finished = await acting.say([fails] * 20)

    assert finished.code == TerminalCode.STUCK
    assert finished.detail.startswith("12 tool calls in a row failed.")


async def test_a_declined_call_is_not_asked_about_again(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="edit", answers=[ApprovalAnswer(choice="reject_once", text="use the test")])
    rm = Says(calls=(call("run_shell", command="rm -r build"),))
    finished = await acting.say([rm, Says(calls=(call("list_files"),)), rm, answer()])

    assert finished.code == TerminalCode.ANSWERED
    assert len(acting.of(ApprovalRequested)) == 1
    assert acting.results[0] == "Not done: the user declined this. The user says: use the test"
    assert acting.results[2].startswith("Not done: the user has already declined exactly this call.")
    assert len([event for event in acting.of(PolicyDecided) if event.action == "shell"]) == 1


async def test_a_file_that_is_reformatted_after_each_read_is_edited_by_the_text_in_the_refusal(acting: Acting) -> None:
    file = acting.space / "a.py"
    file.write_text("x=1\n")
    edit = call("edit_file", path="a.py", old_text="x = 1", new_text="x = 2")

    def formats_first(_: Sequence[JSON]) -> Says:
        file.write_text("x = 1\n")
        return Says(calls=(edit,))

    await acting.say([Says(calls=(call("read_file", path="a.py"),)), formats_first, Says(calls=(edit,)), answer()])

    assert acting.statuses == ["completed", "failed", "completed"]
    assert acting.results[1] == (
        "Not done: 'a.py' has changed since it was read. Its content now, so that you can make the change:\n1\tx = 1"
    )
    assert file.read_text() == "x = 2\n"
    assert len(acting.of(FileChanged)) == 1


async def test_text_that_repeats_without_end_is_cut_off(acting: Acting) -> None:
    finished = await acting.say([Says(text="The answer is: " + "abc" * 5000, chunk=3)])

    assert finished.code == TerminalCode.STUCK
    assert "repeated the same text without end" in finished.detail
    streamed = sum(len(delta.text) for delta in acting.host.deltas)
    assert streamed < 4100
    assert acting.of(MessageCompleted)[0].text.startswith("The answer is: abcabc")
    assert len(acting.of(MessageCompleted)[0].text) < 1500


async def test_long_uniform_content_of_a_file_is_no_repetition(acting: Acting) -> None:
    finished = await acting.say(
        [Says(calls=(call("write_file", path="zeros.csv", content="0,0\n" * 2000),), chunk=50), answer()]
    )

    assert finished.code == TerminalCode.ANSWERED


async def test_an_announced_action_is_asked_for_in_the_same_turn(acting: Acting) -> None:
    finished = await acting.say(
        [Says(text="Let me list the files."), Says(calls=(call("list_files"),)), answer("There are none.")]
    )

    assert finished.code == TerminalCode.ANSWERED
    assert acting.statuses == ["completed"]
    assert [message["content"] for message in acting.model.requests[1][-2:]] == ["Let me list the files.", PROMISE]


async def test_an_announcement_is_asked_about_once(acting: Acting) -> None:
    finished = await acting.say([Says(text="Let me list the files."), Says(text="I will list them now.")])

    assert finished.code == TerminalCode.ANSWERED
    assert len(acting.model.requests) == 2


async def test_a_plan_may_end_with_what_will_be_done(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="plan")
    finished = await acting.say([Says(text="Then I will fix the importer.")])

    assert finished.code == TerminalCode.ANSWERED
    assert len(acting.model.requests) == 1
