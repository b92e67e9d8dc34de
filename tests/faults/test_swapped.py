"""While a question waits, a folder is put in the place of another: a yes is for where a call led when it was asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faults.stage import Stage, does, says
from faults.test_permissions import Meddling

from jupyter_pernix.records import ApprovalAnswer

YES = ApprovalAnswer(choice="allow_once")


def _swapped(stage: Stage, folder: Path, leads: Path) -> Stage:
    def swap() -> None:
        folder.rename(folder.with_name(f"{folder.name}-before"))
        folder.symlink_to(leads)

    host = Meddling(space=stage.space, side=stage.root / "side", mode="edit", answers=stage.answers)
    host.meddle = swap
    stage.host = host
    return stage


@pytest.mark.parametrize(
    "command",
    ["touch sub/new", "cp a sub/new", "mkdir sub/new", "ls > sub/new", "cd sub && touch new", "tee sub/new < a"],
)
async def test_a_command_does_not_write_through_a_link_that_came_after_the_yes(
    stage_of: Callable[..., Stage], command: str
) -> None:
    stage = stage_of(mode="edit", answers=[YES])
    (stage.space / "sub").mkdir()
    (stage.space / "a").write_text("a\n")
    away = stage.root / "away"
    away.mkdir()
    stage = _swapped(stage, stage.space / "sub", away)
    stage.play(does("run_shell", command=command), says("Done."))
    await stage.say("Do it")

    assert list(away.iterdir()) == []
    assert stage.results[0].startswith("Not done")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {"path": "../near/a"}),
        ("write_file", {"path": "../near/a", "content": "evil\n"}),
        ("edit_file", {"path": "../near/a", "old_text": "a", "new_text": "evil"}),
    ],
)
async def test_a_yes_for_a_folder_outside_does_not_follow_a_link_that_came_after_it(
    stage_of: Callable[..., Stage], tool: str, args: dict[str, Any]
) -> None:
    stage = stage_of(mode="edit", answers=[YES])
    near, away = stage.root / "near", stage.root / "away"
    for folder in (near, away):
        folder.mkdir()
        (folder / "a").write_text("a of the other\n" if folder is away else "a\n")
    stage = _swapped(stage, near, away)
    stage.play(does(tool, **args), says("Done."))
    await stage.say("Do it")

    assert (away / "a").read_text() == "a of the other\n"
    assert "of the other" not in stage.results[0]


@pytest.mark.parametrize("code", ["open('sub/new', 'w').write('x')", "%run sub/x.py", "!touch sub/new"])
async def test_a_cell_that_names_a_folder_is_not_run_when_it_leads_elsewhere(
    stage_of: Callable[..., Stage], code: str
) -> None:
    stage = stage_of(mode="edit", answers=[YES])
    (stage.space / "sub").mkdir()
    (stage.space / "sub" / "x.py").write_text("1\n")
    away = stage.root / "away"
    away.mkdir()
    (away / "x.py").write_text("2\n")
    stage = _swapped(stage, stage.space / "sub", away)
    stage.play(does("run_code", code=code), says("Done."))
    await stage.say("Do it")

    assert stage.results[0].startswith("Not done")
