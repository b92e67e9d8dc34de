from pathlib import Path

from agent.acting import Acting, answer

from jupyter_pernix.agent.briefing import RULES
from jupyter_pernix.agent.instructions import LONGEST


async def system(acting: Acting) -> str:
    await acting.say([answer()])
    return acting.model.requests[0][0]["content"]


async def test_a_space_without_instructions_gets_the_rules_alone(acting: Acting) -> None:
    assert await system(acting) == RULES


async def test_instructions_of_the_space_are_told_once_for_the_session(acting: Acting) -> None:
    (acting.space / "AGENTS.md").write_text("\ufeffRun `make check`.\n", encoding="utf-8")
    first = await system(acting)
    (acting.space / "AGENTS.md").write_text("Something else.")

    assert first.startswith(RULES)
    assert first.endswith("\n\nRun `make check`.\n")
    assert await system(acting) == first


async def test_long_instructions_are_cut_and_say_so(acting: Acting) -> None:
    (acting.space / "AGENTS.md").write_text("x" * 100_000)
    told = await system(acting)

    assert len(told) < len(RULES) + LONGEST + 400
    assert told.endswith("[… the rest of AGENTS.md is cut]\n")


async def test_instructions_behind_a_link_to_outside_are_not_read(acting: Acting, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    (acting.space / "AGENTS.md").symlink_to(tmp_path / "secret")

    assert await system(acting) == RULES


async def test_instructions_that_are_a_folder_do_no_harm(acting: Acting) -> None:
    (acting.space / "AGENTS.md").mkdir()

    assert await system(acting) == RULES
