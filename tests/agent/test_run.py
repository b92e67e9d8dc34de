"""A turn from its start to its end, as the log tells it."""

import logging
from pathlib import Path

import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent.testing import Executes, FakeExecutor, Says, ScriptedModel, call, printed, unreadable_call
from jupyter_pernix.errors import (
    ContextOverflow,
    EndpointRefused,
    RateLimited,
    StoreError,
    StreamBroken,
    ToolsUnsupported,
)
from jupyter_pernix.events import (
    MessageCompleted,
    MessageDelta,
    ProblemNoticed,
    SessionStateChanged,
    StepFinished,
    StepRetryScheduled,
    StepStarted,
    ThoughtCompleted,
    ThoughtDelta,
    ToolCallDelta,
    ToolCallRequested,
    TurnFinished,
    TurnStarted,
)
from jupyter_pernix.records import Budget, SessionState, TerminalCode, Timings, Usage


async def test_a_plain_answer_is_told_as_these_events(acting: Acting) -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=2)
    finished = await acting.say([Says(text="It is four.", thought="2 + 2", usage=usage)])

    host, ids = acting.host, {"session_id": acting.host.session_id, "turn_id": finished.turn_id}
    step = acting.of(StepStarted)[0]
    assert host.events[2:] == [
        _moved(acting, "idle_ready", "processing", "turn_started"),
        TurnStarted(
            **ids,
            mode="auto",
            endpoint="script",
            model="scripted-1",
            protocol="tools",
            context_length=32_768,
            budget=Budget(),
        ),
        StepStarted(
            **ids,
            step_id=step.step_id,
            index=0,
            endpoint="script",
            model="scripted-1",
            prompt_bytes=len(acting.model.sent[0]) - 2,
            prefix_bytes=0,
        ),
        ThoughtCompleted(**ids, step_id=step.step_id, text="2 + 2"),
        MessageCompleted(**ids, step_id=step.step_id, text="It is four."),
        StepFinished(
            **ids, step_id=step.step_id, usage=usage, timings=Timings(), prefix_share=None, finish_reason="stop"
        ),
        _moved(acting, "processing", "finalizing", "turn_ending"),
        TurnFinished(**ids, code=TerminalCode.ANSWERED, detail="", usage=usage),
        _moved(acting, "finalizing", "idle_ready", "turn_ended"),
    ]
    assert finished == host.events[-2]


async def test_calls_of_one_reply_are_requested_together_and_carried_out_one_by_one(acting: Acting) -> None:
    (acting.space / "a.txt").write_text("one\n")
    await acting.say([Says(calls=(call("read_file", path="a.txt"), call("run_code", code="1"))), answer()])

    assert acting.types_after("turn.started")[:13] == [
        "step.started",
        "step.finished",
        "tool_call.requested",
        "tool_call.requested",
        "policy.decided",
        "tool_call.started",
        "tool_call.finished",
        "policy.decided",
        "tool_call.started",
        "execution.started",
        "execution.finished",
        "tool_call.finished",
        "step.started",
    ]
    assert acting.results == ["a.txt: lines 1-1 of 1.\n1\tone", "ok [1]\n(no output)"]


async def test_the_main_job_leaves_files_outputs_and_an_answer(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, executor=FakeExecutor([Executes(ops=(printed("1461\n"),))]))
    (acting.space / "rows.py").write_text("def rows(text):\n    return text.split('\\n')[:-1]\n")
    (acting.space / "check.py").write_text("from rows import rows\nassert rows('a\\nb') == ['a', 'b']\n")
    finished = await acting.say(
        [
            Says(calls=(call("list_files"),)),
            Says(calls=(call("read_file", path="rows.py"), call("run_shell", command="python check.py"))),
            Says(calls=(call("edit_file", path="rows.py", old_text="[:-1]", new_text=""),)),
            Says(calls=(call("run_shell", command="python check.py && echo green"),)),
            Says(calls=(call("run_code", code="print(len(rows))"),)),
            Says(calls=(call("finish", answer="The last row is back."),)),
        ]
    )

    assert finished.code == TerminalCode.ANSWERED
    assert acting.statuses == ["completed", "completed", "failed", "completed", "completed", "completed", "completed"]
    assert acting.results[4] == "exit code 0\ngreen"
    assert (acting.space / "rows.py").read_text() == "def rows(text):\n    return text.split('\\n')\n"
    assert acting.of(MessageCompleted)[-1].text == "The last row is back."
    assert acting.host.view.state == "idle_ready"


async def test_deltas_carry_their_offsets(acting: Acting) -> None:
    await acting.say([Says(text="abcdef", thought="xyz", calls=(call("list_files"),), chunk=4), answer("")])

    shown = [(type(delta), delta.offset, delta.text) for delta in acting.host.deltas]
    assert shown == [
        (ThoughtDelta, 0, "xyz"),
        (MessageDelta, 0, "abcd"),
        (MessageDelta, 4, "ef"),
        (ToolCallDelta, 0, "{}"),
    ]


