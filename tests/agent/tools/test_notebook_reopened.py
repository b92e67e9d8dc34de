"""Changes of cells that were under way when the program ended: what became of them is read in the notebook."""

import json
from pathlib import Path

import pytest
from agent.acting import Acting
from agent.tools.doing import did
from msgspec.structs import replace

from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.agent.recovery import settle
from jupyter_pernix.agent.testing import MemoryNotebooks
from jupyter_pernix.cells import cell_digest
from jupyter_pernix.events import (
    CellChanged,
    CellChangeRefused,
    CellChangeRequested,
    Event,
    Stored,
    ToolCallFinished,
    event_type,
)
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.records import CellSnapshot

CELLS = (
    CellSnapshot(cell_id="one", cell_type="code", source="x = 1"),
    CellSnapshot(cell_id="two", cell_type="code", source="x + 1"),
)
OPS = {
    "edit": ({"op": "edit", "cell_id": "two", "base": cell_digest("code", "x + 1"), "source": "x + 2"}, "x = 1|x + 2"),
    "insert": ({"op": "insert", "source": "new", "behind": "one"}, "x = 1|new|x + 1"),
    "delete": ({"op": "delete", "cell_id": "one", "base": cell_digest("code", "x = 1")}, "x + 1"),
    "move": ({"op": "move", "cell_id": "two", "base": cell_digest("code", "x + 1"), "behind": "top"}, "x + 1|x = 1"),
}


def write(path: Path, cells: list[CellSnapshot]) -> None:
    made = [
        {"id": cell.cell_id, "cell_type": cell.cell_type, "source": [cell.source], "metadata": {}} for cell in cells
    ]
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


async def changed(root: Path, op: str) -> tuple[Acting, list[CellSnapshot]]:
    """A session that has made one change, and the notebook as it is then."""
    acting = Acting(root=root)
    acting.host.notebooks = MemoryNotebooks({"a.ipynb": CELLS}, attached="a.ipynb")
    await did(acting, ("edit_notebook", OPS[op][0]))
    after = acting.host.notebooks.cells["a.ipynb"]
    assert "|".join(cell.source for cell in after) == OPS[op][1]
    return acting, after


def cut_after(log: list[Stored], tag: str) -> list[Stored]:
    return log[: next(index for index, stored in enumerate(log) if event_type(stored.event) == tag) + 1]


async def settled(log: list[Stored], space: Path) -> list[Event]:
    events = await settle(log, space)
    whole = [
        *log,
        *(Stored(seq=log[-1].seq + n, recorded_at=log[-1].recorded_at, event=e) for n, e in enumerate(events, 1)),
    ]
    assert illegalities(whole) == []
    assert await settle(whole, space) == []
    return events


@pytest.mark.parametrize("op", OPS)
async def test_a_change_that_stands_in_the_file_was_made(tmp_path: Path, op: str) -> None:
    acting, after = await changed(tmp_path, op)
    log = cut_after(acting.host.log, "cell.change_requested")
    write(acting.space / "a.ipynb", after)
    events = await settled(log, acting.space)
    (made,) = [event for event in events if isinstance(event, CellChanged)]
    (finished,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert made.owner == "file"
    assert (finished.status, finished.result.startswith("Was carried out")) == ("completed", True)


@pytest.mark.parametrize("op", OPS)
async def test_a_change_that_does_not_stand_in_the_file_was_not_made(tmp_path: Path, op: str) -> None:
    acting, _ = await changed(tmp_path, op)
    log = cut_after(acting.host.log, "cell.change_requested")
    write(acting.space / "a.ipynb", list(CELLS))
    events = await settled(log, acting.space)
    (refused,) = [event for event in events if isinstance(event, CellChangeRefused)]
    (finished,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert refused.reason == finished.result
    assert (finished.status, finished.result.startswith("Was not carried out")) == ("failed", True)


@pytest.mark.parametrize("op", ["edit", "move"])
async def test_of_a_cell_that_somebody_else_has_changed_nothing_is_claimed(tmp_path: Path, op: str) -> None:
    acting, _ = await changed(tmp_path, op)
    log = cut_after(acting.host.log, "cell.change_requested")
    write(acting.space / "a.ipynb", [CELLS[0], replace(CELLS[1], source="by hand")])
    events = await settled(log, acting.space)
    (refused,) = [event for event in events if isinstance(event, CellChangeRefused)]
    (finished,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert "it is not known whether the cell was changed" in refused.reason
    assert finished.status == "unknown"


async def test_a_damaged_file_tells_nothing(tmp_path: Path) -> None:
    acting, _ = await changed(tmp_path, "edit")
    log = cut_after(acting.host.log, "cell.change_requested")
    for content in (None, "", "[]", "{}", '{"cells": 3}', '{"cells": ["x"]}'):
        if content is not None:
            (acting.space / "a.ipynb").write_text(content)
        events = await settled(log, acting.space)
        assert [event.status for event in events if isinstance(event, ToolCallFinished)] == ["unknown"]


async def test_a_call_that_had_begun_and_asked_for_nothing_was_not_carried_out(tmp_path: Path) -> None:
    acting, _ = await changed(tmp_path, "edit")
    events = await settled(cut_after(acting.host.log, "tool_call.started"), acting.space)
    (finished,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert (finished.status, "before anything was changed" in finished.result) == ("failed", True)


async def test_a_change_that_was_recorded_as_made_is_so_whatever_stands_there_now(tmp_path: Path) -> None:
    acting, _ = await changed(tmp_path, "edit")
    log = cut_after(acting.host.log, "cell.changed")
    events = await settled(log, acting.space)
    assert [event for event in events if isinstance(event, CellChanged | CellChangeRefused)] == []
    assert [event.status for event in events if isinstance(event, ToolCallFinished)] == ["completed"]
    requested = next(stored.event for stored in log if isinstance(stored.event, CellChangeRequested))
    view = SessionFold.of(acting.host.session_id, log).change(requested.change.change_id)
    assert view is not None and view.status == "made"
