"""A yes is for what was shown, once, and only for that; foreign texts do nothing by themselves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faults.registry import fault
from faults.stage import Stage, calls, does, says

from jupyter_pernix.agent.testing import MemoryHost
from jupyter_pernix.events import ApprovalRequested, PolicyDecided
from jupyter_pernix.records import ApprovalAnswer

YES = ApprovalAnswer(choice="allow_once")


class Meddling(MemoryHost):
    """While a person thinks about the first question, ``meddle`` is done."""

    meddle: Callable[[], object] | None = None

    async def ask(self, **asked: Any) -> ApprovalAnswer:
        answer = await super().ask(**asked)
        if self.meddle is not None:
            self.meddle()
            self.meddle = None
        return answer


def _meddled(stage: Stage, meddle: Callable[[], object]) -> Stage:
    host = Meddling(space=stage.space, side=stage.root / "side", mode="edit", answers=stage.answers)
    host.meddle = meddle
    stage.host = host
    return stage


@fault("approve-then-changed")
@pytest.mark.parametrize(
    "command", ["./x.sh", "bash x.sh", "sh ./x.sh --flag", "echo hi && ./x.sh", "env A=1 ./x.sh", "bash -c './x.sh'"]
)
async def test_a_script_that_was_changed_after_the_yes_is_not_run_and_asked_about_again(
    stage_of: Callable[..., Stage], command: str
) -> None:
    stage = stage_of(mode="edit", answers=[YES, YES])
    script = stage.space / "x.sh"

    def write(text: str) -> None:
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)

    write("echo harmless >> ran")
    stage = _meddled(stage, lambda: write("echo evil >> ran"))
    stage.play(
        does("run_shell", command=command), does("list_files"), does("run_shell", command=command), says("Done.")
    )
    await stage.say("Run x.sh")

    assert stage.results[0] == "Not done: what this call would touch has changed since the user was asked."
    assert len(stage.of(ApprovalRequested)) == 2
    assert (stage.space / "ran").read_text() == "evil\n"


@fault("approve-then-changed")
async def test_a_script_that_a_cell_runs_is_bound_to_the_yes_too(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of(mode="edit", answers=[YES])
    script = stage.space / "x.py"
    script.write_text("print(1)\n")
    stage = _meddled(stage, lambda: script.write_text("print(2)\n"))
    stage.play(does("run_code", code="%run x.py"), says("Done."))
    await stage.say("Run x.py")
    assert stage.results[0].startswith("Not done: what this call would touch has changed")
    assert stage.executor.codes == []


@fault("approve-then-changed")
async def test_a_script_that_stayed_as_it_was_runs(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of(mode="edit", answers=[YES])
    (stage.space / "x.sh").write_text("echo ran >> ran\n")
    stage = _meddled(stage, lambda: (stage.space / "other.txt").write_text("changed"))
    stage.play(does("run_shell", command="bash x.sh other.txt"), says("Done."))
    await stage.say("Run x.sh")
    assert (stage.space / "ran").read_text() == "ran\n"


@fault("unattended-ask")
async def test_with_nobody_there_a_question_is_a_no_that_is_reported(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of(mode="edit", can_ask=False)
    stage.play(does("run_shell", command="touch x"), says("The folder was removed."))
    finished = await stage.say("Remove the folder build")

    assert (finished.code, (stage.space / "x").exists()) == ("answered", False)
    assert stage.results[0].startswith("Not done: this needs the user's approval and nobody is there to give it")
    assert stage.reply.corrections == [
        "Nothing was changed in this turn: “Run: touch x” needs an approval, and nobody was there to give it."
    ]


@fault("automagic")
@pytest.mark.parametrize(
    "code",
    [
        "rm list.txt",
        "!rm list.txt",
        "%rm list.txt",
        "  rm list.txt",
        "%%bash\nrm list.txt",
        "get_ipython().system('rm list.txt')",
    ],
)
async def test_a_cell_that_is_a_shell_line_is_asked_about_like_any_code(
    stage_of: Callable[..., Stage], code: str
) -> None:
    stage = stage_of(mode="edit", answers=[ApprovalAnswer(choice="reject_once")])
    (stage.space / "list.txt").write_text("kept\n")
    stage.play(does("run_code", code=code), says("You declined it."))
    await stage.say("Clean up")

    (asked,) = stage.of(ApprovalRequested)
    assert asked.detail.strip() == code.strip()
    assert (stage.executor.codes, (stage.space / "list.txt").exists()) == ([], True)


@fault("repo-git-config")
async def test_a_folder_whose_git_config_runs_programs_is_worked_in_without_running_them(stage: Stage) -> None:
    git = stage.space / ".git"
    (git / "hooks").mkdir(parents=True)
    mark = stage.root / "touched"
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(
        f"[core]\n\tfsmonitor = touch {mark}\n\tpager = touch {mark}\n\thooksPath = hooks\n[diff]\n\texternal = touch {mark}\n"
    )
    (git / "hooks" / "post-checkout").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (git / "hooks" / "post-checkout").chmod(0o755)
    (stage.space / "a.py").write_text("x = 1\n")
    stage.play(
        does("list_files"),
        does("search_files", pattern="x"),
        does("read_file", path="a.py"),
        does("edit_file", path="a.py", old_text="1", new_text="2"),
        does("write_file", path=".git/config", content=""),
        says("Done."),
    )
    await stage.say("Look around")

    assert not mark.exists()
    assert "fsmonitor" in _content(git / "config")
    assert stage.results[-1].startswith("Not done")


def _content(file: Path) -> str:
    return file.read_text()


@fault("automagic", "unattended-ask")
async def test_several_calls_of_one_reply_are_decided_each_for_itself(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of(mode="edit", answers=[ApprovalAnswer(choice="reject_once"), YES])
    stage.play(
        calls(("run_shell", {"command": "touch one"}), ("run_shell", {"command": "touch two"}), ("list_files", {})),
        says("Done."),
    )
    await stage.say("Touch both")
    assert [(stage.space / name).exists() for name in ("one", "two")] == [False, True]
    assert [event.verdict for event in stage.of(PolicyDecided)] == ["ask", "ask", "allow"]
