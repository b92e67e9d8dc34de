"""What is done ahead of a server's first turn."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from jupyter_pernix.agent.testing import Says
from jupyter_pernix.records import SessionCreate, TerminalCode
from jupyter_pernix.serverext.warming import _rehearse, warm_up

from .inprocess import World


def written(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _says(*_: object) -> Says:
    return Says(text="Done.")


async def test_the_rehearsed_turn_is_a_whole_one_with_calls_and_an_answer(tmp_path: Path) -> None:
    finished = await _rehearse(tmp_path)
    assert (finished.code, finished.detail) == (TerminalCode.ANSWERED, "")
    notebook = written(tmp_path / "run.ipynb")
    nbformat.validate(notebook)
    kinds = [cell.metadata.pernix.kind for cell in notebook.cells]
    assert (kinds.count("tool"), kinds[-1]) == (4, "answer")
    assert "They are none." in notebook.cells[-1].source


async def test_a_rehearsal_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    await warm_up(lambda: True)
    assert names_in(tmp_path) == []


async def test_it_is_done_once_when_the_first_session_is_made(tmp_path: Path) -> None:
    asked: list[bool] = []

    async def warm(is_free: Callable[[], bool]) -> None:
        asked.append(is_free())

    world = World(data=tmp_path / "data", root=tmp_path / "root", think=_says, work=_says, plan=_says)
    async with world.sessions() as sessions:
        sessions.around.warm = warm
        assert sessions.listed() == []
        assert asked == []
        for _ in range(2):
            await sessions.create(SessionCreate())
    assert asked == [True]
