"""Notebooks that nobody has open: their files are changed whole, or not at all."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pernix.cells import digest_of, found
from jupyter_pernix.errors import NotebookRefused
from jupyter_pernix.ids import SessionId, new_change_id
from jupyter_pernix.records import CellChange, CellSnapshot
from jupyter_pernix.serverext.notebooks.hub import NotebookHub

from ..conftest import Serve
from ..served import Served
from .making import code, sources, words, write

CELLS = [words("intro", "# A"), code("load", "x = 1"), code("plot", "x + 1")]
CASES = Path(__file__).parents[2] / "cases" / "notebooks"
NOBODY = SessionId("ses_test")


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Served]:
    async with serve() as server:
        yield server


@pytest.fixture
async def hub(server: Served) -> NotebookHub:
    return (await server.extension.runtime()).notebooks


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def cells_of(hub: NotebookHub, path: str = "a.ipynb") -> list[CellSnapshot]:
    return (await hub.read(path, NOBODY))[0].cells


def editing(cell: CellSnapshot, source: str, path: str = "a.ipynb") -> CellChange:
    after = CellSnapshot(cell_id=cell.cell_id, cell_type=cell.cell_type, source=source, metadata=cell.metadata)
    return CellChange(change_id=new_change_id(), path=path, op="edit", cell_id=cell.cell_id, before=cell, after=after)


async def test_one_cell_is_changed_and_the_rest_of_the_file_stays_as_it_is(hub: NotebookHub, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    before = (root / "a.ipynb").read_text().splitlines()
    cell = found(await cells_of(hub), "plot")
    assert cell is not None
    assert await hub.change("a.ipynb", NOBODY, editing(cell, "x + 2")) == "file"
    after = (root / "a.ipynb").read_text().splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed == [('    "x + 1"', '    "x + 2"')]


async def test_a_file_that_is_written_between_reading_and_saving_is_not_overwritten(
    server: Served, hub: NotebookHub, root: Path
) -> None:
    write(root / "a.ipynb", *CELLS)
    cell = found(await cells_of(hub), "plot")
    assert cell is not None
    contents: Any = server.app.contents_manager
    get, done = contents.get, []

    async def somebody_writes(path: str, content: bool = True, **more: Any) -> Any:
        if not content and not done:
            done.append(path)
            write(root / "a.ipynb", *CELLS[:2], code("plot", "by hand"))
        return await get(path, content=content, **more)

    contents.get = somebody_writes
    with pytest.raises(NotebookRefused, match="was changed meanwhile; nothing was written"):
        await hub.change("a.ipynb", NOBODY, editing(cell, "x + 2"))
    assert sources(root / "a.ipynb")["plot"] == "by hand"


async def test_a_read_only_file_is_refused(hub: NotebookHub, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    (root / "a.ipynb").chmod(0o444)
    cell = found(await cells_of(hub), "plot")
    assert cell is not None
    with pytest.raises(NotebookRefused, match="is read-only; nothing was written"):
        await hub.change("a.ipynb", NOBODY, editing(cell, "x + 2"))
    assert sources(root / "a.ipynb")["plot"] == "x + 1"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b'{"cells": [', "ends"),
        (b"<!DOCTYPE html><html></html>", "HTML"),
        (b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> b\n", "merge conflict"),
        (b"\xff\xfe\x00\xd8", ""),
    ],
)
async def test_a_damaged_file_is_refused_and_stays_as_it_is(
    hub: NotebookHub, root: Path, content: bytes, said: str
) -> None:
    (root / "a.ipynb").write_bytes(content)
    with pytest.raises(NotebookRefused, match="cannot be read") as refused:
        await cells_of(hub)
    assert said.casefold() in str(refused.value).casefold()
    assert (root / "a.ipynb").read_bytes() == content
    assert names(root) == ["a.ipynb"]


async def test_what_is_no_notebook_or_not_there_is_refused(hub: NotebookHub, root: Path) -> None:
    (root / "folder.ipynb").mkdir()
    for path in ("missing.ipynb", "folder.ipynb"):
        with pytest.raises(NotebookRefused):
            await cells_of(hub, path)


async def test_cells_without_ids_are_named_by_what_they_are_and_keep_the_name_once_one_is_changed(
    hub: NotebookHub, root: Path
) -> None:
    write(root / "a.ipynb", code("x", "one"), code("y", "two"), code("z", "two"))
    raw: Any = json.loads((root / "a.ipynb").read_text())
    for cell in raw["cells"]:
        del cell["id"]
    (root / "a.ipynb").write_text(json.dumps(raw | {"nbformat_minor": 4}))
    content = (root / "a.ipynb").read_bytes()
    first, second = await cells_of(hub), await cells_of(hub)
    assert [cell.cell_id for cell in first] == [cell.cell_id for cell in second]
    assert len({cell.cell_id for cell in first}) == 3
    assert (root / "a.ipynb").read_bytes() == content
    await hub.change("a.ipynb", NOBODY, editing(first[0], "uno"))
    assert sources(root / "a.ipynb") == dict(zip([cell.cell_id for cell in first], ["uno", "two", "two"], strict=True))


async def test_of_equal_cells_without_ids_none_is_found_once_one_is_gone(hub: NotebookHub, root: Path) -> None:
    def without_ids(*said: str) -> None:
        write(root / "a.ipynb", *(code(str(number), source) for number, source in enumerate(said)))
        raw: Any = json.loads((root / "a.ipynb").read_text())
        for cell in raw["cells"]:
            del cell["id"]
        (root / "a.ipynb").write_text(json.dumps(raw | {"nbformat_minor": 4}))

    without_ids("two", "one", "two")
    last = (await cells_of(hub))[2]
    without_ids("one", "two")
    with pytest.raises(NotebookRefused, match="there is no cell"):
        await hub.change("a.ipynb", NOBODY, editing(last, "changed"))


async def test_a_notebook_of_500_cells(hub: NotebookHub, root: Path) -> None:
    write(root / "a.ipynb", *(code(f"c{number}", f"x = {number}") for number in range(500)))
    cell = found(await cells_of(hub), "c321")
    assert cell is not None
    await hub.change("a.ipynb", NOBODY, editing(cell, "changed"))
    now = sources(root / "a.ipynb")
    assert {key for key, source in now.items() if source != f"x = {key[1:]}"} == {"c321"}


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.glob("*.ipynb")))
async def test_an_odd_notebook_is_refused_untouched_or_changed_in_one_cell_only(
    hub: NotebookHub, root: Path, case: str
) -> None:
    shutil.copy(CASES / case, root / "a.ipynb")
    content = (root / "a.ipynb").read_bytes()
    try:
        before = await cells_of(hub)
    except NotebookRefused:
        assert (root / "a.ipynb").read_bytes() == content
        return
    assert (root / "a.ipynb").read_bytes() == content
    if before:
        await hub.change("a.ipynb", NOBODY, editing(before[-1], "changed by the agent"))
        after = await cells_of(hub)
        assert [cell.cell_id for cell in after] == [cell.cell_id for cell in before]
        assert [digest_of(cell) for cell in after[:-1]] == [digest_of(cell) for cell in before[:-1]]
        assert [cell.outputs for cell in after[:-1]] == [cell.outputs for cell in before[:-1]]
        assert after[-1].source == "changed by the agent"
