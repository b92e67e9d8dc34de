"""The tools of notebooks, on notebooks in memory."""

from pathlib import Path
from typing import Any

import pytest
from agent.acting import Acting, answer
from agent.tools.doing import did

from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.agent.testing import Executes, FakeExecutor, MemoryNotebooks, Says, call, printed
from jupyter_pernix.cells import cell_digest, digest_of
from jupyter_pernix.errors import NotebookRefused
from jupyter_pernix.events import (
    ApprovalRequested,
    CellChanged,
    CellChangeRefused,
    CellChangeRequested,
    ExecutionFinished,
    ExecutionMirrored,
    ExecutionStarted,
    PolicyDecided,
    ToolCallFinished,
)
from jupyter_pernix.records import ApprovalAnswer, CellSnapshot, ExecutionResult


def code(cell_id: str, source: str, **more: Any) -> CellSnapshot:
    return CellSnapshot(cell_id=cell_id, cell_type="code", source=source, **more)


def words(cell_id: str, source: str) -> CellSnapshot:
    return CellSnapshot(cell_id=cell_id, cell_type="markdown", source=source)


CELLS = (words("intro", "# Prices"), code("load", "x = 1\ny = 2"), code("plot", "x + y"))
Call = tuple[str, dict[str, Any]]


def on(root: Path, *cells: CellSnapshot, attached: str = "a.ipynb", **options: Any) -> Acting:
    acting = Acting(root=root, **options)
    acting.host.notebooks = MemoryNotebooks({"a.ipynb": cells or CELLS}, attached=attached)
    return acting


def read(**arguments: Any) -> Call:
    return "read_notebook", arguments


def edit(op: str, **arguments: Any) -> Call:
    return "edit_notebook", {"op": op, **arguments}


def run(*cell_ids: str, **arguments: Any) -> Call:
    return "run_cells", {"cell_ids": list(cell_ids), **arguments}


def of(acting: Acting, cell_id: str) -> CellSnapshot:
    return next(cell for cell in acting.host.notebooks.cells["a.ipynb"] if cell.cell_id == cell_id)


def base(acting: Acting, cell_id: str) -> str:
    return digest_of(of(acting, cell_id))


# ---- reading ------------------------------------------------------------------------------------------------------------


async def test_cells_are_read_with_ids_bases_and_numbered_lines(tmp_path: Path) -> None:
    acting = on(tmp_path)
    (text,) = await did(acting, read())
    assert text == (
        "a.ipynb: 3 cells, python, not open anywhere, its kernel is this session's.\n"
        f"--- cell 1 of 3: id intro, markdown, base {cell_digest('markdown', '# Prices')}\n1\t# Prices\n"
        f"--- cell 2 of 3: id load, code, base {cell_digest('code', 'x = 1' + chr(10) + 'y = 2')}\n1\tx = 1\n2\ty = 2\n"
        f"--- cell 3 of 3: id plot, code, base {cell_digest('code', 'x + y')}\n1\tx + y"
    )
    (finished,) = acting.of(ToolCallFinished)
    assert finished.seen == {f"a.ipynb#{cell.cell_id}": digest_of(cell) for cell in CELLS}


async def test_a_notebook_of_500_cells_is_shown_in_part_with_the_whole_beside_it(tmp_path: Path) -> None:
    cells = [code(f"c{number}", f"value = {number}\n" * 20) for number in range(500)]
    acting = on(tmp_path, *cells)
    text, one = await did(acting, read(), read(cells=["c321"]))
    assert len(text) <= 20_000
    whole, *_ = acting.of(ToolCallFinished)
    assert "read what you need by id" in text
    assert len(whole.seen) < 100
    side = (tmp_path / "side" / whole.side_file.rsplit("/", 1)[1]).read_text()
    assert side.count("--- cell ") == 500
    assert one.splitlines()[1].startswith("--- cell 322 of 500: id c321, code, base ")


async def test_an_unknown_id_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    (text,) = await did(on(tmp_path), read(cells=["nope"]))
    assert text == (
        "Not done: there is no cell 'nope'; it may have been deleted. The cells of a.ipynb are: intro, load, plot."
    )


# ---- changing -----------------------------------------------------------------------------------------------------------


