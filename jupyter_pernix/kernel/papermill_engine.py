"""Our executor as an engine of papermill: ``papermill in.ipynb out.ipynb --engine pernix``.

Nothing that a cell prints is lost however much it is, a kernel that dies is said at once and with its cause, and outputs that come
after their cell has ended are kept.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import anyio
import anyio.from_thread
import nbformat
from papermill.engines import Engine, NotebookExecutionManager  # pyright: ignore[reportMissingTypeStubs]
from papermill.log import logger  # pyright: ignore[reportMissingTypeStubs]

from ..errors import KernelDied
from ..records import JSON, OutputOp
from .provision import Kernels, own_manager
from .runner import WHOLE, CellOutcome, NotebookRunner


class CellTimeout(TimeoutError):
    """A cell ran longer than it may."""


class PernixEngine(Engine):
    """Takes papermill's ``start_timeout`` and ``execution_timeout`` (seconds; for each cell), ``log_output``, ``stdout_file`` and
    ``stderr_file``, and the tags and options ``raises-exception``, ``skip-execution``, ``allow_errors``."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: NotebookExecutionManager,
        kernel_name: str,
        log_output: bool = False,
        stdout_file: IO[str] | None = None,
        stderr_file: IO[str] | None = None,
        start_timeout: float = 60,
        execution_timeout: float | None = None,
        **options: Any,
    ) -> None:
        """Run all cells; the notebook of ``nb_man`` has its outputs then.

        :raises KernelError: if the kernel cannot be started or dies
        :raises CellTimeout: if a cell runs longer than ``execution_timeout``
        """
        run = partial(
            _Managed(nb_man, _Log(log_output, stdout_file, stderr_file)).run,
            kernel_name,
            start_deadline=float(start_timeout),
            deadline=execution_timeout or options.get("timeout"),
            allow_errors=bool(options.get("allow_errors")),
        )
        # In a thread with a loop of its own: papermill is also called where a loop runs already, in a notebook.
        with anyio.from_thread.start_blocking_portal() as portal:
            portal.call(run)


class _Managed:
    """One run. The notebook's outputs are set after each cell, and at each change while it runs where papermill saves them then."""

    def __init__(self, nb_man: NotebookExecutionManager, log: "_Log") -> None:
        self._manager: Any = nb_man
        self._log = log
        self._cells: list[JSON] = []

    async def run(self, kernel_name: str, *, start_deadline: float, deadline: float | None, allow_errors: bool) -> None:
        kernels = Kernels(own_manager(), start_deadline=start_deadline, caps=WHOLE, automagic=True)
        try:
            executor = await kernels.start(kernel_name, Path.cwd(), os.environ)
            self._cells = [dict(cell) for cell in self._manager.nb.cells]
            runner = NotebookRunner(
                executor, self._cells, deadline=deadline, allow_errors=allow_errors, changed=self._changed
            )
            for index, cell in enumerate(self._manager.nb.cells):
                self._manager.cell_start(cell, index)
                try:
                    if cell.cell_type == "code" and not self._ran(await runner.run_cell(index)):
                        return
                finally:
                    self._show(index)
                    self._manager.cell_complete(cell, cell_index=index)
        finally:
            await kernels.aclose()

    def _ran(self, outcome: CellOutcome) -> bool:
        """Whether the next cell may run."""
        result, cell = outcome.result, self._manager.nb.cells[outcome.index]
        self._show(outcome.index)
        if result is None or not outcome.failed:
            return True
        self._manager.cell_exception(cell, cell_index=outcome.index)
        if result.status == "timeout":
            raise CellTimeout(f"cell {outcome.index}: {result.detail}")
        if result.status in ("dead", "restarted"):
            raise KernelDied(
                str(self._manager.nb.metadata.kernelspec.name), f"in cell {outcome.index}: {result.detail}"
            )
        return False

    async def _changed(self, index: int, op: OutputOp) -> None:
        self._log.take(op, self._cells[index]["outputs"])
        self._show(index)
        self._manager.autosave_cell()

    def _show(self, index: int) -> None:
        cell, ours = self._manager.nb.cells[index], self._cells[index]
        if cell.cell_type == "code":
            cell.outputs = [nbformat.from_dict(output) for output in ours["outputs"]]  # pyright: ignore
            cell.execution_count = ours["execution_count"]


class _Log:
    """What papermill writes of outputs beside the notebook, as they come."""

    def __init__(self, log_output: bool, stdout: IO[str] | None, stderr: IO[str] | None) -> None:
        self._log_output = log_output
        self._files = {"stdout": stdout, "stderr": stderr}

    def take(self, op: OutputOp, outputs: list[JSON]) -> None:
        if op.op == "extend" and op.index < len(outputs):
            self._stream(str(outputs[op.index].get("name")), op.text)
        elif op.op == "append" and op.output is not None:
            if op.output["output_type"] == "stream":
                self._stream(str(op.output["name"]), str(op.output["text"]))
            elif self._log_output and "text/plain" in op.output.get("data", {}):
                logger.info(cast(str, op.output["data"]["text/plain"]))

    def _stream(self, name: str, text: str) -> None:
        if self._log_output:
            write: Callable[[str], None] = logger.warning if name == "stderr" else logger.info
            write(text)
        file = self._files.get(name)
        if file is not None:
            file.write(text)
            file.flush()
