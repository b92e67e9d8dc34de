"""Recorded situations in which more happens than one cell after the other: each in a real kernel, by its number.

Where the record tells what a kernel does and a bare client has to know, the test tells what becomes of it through our executor.
"""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import find_kernel_specs
from jupyter_client.multikernelmanager import AsyncMultiKernelManager
from jupyter_core.utils import ensure_async
from support.isolation import isolated_environ

from jupyter_pernix.errors import KernelError
from jupyter_pernix.kernel.executor import FRESH
from jupyter_pernix.kernel.provision import Kernels, own_manager

from .conftest import Cells, Ran, kernel_environ
from .matching import outputs_match

pytestmark = pytest.mark.kernel

ACTS: dict[str, dict[str, Any]] = {
    act["id"]: act
    for act in json.loads((Path(__file__).parent.parent / "cases" / "kernel_cases.json").read_text(encoding="utf-8"))[
        "acts"
    ]
}
NOT_HERE = {"K161", "K163", "K164", "K165"}
"""How kernels start: ``test_provision``."""


def code(act: str, number: int = 0) -> str:
    return ACTS[act]["cells"][number]["code"]


def check(act: str, number: int, ran: Ran) -> None:
    """The outputs and the name of the error are as recorded; the status is each test's own."""
    expected = ACTS[act]["cells"][number]["expected"]
    if "outputs" in expected:
        mode = expected.get("outputs_mode", "exact")
        assert outputs_match(expected["outputs"], ran.outputs, mode=mode), (act, number, str(ran.outputs)[:800])
    if expected.get("ename"):
        assert ran.result.ename == expected["ename"]


class World:
    """A kernel of ours, and the manager that a user's own clients reach it by."""

    def __init__(self, manager: AsyncMultiKernelManager, kernels: Kernels, cells: Cells, folder: Path) -> None:
        self.manager, self.kernels, self.cells, self.folder = manager, kernels, cells, folder
        self.losses: list[str] = []
        cells.executor.on_restart = self._lost

    async def _lost(self, text: str) -> None:
        self.losses.append(text)

    async def both(self, act: str, *, deadline: float | None = None) -> tuple[Ran, Ran]:
        return await self.cells(code(act), deadline=deadline), await self.cells(code(act, 1))

    async def interrupted(self, act: str, *, after: Callable[[Ran], bool] | float = 0.5) -> Ran:
        """Cell 0, interrupted some time after it has begun."""
        ran: list[Ran] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: self.cells(code(act), into=ran))
            with anyio.fail_after(30):
                while not (self.cells.executor.busy and ran):  # noqa: ASYNC110
                    await anyio.sleep(0.01)
                if isinstance(after, float | int):
                    await anyio.sleep(after)
                else:
                    while not after(ran[0]):
                        await ran[0].told.wait()
            await self.cells.executor.interrupt()
        return ran[0]

    def client(self) -> AsyncKernelClient:
        """A user's."""
        client = cast(AsyncKernelClient, self.manager.get_kernel(self.cells.executor.kernel_id).client())
        client.session = client.session.clone()
        client.start_channels(hb=False)
        return client


