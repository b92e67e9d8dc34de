"""What the modes, the scope and the user let a turn do; decided and stored before any effect."""

from pathlib import Path
from typing import Any

import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent.policy.rules_file import RulesFile
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel, RunSettings
from jupyter_pernix.agent.testing import MemoryHost, Says, ScriptedModel, call
from jupyter_pernix.events import ApprovalRequested, PolicyDecided, ProblemNoticed, ToolCallStarted
from jupyter_pernix.ids import CallId
from jupyter_pernix.records import ApprovalAnswer, Mode

EVERYTHING = (
    call("read_file", path="a"),
    call("list_files"),
    call("search_files", pattern="a"),
    call("write_file", path="b", content="b\n"),
    call("edit_file", path="a", old_text="a", new_text="c"),
    call("run_code", code="1"),
    call("run_shell", command="touch c"),
)


@pytest.mark.parametrize("mode", ["ask", "plan"])
async def test_in_ask_and_plan_nothing_that_writes_or_executes_runs(tmp_path: Path, mode: Mode) -> None:
    acting = Acting(root=tmp_path, mode=mode, can_ask=True)
    (acting.space / "a").write_text("a\n")
    await acting.say([Says(calls=EVERYTHING), answer()])

    assert acting.statuses == ["completed"] * 3 + ["failed"] * 4
    assert acting.results[3] == (
        f"Not done: this changes files, and in mode '{mode}' only reading is allowed. "
        "Say in your answer what you would do; the user can switch to mode 'edit' or 'auto'."
    )
    assert sorted(path.name for path in acting.space.iterdir()) == ["a"]
    assert (acting.space / "a").read_text() == "a\n"
    assert acting.executor.codes == []


async def test_in_edit_code_and_commands_are_asked_about_and_writes_are_not(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="edit", answers=[ApprovalAnswer(choice="allow_once")] * 2)
    (acting.space / "a").write_text("a\n")
    await acting.say([Says(calls=EVERYTHING), answer()])

    assert acting.statuses == ["completed"] * 7
    assert [(event.question, event.detail, event.choices) for event in acting.of(ApprovalRequested)] == [
        ("Run this code in the session's kernel?", "1", ["allow_once", "allow_session", "reject_once"]),
        ("Run this shell command?", "touch c", ["allow_once", "allow_session", "allow_always", "reject_once"]),
    ]


async def test_in_auto_everything_runs_unasked(acting: Acting) -> None:
    (acting.space / "a").write_text("a\n")
    await acting.say([Says(calls=EVERYTHING), answer()])

    assert acting.statuses == ["completed"] * 7
    assert acting.of(ApprovalRequested) == []


async def test_what_would_be_asked_is_refused_when_nobody_is_there(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="edit", can_ask=False)
    await acting.say([Says(calls=(call("run_code", code="1"),)), answer()])

    assert acting.executor.codes == []
    assert acting.results[0].startswith("Not done: this needs the user's approval and nobody is there to give it")
    assert [(event.verdict, event.rule) for event in acting.of(PolicyDecided)] == [("refuse", "nobody_to_ask")]


async def test_a_decision_is_stored_before_the_effect(acting: Acting) -> None:
    await acting.say([Says(calls=(call("run_shell", command="touch x"),)), answer()])

    types = acting.host.types
    assert types.index("policy.decided") < types.index("tool_call.started")
    decided = acting.of(PolicyDecided)[0]
    assert (decided.action, decided.verdict, decided.rule, decided.mode, decided.targets) == (
        "shell",
        "allow",
        "mode:auto:shell",
        "auto",
        ["touch x", str(acting.space.resolve() / "x")],
    )


async def test_a_rejection_with_text_is_told_to_the_model_and_the_turn_goes_on(tmp_path: Path) -> None:
    rejects = ApprovalAnswer(choice="reject_once", text="Use the small file.")
    acting = Acting(root=tmp_path, mode="edit", answers=[rejects])
    finished = await acting.say([Says(calls=(call("run_code", code="big()"),)), answer("All right.")])

    assert finished.code == "answered"
    assert acting.results == ["Not done: the user declined this. The user says: Use the small file."]
    assert acting.of(ToolCallStarted) == []


async def test_a_yes_for_the_session_is_not_asked_again_nor_does_it_cover_other_actions(tmp_path: Path) -> None:
    answers = [ApprovalAnswer(choice="allow_session"), ApprovalAnswer(choice="reject_once")]
    acting = Acting(root=tmp_path, mode="edit", answers=answers)
    codes = (call("run_code", code="1"), call("run_code", code="2"), call("run_shell", command="touch z"))
    await acting.say([Says(calls=codes), answer()])

    assert acting.statuses == ["completed", "completed", "failed"]
    assert [event.rule for event in acting.of(PolicyDecided)] == [
        "mode:edit:execute",
        "session:tool:run_code",
        "mode:edit:shell",
    ]


