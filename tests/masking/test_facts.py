"""Facts are stored without secrets, and nothing else of them changes."""

from typing import Any, get_args

import msgspec
import pytest

from jupyter_pernix.events import (
    Event,
    ExecutionOutput,
    ExecutionStarted,
    FileChanged,
    PlanUpdated,
    ProblemNoticed,
    StepRetryScheduled,
    ToolCallFinished,
    ToolCallRequested,
    TurnContextAdded,
    TurnSubmitted,
)
from jupyter_pernix.ids import CallId, ExecutionId, SessionId, StepId, TurnId
from jupyter_pernix.masking import MARK, Masker, masked_event
from jupyter_pernix.masking.facts import AS_WRITTEN, MASKED
from jupyter_pernix.records import ContextItem, FileChange, Picture, Plan, PlanStep

KNOWN = "correct-horse-7battery"
ISSUED = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MASKER = Masker([KNOWN])
IN_TURN: dict[str, Any] = {"session_id": SessionId("ses_1"), "turn_id": TurnId("trn_1")}
IN_CALL = {**IN_TURN, "call_id": CallId("cal_1")}


def finished(result: str, **more: Any) -> ToolCallFinished:
    return ToolCallFinished(**IN_CALL, status="completed", result=result, duration=0.5, **more)


def output(**fields: Any) -> ExecutionOutput:
    return ExecutionOutput(**IN_TURN, execution_id=ExecutionId("exe_1"), **fields)


def test_each_kind_of_fact_is_masked_or_stays_as_it_was_written():
    kinds = set(get_args(Event))
    assert set(MASKED) | AS_WRITTEN == kinds
    assert set(MASKED) & AS_WRITTEN == set()


@pytest.mark.parametrize("kind", MASKED, ids=lambda kind: kind.__name__)
def test_masked_fields_are_fields_of_the_fact(kind: type):
    assert set(MASKED[kind]) <= {field.name for field in msgspec.structs.fields(kind)}


@pytest.mark.parametrize(
    "event",
    [
        finished(f"a {KNOWN}\nb {ISSUED}"),
        output(op="extend", text=KNOWN),
        output(op="append", output={"output_type": "stream", "name": "stdout", "text": ISSUED}),
        output(op="append", output={"output_type": "error", "ename": "E", "evalue": KNOWN, "traceback": ["a", ISSUED]}),
        output(
            op="append",
            output={"output_type": "display_data", "data": {"text/html": f"<b>{KNOWN}</b>"}, "metadata": {}},
        ),
        TurnContextAdded(**IN_TURN, item=ContextItem(kind="variable", name="x", text=f"x = {KNOWN!r}")),
        ProblemNoticed(**IN_TURN, text=f"401: bad key {KNOWN}", hint=f"is {ISSUED} right?"),
        StepRetryScheduled(
            **IN_TURN, step_id=StepId("stp_1"), attempt=1, attempts=3, seconds=1, asked=False, text=KNOWN
        ),
        PlanUpdated(**IN_TURN, plan=Plan(approach=KNOWN, steps=[PlanStep(text=ISSUED)])),
        FileChanged(
            **IN_CALL,
            change=FileChange(path="a", before=None, after="00", added_lines=1, removed_lines=0, diff=f"+{KNOWN}\n"),
        ),
    ],
    ids=lambda event: type(event).__name__,
)
def test_no_secret_is_left_in_what_is_brought_back(event: Event):
    masked = masked_event(event, MASKER)
    told = msgspec.json.encode(masked).decode()
    assert KNOWN not in told and ISSUED not in told and MARK in told
    assert type(masked) is type(event)
    assert masked_event(masked, MASKER) is masked


@pytest.mark.parametrize(
    "event",
    [
        TurnSubmitted(**IN_TURN, text=f"use {ISSUED}", origin="api"),
        ToolCallRequested(
            **IN_CALL,
            step_id=StepId("stp_1"),
            wire_id="1",
            tool="run_code",
            kind="execute",
            title="Run",
            arguments={"code": f"k = '{ISSUED}'"},
        ),
        ExecutionStarted(
            **IN_CALL, execution_id=ExecutionId("exe_1"), place="own", kernel_name="python3", code=f"k = '{ISSUED}'"
        ),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_the_user_says_and_what_runs_stays_as_it_was_written(event: Event):
    assert masked_event(event, MASKER) is event


def test_what_holds_no_secret_is_the_same_object():
    event = finished("exit code 0\nall good", pictures=[Picture(mime="image/png", data="aGVsbG8=")])
    assert masked_event(event, MASKER) is event
