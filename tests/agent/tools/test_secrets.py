"""Secrets in what tools bring back reach neither the log, nor the model, nor a side file; and no mark takes a secret's place."""

from pathlib import Path

import anyio
import pytest
from agent.acting import Acting, answer
from agent.tools.doing import did, edit, read, write

from jupyter_pernix.agent.testing import Says, call
from jupyter_pernix.events import encode_event
from jupyter_pernix.masking import MARK

ISSUED = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CONFIG = f"DEBUG = True\nTOKEN = '{ISSUED}'\n"
MASKED = f"TOKEN = '{MARK}(github-token)'"


@pytest.fixture
def config(acting: Acting) -> Path:
    path = acting.space / "config.py"
    path.write_text(CONFIG)
    return path


def held(path: Path) -> str:
    return path.read_text()


def brought_back(acting: Acting) -> str:
    """What the log says and what the model was sent."""
    log = b"\n".join(encode_event(stored.event) for stored in acting.host.log)
    return (log + b"\n".join(acting.model.sent)).decode()


async def test_a_file_is_read_without_its_secrets(acting: Acting, config: Path) -> None:
    assert await did(acting, read("config.py")) == [f"config.py: lines 1-2 of 2.\n1\tDEBUG = True\n2\t{MASKED}"]
    assert ISSUED not in brought_back(acting)


async def test_a_line_beside_a_secret_is_edited_and_the_secret_stays(acting: Acting, config: Path) -> None:
    result = await did(acting, read("config.py"), edit("config.py", "DEBUG = True", "DEBUG = False"))
    assert result[-1].startswith("Edited config.py")
    assert held(config) == CONFIG.replace("True", "False")
    assert ISSUED not in brought_back(acting)


@pytest.mark.parametrize(
    "change",
    [
        edit("config.py", MASKED, "TOKEN = read()"),
        edit("config.py", "DEBUG = True", f"DEBUG = True\n{MASKED}"),
        write("config.py", f"DEBUG = False\n{MASKED}\n"),
        write("copy.py", MASKED),
    ],
    ids=["looked for", "put in", "whole file", "new file"],
)
async def test_a_mark_is_not_written_in_a_secrets_place(
    acting: Acting, config: Path, change: tuple[str, dict[str, str]]
) -> None:
    result = await did(acting, read("config.py"), change)
    assert result[-1].startswith(f"Not done: {MARK}(…)")
    assert held(config) == CONFIG
    assert not (acting.space / "copy.py").exists()


async def test_a_mark_that_stands_in_the_file_itself_is_text_as_any_other(acting: Acting) -> None:
    path = acting.space / "doc.md"
    path.write_text(f"It is shown as {MARK}(known).\n")
    result = await did(acting, read("doc.md"), edit("doc.md", f"shown as {MARK}(known)", f"seen as {MARK}(known)"))
    assert result[-1].startswith("Edited doc.md")
    assert path.read_text() == f"It is seen as {MARK}(known).\n"


@pytest.mark.parametrize("lines", [10, 2_000, 40_000])
async def test_a_commands_output_has_no_secret_here_nor_in_its_side_file(
    acting: Acting, config: Path, lines: int
) -> None:
    command = f"seq 1 {lines}; cat config.py; seq 1 {lines}"
    with anyio.fail_after(30):
        await acting.say([Says(calls=(call("run_shell", command=command),)), answer()])
    assert ISSUED not in brought_back(acting)
    kept = [path.read_bytes().decode() for path in (acting.root / "side").glob("cal_*.txt")]
    assert all(ISSUED not in text and MASKED in text for text in kept)
    assert bool(kept) == (lines > 10)
    if kept:
        assert kept[0].count("\n") == 2 * lines + 2