async def test_a_yes_for_the_session_outlives_the_program(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="edit", answers=[ApprovalAnswer(choice="allow_session")])
    await acting.say([Says(calls=(call("run_code", code="1"),)), answer()])

    later = MemoryHost(space=acting.space, side=tmp_path / "side", mode="edit", can_ask=True, log=acting.host.log)
    turn_id = later.submit("Again")
    model = ScriptedModel([Says(calls=(call("run_code", code="2"),)), answer()])
    await Run(later, turn_id, list(later.log), OneModel(model)).carry()

    assert later.fake_executor.codes == ["2"]


async def test_a_yes_for_the_session_does_not_outrank_a_mode_that_refuses(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="edit", answers=[ApprovalAnswer(choice="allow_session")])
    await acting.say([Says(calls=(call("run_code", code="1"),)), answer()])
    acting.host.mode = "plan"
    await acting.say([Says(calls=(call("run_code", code="2"),)), answer()])

    assert acting.executor.codes == ["1"]


class SwitchingHost(MemoryHost):
    """While it asks, somebody changes the mode."""

    async def ask(self, **asked: Any) -> ApprovalAnswer:
        given = await super().ask(**asked)
        self.mode: Mode = "plan"
        return given


async def test_a_yes_counts_for_what_was_asked_under_the_mode_that_holds_when_it_comes(tmp_path: Path) -> None:
    (tmp_path / "space").mkdir()
    host = SwitchingHost(
        space=tmp_path / "space", side=tmp_path / "side", mode="edit", answers=[ApprovalAnswer(choice="allow_once")]
    )
    turn_id = host.submit("Do it")
    model = ScriptedModel([Says(calls=(call("run_code", code="1"),)), answer()])
    await Run(host, turn_id, list(host.log), OneModel(model)).carry()

    assert host.fake_executor.codes == []
    decided = [(event.verdict, event.mode) for event in host.events if isinstance(event, PolicyDecided)]
    assert decided == [("ask", "edit"), ("refuse", "plan")]


@pytest.mark.parametrize(
    "path",
    ["../out.txt", "/etc/passwd", "a/../../out.txt", "~/x", "link/out.txt", ".git/hooks/pre-commit", "sub/.GIT/config"],
)
async def test_writes_outside_and_to_what_runs_later_are_not_done_in_auto_without_a_person(
    tmp_path: Path, path: str
) -> None:
    acting = Acting(root=tmp_path, can_ask=False)
    (acting.space / "link").symlink_to(tmp_path)
    (acting.space / "sub").mkdir()
    await acting.say([Says(calls=(call("write_file", path=path, content="x"),)), answer()])

    assert acting.statuses == ["failed"]
    assert acting.of(ToolCallStarted) == []
    assert not (tmp_path / "out.txt").exists()


async def test_a_question_shows_what_would_hide(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="edit", answers=[ApprovalAnswer(choice="reject_once")])
    await acting.say([Says(calls=(call("run_shell", command="echo safe\u202e\x1b[2K # \u200b"),)), answer()])

    asked = acting.of(ApprovalRequested)[0]
    assert asked.detail == "echo safe\\u202e\\x1b[2K # \\u200b"
    assert asked.call_id == CallId(acting.of(PolicyDecided)[0].call_id)


async def test_a_deny_rule_of_the_settings_that_means_nothing_makes_everything_asked(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, can_ask=False, settings=RunSettings(scout=False, deny=("rm *",)))
    await acting.say([Says(calls=(call("list_files"),)), answer()])
    assert acting.statuses == ["failed"]
    assert acting.of(PolicyDecided)[0].rule == "nobody_to_ask"


async def test_a_rule_for_good_is_saved_before_the_call_runs_and_holds_in_other_sessions(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "permissions"
    acting = Acting(root=tmp_path, mode="edit", answers=[ApprovalAnswer(choice="allow_always")])
    acting.host.permissions_folder = folder
    await acting.say([Says(calls=(call("run_shell", command="touch a"),)), answer()])
    assert RulesFile(folder, acting.space).read().allow == ("touch",)

    again = Acting(root=tmp_path, mode="edit", can_ask=False)
    again.host.permissions_folder = folder
    await again.say([Says(calls=(call("run_shell", command="touch b"),)), answer()])
    assert again.statuses == ["completed"]
    assert again.of(PolicyDecided)[0].rule == "saved:touch"


async def test_rules_that_cannot_be_saved_hold_for_the_session_and_the_user_is_told(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, mode="edit", answers=[ApprovalAnswer(choice="allow_always")])
    calls = tuple(call("run_shell", command=f"touch {name}") for name in "ab")
    await acting.say([Says(calls=calls), answer()])
    assert acting.statuses == ["completed", "completed"]
    assert [event.text for event in acting.of(ProblemNoticed)] == [
        "The rules could not be saved: there is no folder for them. They hold for this session."
    ]