async def test_without_a_model_the_turn_ends_and_says_what_to_do(acting: Acting) -> None:
    finished = await acting.say(None)

    assert finished.code == TerminalCode.NO_MODEL
    assert "Add an endpoint" in acting.of(ProblemNoticed)[0].hint
    assert acting.types_after("turn.started") == [
        "problem.noticed",
        "session.state_changed",
        "turn.finished",
        "session.state_changed",
    ]


async def test_finish_ends_the_turn_and_its_answer_is_the_message(acting: Acting) -> None:
    finished = await acting.say([Says(text="So:", calls=(call("finish", answer="**42**"), call("list_files")))])

    assert finished.code == TerminalCode.ANSWERED
    assert [event.text for event in acting.of(MessageCompleted)] == ["So:", "**42**"]
    assert acting.statuses == ["completed", "cancelled"]


async def test_finish_is_not_taken_when_a_call_of_the_same_reply_failed(acting: Acting) -> None:
    finished = await acting.say(
        [Says(calls=(call("run_shell", command="false"), call("finish", answer="All green."))), answer("It failed.")]
    )

    assert finished.code == TerminalCode.ANSWERED
    assert acting.results[1] == "Not done: run_shell in the same reply failed. Read its result, then go on or finish."
    assert [event.text for event in acting.of(MessageCompleted)] == ["It failed."]


async def test_unknown_tools_and_unreadable_arguments_are_results(acting: Acting) -> None:
    await acting.say(
        [
            Says(
                calls=(
                    call("raed_file", path="a"),
                    unreadable_call("read_file", "the text ends in the middle of a string"),
                    call("read_file", start_line=3),
                )
            ),
            answer(),
        ]
    )

    assert acting.statuses == ["failed", "failed", "failed"]
    assert acting.results[0].startswith("Not done: there is no tool 'raed_file'. Did you mean 'read_file'?")
    assert acting.results[1] == (
        "Not done: the arguments of read_file could not be read: the text ends in the middle of a string"
    )
    assert acting.results[2] == (
        "Not done: the arguments of read_file are wrong: Object missing required field `path`. "
        "It takes: path (string), start_line (integer, optional), end_line (integer, optional)."
    )
    assert "tool_call.started" not in acting.host.types


async def test_a_second_empty_reply_ends_the_turn(acting: Acting) -> None:
    finished = await acting.say([Says(), Says(text=" \n")])

    assert finished.code == TerminalCode.MODEL_FAILED
    assert finished.detail == "The model gave an empty reply twice: no text and no call."
    assert acting.model.requests[1][-1]["content"] == "(Your last reply was empty. Call a tool, or give your answer.)"


async def test_an_empty_reply_is_forgotten_after_a_good_one(acting: Acting) -> None:
    finished = await acting.say([Says(), Says(calls=(call("list_files"),)), Says(), answer()])

    assert finished.code == TerminalCode.ANSWERED


async def test_a_reply_that_was_cut_off_is_said_aloud(acting: Acting) -> None:
    await acting.say([Says(text="half of", finish_reason="length")])

    assert acting.of(ProblemNoticed)[0].text == "The model's reply was cut off at its output limit."


async def test_a_broken_stream_is_asked_again_and_leaves_nothing_of_itself(acting: Acting) -> None:
    half = unreadable_call("write_file", "cut")
    finished = await acting.say(
        [
            Says(text="Half an ans", calls=(half,), error=StreamBroken("the stream ended early", hint="Look at it.")),
            answer(),
        ]
    )

    assert finished.code == TerminalCode.ANSWERED
    assert [event.text for event in acting.of(MessageCompleted)] == ["Done."]
    assert acting.of(ToolCallRequested) == []
    said = acting.of(StepRetryScheduled)[0]
    assert (said.attempt, said.attempts, said.asked, said.hint) == (2, 4, False, "Look at it.")
    assert said.text.endswith("(try 2 of 4): the stream ended early")
    assert said.step_id == acting.of(StepStarted)[0].step_id
    texts = [delta.text for delta in acting.host.deltas if isinstance(delta, MessageDelta) and delta.offset == 0]
    assert texts == ["Half an ", "", "Done."]


async def test_a_rate_limit_is_waited_for_as_long_as_it_asks_and_not_for_ever(acting: Acting) -> None:
    finished = await acting.say([Says(error=RateLimited("slow down", retry_after=7.0))] * 10)

    assert finished.code == TerminalCode.MODEL_FAILED
    assert len(acting.clock.slept) == 3
    assert all(7.0 <= seconds < 8.0 for seconds in acting.clock.slept)
    assert [event.seconds for event in acting.of(StepRetryScheduled)] == acting.clock.slept
    assert len(acting.model.requests) == 4
    assert len(acting.of(StepStarted)) == 1
    assert [event.finish_reason for event in acting.of(StepFinished)] == ["failed"]


async def test_a_wait_that_is_too_long_is_told_to_the_user(acting: Acting) -> None:
    await acting.say([Says(error=RateLimited("slow down", retry_after=600.0))])

    assert acting.clock.slept == []
    assert "the server asks to wait 10 min" in acting.of(ProblemNoticed)[0].text
    assert acting.of(ProblemNoticed)[0].hint.endswith("raise retry.ceiling in the settings")