async def test_a_cell_is_edited_by_id_and_all_that_an_undo_needs_is_stored_before(tmp_path: Path) -> None:
    acting = on(tmp_path, *CELLS[:2], code("plot", "x + y", outputs=[{"output_type": "stream", "text": "3"}]))
    before = of(acting, "plot")
    (text,) = await did(acting, edit("edit", cell_id="plot", base=base(acting, "plot"), source="x * y"))
    assert of(acting, "plot").source == "x * y"
    (requested,), (changed,) = acting.of(CellChangeRequested), acting.of(CellChanged)
    assert requested.change.before == before
    assert changed.change_id == requested.change.change_id
    assert text == (
        f"Changed the code cell plot of a.ipynb; its base is {cell_digest('code', 'x * y')}. "
        "Its outputs are still those of the old source."
    )
    assert illegalities(acting.host.log) == []


@pytest.mark.parametrize(
    ("arguments", "order", "said"),
    [
        (
            {"op": "insert", "source": "z", "behind": "intro"},
            ["intro", "new", "load", "plot"],
            "Inserted the code cell",
        ),
        (
            {"op": "insert", "source": "z", "behind": "top"},
            ["new", "intro", "load", "plot"],
            ", at the top; its base is",
        ),
        (
            {"op": "insert", "source": "z", "cell_type": "markdown"},
            ["intro", "load", "plot", "new"],
            "behind plot, at the end;",
        ),
        ({"op": "delete", "cell_id": "load"}, ["intro", "plot"], "Deleted the cell load of a.ipynb."),
        ({"op": "move", "cell_id": "plot", "behind": "top"}, ["plot", "intro", "load"], "Moved the code cell plot"),
        ({"op": "move", "cell_id": "intro", "behind": "plot"}, ["load", "plot", "intro"], "behind plot"),
    ],
)
async def test_cells_are_inserted_deleted_and_moved(
    tmp_path: Path, arguments: dict[str, Any], order: list[str], said: str
) -> None:
    acting = on(tmp_path)
    if "cell_id" in arguments:
        arguments = {**arguments, "base": base(acting, arguments["cell_id"])}
    (text,) = await did(acting, ("edit_notebook", arguments))
    known = {cell.cell_id for cell in CELLS}
    now = [cell.cell_id if cell.cell_id in known else "new" for cell in acting.host.notebooks.cells["a.ipynb"]]
    assert now == order
    assert said in text


async def test_inserting_where_there_is_no_notebook_creates_it(tmp_path: Path) -> None:
    acting = on(tmp_path)
    (text,) = await did(acting, edit("insert", path="new/b.ipynb", source="x = 1"))
    (cell,) = acting.host.notebooks.cells["new/b.ipynb"]
    assert cell.source == "x = 1"
    assert text.startswith("Created the notebook new/b.ipynb. Inserted the code cell ")
    (requested,) = acting.of(CellChangeRequested)
    assert requested.change.path == "new/b.ipynb"


async def test_a_notebook_that_comes_to_be_before_it_is_created_is_left_alone(tmp_path: Path) -> None:
    acting = on(tmp_path)
    notebooks = acting.host.notebooks

    def meanwhile(what: str) -> None:
        if what == "create":
            notebooks.cells["b.ipynb"] = [code("mine", "1")]

    notebooks.by_hand = meanwhile
    texts = await did(acting, edit("insert", path="b.ipynb", source="x = 1"), edit("edit", path="c.ipynb", cell_id="a"))
    assert texts[0].startswith("Not done: there is something at 'b.ipynb' already")
    assert "there is no notebook 'c.ipynb'" in texts[1]
    assert [cell.cell_id for cell in notebooks.cells["b.ipynb"]] == ["mine"]
    assert "c.ipynb" not in notebooks.cells
    assert not acting.of(CellChangeRequested)


async def test_a_cell_that_changed_since_it_was_read_is_shown_as_it_is_now_and_not_touched(tmp_path: Path) -> None:
    acting = on(tmp_path)
    old = base(acting, "plot")
    acting.host.notebooks.cells["a.ipynb"][2] = code("plot", "by_hand()")
    refused, done = await did(
        acting,
        edit("edit", cell_id="plot", base=old, source="x * y"),
        edit("edit", cell_id="plot", base=cell_digest("code", "by_hand()"), source="x * y"),
    )
    assert refused.startswith(
        f"Not done: of the cell plot base {old!r} is not its base: it has changed since it was read."
    )
    assert "1\tby_hand()" in refused
    assert done.startswith("Changed the code cell plot")
    assert len(acting.of(CellChangeRequested)) == 1


