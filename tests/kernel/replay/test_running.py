"""Notebooks run again in real kernels."""

import json
from pathlib import Path
from typing import Any

import anyio
import nbformat
import pytest

from jupyter_pernix import events as ev
from jupyter_pernix.kernel.notebook_file import write_notebook
from jupyter_pernix.kernel.reading import Reading, read_file, read_notebook
from jupyter_pernix.kernel.record import run_notebook
from jupyter_pernix.kernel.replay import CellReport, EditReport, Replay, exit_code
from jupyter_pernix.records import FileChange

from ..test_record import SESSION, TURN, Log, stream
from ..test_record_logs import attached_log
from .test_edits import sha

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(120)]


def notebook_of(*cells: tuple[str, list[dict[str, Any]], list[str]]) -> dict[str, Any]:
    made = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {"tags": tags},
            "source": source,
            "outputs": outputs,
            "execution_count": number,
        }
        for number, (source, outputs, tags) in enumerate(cells, 1)
    ]
    reading = read_notebook(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode())
    assert reading.notebook is not None
    return reading.notebook


async def replayed(notebook: dict[str, Any], folder: Path, **options: Any) -> Replay:
    replay = Replay(notebook, name="run.ipynb", folder=folder, kernel_name="python3", **options)
    with anyio.fail_after(100):
        async for _ in replay.run():
            pass
    return replay


def result(text: str) -> dict[str, Any]:
    return {"output_type": "execute_result", "data": {"text/plain": text}, "metadata": {}, "execution_count": 1}


