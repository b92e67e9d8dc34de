"""Cells in real kernels: what did not happen is never told as if it had."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from faults.registry import fault
from faults.stage import KEY, Stage, does, says
from kernel.conftest import kernel_environ

from jupyter_pernix.agent.run_settings import RunSettings
from jupyter_pernix.agent.tools.base import RESULT_LIMIT
from jupyter_pernix.config import Deadlines
from jupyter_pernix.kernel.executor import KernelExecutor
from jupyter_pernix.kernel.provision import Kernels, own_manager

pytestmark = pytest.mark.kernel


@pytest.fixture
async def python(tmp_path: Path) -> AsyncIterator[KernelExecutor]:
    kernels = Kernels(own_manager(), interrupt_grace=2.0)
    (tmp_path / "space").mkdir()
    try:
        yield await kernels.start("python3", tmp_path / "space", kernel_environ())
    finally:
        await kernels.aclose()


def _does(code: str) -> dict[str, Any]:
    return does("run_code", code=code)


@fault("claims-deploy")
async def test_a_result_that_a_killed_kernel_never_gave_is_said_to_be_none(
    stage_of: Callable[..., Stage], python: KernelExecutor
) -> None:
    stage = stage_of(executor=python)
    stage.play(
        _does("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        says("The notebook ran; the accuracy is 0.97."),
    )
    with anyio.fail_after(60):
        await stage.say("Run the notebook")
    (said,) = stage.reply.corrections
    assert "did not run to its end: the kernel died" in said


@fault("kernel-restarted")
async def test_after_a_dead_kernel_the_next_result_says_that_its_variables_are_gone(
    stage_of: Callable[..., Stage], python: KernelExecutor
) -> None:
    stage = stage_of(executor=python)
    stage.play(_does("x = 1"), _does("import os; os._exit(3)"), _does("print('x' in globals())"), says("It died once."))
    with anyio.fail_after(60):
        await stage.say("Try it")
    assert "its variables are gone" in stage.results[1]
    assert "False" in stage.results[2]
    assert "earlier variables and imports are gone" in stage.results[2]


@fault("kernel-input")
@pytest.mark.parametrize(
    "code",
    ["input('name? ')", "import getpass; getpass.getpass()", "import sys; sys.stdin.readline() or 1/0"],
)
async def test_code_that_asks_for_input_fails_within_the_limit(
    stage_of: Callable[..., Stage], python: KernelExecutor, code: str
) -> None:
    stage = stage_of(executor=python, can_ask=False, settings=RunSettings(deadlines=Deadlines(execution=60.0)))
    stage.play(_does(code), says("It wants input."))
    with anyio.fail_after(45):
        await stage.say("Run it")
    assert stage.results[0].startswith("error")


@fault("kernel-output-flood")
async def test_a_flood_of_lines_is_bounded_for_the_model_and_in_the_log(
    stage_of: Callable[..., Stage], python: KernelExecutor
) -> None:
    stage = stage_of(executor=python)
    stage.play(_does("for n in range(60_000): print(n, 'line of a flood')"), says("Long."))
    with anyio.fail_after(90):
        await stage.say("Print it")
    assert len(stage.results[0]) < RESULT_LIMIT + 1000
    assert "0 line of a flood" in stage.results[0] and "59999 line of a flood" in stage.results[0]
    assert sum(len(repr(event)) for event in stage.host.events) < 3_000_000


@fault("child-env")
async def test_the_models_key_is_not_in_a_cells_environment(
    stage_of: Callable[..., Stage], python: KernelExecutor
) -> None:
    stage = stage_of(executor=python)
    stage.play(_does("import os; print(dict(os.environ), open('/proc/self/environ').read())"), says("No keys."))
    with anyio.fail_after(60):
        await stage.say("Show the environment")
    assert KEY not in stage.results[0]


@fault("cancel-leaves-children")
async def test_a_stop_interrupts_the_cell_and_the_kernel_goes_on(
    stage_of: Callable[..., Stage], python: KernelExecutor
) -> None:
    stage = stage_of(executor=python)
    mark = stage.space / "begun"
    stage.play(
        _does("import time, pathlib; pathlib.Path('begun').touch()\nwhile True: time.sleep(0.05)"),
        _does("1 + 1"),
        says("2"),
    )
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(stage.say, "Loop")
            while not mark.exists():  # noqa: ASYNC110 - a file that another process makes
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        await stage.say("Add")
    assert stage.results[-1] == "ok [2]\n2"
