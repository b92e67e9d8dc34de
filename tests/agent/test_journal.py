"""What is stored when: before any effect, and in few trips."""

from pathlib import Path

import anyio
import pytest
from agent.acting import Acting, answer
from agent.test_cancelling import assert_legal

from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import RunSettings
from jupyter_pernix.agent.testing import (
    Executes,
    FakeExecutor,
    MemoryHost,
    Says,
    ScriptedModel,
    ScriptedModels,
    Works,
    call,
    printed,
)
from jupyter_pernix.config import Compaction
from jupyter_pernix.errors import EndpointRefused
from jupyter_pernix.events import Event, Stored
from jupyter_pernix.records import ApprovalAnswer


class CountingHost(MemoryHost):
    """``trips`` are the tags of each trip to the store."""

    def __init__(self, root: Path) -> None:
        (root / "space").mkdir()
        super().__init__(space=root / "space", side=root / "side")
        self.trips: list[list[str]] = []

    async def append(self, *events: Event) -> list[Stored]:
        stored = await super().append(*events)
        self.trips.append(self.types[-len(events) :])
        return stored


async def test_a_step_with_a_call_takes_two_trips_to_the_store(tmp_path: Path) -> None:
    host = CountingHost(tmp_path)
    turn_id = host.submit("Do it")
    script = [Says(text="I look.", calls=(call("list_files", path=path),)) for path in (".", "a")]
    await Run(host, turn_id, list(host.log), ScriptedModels(ScriptedModel([*script, answer()]))).carry()

    assert host.trips[2:6] == [
        ["step.started"],
        ["message.completed", "step.finished", "tool_call.requested", "policy.decided", "tool_call.started"],
        ["tool_call.finished", "step.started"],
        ["message.completed", "step.finished", "tool_call.requested", "policy.decided", "tool_call.started"],
    ]


async def test_what_is_done_is_in_the_log_before_it_is_done(acting: Acting) -> None:
    seen: list[list[str]] = []

    class Looking(FakeExecutor):
        async def execute(self, code: str, **named: object) -> object:  # type: ignore[override]
            seen.append(acting.host.types[-4:])
            return await super().execute(code, **named)  # type: ignore[arg-type]

    acting.host.fake_executor = Looking()
    await acting.say([Says(calls=(call("run_code", code="1"), call("run_code", code="2"))), answer()])

    assert seen[0] == ["tool_call.requested", "policy.decided", "tool_call.started", "execution.started"]
    assert seen[1] == ["tool_call.finished", "policy.decided", "tool_call.started", "execution.started"]


RICH = (
    Says(text="I look.", calls=(call("list_files"), call("run_code", code="1"))),
    Says(error=EndpointRefused("no")),
)
SPARE = (
    Says(calls=(call("delegate", task="a"), call("delegate", task="b"), call("run_shell", command="touch a"))),
    Says(text="Let me write it down."),
    Says(calls=(call("write_file", path="a.txt", content="a\n" * 300), call("finish", answer="Done."))),
)
RICH_EVENTS = 71


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


async def carry_rich(root: Path, at: int) -> StoppingHost:
    """A turn with a plan, questions, a fallback, workers and a compaction, cancelled at one of its events."""
    (root / "space").mkdir()
    executor = FakeExecutor([Executes(ops=(printed("line\n" * 3_000),))])
    host = StoppingHost(
        space=root / "space",
        side=root / "side",
        mode="edit",
        answers=[ApprovalAnswer(choice="allow_once")] * 9,
        executor=executor,
        workers=[Works(answer="one"), Works(answer="two")],
    )
    turn_id = host.submit("Please look at everything that is here and write it down")
    background = ScriptedModel([Says(text='{"approach": "Look.", "steps": ["look"]}'), Says(text="In short.")])
    models = ScriptedModels(
        ScriptedModel(RICH), background=background, backup=ScriptedModel(SPARE, endpoint="spare", context_length=11_500)
    )
    settings = RunSettings(compaction=Compaction(threshold=0.5, keep=0.1))
    with anyio.fail_after(30), anyio.CancelScope() as scope:
        host.at, host.scope = at, scope
        await Run(host, turn_id, list(host.log), models, settings).carry()
    return host


async def test_the_rich_turn_has_everything_in_it(tmp_path: Path) -> None:
    host = await carry_rich(tmp_path, at=0)

    wanted = {
        "plan.updated",
        "approval.resolved",
        "step.fallback_taken",
        "worker.reported",
        "context.compacted",
        "file.changed",
    }
    assert wanted <= set(host.types)
    assert_legal(host)
    assert len(host.log) == RICH_EVENTS


@pytest.mark.parametrize("at", range(3, RICH_EVENTS + 1))
async def test_stopped_while_any_event_of_a_rich_turn_is_stored_the_log_is_legal(tmp_path: Path, at: int) -> None:
    assert_legal(await carry_rich(tmp_path, at))
