"""What is loaded ahead of a server's first turn."""

import subprocess
import sys
from pathlib import Path

from jupyter_pernix.agent.testing import Says
from jupyter_pernix.records import SessionCreate

from .inprocess import World

LOADS = """
import sys, anyio
from jupyter_pernix.serverext.warming import warm_up
before = "jupyter_pernix.agent.run" in sys.modules
anyio.run(warm_up)
print(before, "jupyter_pernix.agent.run" in sys.modules, "httpx" in sys.modules)
"""


def _says(*_: object) -> Says:
    return Says(text="Done.")


def test_what_carries_a_turn_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


async def test_it_is_done_once_when_the_first_session_is_made(tmp_path: Path) -> None:
    asked: list[str] = []

    async def warm() -> None:
        asked.append("warm")

    world = World(data=tmp_path / "data", root=tmp_path / "root", think=_says, work=_says, plan=_says)
    async with world.sessions() as sessions:
        sessions.around.warm = warm
        assert sessions.listed() == []
        assert asked == []
        for _ in range(2):
            await sessions.create(SessionCreate())
    assert asked == ["warm"]
