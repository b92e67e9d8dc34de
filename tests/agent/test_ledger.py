"""The ledger is derived from the log alone."""

from pathlib import Path

from agent.acting import Acting, answer

from jupyter_pernix.agent.ledger import Cell, Command, Ledger, Refusal
from jupyter_pernix.agent.testing import Executes, FakeExecutor, Says, call
from jupyter_pernix.events import ExecutionStarted, ToolCallRequested
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
                    call("write_file", path="../out", content=""),
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
    assert ledger.refusals == [Refusal(call_id=calls[5], rule="scope")]
    assert ledger.last_count == 4


async def test_what_the_user_allowed_and_declined_is_in_the_ledger(tmp_path: Path) -> None:
    answers = [ApprovalAnswer(choice="allow_session"), ApprovalAnswer(choice="reject_once")]
    acting = Acting(root=tmp_path, mode="edit", answers=answers)
    await acting.say([Says(calls=(call("run_code", code="1"), call("run_shell", command="true"))), answer()])
    ledger = Ledger.of(acting.host.log)

    assert ledger.granted == {"execute"}
    assert ledger.refusals == [Refusal(call_id=acting.of(ToolCallRequested)[1].call_id, rule="user")]
