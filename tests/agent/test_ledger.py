"""The ledger is derived from the log alone."""

from pathlib import Path

from agent.acting import Acting, answer

from jupyter_pernix.agent.ledger import Cell, Command, Facts, Ledger, Refusal
from jupyter_pernix.agent.testing import Executes, FakeExecutor, Says, Works, call
from jupyter_pernix.events import ExecutionStarted, MessageCompleted, ToolCallRequested, TurnStarted
from jupyter_pernix.ids import TurnId
from jupyter_pernix.records import ApprovalAnswer, ExecutionResult


async def test_files_commands_cells_and_refusals_are_in_the_ledger(tmp_path: Path) -> None:
    failing = ExecutionResult(status="error", execution_count=4, ename="KeyError", evalue="'x'")
    acting = Acting(root=tmp_path, executor=FakeExecutor([Executes(result=failing)]))
    (acting.space / "read.txt").write_text("known\n")
    await acting.say(
        [
            Says(
                calls=(
                    call("read_file", path="read.txt"),
                    call("write_file", path="new.txt", content="new\n"),
                    call("run_shell", command="exit 3"),
                    call("run_shell", command="sleep 100", timeout_seconds=0.05),
                    call("run_code", code="d['x']"),
                    call("write_file", path="pernix-runs/out", content=""),
                )
            ),
            answer(),
        ]
    )
    ledger = Ledger.of(acting.host.log)

    calls = [event.call_id for event in acting.of(ToolCallRequested)]
    assert set(ledger.seen) == {"read.txt", "new.txt"}
    assert [change.path for change in ledger.changes] == ["new.txt"]
    assert list(ledger.commands.values()) == [
        Command(call_id=calls[2], command="exit 3", exit_code=3),
        Command(call_id=calls[3], command="sleep 100", exit_code=None),
    ]
    execution_id = acting.of(ExecutionStarted)[0].execution_id
    assert list(ledger.cells.values()) == [
        Cell(execution_id=execution_id, code="d['x']", status="error", execution_count=4)
    ]
    assert ledger.refusals == [Refusal(call_id=calls[5], rule="protected:pernix-runs")]
    assert ledger.last_count == 4


async def test_what_the_user_allowed_and_declined_is_in_the_ledger(tmp_path: Path) -> None:
    answers = [ApprovalAnswer(choice="allow_session"), ApprovalAnswer(choice="reject_once")]
    acting = Acting(root=tmp_path, mode="edit", answers=answers)
    await acting.say([Says(calls=(call("run_code", code="1"), call("run_shell", command="touch z"))), answer()])
    ledger = Ledger.of(acting.host.log)

    assert ledger.granted == {"tool:run_code"}
    assert ledger.refusals == [Refusal(call_id=acting.of(ToolCallRequested)[1].call_id, rule="user")]


async def test_facts_are_kept_turn_by_turn_in_their_order(acting: Acting) -> None:
    await acting.say(
        [Says(calls=(call("write_file", path="a", content="1\n2\n"), call("run_shell", command="true"))), answer()]
    )
    await acting.say(
        [
            Says(calls=(call("run_shell", command="exit 2"), call("write_file", path="a", content="1\n"))),
            Says(calls=(call("write_file", path="a", content="1\n"),)),
            answer(),
        ]
    )
    ledger = Ledger.of(acting.host.log)
    first, second = (ledger.turn(event.turn_id) for event in acting.of(TurnStarted))

    assert ([one.change.path for one in first.changes], first.changed_lines, first.calls) == (["a"], 2, 2)
    assert ([one.change.path for one in second.changes], second.changed_lines, second.calls) == (["a"], 1, 3)
    assert ledger.changed_lines == 3
    (command,) = second.commands.values()
    assert (command.exit_code, command.ended, command.seq < second.changes[0].seq) == (2, True, True)
    assert ledger.last_change == {"a": second.changes[0].seq}
    assert ledger.turn(TurnId("unknown")) == Facts()


async def test_a_live_turn_knows_what_was_declined(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="edit", answers=[ApprovalAnswer(choice="reject_once")])
    await acting.say(
        [Says(calls=(call("run_shell", command="rm -r build"),)), answer("All clean.")], text="Delete build/"
    )
    (said,) = acting.of(MessageCompleted)
    assert said.corrections == ["Nothing was changed in this turn: you declined “Run: rm -r build”."]


async def test_a_turn_that_delegated_is_not_held_to_what_its_worker_did(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, workers=[Works(answer="I fixed a.py.")])
    await acting.say(
        [Says(calls=(call("delegate", title="fix", task="Fix a.py"),)), answer("I fixed a.py, and all tests pass.")],
        text="Fix a.py",
    )
    assert Ledger.of(acting.host.log).turn(acting.of(TurnStarted)[0].turn_id).elsewhere == 1
    assert acting.of(MessageCompleted)[-1].corrections == []
