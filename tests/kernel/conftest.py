"""Real kernels in a folder of their own, and what came of the code that ran in them."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.isolation import isolated_environ

from jupyter_pernix.fold import apply_output
from jupyter_pernix.ids import ExecutionId, new_execution_id
from jupyter_pernix.kernel.executor import KernelExecutor
from jupyter_pernix.kernel.provision import Kernels, own_manager
from jupyter_pernix.ports import AskInput
from jupyter_pernix.records import ExecutionResult, OutputOp


@dataclass
class Ran:
    """One execution as a listener saw it; later changes to its outputs arrive here too."""

    execution_id: ExecutionId
    outputs: list[dict[str, Any]] = field(default_factory=list)
    ops: list[OutputOp] = field(default_factory=list)
    late: list[OutputOp] = field(default_factory=list)
    told: anyio.Event = field(default_factory=anyio.Event)
    """Set and replaced whenever something is told."""
    _result: ExecutionResult | None = None

    @property
    def result(self) -> ExecutionResult:
        assert self._result is not None
        return self._result

    @property
    def text(self) -> str:
        """All streams."""
        return "".join(output.get("text", "") for output in self.outputs)

    def tell(self, op: OutputOp) -> None:
        apply_output(self.outputs, op)
        self.told.set()
        self.told = anyio.Event()

    @property
    def kinds(self) -> list[str]:
        return [output["output_type"] for output in self.outputs]


class Cells:
    """Runs code in one executor and keeps what came of it."""

    def __init__(self, executor: KernelExecutor, *, saw: Callable[[], Awaitable[None]] | None = None) -> None:
        self.executor = executor
        self.ran: dict[ExecutionId, Ran] = {}
        self._saw = saw
        executor.on_late = self._late

    async def __call__(
        self,
        code: str,
        *,
        deadline: float | None = None,
        into: list[Ran] | None = None,
        ask_input: AskInput | None = None,
    ) -> Ran:
        ran = Ran(new_execution_id())
        self.ran[ran.execution_id] = ran
        if into is not None:
            into.append(ran)

        async def on_output(op: OutputOp) -> None:
            ran.ops.append(op)
            ran.tell(op)
            if self._saw is not None:
                await self._saw()

        ran._result = await self.executor.execute(
            code, execution_id=ran.execution_id, on_output=on_output, deadline=deadline, ask_input=ask_input
        )
        return ran

    async def _late(self, execution_id: ExecutionId, op: OutputOp) -> None:
        ran = self.ran[execution_id]
        ran.late.append(op)
        ran.tell(op)
        if self._saw is not None:
            await self._saw()


def kernel_environ(**more: str) -> dict[str, str]:
    """The environment for a kernel; with pytest's own variable in it ipykernel would not read its file descriptors."""
    return {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"} | more


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Of this scope, so that a kernel can be shared by the tests of a module."""
    return "asyncio"


@pytest.fixture(scope="module")
async def shared_executor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KernelExecutor]:
    environ = isolated_environ(tmp_path_factory.mktemp("shared"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", environ["JUPYTER_RUNTIME_DIR"])
        kernels = Kernels(own_manager(), interrupt_grace=2.0)
    environ.pop("PYTEST_CURRENT_TEST", None)
    yield await kernels.start("python3", tmp_path_factory.mktemp("work"), environ)
    await kernels.aclose()


@pytest.fixture
def cells(shared_executor: KernelExecutor) -> Cells:
    """A Python kernel that the tests of a module share: for code that neither ends it nor minds what ran before."""
    return Cells(shared_executor)


@pytest.fixture
async def kernels() -> AsyncIterator[Kernels]:
    kernels = Kernels(own_manager(), interrupt_grace=2.0)
    yield kernels
    await kernels.aclose()


@pytest.fixture
async def python(kernels: Kernels, tmp_path: Path) -> Cells:
    """A Python kernel in ``tmp_path``; its side files go to ``tmp_path/side``."""

    def side_file(name: str) -> tuple[Path, str]:
        return tmp_path / "side" / name, f"side/{name}"

    return Cells(await kernels.start("python3", tmp_path, kernel_environ(), side_file=side_file))


@pytest.fixture
def bash_spec(isolated_home: Path) -> str:
    """Installs bash_kernel for this test; its kernelspec's name."""
    install = [sys.executable, "-m", "bash_kernel.install", "--user"]
    subprocess.run(install, check=True, capture_output=True, timeout=60)
    return "bash"
