"""What is kept of executions that have ended."""

from collections import deque

from jupyter_pernix.ids import ExecutionId
from jupyter_pernix.kernel import late
from jupyter_pernix.kernel.late import Past
from jupyter_pernix.kernel.outputs import OutputFold, Step
from jupyter_pernix.kernel.wire import Message


def remembered(past: Past, name: str, *, length: int = 3) -> None:
    fold = OutputFold(ExecutionId(name), displays=past.displays)
    fold.add("display_data", {"data": {"image/png": "x" * length}})
    fold.finish()
    fold.take()
    past.remember(name, fold)


def printed(past: Past, name: str, text: str = "late\n") -> bool:
    return past.take(Message(type="stream", parent_id=name, content={"name": "stdout", "text": text}))


def told(past: Past) -> list[Step]:
    steps: deque[Step] = deque()
    past.collect(steps)
    return list(steps)


def test_late_output_belongs_to_its_execution():
    past = Past()
    remembered(past, "one")
    remembered(past, "two")
    assert printed(past, "one")
    assert not printed(past, "never seen")
    (step,) = told(past)
    assert (step.execution_id, step.op.op, step.op.index) == ("one", "append", 1)


def test_the_oldest_are_forgotten_when_there_are_many_or_they_are_large():
    past = Past()
    for number in range(late._REMEMBERED + 1):
        remembered(past, f"small {number}")
    assert (printed(past, "small 0"), printed(past, "small 1")) == (False, True)
    for number in range(20):
        remembered(past, f"large {number}", length=4_000_000)
    assert not printed(past, "small 1")
    kept = [number for number in range(20) if printed(past, f"large {number}")]
    assert 5 <= len(kept) <= 10
    assert kept[-1] == 19


def test_one_that_never_stops_is_forgotten():
    past = Past()
    remembered(past, "loop")
    for _ in range(late._STEPS + 1):
        printed(past, "loop")
        told(past)
    assert not printed(past, "loop")


def test_what_has_arrived_is_no_news_once_it_was_collected_or_its_process_is_gone():
    past = Past()
    remembered(past, "one")
    assert not past.arrived.is_set()
    printed(past, "one")
    assert past.arrived.is_set()
    told(past)
    assert not past.arrived.is_set()
    printed(past, "one")
    past.forget()
    assert (past.arrived.is_set(), told(past)) == (False, [])
    remembered(past, "two")
    past.hear("shell", Message(type="stream", parent_id="two", content={"text": "no output"}))
    assert (past.arrived.is_set(), told(past)) == (False, [])
    past.hear("iopub", Message(type="stream", parent_id="two", content={"text": "late"}))
    assert (past.arrived.is_set(), len(told(past))) == (True, 1)


def test_what_went_on_while_its_end_was_told_is_told_afterwards():
    past = Past()
    fold = OutputFold(ExecutionId("one"), displays=past.displays)
    fold.finish()
    fold.take()
    fold.add("stream", {"name": "stdout", "text": "more"})
    past.remember("one", fold)
    (step,) = told(past)
    assert step.op.op == "append"
