"""Whole notebooks in real kernels: by our runner, and by papermill with our engine."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import nbformat
import papermill
import pytest
from papermill.exceptions import PapermillExecutionError
from support.isolation import isolated_environ

from jupyter_pernix.errors import KernelDied
from jupyter_pernix.kernel.executor import KernelExecutor
from jupyter_pernix.kernel.papermill_engine import CellTimeout
from jupyter_pernix.kernel.provision import Kernels, own_manager
from jupyter_pernix.kernel.runner import WHOLE, CellOutcome, NotebookRunner, tags_of
from jupyter_pernix.records import OutputOp

pytestmark = pytest.mark.kernel


def code(source: str, *tags: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "source": source,
        "metadata": {"tags": list(tags)},
        "outputs": [],
        "execution_count": None,
    }


@pytest.fixture
async def executor(tmp_path: Path) -> AsyncIterator[KernelExecutor]:
    kernels = Kernels(own_manager(), caps=WHOLE)
    yield await kernels.start("python3", tmp_path, os.environ)
    await kernels.aclose()


async def outcomes(runner: NotebookRunner) -> list[CellOutcome]:
    return [outcome async for outcome in runner.run()]


def text(cell: dict[str, Any]) -> str:
    return "".join(output.get("text", "") for output in cell["outputs"])


class TestRunning:
    async def test_cells_follow_each_other_and_get_their_outputs(self, executor: KernelExecutor):
        cells = [
            code("x = 3"),
            {"cell_type": "markdown", "source": "said", "metadata": {}},
            code("print(x)\nx + 1"),
            code(""),
        ]
        ran = await outcomes(NotebookRunner(executor, cells))
        assert [(each.index, each.status) for each in ran] == [(0, "ran"), (2, "ran"), (3, "empty")]
        assert text(cells[2]) == "3\n"
        assert cells[2]["outputs"][1]["execution_count"] == cells[2]["execution_count"] == 2

    async def test_the_first_failure_is_the_last_cell(self, executor: KernelExecutor):
        cells = [code("1 / 0"), code("print('never')")]
        ran = await outcomes(NotebookRunner(executor, cells))
        assert [each.failed for each in ran] == [True]
        assert cells[0]["outputs"][-1]["ename"] == "ZeroDivisionError"
        assert cells[1]["outputs"] == []

    async def test_tags_let_a_cell_fail_or_leave_it_alone(self, executor: KernelExecutor):
        kept = [{"output_type": "stream", "name": "stdout", "text": "of before"}]
        cells = [
            code("1 / 0", "raises-exception"),
            code("print('not now')", "skip-execution") | {"outputs": kept},
            code("2"),
        ]
        ran = await outcomes(NotebookRunner(executor, cells))
        assert [(each.status, each.failed) for each in ran] == [("ran", False), ("skipped", False), ("ran", False)]
        assert cells[1]["outputs"] == kept

    async def test_errors_are_allowed_but_a_stopped_cell_is_not(self, executor: KernelExecutor):
        cells = [code("1 / 0"), code("import time; time.sleep(60)"), code("print('never')")]
        ran = await outcomes(NotebookRunner(executor, cells, allow_errors=True, deadline=1.0))
        assert [(each.result and each.result.status, each.failed) for each in ran] == [
            ("error", False),
            ("timeout", True),
        ]

    async def test_what_comes_after_the_end_of_a_cell_is_put_into_it(self, executor: KernelExecutor):
        late = "import threading\nthreading.Timer(0.3, lambda: print('late')).start()\nprint('now')"
        cells = [code(late), code("import time; time.sleep(1)")]
        told: list[int] = []

        async def changed(index: int, op: OutputOp) -> None:
            told.append(index)

        with anyio.fail_after(30):
            await outcomes(NotebookRunner(executor, cells, changed=changed))
        assert "now\n" in text(cells[0])
        assert "late\n" in text(cells[0]) + text(cells[1])
        assert set(told) <= {0, 1}

    @pytest.mark.parametrize("metadata", [None, [], {"tags": "no list"}, {"tags": [1, None]}])
    def test_metadata_of_any_shape_has_tags(self, metadata: Any):
        assert not tags_of({"metadata": metadata}) & {"skip-execution", "raises-exception"}


def execute(tmp_path: Path, *cells: dict[str, Any], **options: Any) -> Any:
    """By papermill with our engine; the written notebook."""
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = {"cells": list(cells), "metadata": {"kernelspec": kernelspec}, "nbformat": 4, "nbformat_minor": 5}
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    source, target = tmp_path / "in.ipynb", tmp_path / "out.ipynb"
    nbformat.write(nbformat.from_dict(book), source)
    papermill.execute_notebook(source, target, engine_name="pernix", progress_bar=False, **options)
    return nbformat.read(target, 4)


@pytest.fixture
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in isolated_environ(tmp_path).items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("isolated")
class TestPapermill:
    def test_parameters_are_put_in_and_outputs_written(self, tmp_path: Path):
        book = execute(tmp_path, code("n = 1", "parameters"), code("print(n * 2)"), parameters={"n": 21})
        assert book.cells[2].outputs[0].text == "42\n"
        assert book.cells[2].metadata.papermill.status == "completed"

    def test_all_of_a_flood_is_written(self, tmp_path: Path):
        book = execute(tmp_path, code("for n in range(30_000): print('x' * 99)"))
        assert len(book.cells[0].outputs[0].text) == 3_000_000

    def test_a_failed_cell_is_named(self, tmp_path: Path):
        with pytest.raises(PapermillExecutionError, match="ZeroDivisionError"):
            execute(tmp_path, code("1 / 0"), code("print('never')"))
        assert nbformat.read(tmp_path / "out.ipynb", 4).cells[-1].outputs == []

    def test_a_dead_kernel_is_told_with_its_cause(self, tmp_path: Path):
        with pytest.raises(KernelDied, match="SIGKILL"):
            execute(tmp_path, code("print('before', flush=True)"), code("import os; os.kill(os.getpid(), 9)"))
        assert nbformat.read(tmp_path / "out.ipynb", 4).cells[0].outputs[0].text == "before\n"

    def test_a_cell_has_a_time_limit(self, tmp_path: Path):
        with pytest.raises(CellTimeout, match="after 1 s"):
            execute(tmp_path, code("import time; time.sleep(60)"), execution_timeout=1)

    def test_streams_go_to_files_too(self, tmp_path: Path):
        with (tmp_path / "stdout").open("w") as out, (tmp_path / "stderr").open("w") as err:
            execute(
                tmp_path,
                code("import sys; print('one'); print('two', file=sys.stderr)"),
                stdout_file=out,
                stderr_file=err,
            )
        assert (tmp_path / "stdout").read_text() == "one\n"
        assert (tmp_path / "stderr").read_text() == "two\n"
