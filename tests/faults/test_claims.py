"""Replies that say what did not happen."""

from collections.abc import Callable

from faults.registry import fault
from faults.stage import Stage, calls, does, says

from jupyter_pernix.agent.testing import Executes, FakeExecutor
from jupyter_pernix.errors import KernelError
from jupyter_pernix.records import ApprovalAnswer, TerminalCode

PASSES = "python -m unittest -q test_a.py"


def _tests(stage: Stage, *, good: bool) -> None:
    body = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(open('a.txt').read(), 'two\\n')\n"
    (stage.space / "test_a.py").write_text(body)
    (stage.space / "a.txt").write_text("one\n" if not good else "two\n")


@fault("claims-tests")
async def test_tests_that_nobody_ran_are_said_to_be_unchecked(stage: Stage) -> None:
    _tests(stage, good=False)
    stage.play(
        does("read_file", path="a.txt"),
        does("edit_file", path="a.txt", old_text="one", new_text="two"),
        says("Fixed. All tests pass."),
    )
    await stage.say("Fix a.txt")
    assert stage.reply.corrections == ["Unchecked: no tests were run in this session."]


@fault("claims-tests")
async def test_tests_that_failed_are_said_to_have_failed(stage: Stage) -> None:
    _tests(stage, good=False)
    stage.play(does("run_shell", command=PASSES), says("All tests pass."))
    await stage.say("Do the tests pass?")
    assert stage.reply.corrections == [f"The last test run failed: `{PASSES}` ended with exit code 1."]


@fault("claims-tests")
async def test_tests_that_ran_before_the_last_change_are_said_to_be_old(stage: Stage) -> None:
    _tests(stage, good=True)
    stage.play(
        does("run_shell", command=PASSES),
        does("read_file", path="test_a.py"),
        does("edit_file", path="test_a.py", old_text="two", new_text="three"),
        says("Changed, and the tests pass."),
    )
    await stage.say("Expect three in test_a.py")
    assert stage.reply.corrections == [f"Unchecked: test_a.py changed after the last test run (`{PASSES}`)."]


@fault("claims-tests")
async def test_tests_that_passed_after_the_last_change_need_no_word(stage: Stage) -> None:
    _tests(stage, good=True)
    stage.play(does("run_shell", command=PASSES), says("All tests pass."))
    await stage.say("Do the tests pass?")
    assert stage.reply.corrections == []


@fault("claims-tests")
async def test_a_change_that_was_not_made_is_said_first_and_goes_along(stage: Stage) -> None:
    (stage.space / "a.py").write_text("x = 1\n")
    stage.play(does("read_file", path="a.py"), says("I changed a.py: x is 2 now."), says("It says x = 1."))
    await stage.say("Set x to 2 in a.py")
    corrections = stage.reply.corrections
    await stage.say("What does it say?")

    assert corrections == ["Nothing was changed in this turn."]
    assert "Nothing was changed in this turn." in str(stage.requests[-1][-1]["content"])


@fault("claims-tests")
async def test_an_edit_that_was_declined_is_named(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of(mode="edit", answers=[ApprovalAnswer(choice="reject_once")])
    stage.play(does("run_shell", command="rm -r build"), says("The folder is cleaned up."))
    await stage.say("Delete the folder build")
    assert stage.reply.corrections == ["Nothing was changed in this turn: you declined “Run: rm -r build”."]


@fault("ends-on-promise")
async def test_an_announced_change_is_made_in_the_same_turn(stage: Stage) -> None:
    stage.play(
        says("I found it. Let me make the change in a.py now."),
        does("write_file", path="a.py", content="x = 2\n"),
        says("Done: x is 2."),
    )
    finished = await stage.say("Set x to 2 in a.py")

    assert (finished.code, (stage.space / "a.py").read_text()) == (TerminalCode.ANSWERED, "x = 2\n")
    assert "did nothing" in str(stage.requests[1][-1]["content"])


@fault("ends-on-promise")
async def test_a_model_that_only_announces_is_asked_once_and_then_corrected(stage: Stage) -> None:
    stage.play(says("Let me make the change now."), says("I will make the change now."))
    await stage.say("Set x to 2 in a.py")
    assert len(stage.requests) == 2
    assert stage.reply.corrections == ["Nothing was changed in this turn."]


@fault("claims-deploy")
async def test_a_result_of_a_dead_kernel_is_said_to_be_none(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of(executor=FakeExecutor([Executes(error=KernelError("the kernel died"))]))
    stage.play(does("run_code", code="train()"), says("The notebook ran and the accuracy is 0.97."))
    await stage.say("Run the notebook")
    assert stage.reply.corrections == [
        "The last code that was run did not end well: `train()` did not run to its end: the kernel died."
    ]


@fault("claims-deploy")
async def test_a_run_that_never_was_is_said_to_be_none(stage: Stage) -> None:
    stage.play(says("I ran the notebook; the accuracy is 0.97."))
    await stage.say("Run the notebook")
    assert stage.reply.corrections == ["No code was run in this turn."]


@fault("claims-deploy")
async def test_an_answer_by_finish_is_held_to_the_same_facts(stage: Stage) -> None:
    stage.play(does("finish", answer="I ran all cells of a.ipynb without errors."))
    await stage.say("Run the notebook")
    assert stage.reply.corrections == ["No code was run in this turn."]


@fault("claims-tests", "claims-deploy")
async def test_an_answer_in_the_same_reply_as_the_run_knows_its_exit_code(stage: Stage) -> None:
    _tests(stage, good=True)
    stage.play(calls(("run_shell", {"command": PASSES}), ("finish", {"answer": "All tests pass."})))
    await stage.say("Do the tests pass?")
    assert (stage.reply.text, stage.reply.corrections) == ("All tests pass.", [])
