"""Kills at random boundaries of events: what holds afterwards, and that the checks would see it if it did not. More kills:
``benchmarks/crash_boundaries.py``."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.crash_checks import effects_in, kept, told, unexplained
from support.crash_script import reply, request, tokens_in

from jupyter_pernix.events import (
    ApprovalResolved,
    Event,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from jupyter_pernix.ids import ApprovalId, CallId, SessionId, StepId, TurnId
from jupyter_pernix.records import CallStatus

LINES = Path(__file__).parent / "support" / "crash_lines.py"
KILLS = 15


@pytest.mark.kernel
@pytest.mark.timeout(400)
def test_nothing_is_lost_or_done_twice_and_every_session_goes_on_wherever_the_process_is_killed() -> None:
    done = subprocess.run(
        [sys.executable, str(LINES), "--kills", str(KILLS), "--in-a-line", "8", "--seed", "2026"],
        capture_output=True,
        text=True,
        timeout=380,
    )
    lines = [json.loads(text) for text in done.stdout.splitlines()]
    assert [line["wrong"] for line in lines] == [[], []], done.stderr
    assert done.returncode == 0
    assert sum(len(line["points"]) for line in lines) == KILLS
    assert all(found["told"] > 0 for line in lines for found in line["findings"][1:])


# ---- what the checks see ---------------------------------------------------------------------------------------------------------

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
IDS = {"session_id": SessionId("ses_1"), "turn_id": TurnId("trn_1")}


def made(call_id: str, status: CallStatus | None, *, allowed: bool = False) -> list[Event]:
    """A call of the effect ``j1.0.a`` that has begun; ``status`` ``None``: it has no result."""
    ids = {**IDS, "call_id": CallId(call_id)}
    asked = ToolCallRequested(
        **ids,
        step_id=StepId("stp_1"),
        wire_id=call_id,
        tool="run_shell",
        kind="execute",
        title="",
        arguments={"command": "echo j1.0.a >> ledger"},
    )
    answer = ApprovalResolved(**ids, approval_id=ApprovalId("apr_1"), choice="allow_once", text="", by="test")
    ended = ToolCallFinished(**ids, status=status or "failed", result="", duration=0.0)
    return [
        asked,
        *([answer] if allowed else []),
        ToolCallStarted(**ids),
        *([ended] if status else []),
    ]


def stored(events: list[Event]) -> list[Stored]:
    return [Stored(seq=seq, recorded_at=WHEN, event=event) for seq, event in enumerate(events, start=1)]


@pytest.mark.parametrize(
    ("log", "effects", "says"),
    [
        (made("a", "completed"), 1, ""),
        (made("a", "completed"), 2, "happened 2 times"),
        (made("a", "completed"), 0, "happened 0 times"),
        (made("a", "unknown"), 0, ""),
        (made("a", "unknown"), 1, ""),
        (made("a", "unknown"), 2, "happened 2 times"),
        (made("a", "failed"), 1, "happened 1 times"),
        (made("a", "cancelled"), 1, ""),
        ([], 1, "happened 1 times"),
        (made("a", None), 1, ""),
        ([*made("a", "unknown"), *made("b", "completed")], 1, "made again unasked: b"),
        ([*made("a", "unknown"), *made("b", "completed", allowed=True)], 2, ""),
        ([*made("a", "unknown"), *made("b", "completed", allowed=True)], 3, "happened 3 times"),
    ],
)
def test_effects_are_compared_with_what_the_log_says(log: list[Event], effects: int, says: str) -> None:
    found = unexplained(stored(log), {"j1.0.a": effects})
    assert [says in one for one in found] == ([True] if says else [])


def test_what_was_told_is_compared_byte_by_byte_and_in_order() -> None:
    first, second = b'{"seq":1,"type":"x"}', b'{"seq":2,"type":"y"}'
    events, faults = told([first, second])
    assert (kept(events, {1: first, 2: second}), faults) == ((0, 0), [])
    assert kept(events, {1: first}) == (1, 0)
    assert kept(events, {1: first, 2: b'{"seq":2,"type": "y"}'}) == (0, 1)
    assert told([second, first])[1] == ["1 was told of after 2"]
    assert "1 was told of twice, differently" in told([first, b'{"seq":1}'])[1]


def test_effects_are_found_by_their_tokens() -> None:
    assert effects_in(["j1.0.a\nj1.0.b\nj1.0.a\n", "# end\nj12w.3.a\n"]) == {"j1.0.a": 2, "j1.0.b": 1, "j12w.3.a": 1}


def test_the_scripted_model_asks_for_what_is_missing_and_once_more_for_what_is_unknown() -> None:
    messages: list[dict[str, object]] = [{"role": "user", "content": request("j1", ["shell", "look"], "/ledger")}]

    def answer(result: str) -> str:
        said = reply(messages)
        if "tool_calls" not in said:
            return str(said["text"])
        (asked,) = said["tool_calls"]
        arguments = json.dumps(asked["arguments"])
        wire_id = f"call_{len(messages)}"
        function = {"name": asked["name"], "arguments": arguments}
        messages.append({"role": "assistant", "tool_calls": [{"id": wire_id, "function": function}]})
        messages.append({"role": "tool", "tool_call_id": wire_id, "content": result})
        return tokens_in(arguments)[0]

    assert answer("the call was cut off while it ran and may have had its effect") == "j1.0.a"
    assert answer("exit code 0") == "j1.0.a"
    assert answer("nothing found") == "j1.1.a"
    assert answer("") == "Job j1 is over."
