"""A replay carried out: the code cells of a notebook, one after the other, in a fresh kernel of its own."""

import copy
import os
import shutil
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, cast

import anyio
import anyio.to_thread

from ...fold import apply_output
from ...ids import ExecutionId, new_execution_id
from ...masking import MARK
from ...records import JSON, ExecutionResult, OutputOp
from ..bundles import Caps, clean_output
from ..executor import KernelExecutor
from ..export.parts import pernix_kind
from ..provision import Kernels, own_manager
from ..reading import source_to_run
from ..runner import RAISES, SKIP, WHOLE, tags_of
from .comparing import compare_outputs
from .edits import FileEdit, apply_edit, recorded_edits, take_back
from .report import CellReport, EditReport, ReplayReport

_NOT_COPIED = (".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".ipynb_checkpoints", ".pernix")
_TOLD_ONLY = {"tool", "plan", "approval"}


class Replay:
    """One replay of ``notebook``, as ``reading`` gives it. ``report`` grows while it runs, and is true whenever it is stopped.
    ``result`` is the notebook with what the cells put out this time."""

    def __init__(
        self,
        notebook: JSON,
        *,
        name: str,
        folder: Path,
        kernel_name: str,
        deadline: float | None = None,
        apply_edits: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """``folder``: where the notebook lies; its code runs there, as code of a notebook does. ``deadline``: seconds for each cell.
        ``apply_edits``: in a copy of the space's folder, with the recorded changes of files between the cells."""
        self.report = ReplayReport(notebook=name, kernel=kernel_name)
        self.result: JSON = copy.deepcopy(notebook)
        self._folder = folder.resolve()
        self._kernel_name = kernel_name
        self._deadline = deadline
        self._apply_edits = apply_edits
        self._environ = os.environ if environ is None else environ
        self._space = self._folder
        self._outputs: dict[ExecutionId, list[JSON]] = {}
        self._recorded: dict[int, list[JSON]] = {}
        self._lost = ""
        self._loss = ""
        """Why the variables went away while the last cell ran, a sentence or two."""

    async def run(self) -> AsyncGenerator[CellReport | EditReport]:
        """Each cell and each change of a file when it is done; all of them are in ``report`` too.

        :raises KernelError: if the kernel cannot be had
        :raises OSError: if the folder cannot be copied
        """
        copied: Path | None = None
        kernels = Kernels(own_manager(), caps=_caps_of(self.result), automagic=True)
        try:
            if self._apply_edits:
                copied = await self._copy()
            executor = await kernels.start(self._kernel_name, self._folder, self._environ, on_late=self._late)
            executor.on_restart = self._note_loss
            self.report.kernel = executor.kernel_name
            for index, cell in enumerate(cast(list[JSON], self.result["cells"])):
                async for told in self._cell(executor, index, cell):
                    yield told
            for again in self._settled():
                yield again
        finally:
            with anyio.CancelScope(shield=True):
                await kernels.aclose()
                if copied is not None:
                    await anyio.to_thread.run_sync(lambda: shutil.rmtree(copied, ignore_errors=True))

    async def _cell(self, executor: KernelExecutor, index: int, cell: JSON) -> AsyncGenerator[CellReport | EditReport]:
        if cell["cell_type"] != "code":
            return
        kind = pernix_kind(cell)
        if kind in _TOLD_ONLY:
            edit = recorded_edits(cell) if self._apply_edits else None
            if edit is not None:
                done = await self._edit(index, edit)
                self.report.edits.append(done)
                yield done
            return
        if not cast(str, cell["source"]).strip():
            return
        done = await self._replayed(executor, index, cell)
        if kind == "setup" and done.status in ("same", "skipped"):
            return
        self.report.cells.append(done)
        yield done

    async def _replayed(self, executor: KernelExecutor, index: int, cell: JSON) -> CellReport:
        same = CellReport(number=index + 1, cell_id=str(cell["id"]), source=cast(str, cell["source"]), status="same")
        why = self._lost or _why_skipped(cell)
        if why:
            return replace(same, status="skipped", why=why)
        before = self._recorded[index + 1] = cast(list[JSON], cell["outputs"])
        failed_before = any(output["output_type"] == "error" for output in before)
        began, self._loss = time.monotonic(), ""
        result, after = await self._execute(executor, cell)
        seconds = time.monotonic() - began
        cell["outputs"], cell["execution_count"] = after, result.execution_count
        failed = _why_failed(result, after, cell, failed_before=failed_before)
        if result.status in ("dead", "restarted"):
            self._lost = f"the kernel ended in cell {index + 1}"
        diff = compare_outputs(before, after)
        if self._loss and self._loss not in failed and not self._lost:
            # as it was then: what comes next runs in a fresh kernel
            same = replace(same, why=self._loss)
            failed = f"{failed} {self._loss}" if failed else ""
        if failed:
            return replace(same, status="failed", why=failed, diff=diff, seconds=seconds)
        was_run = before or cell["metadata"].get("pernix") or not diff
        note = same.why if was_run else " ".join(filter(None, ("nothing was recorded", same.why)))
        return replace(same, status="differs" if diff else "same", why=note, diff=diff, seconds=seconds)

    def _settled(self) -> list[CellReport]:
        """The cells of which something else is true now, since later cells or threads changed their outputs; in ``report`` too."""
        changed: list[CellReport] = []
        for place, told in enumerate(self.report.cells):
            recorded = self._recorded.get(told.number)
            if recorded is None or told.status not in ("same", "differs"):
                continue
            diff = compare_outputs(recorded, cast(list[JSON], self.result["cells"][told.number - 1]["outputs"]))
            if diff != told.diff:
                why = told.why or "what came later counts too"
                self.report.cells[place] = replace(told, status="differs" if diff else "same", why=why, diff=diff)
                changed.append(self.report.cells[place])
        return changed

    async def _execute(self, executor: KernelExecutor, cell: JSON) -> tuple[ExecutionResult, list[JSON]]:
        outputs: list[JSON] = []
        execution_id = new_execution_id()
        self._outputs[execution_id] = outputs

        async def on_output(op: OutputOp) -> None:
            await self._late(execution_id, op)

        answers = iter(_answers(cell))

        async def ask(prompt: str, password: bool) -> str | None:
            return None if password else next(answers, None)

        result = await executor.execute(
            source_to_run(cell["source"]),
            execution_id=execution_id,
            on_output=on_output,
            deadline=self._deadline,
            ask_input=ask if _inputs(cell) else None,
        )
        for output in outputs:
            if output["output_type"] == "execute_result":
                output["execution_count"] = result.execution_count
        return result, outputs

    async def _note_loss(self, why: str) -> None:
        self._loss = why

    async def _late(self, execution_id: ExecutionId, op: OutputOp) -> None:
        outputs = self._outputs.get(execution_id)
        if outputs is None:
            return
        if op.output is not None:
            op = OutputOp(op=op.op, index=op.index, output=clean_output(op.output, caps=WHOLE), text=op.text)
        apply_output(outputs, op)

    # ---- files ----------------------------------------------------------------------------------------------------------

    async def _copy(self) -> Path:
        """A copy of the space's folder, in which the files are as they were before the session where that can be told."""
        space = _space_of(self.result, self._folder)
        target = Path(mkdtemp(prefix="pernix-replay-"))
        inside = target / (space.name or "space")

        def copy_tree() -> None:
            ignored = shutil.ignore_patterns(*_NOT_COPIED)
            shutil.copytree(space, inside, symlinks=True, ignore=ignored, ignore_dangling_symlinks=True)

        try:
            await anyio.to_thread.run_sync(copy_tree)
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise
        self._space = inside
        self._folder = inside / self._folder.relative_to(space)
        edits = [edit for cell in self.result["cells"] if (edit := recorded_edits(cell)) is not None]
        left = await anyio.to_thread.run_sync(take_back, edits, inside)
        names = ", ".join(repr(str(edit.arguments.get("path", "?"))) for edit in left)
        if left:
            self.report.notes.append(f"These files are as they are now, not as they were before the session: {names}.")
        return target

    async def _edit(self, index: int, edit: FileEdit) -> EditReport:
        applied = await anyio.to_thread.run_sync(apply_edit, edit, self._space)
        return EditReport(number=index + 1, title=edit.title or edit.tool, status=applied.status, why=applied.detail)


def _caps_of(notebook: JSON) -> Caps:
    """A run notebook was shortened when it was recorded, any other holds all that came."""
    return Caps() if isinstance(notebook["metadata"].get("pernix"), dict) else WHOLE


def _space_of(notebook: JSON, folder: Path) -> Path:
    """The folder that the session worked in, seen from where its record lies now."""
    ours: Any = notebook["metadata"].get("pernix")
    known = cast(JSON, ours) if isinstance(ours, dict) else {}
    record_path, space_root = str(known.get("record_path") or ""), str(known.get("space_root") or "")
    lay_in = os.path.dirname(record_path)  # noqa: PTH120 - a path relative to a server's root, not of this system
    if not lay_in or os.path.basename(lay_in) != folder.name:  # noqa: PTH119
        return folder
    up = os.path.relpath(space_root or ".", lay_in)
    parts = Path(up).parts
    return (folder / up).resolve() if parts and set(parts) == {".."} else folder


def _why_skipped(cell: JSON) -> str:
    """ "": it can be run."""
    if SKIP not in tags_of(cell):
        return ""
    ours: Any = cell["metadata"].get("pernix")
    known = cast(JSON, ours) if isinstance(ours, dict) else {}
    if known.get("kernel_name"):
        return f"it ran in another kernel, {known['kernel_name']}"
    if known.get("status") not in (None, "ok", "error"):
        return f"it did not run to its end then ({known['status']})"
    return "it is tagged skip-execution"


def _why_failed(result: ExecutionResult, after: list[JSON], cell: JSON, *, failed_before: bool) -> str:
    """ "": it ended as it should."""
    error = next((output for output in after if output["output_type"] == "error"), None)
    if result.status not in ("ok", "error"):
        return result.detail or f"it ended with {result.status}"
    if error is None and result.status == "ok":
        return ""
    if failed_before or (RAISES in tags_of(cell) and not _is_attached(cell) and not _inputs(cell)):
        # what it says is compared
        return ""
    said = f"{error['ename']}: {error['evalue']}" if error is not None else f"{result.ename}: {result.evalue}"
    hints = [f"{said[:300]}"]
    if MARK in cell["source"]:
        hints.append("a secret in it was masked")
    if _is_attached(cell):
        hints.append("it ran in the kernel of a notebook, whose own cells are not in this record")
    if any(each.get("password") for each in _inputs(cell)):
        hints.append("it asks for a password, which is not recorded")
    return "; ".join(hints)


def _is_attached(cell: JSON) -> bool:
    ours: Any = cell["metadata"].get("pernix")
    return isinstance(ours, dict) and cast(JSON, ours).get("place") == "attached"


def _inputs(cell: JSON) -> list[JSON]:
    ours: Any = cell["metadata"].get("pernix")
    inputs: Any = cast(JSON, ours).get("inputs") if isinstance(ours, dict) else None
    return [each for each in cast(list[Any], inputs) if isinstance(each, dict)] if isinstance(inputs, list) else []


def _answers(cell: JSON) -> list[str | None]:
    texts = [each.get("text") for each in _inputs(cell) if not each.get("password")]
    return [text if isinstance(text, str) else None for text in texts]
