"""A small project that lines are judged in."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.judgement import Judgement
from jupyter_pernix.agent.policy.shell import judge_line

CASES = Path(__file__).parents[3] / "cases"


@dataclass(frozen=True)
class World:
    """``home`` holds the project ``root`` and what is beside it."""

    home: Path

    @property
    def root(self) -> Path:
        return self.home / "proj"

    def judge(self, line: str, *deny: str, environ: dict[str, str] | None = None) -> Judgement:
        return judge_line(line, root=str(self.root), home=str(self.home), environ=environ or {}, deny=deny)

    def filled(self, text: str) -> str:
        """``text`` of a case with its places put in."""
        return text.replace("@P@", str(self.root)).replace("@H@", str(self.home)).replace("@PN@", self.root.name)


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The project that all lines are judged in; nothing may be changed in it."""
    folder = tmp_path_factory.mktemp("worlds") / "world"
    subprocess.run(["bash", str(CASES / "shell_world.sh"), str(folder)], check=True, capture_output=True)
    return World(folder.resolve() / "home")


@pytest.fixture
def world(pristine: World, tmp_path: Path) -> World:
    """A project of a test's own."""
    shutil.copytree(pristine.home, tmp_path / "home", symlinks=True)
    return World(tmp_path.resolve() / "home")
