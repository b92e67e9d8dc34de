"""Turns that are paused, and turns that go on in another program than the one that began them."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from agent.acting import Acting, answer
from agent.test_cancelling import assert_legal, assert_legal_messages, stop_when
from agent.test_context import rebuilt

from jupyter_pernix.agent.context import RESUMED, Transcript
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel, RunSettings
from jupyter_pernix.agent.testing import FakeClock, MemoryHost, Says, ScriptedModel, ScriptedModels, call
from jupyter_pernix.errors import EndpointUnreachable
from jupyter_pernix.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    PolicyDecided,
    SessionStateChanged,
    StepStarted,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    TurnResumed,
    TurnStarted,
)
from jupyter_pernix.records import ApprovalAnswer, Budget, TerminalCode

YES = ApprovalAnswer(choice="allow_once")


def moves(host: MemoryHost) -> list[str]:
    return [event.reason for event in host.events if isinstance(event, SessionStateChanged)]


# ---- pausing ----------------------------------------------------------------------------------------------------------------


async def test_a_pause_takes_effect_between_two_steps_and_the_turn_goes_on_where_it_stood(acting: Acting) -> None:
    def pauses(_: object) -> Says:
        acting.host.pause_wanted = True
        return Says(calls=(call("list_files"), call("run_code", code="1")))

    run = acting.run([pauses, answer()])
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run.carry)
            await acting.host.paused.wait()
            types = acting.host.types
            assert types.count("tool_call.finished") == 2
            assert types.count("step.started") == 1
            acting.clock.advance(100_000)
            acting.host.resume()

    assert moves(acting.host) == ["turn_started", "pause_asked", "step_ended", "resumed", "turn_ending", "turn_ended"]
    assert acting.host.view.turns[0].code == TerminalCode.ANSWERED


async def test_stopped_while_it_is_paused_the_log_is_legal(acting: Acting) -> None:
    acting.host.pause_wanted = True
    await stop_when(acting.run([answer()]), acting.host.paused.wait)

    assert_legal(acting.host)
    assert acting.model.requests == []


# ---- going on in another program -------------------------------------------------------------------------------------------


async def left_asking(acting: Acting, *calls: object, script: Sequence[Says] = ()) -> list[Stored]:
    """The log of a session whose program ended while it asked about the first of its calls."""
    acting.host.mode = "edit"
    acting.host.can_ask = True
    run = acting.run([*script, Says(text="Let us see.", calls=calls or (call("run_code", code="1"),))])  # type: ignore[arg-type]
    await stop_when(run, acting.host.asking.wait)
    # the state change behind the question is the last thing that the program stored
    return acting.host.log[: acting.host.types.index("approval.requested") + 2]


def later(acting: Acting, log: list[Stored], *answers: ApprovalAnswer) -> MemoryHost:
    return MemoryHost(space=acting.space, side=acting.root / "side", mode="edit", answers=answers, log=log)


async def carry_on(host: MemoryHost, *script: Says, settings: RunSettings | None = None) -> ScriptedModel:
    turn_id = next(event.turn_id for event in host.events if isinstance(event, TurnStarted))
    model = ScriptedModel(list(script))
    await Run(host, turn_id, list(host.log), OneModel(model), settings, FakeClock()).carry()
    return model


def of(host: MemoryHost, kind: type[Event]) -> list[Event]:
    return [event for event in host.events if isinstance(event, kind)]


async def test_a_question_that_waited_is_asked_with_its_own_id_and_carried_out_as_answered(acting: Acting) -> None:
    log = await left_asking(acting, call("run_code", code="1"), call("list_files"))
    host = later(acting, log, YES)
    model = await carry_on(host, answer())

    assert len(of(host, ApprovalRequested)) == 1
    asked, answered = of(host, ApprovalRequested)[0], of(host, ApprovalResolved)[0]
    assert isinstance(asked, ApprovalRequested)
    assert isinstance(answered, ApprovalResolved)
    assert asked.approval_id == answered.approval_id
    assert host.fake_executor.codes == ["1"]
    assert len(of(host, ToolCallRequested)) == len(of(host, ToolCallFinished)) == 2
    assert len(of(host, TurnStarted)) == len(of(host, TurnResumed)) == 1
    assert_legal(host)
    assert [message["role"] for message in model.requests[0][-3:]] == ["assistant", "tool", "tool"]
    assert model.requests[0][-1]["content"].endswith(f"\n\n{RESUMED}")
    assert_legal_messages(model.requests[0])


async def test_what_the_model_reads_after_going_on_is_the_same_from_the_log(acting: Acting) -> None:
    log = await left_asking(acting, script=[Says(calls=(call("list_files"),))])
    host = later(acting, log, YES)
    model = await carry_on(host, Says(calls=(call("list_files", path="."),)), answer())

    system = (acting.root / "side" / "system.md").read_text()
    whole = Transcript.of(system, host.log).conversation.encoded()
    for sent in [*acting.model.sent, *model.sent]:
        assert whole.startswith(sent[:-1])


async def test_the_first_request_after_going_on_counts_what_the_endpoint_knows(acting: Acting) -> None:
    log = await left_asking(acting, script=[Says(calls=(call("list_files"),))])
    host = later(acting, log, YES)
    await carry_on(host, answer())

    before, after = [step for step in host.events if isinstance(step, StepStarted)][-2:]
    assert after.prefix_bytes == before.prompt_bytes


async def test_an_answer_that_was_given_while_the_program_was_away_is_taken_as_it_is(acting: Acting) -> None:
    log = await left_asking(acting)
    host = later(acting, log)
    asked = of(host, ApprovalRequested)[0]
    assert isinstance(asked, ApprovalRequested)
    await host.append(
        ApprovalResolved(
            session_id=host.session_id,
            turn_id=asked.turn_id,
            call_id=asked.call_id,
            approval_id=asked.approval_id,
            choice="reject_once",
            text="Not that.",
            by="panel",
        )
    )
    await host.move("approval_resolved")
    await carry_on(host, answer())

    assert host.fake_executor.codes == []
    result = of(host, ToolCallFinished)[0]
    assert isinstance(result, ToolCallFinished)
    assert result.result == "Not done: the user declined this. The user says: Not that."
    assert len(of(host, ApprovalRequested)) == 1


async def test_a_yes_counts_for_what_was_asked_also_after_a_restart(acting: Acting) -> None:
    (acting.root / "elsewhere").mkdir()
    log = await left_asking(acting)
    host = later(acting, log, YES)
    host.mode = "plan"
    await carry_on(host, answer())

    assert host.fake_executor.codes == []
    decided = [event.verdict for event in host.events if isinstance(event, PolicyDecided)]
    assert decided == ["ask", "refuse"]


async def test_calls_that_had_ended_are_not_run_again(acting: Acting) -> None:
    log = await left_asking(acting, call("write_file", path="a", content="once\n"), call("run_code", code="1"))
    (acting.space / "a").write_text("by the user\n")
    host = later(acting, log, YES)
    await carry_on(host, answer())

    assert (acting.space / "a").read_text() == "by the user\n"
    assert len(of(host, ToolCallStarted)) == 2


async def test_steps_that_were_made_before_count_and_the_time_away_does_not(acting: Acting) -> None:
    log = await left_asking(acting, script=[Says(calls=(call("list_files"),))])
    host = later(acting, log, YES)
    settings = RunSettings(budget=Budget(rounds=3, seconds=3600))
    model = await carry_on(host, Says(calls=(call("list_files", path="."),)), answer("never asked"), settings=settings)

    assert len(model.requests) == 1
    assert host.view.turns[0].code == TerminalCode.BUDGET_ROUNDS


async def test_finish_is_not_taken_when_a_call_of_its_reply_failed_in_the_program_before(acting: Acting) -> None:
    log = await left_asking(
        acting, call("read_file", path="none"), call("run_code", code="1"), call("finish", answer="All good.")
    )
    host = later(acting, log, YES)
    await carry_on(host, answer("The file is missing."))

    ended = [event.status for event in host.events if isinstance(event, ToolCallFinished)]
    assert ended == ["failed", "completed", "failed"]


async def test_an_open_question_is_withdrawn_when_the_turn_is_stopped_again(acting: Acting) -> None:
    log = await left_asking(acting)
    host = later(acting, log)
    host.can_ask = True
    turn_id = next(event.turn_id for event in host.events if isinstance(event, TurnStarted))
    await stop_when(Run(host, turn_id, list(log), OneModel(ScriptedModel([]))), host.asking.wait)

    assert_legal(host)


async def test_a_turn_that_cannot_go_on_for_want_of_a_model_leaves_nothing_open(acting: Acting) -> None:
    log = await left_asking(acting, call("run_code", code="1"), call("list_files"))
    host = later(acting, log)
    turn_id = next(event.turn_id for event in host.events if isinstance(event, TurnStarted))
    models = ScriptedModels(EndpointUnreachable("it is away"))
    finished = await Run(host, turn_id, list(log), models).carry()

    assert finished.code == TerminalCode.NO_MODEL
    assert_legal(host)


async def test_stopped_before_the_question_is_asked_again_it_is_closed_by_the_host(acting: Acting) -> None:
    log = await left_asking(acting, script=[Says(calls=(call("list_files"),))])
    host = later(acting, log)
    turn_id = next(event.turn_id for event in host.events if isinstance(event, TurnStarted))

    class Stopped(FakeClock):
        def monotonic(self) -> float:
            scope.cancel()
            return 0.0

    with anyio.fail_after(20), anyio.CancelScope() as scope:
        await Run(host, turn_id, list(log), OneModel(ScriptedModel([])), clock=Stopped()).carry()

    assert_legal(host)


async def test_a_pause_that_outlasts_the_program_goes_on_before_the_next_step(acting: Acting) -> None:
    def pauses(_: object) -> Says:
        acting.host.pause_wanted = True
        return Says(calls=(call("list_files"),))

    await stop_when(acting.run([pauses]), acting.host.paused.wait)
    paused = [index for index, event in enumerate(acting.host.events) if getattr(event, "reason", "") == "step_ended"]
    host = MemoryHost(space=acting.space, side=acting.root / "side", log=acting.host.log[: paused[0] + 1])
    assert host.state == "paused"
    await host.move("resumed")
    model = await carry_on(host, answer())

    assert_legal(host)
    assert model.requests[0][-1]["role"] == "tool"
    assert model.requests[0][-1]["content"].endswith(RESUMED)


# ---- calls whose outcome is unknown ------------------------------------------------------------------------------------------


async def with_unknown(acting: Acting) -> list[Stored]:
    """A log in which a command was cut off by the end of the program, and nobody knows what it did."""
    await acting.say([Says(calls=(call("run_shell", command="touch deployed"),)), answer()])
    return [
        Stored(
            seq=stored.seq,
            recorded_at=stored.recorded_at,
            event=ToolCallFinished(
                session_id=stored.event.session_id,
                turn_id=stored.event.turn_id,
                call_id=stored.event.call_id,
                status="unknown",
                result="It may have had its effect.",
                duration=0.0,
            ),
        )
        if isinstance(stored.event, ToolCallFinished)
        else stored
        for stored in acting.host.log
    ]


@pytest.mark.parametrize("given", [YES, ApprovalAnswer(choice="reject_once")])
async def test_a_call_that_may_have_been_done_is_asked_about_in_every_mode(
    tmp_path: Path, given: ApprovalAnswer
) -> None:
    acting = Acting(root=tmp_path)
    log = await with_unknown(acting)
    host = MemoryHost(space=acting.space, side=tmp_path / "side", mode="auto", answers=[given], log=log)
    turn_id = host.submit("Deploy it")
    model = ScriptedModel([Says(calls=(call("run_shell", command="touch deployed"),)), answer()])
    await Run(host, turn_id, list(host.log), OneModel(model)).carry()

    asked = of(host, ApprovalRequested)[0]
    assert isinstance(asked, ApprovalRequested)
    assert asked.choices == ["allow_once", "reject_once"]
    assert "could not be found out" in asked.question
    started = [event for event in host.events if isinstance(event, ToolCallStarted) and event.turn_id == turn_id]
    assert len(started) == (1 if given is YES else 0)


async def test_a_call_that_may_have_been_done_is_not_repeated_when_nobody_can_be_asked(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path)
    log = await with_unknown(acting)
    host = MemoryHost(space=acting.space, side=tmp_path / "side", mode="auto", can_ask=False, log=log)
    turn_id = host.submit("Deploy it")
    model = ScriptedModel([Says(calls=(call("run_shell", command="touch deployed"),)), answer()])
    await Run(host, turn_id, list(host.log), OneModel(model)).carry()

    results = [event.result for event in host.events if isinstance(event, ToolCallFinished)]
    assert results[-1].startswith("Not done: this may already have been done")


async def test_rebuilding_is_untouched_by_what_was_left_open(acting: Acting) -> None:
    await left_asking(acting)

    assert_legal_messages(Transcript.of("", acting.host.log).conversation.messages)
    assert rebuilt(acting)