@pytest.fixture(scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One kernel for all tests that leave it alive."""
    environ = isolated_environ(tmp_path_factory.mktemp("acts"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", environ["JUPYTER_RUNTIME_DIR"])
        manager = own_manager()
    kernels = Kernels(manager, interrupt_grace=2.0)
    environ.pop("PYTEST_CURRENT_TEST", None)
    folder = tmp_path_factory.mktemp("K147")

    def side_file(name: str) -> tuple[Path, str]:
        return folder / "side" / name, f"side/{name}"

    cells = Cells(await kernels.start("python3", folder, environ, side_file=side_file))
    yield World(manager, kernels, cells, folder)
    await kernels.aclose()


def test_each_recorded_act_has_its_test():
    text = Path(__file__).read_text(encoding="utf-8")
    assert [act for act in ACTS if act not in NOT_HERE and act not in text] == []


# ---- code that asks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", ["K016", "K020"])
async def test_what_is_asked_is_answered_in_order(world: World, act: str):
    cell, asked = ACTS[act]["cells"][0], []
    answers = list(cell["stdin"])

    async def answer(prompt: str, password: bool) -> str:
        asked.append({"prompt": prompt, **({"password": True} if password else {})})
        return answers.pop(0)

    ran = await world.cells(cell["code"], ask_input=answer)
    check(act, 0, ran)
    assert (ran.result.status, asked) == ("ok", cell["expected"]["input_requests"])
    assert "s3cret" not in str(ran.ops)


# ---- interrupts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", ["K025", "K026", "K027"])
async def test_an_interrupt_wakes_a_sleeping_event_loop_and_the_next_cell_runs(world: World, act: str):
    with anyio.fail_after(20):
        ran = await world.interrupted(act)
    assert (ran.result.status, ran.result.ename) == ("cancelled", "CancelledError")
    assert (await world.cells(code("K026", 1))).text == "next\n"


async def test_code_that_ignores_an_interrupt_ends_by_itself(world: World):
    ran = await world.interrupted("K030")
    check("K030", 0, ran)
    assert ran.result.status == "ok"
    await world.cells("signal.signal(signal.SIGINT, signal.default_int_handler);")


@pytest.mark.parametrize("act", ["K032", "K033"])
async def test_waiting_for_a_child_is_interrupted(world: World, act: str):
    ran = await world.interrupted(act, after=1.0)
    # IPython's ! gives back what the child's end was, and goes on.
    assert ran.result.status == ("ok" if act == "K032" else "cancelled")
    check(act, 0, ran)
    check(act, 1, await world.cells(code(act, 1)))


async def test_an_interrupt_of_an_idle_kernel_is_no_harm(world: World):
    check("K034", 0, await world.cells(code("K034")))
    await world.cells.executor.interrupt()
    await ensure_async(world.manager.interrupt_kernel(world.cells.executor.kernel_id))
    check("K034", 1, await world.cells(code("K034", 1)))


async def test_an_interrupt_is_for_the_code_that_runs_and_not_for_what_waits_behind_it(world: World):
    """``K037``: a bare client's queue would be aborted; each execution of ours is handed over when the one before has ended."""
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(lambda number=number: world.cells(code("K037", number), into=ran))
            await anyio.lowlevel.checkpoint()
        await anyio.sleep(0.7)
        await world.cells.executor.interrupt()
    assert [(one.result.status, one.text) for one in ran] == [("cancelled", ""), ("ok", "q1\n"), ("ok", "q2\n")]
    check("K037", 0, ran[0])


async def test_clean_up_after_an_interrupt_is_seen(world: World):
    check("K038", 0, await world.interrupted("K038"))


async def test_an_endless_print_loop_is_stopped_and_bounded(world: World):
    ran = await world.interrupted("K086", after=lambda ran: len(ran.ops) > 3)
    assert ran.result.status == "cancelled"
    assert ran.text.startswith("line 0\nline 1\n")
    assert ran.kinds[-1] == "error"
    assert len(str(ran.outputs)) < 1_000_000
    check("K086", 1, await world.cells(code("K086", 1)))


# ---- the user's own requests in the same kernel -------------------------------------------------------------------------


@pytest.mark.parametrize("act", ["K054", "K058"])
async def test_what_waits_in_the_kernel_behind_a_failing_cell_of_the_user_is_not_run(world: World, act: str):
    client = world.client()
    try:
        client.execute(f"import time; time.sleep(1.0)\n{code(act)}", stop_on_error=True)
        with anyio.fail_after(20):
            while (await client.get_iopub_msg())["content"].get("execution_state") != "busy":
                pass
        ran = await world.cells(code(act, 1))
    finally:
        client.stop_channels()
    assert (ran.result.status, ran.outputs) == ("aborted", [])
    assert not (world.folder / "ran1").exists()


async def test_an_error_of_ours_leaves_what_waits_behind_it_alone(world: World):
    """``K054`` and ``K056`` from our side, ``K059`` for a request that is no code."""
    client = world.client()
    try:
        failed = await world.cells(code("K059"))
        check("K054", 0, failed)
        client.kernel_info()
        with anyio.fail_after(20):
            assert (await client.get_shell_msg())["header"]["msg_type"] == "kernel_info_reply"
    finally:
        client.stop_channels()
    _, second = await world.both("K056")
    check("K056", 1, second)


async def test_what_another_client_runs_is_not_ours(world: World):
    client = world.client()
    ran: list[Ran] = []
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: world.cells(code("K060"), into=ran))
            with anyio.fail_after(20):
                while not ran or "mine 1" not in ran[0].text:
                    await (ran[0].told.wait() if ran else anyio.lowlevel.checkpoint())
            client.execute(code("K060", 1))
    finally:
        client.stop_channels()
    check("K060", 0, ran[0])


