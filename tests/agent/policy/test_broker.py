from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.broker import Decision, Intent, Targets, decide, question
from jupyter_pernix.agent.policy.scope import Scope


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    return Scope(tmp_path)


def shell(command: str = "ls") -> Intent:
    return Intent(action="shell", title=f"Run: {command}", targets=Targets(command=command))


def write(path: str) -> Intent:
    return Intent(action="write", title=f"Write {path}", targets=Targets(writes=(path,)))


def test_targets_are_canonical(scope: Scope) -> None:
    (scope.root / "link").symlink_to("real")
    decision = decide(write("link/../link/a"), mode="auto", scope=scope)
    assert decision == Decision(verdict="allow", rule="mode:auto:write", targets=(str(scope.root / "real" / "a"),))


def test_the_scope_refuses_before_the_mode_is_asked(scope: Scope) -> None:
    for mode in ("ask", "plan", "edit", "auto"):
        assert decide(write("../a"), mode=mode, scope=scope).rule == "scope"


def test_protected_folders_may_be_read_and_not_written(scope: Scope) -> None:
    read = Intent(action="read", title="", targets=Targets(reads=(".git/config",)))
    assert decide(read, mode="auto", scope=scope).verdict == "allow"
    refused = decide(write(".git/config"), mode="auto", scope=scope)
    assert (refused.verdict, refused.rule) == ("refuse", "protected:.git")
    assert refused.sentence == "Not done: '.git/config' is in '.git', which is not yours to change."


def test_a_grant_turns_a_question_into_a_yes_and_nothing_else(scope: Scope) -> None:
    granted = {"shell"}
    assert decide(shell(), mode="edit", scope=scope, granted=granted).rule == "session:shell"
    assert decide(shell(), mode="plan", scope=scope, granted=granted).verdict == "refuse"
    code = Intent(action="execute", title="", targets=Targets(code="1"))
    assert decide(code, mode="edit", scope=scope, granted=granted).verdict == "ask"


def test_an_unknown_action_is_refused_whatever_is_granted(scope: Scope) -> None:
    unknown = Intent(action="teleport", title="")
    decision = decide(unknown, mode="auto", scope=scope, granted={"teleport"})
    assert decision.verdict == "refuse"
    assert "'teleport' is not a kind of action" in decision.sentence


def test_a_question_without_anybody_to_answer_is_a_refusal(scope: Scope) -> None:
    assert decide(shell(), mode="edit", scope=scope, can_ask=False).verdict == "refuse"


def test_a_long_detail_is_cut_and_says_so() -> None:
    asked = question(shell("x" * 30_000))
    assert asked.detail.endswith("x\n[… 10,000 more characters are not shown]")


@pytest.mark.parametrize(
    ("intent", "text"),
    [
        (shell(), "Run this shell command?"),
        (Intent(action="execute", title="", targets=Targets(code="1")), "Run this code in the session's kernel?"),
        (write("a"), "Change these files?"),
        (Intent(action="other", title="Fly\u202e"), "Allow this: Fly\\u202e?"),
    ],
)
def test_the_question_names_the_action(intent: Intent, text: str) -> None:
    assert question(intent).question == text