async def test_a_change_by_hand_between_looking_and_changing_is_refused_by_the_owner_and_recorded(
    tmp_path: Path,
) -> None:
    acting = on(tmp_path)
    notebooks = acting.host.notebooks

    def by_hand(what: str) -> None:
        if what == "change":
            notebooks.cells["a.ipynb"][2] = code("plot", "by_hand()")

    notebooks.by_hand = by_hand
    (text,) = await did(acting, edit("edit", cell_id="plot", base=base(acting, "plot"), source="x * y"))
    assert of(acting, "plot").source == "by_hand()"
    assert "was changed meanwhile" in text
    (refused,) = acting.of(CellChangeRefused)
    assert refused.reason == "the cell 'plot' was changed meanwhile"
    assert illegalities(acting.host.log) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"op": "edit", "source": "1"}, "needs cell_id"),
        ({"op": "edit", "cell_id": "plot", "base": digest_of(CELLS[2])}, "needs the whole new source"),
        ({"op": "edit", "cell_id": "plot", "source": "1"}, "base is missing"),
        ({"op": "insert", "cell_id": "plot", "source": "1"}, "insert takes no cell_id"),
        ({"op": "insert"}, "needs the source"),
        ({"op": "insert", "source": "1", "behind": "nope"}, "there is no cell 'nope'"),
        ({"op": "move", "cell_id": "plot", "base": digest_of(CELLS[2])}, "move needs behind"),
        ({"op": "move", "cell_id": "plot", "base": digest_of(CELLS[2]), "behind": "plot"}, "behind itself"),
        ({"op": "move", "cell_id": "plot", "base": digest_of(CELLS[2]), "behind": "load"}, "stands there already"),
        ({"op": "edit", "cell_id": "plot", "base": digest_of(CELLS[2]), "source": "x + y"}, "nothing was written"),
        ({"op": "edit", "cell_id": "plot", "path": "b.ipynb"}, "there is no notebook 'b.ipynb'"),
    ],
)
async def test_what_does_not_fit_together_is_refused_with_what_is_missing(
    tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    acting = on(tmp_path)
    (text,) = await did(acting, ("edit_notebook", arguments))
    assert said in text
    assert text.startswith("Not done")
    assert acting.host.notebooks.cells["a.ipynb"] == list(CELLS)
    assert acting.of(CellChangeRequested) == []


async def test_in_a_mode_that_only_reads_nothing_is_looked_at_and_nothing_changed(tmp_path: Path) -> None:
    acting = on(tmp_path, mode="plan")
    (text,) = await did(acting, edit("insert", source="1"))
    assert "only reading is allowed" in text
    assert acting.host.notebooks.done == []


async def test_a_change_counts_as_a_change_of_the_notebook(tmp_path: Path) -> None:
    acting = on(tmp_path)
    call_ = Says(calls=(call("edit_notebook", op="edit", cell_id="plot", base=base(acting, "plot"), source="x * y"),))
    await acting.say([call_, answer("I changed the cell in a.ipynb.")])
    message = acting.host.view.turns[-1].items[-1]
    assert message.corrections == []  # type: ignore[union-attr]


# ---- running ------------------------------------------------------------------------------------------------------------


async def test_cells_are_run_in_order_and_their_outputs_put_into_the_notebook(tmp_path: Path) -> None:
    plays = (Executes(), Executes(ops=(printed("3\n"),)))
    acting = on(tmp_path, executor=FakeExecutor(plays, place="attached"))
    _, text = await did(acting, read(), run("load", "plot"))
    assert acting.executor.codes == ["x = 1\ny = 2", "x + y"]
    assert text == "cell load: ok [1]\n(no output)\ncell plot: ok [2]\n3"
    started = acting.of(ExecutionStarted)
    assert [(one.notebook, one.cell_id, one.trusted, one.place) for one in started] == [
        ("a.ipynb", "load", True, "attached"),
        ("a.ipynb", "plot", True, "attached"),
    ]
    assert [one.execution_id for one in acting.of(ExecutionMirrored)] == [one.execution_id for one in started]
    assert of(acting, "plot").outputs == [{"output_type": "stream", "name": "stdout", "text": "3\n"}]
    assert acting.host.notebooks.done == ["read", "read", "run", "outputs", "run", "outputs", "read"]
    executions = [*acting.host.view.turns[0].items[1].earlier, acting.host.view.turns[0].items[1].execution]  # type: ignore[union-attr]
    assert [one.cell_id for one in executions] == ["load", "plot"]
    assert illegalities(acting.host.log) == []


async def test_a_failure_ends_it_and_says_what_was_not_run(tmp_path: Path) -> None:
    failed = ExecutionResult(status="error", execution_count=1, ename="KeyError", evalue="'a'")
    acting = on(tmp_path, executor=FakeExecutor((Executes(result=failed),)))
    _, text = await did(acting, read(), run("load", "plot"))
    assert text == "cell load: error [1]: KeyError: 'a'\nNot run, because of that: plot."
    assert acting.statuses[-1] == "failed"


async def test_cells_that_were_not_read_are_shown_first(tmp_path: Path) -> None:
    acting = on(tmp_path)
    shown, done = await did(acting, run("plot"), run("plot"))
    assert shown.startswith("Not run: this cell has not been read in this session, or changed since. Now:\n")
    assert done.startswith("cell plot: ok")


async def test_a_cell_that_the_agent_wrote_runs_untrusted(tmp_path: Path) -> None:
    acting = on(tmp_path)
    await did(acting, edit("edit", cell_id="plot", base=base(acting, "plot"), source="x * y"), run("plot"))
    assert [one.trusted for one in acting.of(ExecutionStarted)] == [False]


async def test_the_question_shows_the_code_and_the_yes_is_for_that_code(tmp_path: Path) -> None:
    acting = on(tmp_path, mode="edit", answers=(ApprovalAnswer(choice="allow_once"),))
    notebooks = acting.host.notebooks
    await did(acting, read(), run("load", "plot"))
    (asked,) = acting.of(ApprovalRequested)
    assert asked.question == "Run these 2 cells of a.ipynb?"
    assert asked.detail == "# cell 2 of a.ipynb\nx = 1\ny = 2\n# cell 3 of a.ipynb\nx + y"
    decided = next(one for one in acting.of(PolicyDecided) if one.verdict == "ask")
    assert f"a.ipynb#plot {digest_of(CELLS[2])}" in decided.targets
    assert notebooks.running == {}


async def test_a_cell_that_was_edited_by_hand_before_it_runs_does_not_run(tmp_path: Path) -> None:
    acting = on(tmp_path)
    notebooks = acting.host.notebooks

    def by_hand(what: str) -> None:
        if what == "run":
            notebooks.cells["a.ipynb"][2] = code("plot", "by_hand()")

    await did(acting, read())
    notebooks.by_hand = by_hand
    (text,) = await did(acting, run("plot"))
    assert acting.executor.codes == []
    assert text.startswith(
        "cell plot: not_run: the code did not run to its end (the cell 'plot' was changed meanwhile)"
    )
    assert [one.status for one in acting.of(ExecutionFinished)] == ["not_run"]


async def test_what_became_of_a_cell_by_hand_while_it_ran_is_said(tmp_path: Path) -> None:
    acting = on(tmp_path)
    notebooks = acting.host.notebooks

    def by_hand(what: str) -> None:
        if what == "outputs":
            notebooks.cells["a.ipynb"] = [code("load", "edited")]

    await did(acting, read())
    notebooks.by_hand = by_hand
    loaded, gone = await did(acting, run("load"), run("plot"))
    assert "edited by hand while it ran" in loaded
    assert gone.startswith("Not done: there is no cell 'plot'")


async def test_outputs_that_cannot_be_put_are_still_told(tmp_path: Path) -> None:
    acting = on(tmp_path, executor=FakeExecutor((Executes(ops=(printed("3\n"),)),)))

    def by_hand(what: str) -> None:
        if what == "outputs":
            raise NotebookRefused("the page did not answer")

    await did(acting, read())
    acting.host.notebooks.by_hand = by_hand
    (text,) = await did(acting, run("plot"))
    assert text == "cell plot: ok [1]\n3\n[Its outputs do not stand in the notebook: the page did not answer]"
    assert acting.of(ExecutionMirrored) == []


async def test_only_the_attached_notebook_is_run(tmp_path: Path) -> None:
    acting = on(tmp_path, attached="")
    (text,) = await did(acting, run("plot", path="a.ipynb"))
    assert text.startswith("Not run: this session is not attached to a.ipynb")
    assert acting.executor.codes == []


async def test_reading_again_after_each_change_is_no_circle(tmp_path: Path) -> None:
    acting = on(tmp_path)
    source, steps = "x + y", []
    for number in range(8):
        steps += [read(), edit("edit", cell_id="plot", base=cell_digest("code", source), source=f"x + {number}")]
        source = f"x + {number}"
    results = await did(acting, *steps, run("plot"), run("plot"))
    assert [text for text in results if text.startswith("Not done")] == []
    assert acting.statuses == ["completed"] * 18