async def test_one_who_comes_late_gets_only_what_comes_then(world: World):
    await world.cells(code("K062"))
    late = Kernels(world.manager)
    try:
        check("K062", 1, await Cells(await late.attach(world.cells.executor.kernel_id))(code("K062", 1)))
    finally:
        await late.aclose()


@pytest.mark.parametrize("act", ["K154", "K155"])
async def test_a_busy_kernel_is_known_to_be_alive(world: World, act: str):
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: world.cells(code(act), into=ran))
        await anyio.sleep(0.3)
        assert await world.cells.executor.inspect_expression("'{\"alive\": true}'") == {"alive": True}
        assert world.cells.executor.busy
    assert ran[0].result.status == "ok"


# ---- processes, big outputs, widgets, state -----------------------------------------------------------------------------


@pytest.mark.parametrize("act", ["K075", "K076", "K098", "K144", "K145", "K153"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_each_cell_comes_out_as_recorded(world: World, act: str):
    for number in range(len(ACTS[act]["cells"])):
        ran = await world.cells(code(act, number))
        assert ran.result.status == "ok"
        if act != "K153":
            check(act, number, ran)
        elif number == 2:
            assert ran.outputs[0]["data"]["text/plain"] == "False"


async def test_a_progress_bar_in_a_widget_is_kept_at_its_end(world: World):
    """``K098``: the text in the output tells the start."""
    await world.cells(code("K098"))
    bars = [model["state"] for model in world.cells.executor.widget_state()["state"].values()]
    assert [bar["value"] for bar in bars if bar["_model_name"] == "FloatProgressModel"][-1] == 5.0


async def test_what_is_printed_in_an_output_widget_is_in_its_state(world: World):
    check("K143", 0, await world.cells(code("K143")))
    await world.cells(code("K145"))
    state = json.dumps(world.cells.executor.widget_state())
    assert '"inside\\n"' in state
    assert '"x 3\\n"' in state


@pytest.mark.parametrize(("act", "length"), [("K084", 20_000_001), ("K091", 30_000_030), ("K191", 20_000_040)])
async def test_a_flood_is_kept_whole_in_its_side_file(world: World, act: str, length: int):
    ran = await world.cells(code(act))
    assert ran.result.status == "ok"
    assert len(str(ran.outputs)) < 1_000_000
    whole = world.folder / "side" / f"{ran.execution_id}.txt"
    assert whole.stat().st_size == length


async def test_values_beside_a_cell_come_one_by_one(world: World):
    await world.cells(code("K151"))
    assert await world.cells.executor.inspect_expression("__import__('json').dumps({'good': a + 1})") == {"good": 2}
    with pytest.raises(KernelError, match="NameError"):
        await world.cells.executor.inspect_expression("nope")


# ---- limits of time -----------------------------------------------------------------------------------------------------


async def test_a_second_call_waits_for_one_that_was_given_up(world: World):
    with anyio.fail_after(30):
        first, second = await world.both("K192", deadline=1.0)
    assert (first.result.status, second.result.status) == ("timeout", "ok")
    assert first.result.detail == "The code was interrupted after 1 s."
    assert second.outputs[0]["data"]["text/plain"] == "1"


async def test_what_was_printed_before_the_limit_is_kept(world: World):
    ran = await world.cells(code("K193"), deadline=2.5)
    assert ran.text.startswith("0\n1\n")
    assert (ran.result.status, ran.kinds[-1], ran.result.ename) == ("timeout", "error", "KeyboardInterrupt")
    assert ran.result.detail == "The code was interrupted after 2.5 s."


# ---- ends of kernels ----------------------------------------------------------------------------------------------------


async def test_a_restart_takes_the_folder_that_code_changed_to_with_it(world: World):
    await world.cells(code("K147"))
    assert (await world.cells(code("K147", 1))).text == "sub\n"
    await ensure_async(world.manager.restart_kernel(world.cells.executor.kernel_id, now=True))
    ran = await world.cells(code("K147", 2))
    check("K147", 2, ran)
    assert ran.result.detail == FRESH


async def test_a_kernel_that_died_while_idle_is_replaced_and_that_is_told(world: World):
    """``K045``: a bare client would be refused."""
    check("K045", 0, await world.cells(code("K045")))
    pid = int((await world.cells("import os; print(os.getpid())")).text)
    os.kill(pid, signal.SIGKILL)
    with anyio.fail_after(20):
        while await ensure_async(world.manager.get_kernel(world.cells.executor.kernel_id).is_alive()):  # noqa: ASYNC110
            await anyio.sleep(0.01)
    ran = await world.cells(code("K045", 1))
    assert (ran.text, ran.result.detail) == (
        "two\n",
        f"{FRESH} The one before: it was killed by signal 9 (SIGKILL, probably out of memory).",
    )
    assert world.losses[-1].startswith("The kernel died: it was killed by signal 9")


async def test_a_kernel_that_is_shut_down_does_not_wait_for_its_code(kernels: Kernels, tmp_path: Path):
    """``K158`` and ``K160``: the very first message is not lost either."""
    cells = Cells(await kernels.start("python3", tmp_path, kernel_environ()))
    assert (await cells(code("K160"))).text == "first\n"
    ran: list[Ran] = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: cells(f"print('begun', flush=True); {code('K158')}", into=ran))
            while not ran or "begun" not in ran[0].text:
                await (ran[0].told.wait() if ran else anyio.lowlevel.checkpoint())
            await cells.executor.aclose()
    assert (ran[0].result.status, ran[0].result.detail) == ("dead", "The kernel was shut down while the code ran.")


async def test_a_server_that_outlives_its_kernel_is_named(kernels: Kernels, tmp_path: Path):
    if not sys.platform.startswith("linux"):
        pytest.skip("processes are found by /proc, which Linux alone has")
    cells = Cells(await kernels.start("python3", tmp_path, kernel_environ()))
    await cells(code("K189"))
    await cells.executor.aclose()
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, signal.SIGKILL)  # it was still there
    (found,) = cells.executor.survivors
    assert found.startswith(f"{pid} (")
    assert "time.sleep(40)" in found


