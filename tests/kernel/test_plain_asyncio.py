"""The executor in a loop that only asyncio knows, as the Jupyter server's is: its callbacks run outside of any task."""

import asyncio
import contextvars
from pathlib import Path

import pytest
from support.isolation import isolated_environ

from jupyter_pernix.ids import new_execution_id
from jupyter_pernix.kernel.provision import Kernels, own_manager
from jupyter_pernix.records import ExecutionResult, OutputOp


async def _ran(folder: Path, environ: dict[str, str]) -> tuple[ExecutionResult, list[OutputOp]]:
    told: list[OutputOp] = []

    async def on_output(op: OutputOp) -> None:
        told.append(op)

    kernels = Kernels(own_manager(), interrupt_grace=2.0)
    try:
        executor = await kernels.start("python3", folder, environ)
        execution_id = new_execution_id()
        result = await asyncio.wait_for(
            executor.execute("print('here')", execution_id=execution_id, on_output=on_output), 30
        )
        return result, told
    finally:
        await kernels.aclose()


def test_code_runs_and_its_outputs_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = isolated_environ(tmp_path / "home")
    environ.pop("PYTEST_CURRENT_TEST", None)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", environ["JUPYTER_RUNTIME_DIR"])
    result, told = contextvars.Context().run(asyncio.run, _ran(tmp_path, environ))
    assert result.status == "ok"
    assert [op.output["text"] for op in told if op.output] == ["here\n"]
