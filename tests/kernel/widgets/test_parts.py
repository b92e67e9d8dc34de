"""What a widget is told of a session keeps its shape, is bounded, and carries nothing that could come alive."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from support.story import SESSION, story

from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import CallId, ExecutionId, SessionId, StepId, TurnId
from jupyter_pernix.kernel.widgets import parts
from jupyter_pernix.records import Budget, CallView, ExecutionView, SessionView, StepView, TurnView, Usage

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def view() -> SessionView:
    return SessionFold.of(SESSION, story()).view


def call(number: int, **fields: Any) -> CallView:
    given: dict[str, Any] = {"tool": "run_code", "kind": "execute", "title": f"Call {number}", "arguments": {}}
    given |= {"status": "completed", "requested_at": START + timedelta(seconds=number)}
    return CallView(call_id=CallId(f"call_{number}"), step_id=StepId("step_1"), **{**given, **fields})


def execution(*outputs: dict[str, Any]) -> ExecutionView:
    return ExecutionView(
        execution_id=ExecutionId("exe_1"), place="own", kernel_name="python3", code="pass", outputs=list(outputs)
    )


def with_calls(*calls: CallView) -> SessionView:
    turn = TurnView(turn_id=TurnId("turn_1"), text="go", origin="api", submitted_at=START, items=list(calls))
    return SessionView(session_id=SessionId("ses_1"), turns=[turn])


def picture(mime: str, size: int) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {mime: "A" * size, "text/plain": "<Figure>"}, "metadata": {}}


def test_a_part_has_the_shape_of_the_record_that_it_comes_from() -> None:
    whole = view()
    for _, part in parts.calls(whole):
        assert msgspec.convert(part, CallView).call_id == part["call_id"]
    for _, part in parts.turns(whole):
        assert msgspec.convert(part, TurnView).turn_id == part["turn_id"]
    assert msgspec.convert(parts.head(whole), SessionView).title == whole.title


def test_only_the_last_calls_and_turns_are_told_with_their_numbers() -> None:
    many = with_calls(*(call(number) for number in range(70)))
    told = parts.calls(many)
    assert [number for number, _ in told] == list(range(20, 70))
    assert told[-1][1]["title"] == "Call 69"
    (turn,) = many.turns
    several = SessionView(session_id=SessionId("ses_1"), turns=[turn] * 20)
    assert [number for number, _ in parts.turns(several)] == list(range(8, 20))


def test_a_session_of_any_size_fits_into_a_notebook() -> None:
    deep: Any = "end"
    for _ in range(60):
        deep = {"in": [deep]}
    output = {"output_type": "stream", "name": "stdout", "text": "y" * 1_000_000}
    big = {"code": "x" * 1_000_000, "deep": deep, **{f"key{at}": "z" * 5_000 for at in range(300)}}
    calls = [call(at, arguments=big, result="r" * 1_000_000, execution=execution(*[output] * 100)) for at in range(80)]
    calls.append(call(99, execution=execution(*[picture("image/png", 140_000)] * 20)))
    whole = with_calls(*calls)
    assert len(json.dumps(parts.calls(with_calls(calls[0])))) < 300_000
    pictures = json.dumps(parts.calls(whole)).count("A" * 140_000)
    assert pictures == 3
    assert len(json.dumps(parts.turns(whole))) < 100_000


def test_a_text_that_is_cut_says_so() -> None:
    told = parts.cut("a" * 100 + "b" * 100, 50)
    assert told == f"{'a' * 25}\n… 150 characters left out …\n{'b' * 25}"
    assert parts.cut("short", 50) == "short"


def test_of_outputs_stay_text_and_small_pictures() -> None:
    html = {
        "output_type": "execute_result",
        "data": {"text/html": "<b>x</b>", "text/plain": ["x", "y"]},
        "metadata": {},
    }
    script = {"output_type": "display_data", "data": {"application/javascript": "alert(1)", "image/svg+xml": "<svg/>"}}
    outputs = [html, script, picture("image/png", 40), picture("image/png", 200_000), {"output_type": "strange"}]
    ((_, told),) = parts.calls(with_calls(call(1, execution=execution(*outputs))))
    assert [output["data"] for output in told["execution"]["outputs"]] == [
        {"text/plain": "xy"},
        {"text/plain": ""},
        {"text/plain": "<Figure>", "image/png": "A" * 40},
        {"text/plain": "<Figure>"},
        {"text/plain": ""},
    ]


def test_what_was_used_counts_workers_and_what_has_no_price_is_unknown() -> None:
    used = {(each["of"], each["what"]): (each["used"], each["limit"]) for each in parts.limits(view())}
    assert set(used) == {
        (of, what) for of in ("session", "turn") for what in ("rounds", "tokens", "cost", "changed_lines")
    }
    step = StepView(
        step_id=StepId("s"), index=0, endpoint="e", model="m", usage=Usage(prompt_tokens=90, completion_tokens=10)
    )
    turn = TurnView(
        turn_id=TurnId("t"), text="", origin="api", submitted_at=START, started_at=START, steps=[step], budget=Budget()
    )
    session = SessionView(
        session_id=SessionId("s"), turns=[turn], usage=Usage(prompt_tokens=95, completion_tokens=10), budget=None
    )
    assert parts.limits(session) == [
        {"of": "session", "what": "rounds", "used": 1, "limit": None},
        {"of": "session", "what": "tokens", "used": 105, "limit": None},
        {"of": "session", "what": "cost", "used": None, "limit": None},
        {"of": "session", "what": "changed_lines", "used": 0, "limit": None},
        {"of": "turn", "what": "rounds", "used": 1, "limit": 60},
        {"of": "turn", "what": "tokens", "used": 100, "limit": None},
        {"of": "turn", "what": "cost", "used": None, "limit": None},
        {"of": "turn", "what": "changed_lines", "used": 0, "limit": None},
    ]
