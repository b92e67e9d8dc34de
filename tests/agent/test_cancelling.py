"""A turn that is stopped, at each place where it can be: the log stays legal and the session becomes idle."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent.calls import BROKEN_OFF, NOT_BEGUN
from jupyter_pernix.agent.context import Transcript
from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel
from jupyter_pernix.agent.testing import Executes, FakeExecutor, MemoryHost, Says, ScriptedModel, call, printed
from jupyter_pernix.errors import RateLimited
from jupyter_pernix.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    ExecutionFinished,
    MessageCompleted,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    TurnFinished,
)
from jupyter_pernix.records import JSON, SessionState, TerminalCode

STOPPED = "the user stopped the turn"


async def stop_when(run: Run, ready: Callable[[], Awaitable[Any]]) -> None:
    """Carry the turn and cancel it once ``ready`` returns."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def carry() -> None:
                await run.carry()

            group.start_soon(carry)
            await ready()
            group.cancel_scope.cancel()


def assert_legal(host: MemoryHost) -> None:
    """Each call has one result, each question an answer, the last turn its end, and nobody waits."""
    events = host.events
    assert sorted(e.call_id for e in events if isinstance(e, ToolCallRequested)) == sorted(
        e.call_id for e in events if isinstance(e, ToolCallFinished)
    )
    assert [e.approval_id for e in events if isinstance(e, ApprovalRequested)] == [
        e.approval_id for e in events if isinstance(e, ApprovalResolved)
    ]
    assert len([e for e in events if isinstance(e, TurnFinished)]) == 1
    assert host.types[-2:] == ["turn.finished", "session.state_changed"]
    assert host.state is SessionState.IDLE_READY
    assert illegalities(host.log) == []
    assert_legal_messages(Transcript.of("", host.log).conversation.messages)


def assert_legal_messages(messages: Any) -> None:
    """What strict endpoints ask for: results behind their calls, in order, each once; user and assistant in turns."""
    waiting: list[str] = []
    speaker = ""
    for message in messages[1:]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert waiting == []
        said_without_calls = message["role"] == "user" or not message.get("tool_calls")
        if said_without_calls:
            assert message["role"] != speaker
        speaker = message["role"] if said_without_calls else ""
        waiting = [asked["id"] for asked in message.get("tool_calls", [])]
    assert waiting == []


async def test_stopped_while_the_model_speaks_the_text_that_was_read_stays(acting: Acting) -> None:
    model = ScriptedModel([Says(text="It is beca", calls=(call("list_files"),), waits=True)])
    await stop_when(acting.run(model), model.streaming.wait)

    assert_legal(acting.host)
    assert [event.text for event in acting.of(MessageCompleted)] == ["It is beca"]
    assert acting.of(ToolCallRequested) == []
    finished = acting.of(TurnFinished)[0]
    assert (finished.code, finished.detail) == (TerminalCode.CANCELLED, "The user stopped the turn.")
    assert [(event.before, event.reason) for event in acting.host.events[-4:] if hasattr(event, "reason")] == [
        (SessionState.CANCELLING, "turn_ending"),
        (SessionState.FINALIZING, "turn_ended"),
    ]


async def test_stopped_in_the_first_of_three_calls_all_three_have_a_result(tmp_path: Path) -> None:
    executor = FakeExecutor([Executes(ops=(printed("begun\n"),), waits=True)])
    acting = Acting(root=tmp_path, executor=executor)
    calls = (call("run_code", code="work()"), call("list_files"), call("write_file", path="a", content="a"))
    await stop_when(acting.run([Says(calls=calls)]), executor.running.wait)

    assert_legal(acting.host)
    assert acting.results == [
        BROKEN_OFF.format(reason=STOPPED),
        NOT_BEGUN.format(reason=STOPPED),
        NOT_BEGUN.format(reason=STOPPED),
    ]
    assert acting.statuses == ["cancelled"] * 3
    assert acting.of(ExecutionFinished)[0].status == "cancelled"
    assert executor.interrupts == 1
    assert not (acting.space / "a").exists()


async def test_stopped_while_a_question_is_open_the_question_is_answered_by_the_host(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="edit", can_ask=True)
    await stop_when(acting.run([Says(calls=(call("run_code", code="1"),))]), acting.host.asking.wait)

    assert_legal(acting.host)
    assert [(event.choice, event.by) for event in acting.of(ApprovalResolved)] == [("reject_once", "host")]
    assert acting.executor.codes == []


async def test_stopped_in_a_command_its_processes_are_ended(acting: Acting) -> None:
    os.mkfifo(acting.space / "pid")
    pids: list[int] = []

    async def started() -> None:
        pids.append(int(await anyio.to_thread.run_sync((acting.space / "pid").read_text)))

    command = "sleep 300 & echo $! > pid; sleep 300"
    await stop_when(acting.run([Says(calls=(call("run_shell", command=command),))]), started)

    assert_legal(acting.host)
    assert not _alive(pids[0])


async def test_stopped_while_it_waits_to_ask_again_the_turn_ends_at_once(acting: Acting) -> None:
    waiting = anyio.Event()

    class StoppedClock:
        def monotonic(self) -> float:
            return 0.0

        async def sleep(self, seconds: float) -> None:
            waiting.set()
            await anyio.sleep_forever()

    acting.clock = StoppedClock()  # type: ignore[assignment]
    await stop_when(acting.run([Says(error=RateLimited("slow", retry_after=50.0))]), waiting.wait)

    assert_legal(acting.host)


SCRIPT = (
    Says(text="I look.", calls=(call("list_files"), call("run_code", code="1"))),
    Says(calls=(call("write_file", path="a.txt", content="a\n"), call("run_shell", command="echo a"))),
    Says(text="Done."),
)


class StoppingHost(MemoryHost):
    """Cancels ``scope`` while the event with number ``at`` is being stored."""

    at = 0
    scope: anyio.CancelScope

    async def append(self, *events: Event) -> list[Stored]:
        stored = await super().append(*events)
        if any(one.seq == self.at for one in stored):
            self.scope.cancel()
            await anyio.lowlevel.checkpoint()
        return stored


@pytest.mark.parametrize("at", range(3, 35))
async def test_stopped_while_any_event_is_stored_the_log_is_legal(tmp_path: Path, at: int) -> None:
    (tmp_path / "space").mkdir()
    host = StoppingHost(space=tmp_path / "space", side=tmp_path / "side")
    turn_id = host.submit("Do it")
    with anyio.fail_after(20), anyio.CancelScope() as scope:
        host.at, host.scope = at, scope
        await Run(host, turn_id, list(host.log), OneModel(ScriptedModel(SCRIPT))).carry()

    assert_legal(host)


async def test_the_script_of_the_test_above_is_that_long(acting: Acting) -> None:
    await acting.say(SCRIPT)

    assert acting.statuses == ["completed"] * 4
    assert len(acting.host.log) == 34


async def test_after_a_stop_the_next_message_goes_to_a_model_that_sees_what_happened(tmp_path: Path) -> None:
    executor = FakeExecutor([Executes(waits=True)])
    acting = Acting(root=tmp_path, executor=executor)
    calls = (call("run_code", code="work()"), call("list_files"))
    await stop_when(acting.run([Says(calls=calls)]), executor.running.wait)
    finished = await acting.say([answer("Then this.")], text="Do something else")

    assert finished.code == TerminalCode.ANSWERED
    request: list[JSON] = acting.model.requests[0]
    assert_legal_messages(request)
    assert [message["role"] for message in request] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
    ]
    assert request[5]["content"] == "(This turn ended without an answer because the user stopped it.)"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1]
