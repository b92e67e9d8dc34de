"""What the terminal shows of a turn, event by event."""

import io
from typing import Any

import pytest

from jupyter_pernix.cli.screen import Screen, spending

JSON = dict[str, Any]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def shown(*events: JSON, terminal: bool = False) -> tuple[str, str]:
    """What is on stdout and on stderr after these events and deltas of one turn."""
    out, err = Terminal() if terminal else io.StringIO(), io.StringIO()
    screen = Screen("t", out, err)
    for event in events:
        data = {"turn_id": "t", "session_id": "ses_1", **event}
        if event["type"].endswith(".delta"):
            screen.delta(data)
        else:
            screen.event(data)
    return out.getvalue(), err.getvalue()


def delta(text: str, offset: int = 0) -> JSON:
    return {"type": "message.delta", "step_id": "s", "offset": offset, "text": text}


def message(text: str, *corrections: str) -> JSON:
    return {"type": "message.completed", "step_id": "s", "text": text, "corrections": list(corrections)}


def test_a_terminal_sees_the_text_while_it_is_written() -> None:
    assert shown(delta("It is "), delta("done", 6), terminal=True)[0] == "It is done"


def test_a_pipe_gets_a_text_when_it_is_complete() -> None:
    assert shown(delta("It is "))[0] == ""
    assert shown(delta("It is "), message("It is done."))[0] == "It is done.\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_what_the_host_says_against_an_answer_comes_before_it(*, terminal: bool) -> None:
    out, _ = shown(delta("Done."), message("Done.", "No file was\nchanged."), terminal=terminal)
    assert out.endswith("! No file was changed.\nDone.\n")
    assert out.count("Done.") == (2 if terminal else 1)


def test_a_wait_says_how_long_and_who_asked_for_it() -> None:
    _, err = shown(
        {"type": "step.retry_scheduled", "text": "waiting 12 s: the server asked for it", "hint": "be patient"}
    )
    assert err == "waiting 12 s: the server asked for it\nbe patient\n"


def test_a_plan_is_shown_and_of_its_changes_only_what_changed() -> None:
    def plan(status: str) -> JSON:
        steps = [{"text": "Count", "status": status}, {"text": "Mend", "status": "pending"}]
        return {"type": "plan.updated", "plan": {"approach": "Count, then mend", "steps": steps}}

    _, err = shown(plan("pending"), plan("completed"))
    assert err == "plan: Count, then mend\n  · Count\n  · Mend\n  ✓ Count\n"


def test_workers_fallbacks_and_compactions_are_told() -> None:
    _, err = shown(
        {"type": "step.fallback_taken", "text": "a failed, so b answers"},
        {"type": "worker.spawned", "worker_id": "ses_2", "title": "Count"},
        {"type": "worker.reported", "worker_id": "ses_2", "code": "answered", "answer": "3"},
        {"type": "context.compacted", "tokens_before": 9000, "tokens_after": 500, "dropped": "old outputs"},
        {"type": "session.state_changed", "after": "paused"},
        {"type": "tool_call.requested", "call_id": "c", "title": "Write a.txt", "tool": "write_file"},
        {"type": "tool_call.finished", "call_id": "c", "status": "unknown", "result": "cut off", "duration": 0.0},
    )
    assert err.splitlines() == [
        "a failed, so b answers",
        "↳ worker: Count (ses_2)",
        "↳ worker answered: Count",
        "the conversation was made shorter: 9,000 → 500 tokens; old outputs",
        "paused; go on with: jupyter pernix resume ses_1",
        "? Write a.txt 0.0 s",
        "  cut off",
    ]


@pytest.mark.parametrize(
    ("usage", "cost", "says"),
    [
        (None, None, ""),
        ({"prompt_tokens": None}, None, ""),
        (
            {"prompt_tokens": 1200, "completion_tokens": 30, "cached_tokens": 1000},
            0.0123,
            "1,200 tokens read (1,000 of them cached), 30 written, cost 0.0123",
        ),
        ({"prompt_tokens": 5, "completion_tokens": 1}, None, "5 tokens read, 1 written, unpriced"),
    ],
)
def test_what_a_turn_used_is_told_at_its_end(usage: JSON | None, cost: float | None, says: str) -> None:
    assert spending(usage, cost) == says
    _, err = shown({"type": "turn.finished", "code": "answered", "usage": usage, "cost": cost})
    assert err == (says + "\n" if says else "")


def test_the_reason_of_an_ending_is_told_once() -> None:
    spent = "The turn used its 4 steps. Send a message to go on."
    _, err = shown(
        {"type": "problem.noticed", "text": spent, "hint": ""},
        {"type": "turn.finished", "code": "budget_rounds", "detail": spent, "usage": None, "cost": None},
    )
    assert err == f"{spent}\nbudget_rounds\n"
    _, err = shown({"type": "turn.finished", "code": "stuck", "detail": spent, "usage": None, "cost": None})
    assert err == f"stuck: {spent}\n"


def test_what_nobody_could_allow_is_said_with_what_to_do() -> None:
    _, err = shown({"type": "policy.decided", "verdict": "refuse", "rule": "nobody_to_ask"})
    assert err == "  refused: nobody is at this terminal to allow it; see --mode\n"
    _, err = shown({"type": "policy.decided", "verdict": "refuse", "rule": "protected:.git"})
    assert err == "  refused: protected:.git\n"