# ---- kernels of other languages -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Passing unrecognized arguments to super.KernelSpec.:DeprecationWarning")
async def test_bash(kernels: Kernels, bash_spec: str, tmp_path: Path):
    bash = Cells(await kernels.start(bash_spec, tmp_path, kernel_environ()))
    check("K169", 0, await bash(code("K169")))
    await bash(code("K170"))
    check("K170", 1, await bash(code("K170", 1)))
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: bash(f"echo begun; {code('K168')}", deadline=2.0, into=ran))
        while not bash.executor.busy:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        with pytest.raises(KernelError):  # it has no expressions of Python to be asked for
            await bash.executor.inspect_expression("'{}'", deadline=0.5)
    assert ran[0].result.status == "timeout"
    assert (await bash(code("K168", 1))).text == "alive\n"
    assert (await bash("read line", deadline=0.5)).result.status == "timeout"
    assert (await bash(code("K168", 1))).text.endswith("alive\n")


def installed(kernel: str) -> None:
    if kernel not in find_kernel_specs():
        pytest.skip(f"the kernel {kernel!r} is not installed here")


async def test_r(kernels: Kernels, tmp_path: Path):
    installed("ir")
    r = Cells(await kernels.start("ir", tmp_path, kernel_environ()))
    check("K171", 0, await r(code("K171")))
    failed = await r(code("K172"))
    check("K172", 0, failed)
    assert failed.result.status == "error"
    check("K172", 1, await r(code("K172", 1)))
    check("K174", 0, await r(code("K174")))
    asked: list[str] = []

    async def answer(prompt: str, password: bool) -> str:
        asked.append(prompt)
        return "Ada"

    ran = await r('name <- readline("name? "); cat("hello", name, "\\n")', ask_input=answer)
    assert (ran.text, asked) == ("hello Ada \n", ["name? "])
    ran = await r("Sys.sleep(60)", deadline=1.0)
    assert ran.result.status == "timeout"
    assert (await r(code("K172", 1))).text == "alive\n"


async def test_xeus_python(kernels: Kernels, tmp_path: Path):
    installed("xpython")
    x = Cells(await kernels.start("xpython", tmp_path, kernel_environ()))
    check("K177", 0, await x(code("K177")))
    ran = await x("import time; time.sleep(60)", deadline=1.0)
    assert ran.result.status == "timeout"
    assert (await x("print('alive')")).text == "alive\n"
