import copy
from itertools import count

import msgspec
import pytest
from msgspec.structs import replace
from support.samples import sample_struct
from support.story import CODE, EDIT, FIRST, PART, SESSION, START, SUMMARY, TURN, WORKER, story

from jupyter_pernix.events import (
    EVENT_TYPES,
    Event,
    FilesUndoRequested,
    SessionArchived,
    SessionAttached,
    SessionConfigured,
    SessionCreated,
    SessionDetached,
    SessionRenamed,
    SessionStateChanged,
    StepFinished,
    StepRetryScheduled,
    Stored,
    TurnSubmitted,
    Unknown,
    decode_stored,
    encode_stored,
)
from jupyter_pernix.fold import SessionFold, apply_output
from jupyter_pernix.records import JSON, OutputOp, SessionState, SessionView, TerminalCode, Timings, Usage


def folded(*logs: list[Stored]) -> SessionView:
    """The view of a client that received these pieces one after the other, over the wire."""
    fold = SessionFold(SESSION)
    for log in logs:
        for stored in log:
            fold.add(decode_stored(encode_stored(stored)))
    return fold.view


def facts(view: SessionView) -> JSON:
    body = msgspec.to_builtins(view)
    del body["last_seq"]
    return body


def test_the_story_uses_every_event():
    kinds = {type(stored.event) for stored in story()}
    assert kinds == {*EVENT_TYPES.values(), Unknown}


@pytest.mark.parametrize("position", range(len(story())), ids=[str(type(s.event).__name__) for s in story()])
def test_each_event_leaves_a_trace(position: int):
    log = story()
    before, after = folded(log[:position]), folded(log[: position + 1])
    assert after.last_seq == log[position].seq
    assert (facts(before) == facts(after)) is isinstance(log[position].event, Unknown)


def test_a_reconnect_from_anywhere_folds_to_the_same_view():
    log = story()
    whole = folded(log)
    for left in range(len(log) + 1):
        for resumed in range(left + 1):
            assert folded(log[:left], log[resumed:]) == whole


def test_the_story_folds_to_what_happened():
    view = folded(story())
    turn, withdrawn = view.turns
    assert (view.title, view.mode, view.endpoint, view.state) == (
        "The lost row",
        "edit",
        "scripted",
        SessionState.IDLE_READY,
    )
    assert view.archived
    assert (view.context_tokens, view.context_length, view.usage.prompt_tokens) == (400, 131072, 900)
    assert [getattr(item, "kind", type(item).__name__) for item in turn.items] == [
        "instructions",
        "retry",
        "fallback",
        "ThoughtView",
        "MessageView",
        "execute",
        "edit",
        "edit",
        "execute",
        "kernel",
        "other",
        "resumed",
        "ProblemView",
        "compaction",
    ]
    assert turn.plan is not None and turn.plan.approach == "Count, then mend."
    assert withdrawn.text == "Thank you."
    assert (turn.code, withdrawn.code, withdrawn.started_at) == (TerminalCode.ANSWERED, TerminalCode.CANCELLED, None)


def test_a_call_gathers_its_decision_answer_outputs_and_files():
    fold = SessionFold.of(SESSION, story())
    code, edit = fold.call(CODE), fold.call(EDIT)
    assert code is not None and code.approval is not None and code.execution is not None
    assert (code.verdict, code.status, code.approval.choice) == ("ask", "completed", "allow_session")
    assert code.execution.outputs == [{"output_type": "stream", "name": "stdout", "text": "1460\n"}]
    assert edit is not None
    assert [change.path for change in edit.files] == ["lines.py"]


def test_a_step_that_fell_back_says_who_answered():
    turn = SessionFold.of(SESSION, story()).turn(TURN)
    assert turn is not None
    assert [(step.endpoint, step.role) for step in turn.steps] == [("spare", "backup"), ("scripted", "primary")]


def test_a_call_knows_the_worker_that_did_it():
    call = SessionFold.of(SESSION, story()).call(PART)
    assert call is not None and call.worker is not None
    assert (call.worker.worker_id, call.worker.code, call.worker.answer) == (
        WORKER,
        TerminalCode.ANSWERED,
        "Nowhere else.",
    )


