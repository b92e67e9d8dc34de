"""Whatever users do to a notebook at the same time, in a page or in its file: an agent's change reaches the cell that it was asked for,
as it was known, or nothing. Seeds give the stories; each is printed when it fails."""

import random
from pathlib import Path

import pytest

from jupyter_pernix.cells import digest_of, found, inverse, place_behind, refusal, standing
from jupyter_pernix.errors import NotebookRefused
from jupyter_pernix.ids import SessionId, new_change_id
from jupyter_pernix.records import CellChange, CellSnapshot
from jupyter_pernix.serverext.notebooks.hub import NotebookHub
from jupyter_pernix.serverext.notebooks.nbcells import as_cell, change_cells, snapshot

from ..conftest import Serve
from ..served import Served
from .making import code, write
from .scripted_page import ScriptedPage

NOBODY = SessionId("ses_test")


def by_hand(cells: list[CellSnapshot], chance: random.Random, number: int) -> list[CellSnapshot]:
    """What a user does: edits, deletes, inserts, moves, copies, or nothing."""
    cells = list(cells)
    place = chance.randrange(len(cells)) if cells else 0
    match chance.randrange(6):
        case 0 if cells:
            cells[place] = code(cells[place].cell_id, f"by hand {number}")
        case 1 if cells:
            del cells[place]
        case 2:
            cells.insert(place, code(f"hand{number}", chance.choice(["same", f"by hand {number}"])))
        case 3 if cells:
            moved = cells.pop(place)
            cells.insert(chance.randrange(len(cells) + 1), moved)
        case 4 if cells:
            cells.append(code(f"copy{number}", cells[place].source))
        case _:
            pass
    return cells


def asked(cells: list[CellSnapshot], chance: random.Random, number: int) -> CellChange:
    """A change that fits the cells as the agent has read them."""
    behind = chance.choice(["", *(cell.cell_id for cell in cells)])
    if not cells or chance.random() < 0.25:
        after = code(f"agent{number}", chance.choice(["same", f"agent {number}"]))
        return CellChange(
            change_id=new_change_id(), path="a.ipynb", op="insert", cell_id=after.cell_id, before=None, after=after,
            behind=behind,
        )  # fmt: skip
    cell = chance.choice(cells)
    was = place_behind(cells, cell.cell_id)
    known = {
        "change_id": new_change_id(),
        "path": "a.ipynb",
        "cell_id": cell.cell_id,
        "before": cell,
        "was_behind": was,
    }
    op = chance.choice(["edit", "delete", "move"])
    if op == "edit":
        return CellChange(**known, op="edit", after=code(cell.cell_id, f"agent {number}"), behind=was)
    if op == "delete":
        return CellChange(**known, op="delete", after=None, behind=None)
    return CellChange(**known, op="move", after=cell, behind=behind)


def told(cells: list[CellSnapshot]) -> list[tuple[str, str]]:
    return [(cell.cell_id, digest_of(cell)) for cell in cells]


def others(cells: list[CellSnapshot], cell_id: str) -> list[tuple[str, str]]:
    return [one for one in told(cells) if one[0] != cell_id]


def check(before: list[CellSnapshot], after: list[CellSnapshot], change: CellChange, made: bool) -> None:
    """``before``: as it was when the owner looked."""
    if not made:
        assert told(after) == told(before)
        return
    assert others(after, change.cell_id) == others(before, change.cell_id)
    known, now = found(before, change.cell_id), found(after, change.cell_id)
    if change.before is not None:
        assert known is not None and digest_of(known) == digest_of(change.before)
    if change.after is None:
        assert now is None
        return
    assert now is not None and digest_of(now) == digest_of(change.after)
    assert standing(after, change) == "after"
    if change.op in ("insert", "move"):
        assert place_behind(after, change.cell_id) == change.behind


@pytest.mark.parametrize("seed", range(300))
def test_cells_as_nbformat_has_them_and_as_snapshots_change_alike(seed: int) -> None:
    chance = random.Random(seed)
    cells = [code(f"c{number}", chance.choice(["same", f"x = {number}"])) for number in range(chance.randrange(6))]
    change = asked(cells, chance, 0)
    now = by_hand(cells, chance, 1) if chance.random() < 0.7 else cells
    made = not refusal(now, change)
    raw = [as_cell(cell) for cell in now]
    if made:
        change_cells(raw, change)
    check(now, [snapshot(cell) for cell in raw], change, made)
    if made and change.op != "move":
        undo = inverse(change, found([snapshot(cell) for cell in raw], change.cell_id))
        change_cells(raw, undo)
        # a deleted cell comes back behind the cell that it stood behind when it was read
        order = list if now is cells else sorted
        assert order(told([snapshot(cell) for cell in raw])) == order(told(now))


@pytest.mark.parametrize("seed", range(6))
async def test_in_a_page_that_its_user_works_in(serve: Serve, root: Path, seed: int) -> None:
    chance = random.Random(1000 + seed)
    start = [code(f"c{number}", f"x = {number}") for number in range(5)]
    write(root / "a.ipynb", *start)
    async with serve() as server:
        hub = await _hub(server)
        page = ScriptedPage(server=server, page_id="p", path="a.ipynb", cells=start)
        looked: list[list[CellSnapshot]] = []

        def before(request: object) -> None:
            if getattr(request, "op", "") == "change":
                if chance.random() < 0.6:
                    page.cells = by_hand(page.cells, chance, 100 + len(looked))
                looked.append(list(page.cells))

        page.before = before
        async with page.open():
            for number in range(25):
                known = (await hub.read("a.ipynb", NOBODY))[0].cells
                change = asked(known, chance, number)
                if chance.random() < 0.3:
                    page.cells = by_hand(page.cells, chance, number)
                made = await _made(hub, change)
                check(looked[-1], page.cells, change, made)
        assert len(looked) == 25


@pytest.mark.parametrize("seed", range(6))
async def test_in_a_file_that_others_write(serve: Serve, root: Path, seed: int) -> None:
    chance = random.Random(2000 + seed)
    path = root / "a.ipynb"
    write(path, *[code(f"c{number}", f"x = {number}") for number in range(5)])
    async with serve() as server:
        hub = await _hub(server)
        for number in range(25):
            known = (await hub.read("a.ipynb", NOBODY))[0].cells
            change = asked(known, chance, number)
            now = by_hand(known, chance, number) if chance.random() < 0.6 else known
            write(path, *now)
            made = await _made(hub, change)
            assert made is not bool(refusal(now, change))
            check(now, (await hub.read("a.ipynb", NOBODY))[0].cells, change, made)


async def _hub(server: Served) -> NotebookHub:
    return (await server.extension.runtime()).notebooks


async def _made(hub: NotebookHub, change: CellChange) -> bool:
    try:
        await hub.change("a.ipynb", NOBODY, change)
    except NotebookRefused:
        return False
    return True
