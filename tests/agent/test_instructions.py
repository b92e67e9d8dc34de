"""Standing instructions: told once at the beginning, and again only when they change."""

import os
from pathlib import Path

import pytest
from agent.acting import Acting, answer
from agent.test_context import rebuilt

from jupyter_pernix.agent.briefing import RULES
from jupyter_pernix.agent.instructions import LONGEST
from jupyter_pernix.agent.testing import ScriptedModel
from jupyter_pernix.events import InstructionsRead, ProblemNoticed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "pernix"
    folder.mkdir()
    return folder


@pytest.fixture
def acting(tmp_path: Path, folder: Path) -> Acting:
    return Acting(root=tmp_path, instructions_folder=folder)


def request(acting: Acting) -> str:
    return acting.model.requests[0][-1]["content"]


def system(acting: Acting) -> str:
    return acting.model.requests[0][0]["content"]


async def test_all_files_stand_in_the_system_part_of_a_new_session(acting: Acting, folder: Path) -> None:
    (folder / "SOUL.md").write_text("Be brief.\n")
    (folder / "RULES.md").write_text("Never push.\n")
    (acting.space / "AGENTS.md").write_text("Run `make check`.\n")
    await acting.say([answer()])

    told = system(acting)
    assert told.index("(SOUL.md)") < told.index("(RULES.md)") < told.index("(AGENTS.md)")
    assert "Never push." in told
    assert request(acting) == "Do it\n\n(Mode: auto. Time: 2026-01-01 00:00 UTC.)"
    assert [(event.name, event.text, len(event.digest)) for event in acting.of(InstructionsRead)] == [
        ("SOUL.md", "", 64),
        ("RULES.md", "", 64),
        ("AGENTS.md", "", 64),
    ]


async def test_a_change_is_told_in_the_next_message_and_only_there(acting: Acting, folder: Path) -> None:
    (folder / "RULES.md").write_text("Never push.\n")
    await acting.say([answer()])
    before = system(acting)
    (folder / "RULES.md").write_text("Push at will.\n")
    await acting.say([answer()], text="Next")

    assert system(acting) == before
    assert request(acting) == (
        "Next\n\n(RULES.md is now as follows; what you were told of it before no longer holds.)\nPush at will.\n\n"
        "(Mode: auto. Time: 2026-01-01 00:00 UTC.)"
    )
    await acting.say([answer()], text="More")
    assert "Push at will" not in request(acting)
    assert rebuilt(acting).startswith(acting.model.sent[0][:-1])


async def test_a_file_that_goes_is_said_to_be_gone_and_one_that_comes_is_told(acting: Acting, folder: Path) -> None:
    (folder / "SOUL.md").write_text("Be brief.\n")
    await acting.say([answer()])
    (folder / "SOUL.md").unlink()
    (acting.space / "AGENTS.md").write_text("Use tabs.\n")
    await acting.say([answer()])

    assert "(SOUL.md is gone; what it said no longer holds.)" in request(acting)
    assert "(AGENTS.md is now as follows;" in request(acting)
    assert [(event.name, event.digest != "", event.text) for event in acting.of(InstructionsRead)][1:] == [
        ("SOUL.md", False, ""),
        ("AGENTS.md", True, "Use tabs."),
    ]


async def test_a_file_that_is_touched_without_a_change_is_not_told_again(acting: Acting, folder: Path) -> None:
    (folder / "SOUL.md").write_text("Be brief.\n")
    await acting.say([answer()])
    os.utime(folder / "SOUL.md", (1, 1))
    await acting.say([answer()])

    assert len(acting.of(InstructionsRead)) == 1


async def test_a_session_of_an_older_version_takes_its_system_part_as_told(acting: Acting) -> None:
    (acting.root / "side").mkdir()
    (acting.root / "side" / "system.md").write_text("You are here.\n\nUse tabs.\n")
    (acting.space / "AGENTS.md").write_text("Use tabs.\n")
    await acting.say([answer()])

    assert system(acting) == "You are here.\n\nUse tabs.\n"
    assert [event.text for event in acting.of(InstructionsRead)] == [""]


async def test_what_cannot_be_used_as_instructions_is_left_out(acting: Acting, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    (folder / "SOUL.md").write_bytes(b"\x00\x01\x02")
    (folder / "RULES.md").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "SESSIONS.md")
    (acting.space / "AGENTS.md").write_text("x" * (LONGEST + 5_000))
    await acting.say([answer()])
    await acting.say([answer()])

    told = system(acting)
    said = [event.text.partition(":")[0] for event in acting.of(ProblemNoticed)]
    assert said == [f"{name} is not used as instructions" for name in ("SOUL.md", "RULES.md", "SESSIONS.md")]
    assert "hunter2" not in told
    assert "(SOUL.md)" not in told
    assert told.endswith("[… the rest of AGENTS.md is cut]\n")
    assert [event.name for event in acting.of(InstructionsRead)] == ["AGENTS.md"]


async def test_instructions_leave_room_in_a_small_context_and_are_not_told_again_in_a_large_one(acting: Acting) -> None:
    (acting.space / "AGENTS.md").write_text("Use tabs. " * 1_000)
    await acting.say(ScriptedModel([answer()], context_length=8_192))
    told = system(acting)
    await acting.say(ScriptedModel([answer()], context_length=200_000))

    assert len(told) < len(RULES) + 8_192 * 6 // 10 + 300
    assert system(acting) == told
    assert [event.text for event in acting.of(InstructionsRead)] == [""]


async def test_a_folder_of_instructions_that_is_not_there_is_none(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, instructions_folder=tmp_path / "none")
    await acting.say([answer()])

    assert acting.of(InstructionsRead) == []