def test_a_wait_lasts_until_its_own_step_goes_on():
    fold = SessionFold(SESSION)
    for stored in story():
        fold.add(stored)
        if isinstance(stored.event, StepRetryScheduled):
            break
    assert fold.view.waiting is not None and fold.view.waiting.seconds == 12.0
    beside = StepFinished(
        session_id=SESSION,
        turn_id=None,
        step_id=SUMMARY,
        usage=Usage(prompt_tokens=5),
        timings=Timings(),
        prefix_share=None,
        finish_reason="stop",
        cost=0.5,
    )
    fold.add(Stored(seq=1_000, recorded_at=START, event=beside))
    assert fold.view.waiting is not None
    assert (fold.view.usage.prompt_tokens, fold.view.cost) == (5, 0.5)
    fold.add(Stored(seq=1_001, recorded_at=START, event=replace(beside, turn_id=TURN, step_id=FIRST)))
    assert fold.view.waiting is None


def test_an_approval_is_open_until_it_is_answered():
    log = story()
    asked = next(i for i, stored in enumerate(log) if type(stored.event).__name__ == "ApprovalRequested")
    answered = next(i for i, stored in enumerate(log) if type(stored.event).__name__ == "ApprovalResolved")
    for length in range(len(log) + 1):
        is_open = bool(SessionFold.of(SESSION, log[:length]).open_approvals())
        assert is_open is (asked < length <= answered)


STANDALONE = {
    SessionCreated,
    SessionRenamed,
    SessionConfigured,
    SessionStateChanged,
    SessionArchived,
    SessionAttached,
    SessionDetached,
    TurnSubmitted,
    FilesUndoRequested,
}


@pytest.mark.parametrize("kind", set(EVENT_TYPES.values()) - STANDALONE, ids=lambda kind: kind.__name__)
def test_an_event_about_something_unknown_changes_nothing_else(kind: type[Event]):
    fold = SessionFold.of(SESSION, story())
    before = facts(copy.deepcopy(fold.view))
    fold.add(Stored(seq=10_000, recorded_at=START, event=sample_struct(kind)))
    assert facts(fold.view) == before
    assert fold.view.last_seq == 10_000


def test_folding_does_not_change_the_log():
    log = story()
    before = [encode_stored(stored) for stored in log]
    SessionFold.of(SESSION, log)
    assert [encode_stored(stored) for stored in log] == before


def test_a_turn_is_found_by_its_id():
    turn = SessionFold.of(SESSION, story()).turn(TURN)
    assert turn is not None
    assert turn.text == "Find it."


STREAM: JSON = {"output_type": "stream", "name": "stdout", "text": "a"}
RESULT: JSON = {"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {}, "execution_count": 1}

OUTPUT_CASES: list[tuple[str, list[JSON], OutputOp, list[JSON]]] = [
    ("append to nothing", [], OutputOp(op="append", output=STREAM), [STREAM]),
    ("append after others", [STREAM], OutputOp(op="append", output=RESULT), [STREAM, RESULT]),
    ("append without output", [STREAM], OutputOp(op="append"), [STREAM]),
    ("extend a stream", [STREAM], OutputOp(op="extend", text="b"), [{**STREAM, "text": "ab"}]),
    ("extend beyond the end", [STREAM], OutputOp(op="extend", index=1, text="b"), [STREAM]),
    ("extend before the start", [STREAM], OutputOp(op="extend", index=-1, text="b"), [STREAM]),
    ("replace", [STREAM, STREAM], OutputOp(op="replace", index=1, output=RESULT), [STREAM, RESULT]),
    ("replace beyond the end", [STREAM], OutputOp(op="replace", index=3, output=RESULT), [STREAM]),
    ("replace without output", [STREAM], OutputOp(op="replace"), [STREAM]),
    ("clear", [STREAM, RESULT], OutputOp(op="clear"), []),
]


@pytest.mark.parametrize(
    ("outputs", "op", "expected"), [case[1:] for case in OUTPUT_CASES], ids=[c[0] for c in OUTPUT_CASES]
)
def test_outputs_are_built_step_by_step(outputs: list[JSON], op: OutputOp, expected: list[JSON]):
    outputs = copy.deepcopy(outputs)
    apply_output(outputs, op)
    assert outputs == expected


def test_steps_do_not_change_the_output_that_was_sent():
    op, outputs = OutputOp(op="append", output=dict(STREAM)), []
    apply_output(outputs, op)
    for _, text in zip(count(), "bcd", strict=False):
        apply_output(outputs, OutputOp(op="extend", text=text))
    assert (op.output, outputs[0]["text"]) == (STREAM, "abcd")