def error(name: str, text: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": []}


async def test_each_cell_is_told_as_what_it_is(tmp_path: Path):
    (tmp_path / "data.txt").write_text("12")
    notebook = notebook_of(
        ("n = int(open('data.txt').read()); n", [result("12")], []),
        ("n + 1", [result("14")], []),
        ("import time; print(object(), time.time())", [stream("<object object at 0x7f0000000001> 1764500000.5\n")], []),
        ("1 / 0", [error("ZeroDivisionError", "division by zero")], ["raises-exception"]),
        ("m", [], []),
        ("never()", [], ["skip-execution"]),
        ("", [], []),
        ("print('new')", [], []),
    )
    replay = await replayed(notebook, tmp_path)
    cells = replay.report.cells
    assert [(cell.number, cell.status) for cell in cells] == [
        (1, "same"), (2, "differs"), (3, "same"), (4, "same"), (5, "failed"), (6, "skipped"), (8, "differs"),
    ]  # fmt: skip
    assert cells[1].diff[-2:] == ["-14", "+13"]
    assert cells[4].why == "NameError: name 'm' is not defined"
    assert cells[5].why == "it is tagged skip-execution"
    assert cells[6].why == "nothing was recorded"
    assert exit_code(replay.report) == 3
    assert replay.result["cells"][1]["outputs"] == [{**result("13"), "execution_count": 2}]
    nbformat.validate(nbformat.from_dict(replay.result))
    assert notebook["cells"][1]["outputs"] == [result("14")]


async def test_a_plot_is_the_same_picture(tmp_path: Path):
    code = "import matplotlib.pyplot as plt; plt.plot([1, 3, 2]); plt.show()"
    first = await replayed(notebook_of((code, [], [])), tmp_path)
    again = await replayed(first.result, tmp_path)
    assert [cell.status for cell in again.report.cells] == ["same"]
    other = await replayed(
        {**first.result, "cells": [{**first.result["cells"][0], "source": code.replace("3", "4")}]}, tmp_path
    )
    assert [cell.status for cell in other.report.cells] == ["differs"]


async def test_code_that_hangs_is_failed_and_the_next_goes_on(tmp_path: Path):
    notebook = notebook_of(("import time; time.sleep(60)", [], []), ("print(1)", [stream("1\n")], []))
    replay = await replayed(notebook, tmp_path, deadline=1.0)
    assert [cell.status for cell in replay.report.cells] == ["failed", "same"]
    assert "1 s" in replay.report.cells[0].why


async def test_after_the_kernels_death_nothing_is_run(tmp_path: Path):
    notebook = notebook_of(("import os; os._exit(3)", [], []), ("print(1)", [stream("1\n")], []))
    replay = await replayed(notebook, tmp_path)
    assert [(cell.status, cell.why) for cell in replay.report.cells][1] == ("skipped", "the kernel ended in cell 1")
    assert exit_code(replay.report) == 3


async def test_code_that_ends_the_kernel_is_told_and_what_follows_runs_afresh(tmp_path: Path):
    notebook = notebook_of(
        ("x = 1", [], []),
        ("print('bye'); exit()", [stream("bye\n")], []),
        ("print('x' in globals())", [stream("False\n")], []),
    )
    replay = await replayed(notebook, tmp_path)
    assert [cell.status for cell in replay.report.cells] == ["same", "same", "same"]
    gone = "All variables and imports of earlier code are gone."
    assert [cell.why for cell in replay.report.cells] == ["", f"The code ended the kernel. {gone}", ""]
    assert exit_code(replay.report) == 0


def record(log: Log, folder: Path) -> Reading:
    path = folder / "pernix-runs" / "run.ipynb"
    write_notebook(path, run_notebook(log.view))
    return read_file(path)


async def test_a_record_runs_where_its_session_ran_with_its_answers(tmp_path: Path):
    (tmp_path / "data.txt").write_text("12")
    log = attached_log()
    log.ran("print(name, open('data.txt').read())", stream("Ada 12\n"))
    log.ran("while True: pass", status="timeout")
    log.ran("ls", kernel="bash")
    reading = record(log, tmp_path)
    assert reading.notebook is not None
    replay = await replayed(reading.notebook, tmp_path / "pernix-runs")
    assert [(cell.status, cell.why) for cell in replay.report.cells] == [
        ("same", ""),
        ("same", ""),
        ("same", ""),
        ("skipped", "it did not run to its end then (timeout)"),
        ("skipped", "it ran in another kernel, bash"),
    ]
    assert exit_code(replay.report) == 0


def editing_log() -> Log:
    """Writes a module, uses it, mends it, uses it again; then removes something by hand."""
    log = Log(space="space")
    log.turn("Do it.")
    where: dict[str, Any] = {"session_id": SESSION, "turn_id": TURN}
    one, two = "def f():\n    return 1\n", "def f():\n    return 2\n"

    def changed(tool: str, before: str | None, after: str, **arguments: Any) -> None:
        call_id = log.call(tool, f"{tool} a.py", path="a.py", **arguments)
        digests = {"before": sha(before) if before is not None else None, "after": sha(after)}
        log.add(ev.FileChanged(**where, call_id=call_id, change=FileChange(path="a.py", **digests)))
        log.done(call_id, "done")

    use = "import importlib, sys; sys.path.insert(0, '.'); sys.dont_write_bytecode = True\nimport a; importlib.reload(a); a.f()"
    changed("write_file", None, one, content=one)
    log.ran(use, result("1"))
    changed("edit_file", one, two, old_text="return 1", new_text="return 2")
    log.ran(use, result("2"), count=2)
    log.end()
    # the log's helper calls every tool but run_code a reading one
    log.stored = [
        ev.Stored(seq=each.seq, recorded_at=each.recorded_at, event=_as_edit(each.event)) for each in log.stored
    ]
    return log


def _as_edit(event: Any) -> Any:
    if isinstance(event, ev.ToolCallRequested) and event.tool in ("write_file", "edit_file"):
        fields = {name: getattr(event, name) for name in event.__struct_fields__}
        return ev.ToolCallRequested(**{**fields, "kind": "edit"})
    return event


async def test_edits_are_applied_between_the_cells_in_a_copy(tmp_path: Path):
    space = tmp_path / "space"
    space.mkdir()
    (space / "a.py").write_text("def f():\n    return 2\n")
    reading = record(editing_log(), space)
    assert reading.notebook is not None
    as_it_is = await replayed(reading.notebook, space / "pernix-runs")
    assert [cell.status for cell in as_it_is.report.cells] == ["differs", "same"]

    replay = await replayed(reading.notebook, space / "pernix-runs", apply_edits=True)

    assert [cell.status for cell in replay.report.cells] == ["same", "same"]
    assert [(edit.status, edit.why) for edit in replay.report.edits] == [("applied", ""), ("applied", "")]
    assert replay.report.notes == []
    assert (space / "a.py").read_text() == "def f():\n    return 2\n"
    assert sorted(path.name for path in space.iterdir()) == ["a.py", "pernix-runs"]


async def test_what_cannot_be_brought_back_is_told(tmp_path: Path):
    space = tmp_path / "space"
    space.mkdir()
    (space / "a.py").write_text("by hand")
    reading = record(editing_log(), space)
    assert reading.notebook is not None
    replay = await replayed(reading.notebook, space / "pernix-runs", apply_edits=True)
    assert replay.report.notes == [
        "These files are as they are now, not as they were before the session: 'a.py', 'a.py'."
    ]
    assert (space / "a.py").read_text() == "by hand"


async def test_a_replay_that_is_left_ends_its_kernel_and_keeps_its_report(tmp_path: Path):
    notebook = notebook_of(("import os; os.getpid()", [], []), ("import time; time.sleep(60)", [], []))
    replay = Replay(notebook, name="run.ipynb", folder=tmp_path, kernel_name="python3")
    seen: list[CellReport | EditReport] = []
    with anyio.move_on_after(100) as scope:
        async for each in replay.run():
            seen.append(each)
            scope.cancel()
    assert [cell.number for cell in replay.report.cells] == [1]
    pid = int(replay.result["cells"][0]["outputs"][0]["data"]["text/plain"])
    assert not await anyio.Path(f"/proc/{pid}").exists()


async def test_a_notebook_that_is_no_record_is_compared_with_all_that_it_puts_out(tmp_path: Path):
    shown = [
        {"output_type": "display_data", "data": {"text/plain": str(number)}, "metadata": {}} for number in range(600)
    ]
    lines = {"output_type": "stream", "name": "stdout", "text": "".join(f"{number}\n" for number in range(90_000))}
    notebook = notebook_of(
        ("from IPython.display import display\nfor number in range(600): display(number)", shown, []),
        ("for number in range(90_000): print(number)", [lines], []),
    )

    replay = await replayed(notebook, tmp_path)

    assert [cell.status for cell in replay.report.cells] == ["same", "same"]


async def test_a_cell_that_a_later_one_changes_is_compared_as_it_is_in_the_end(tmp_path: Path):
    shown = {"output_type": "display_data", "data": {"text/plain": "'b'"}, "metadata": {}}
    notebook = notebook_of(
        ("handle = display('a', display_id=True)", [shown], []),
        ("handle.update('b')", [], []),
        ("1", [result("1")], []),
    )

    replay = await replayed(notebook, tmp_path)

    assert [(cell.number, cell.status) for cell in replay.report.cells] == [(1, "same"), (2, "same"), (3, "same")]
    assert exit_code(replay.report) == 0
    assert replay.result["cells"][0]["outputs"][0]["data"] == {"text/plain": "'b'"}