async def test_a_store_that_cannot_write_is_named_with_what_to_do(acting: Acting) -> None:
    def broken(_: object) -> Says:
        raise StoreError("the store could not write", hint="Make room.")

    finished = await acting.say([broken])

    assert (finished.code, finished.detail) == (TerminalCode.INTERNAL_ERROR, "the store could not write.")
    assert acting.of(ProblemNoticed)[0].hint == "Make room."


async def test_a_refused_key_is_not_tried_again(acting: Acting) -> None:
    finished = await acting.say([Says(error=EndpointRefused("the key was refused", hint="Set another key."))] * 3)

    assert (finished.code, finished.detail) == (TerminalCode.MODEL_FAILED, "the key was refused.")
    assert acting.of(ProblemNoticed)[0].hint == "Set another key."
    assert len(acting.model.requests) == 1


async def test_a_model_without_tools_is_named(acting: Acting) -> None:
    error = ToolsUnsupported("'tiny' cannot call tools", hint="Use the protocol 'actions'.")
    finished = await acting.say([Says(error=error)])

    assert finished.detail == "'tiny' cannot call tools."
    assert acting.of(ProblemNoticed)[0].hint == "Use the protocol 'actions'."


async def test_a_conversation_that_is_too_long_ends_the_turn_after_one_request(acting: Acting) -> None:
    finished = await acting.say([Says(error=ContextOverflow("too many tokens", limit=4096))] * 3)

    assert finished.code == TerminalCode.CONTEXT_OVERFLOW
    assert finished.detail == "The conversation no longer fits in the model's context of 4,096 tokens. too many tokens."
    assert "new session" in acting.of(ProblemNoticed)[0].hint
    assert len(acting.model.requests) == 1


async def test_a_chat_model_is_told_of_no_tools(acting: Acting) -> None:
    await acting.say(ScriptedModel([answer()], protocol="chat"))

    assert acting.model.tools == []


async def test_an_error_of_ours_ends_the_turn_and_leaves_the_session_idle(
    acting: Acting, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> Says:
        raise RuntimeError("no such thing")

    with caplog.at_level(logging.CRITICAL):
        finished = await acting.say([Says(calls=(call("list_files"),)), broken])

    assert finished.code == TerminalCode.INTERNAL_ERROR
    assert finished.detail == "An internal error ended the turn: RuntimeError: no such thing"
    assert acting.host.view.state == "idle_ready"


async def test_usage_of_the_turn_is_the_sum_of_its_steps(acting: Acting) -> None:
    finished = await acting.say(
        [
            Says(calls=(call("list_files"),), usage=Usage(prompt_tokens=100, completion_tokens=5)),
            Says(text="Done.", usage=Usage(prompt_tokens=120, completion_tokens=3, cached_tokens=100)),
        ]
    )

    assert finished.usage == Usage(prompt_tokens=220, completion_tokens=8, cached_tokens=100)


async def test_the_second_step_repeats_the_first_request_as_its_prefix(acting: Acting) -> None:
    await acting.say([Says(calls=(call("list_files"),)), answer()])

    first, second = acting.of(StepStarted)
    assert second.prefix_bytes == first.prompt_bytes
    assert acting.of(StepFinished)[1].prefix_share == second.prefix_bytes / second.prompt_bytes


async def test_tokens_are_checked_before_a_request_is_made(acting: Acting) -> None:
    step = Says(calls=(call("list_files"),), usage=Usage(prompt_tokens=3900, completion_tokens=100))
    other = Says(calls=(call("list_files", path="."),), usage=step.usage)
    finished = await acting.say([step, other, step], budget=Budget(tokens=10_000))

    assert finished.code == TerminalCode.BUDGET_TOKENS
    assert len(acting.model.requests) == 2
    assert "8,000 of its 10,000 tokens" in finished.detail


async def test_rounds_are_limited(acting: Acting) -> None:
    script = [Says(calls=(call("read_file", path=f"{number}"),)) for number in range(9)]
    finished = await acting.say(script, budget=Budget(rounds=3))

    assert finished.code == TerminalCode.BUDGET_ROUNDS
    assert len(acting.model.requests) == 3


async def test_time_is_checked_before_each_call(acting: Acting) -> None:
    def slow(_: object) -> Says:
        acting.clock.advance(61)
        return Says(calls=(call("write_file", path="a.txt", content="a"), call("list_files")))

    finished = await acting.say([slow], budget=Budget(seconds=60))

    assert finished.code == TerminalCode.BUDGET_TIME
    assert acting.statuses == ["cancelled", "cancelled"]
    assert not (acting.space / "a.txt").exists()


def _moved(acting: Acting, before: str, after: str, reason: str) -> SessionStateChanged:
    turn_id = acting.of(TurnStarted)[0].turn_id
    return SessionStateChanged(
        session_id=acting.host.session_id,
        turn_id=turn_id,
        before=SessionState(before),
        after=SessionState(after),
        reason=reason,
    )
