"""What our executor adds to a cell, against a bare jupyter_client loop and against nbclient, in the same run.

    python benchmarks/kernel_overhead.py [--cells 200] [--rounds 3] [--sandbox]

Each has a kernel of its own; rounds alternate, so that a busy machine slows all. Trivial cells (`x = <number>`), one cell that prints
10 MB in 10,240 lines, and one that updates a display 1,000 times. Prints medians and the ratios; CPU is that of this process alone.
With ``--sandbox`` our kernel runs behind the wall, and how long its start takes is told beside that of one without.
Our executor is watched as a session does it, and must lose nothing; in how many floods a peer lost something is told beside it.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
import nbformat
from jupyter_client.asynchronous.client import AsyncKernelClient
from nbclient import NotebookClient

from jupyter_pernix.fold import apply_output
from jupyter_pernix.ids import new_execution_id
from jupyter_pernix.kernel.executor import KernelExecutor
from jupyter_pernix.kernel.provision import Kernels, own_manager
from jupyter_pernix.kernel.runner import WHOLE
from jupyter_pernix.kernel.sandbox import Limits, Wall
from jupyter_pernix.records import JSON, OutputOp

PRINTS = "line = 'x' * 1023\nfor _ in range(10240): print(line)"
UPDATES = (
    "from IPython.display import display, update_display\ndisplay('0', display_id='u')\n"
    "for i in range(1000): update_display(str(i), display_id='u')"
)

Run = Callable[[str], Awaitable[list[Any]]]
"""Code → its outputs."""


@dataclass
class Measured:
    cells: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    prints: list[float] = field(default_factory=list)
    updates: list[float] = field(default_factory=list)
    floods: int = 0
    lossy: int = 0
    """Floods of which something did not arrive."""


async def bare(client: AsyncKernelClient, code: str) -> list[JSON]:
    """What a hand-written loop does: wait for idle, then for the reply, and keep the outputs as they come."""
    outputs: list[JSON] = []
    request = client.execute(code)
    while True:
        message = await client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != request:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind in ("stream", "display_data", "update_display_data", "execute_result", "error"):
            outputs.append(content)
        elif kind == "status" and content["execution_state"] == "idle":
            break
    while (await client.get_shell_msg(timeout=60))["parent_header"].get("msg_id") != request:
        pass
    return outputs


async def measure(run: Run, cells: int, into: Measured) -> None:
    for number in range(cells):
        began, spent = time.perf_counter(), time.process_time()
        await run(f"x = {number}")
        into.cells.append(time.perf_counter() - began)
        into.cpu.append(time.process_time() - spent)
    began = time.perf_counter()
    outputs = await run(PRINTS)
    into.prints.append(time.perf_counter() - began)
    count(into, sum(len(str(output.get("text", ""))) for output in outputs) == 10240 * 1024)
    began = time.perf_counter()
    outputs = await run(UPDATES)
    into.updates.append(time.perf_counter() - began)
    count(into, bool(outputs) and "999" in str(outputs[-1].get("data", {}).get("text/plain")))


def count(into: Measured, whole: bool) -> None:
    into.floods += 1
    into.lossy += not whole


async def started(kernels: Kernels, folder: Path, wall: Wall | None, rounds: int) -> KernelExecutor:
    """The last of some kernels; tells the median of how long they took."""
    times: list[float] = []
    while True:
        began = time.perf_counter()
        executor = await kernels.start("python3", folder, os.environ, wall=wall)
        times.append(time.perf_counter() - began)
        if len(times) > rounds:  # the first one loads and looks up what is kept afterwards
            print(f"start {'in the sandbox' if wall else 'as usual':<16} {statistics.median(times[1:]) * 1000:6.0f} ms")
            return executor
        await executor.aclose()


def a_wall(folder: Path) -> Wall:
    for name in ("space", "temporary"):
        (folder / name).mkdir()
    return Wall(scope=folder / "space", temporary=folder / "temporary", home=Path.home(), limits=Limits(processes=1024))


async def main(cells: int, rounds: int, sandbox: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await compare(cells, rounds, Path(await anyio.Path(folder).resolve()), sandbox)


async def compare(cells: int, rounds: int, folder: Path, sandbox: bool) -> None:
    manager = own_manager()
    kernels = Kernels(manager, caps=WHOLE)
    executor = await started(kernels, folder, None, rounds)
    if sandbox:
        await executor.aclose()
        wall = a_wall(folder)
        executor = await started(kernels, wall.scope, wall, rounds)
    floor = await kernels.start("python3", folder, os.environ)
    # An AsyncMultiKernelManager has asynchronous kernels; its annotations do not say so.
    client = cast(AsyncKernelClient, manager.get_kernel(floor.kernel_id).client())
    client.start_channels()
    await client.wait_for_ready(timeout=60)
    peer = NotebookClient(nbformat.v4.new_notebook(), timeout=120, kernel_name="python3")  # pyright: ignore

    async def ours(code: str) -> list[JSON]:
        outputs: list[JSON] = []

        async def on_output(op: OutputOp) -> None:
            apply_output(outputs, op)

        await executor.execute(code, execution_id=new_execution_id(), on_output=on_output)
        return outputs

    async def nbclient(code: str) -> list[JSON]:
        cell = nbformat.v4.new_code_cell(code)  # pyright: ignore[reportUnknownMemberType]
        peer.nb.cells.append(cell)
        return (await peer.async_execute_cell(cell, len(peer.nb.cells) - 1)).outputs

    measured = {"jupyter_client": Measured(), "executor": Measured(), "nbclient": Measured()}
    async with peer.async_setup_kernel(), anyio.create_task_group() as tasks:
        tasks.start_soon(executor.attend)
        runs: dict[str, Run] = {
            "jupyter_client": lambda code: bare(client, code),
            "executor": ours,
            "nbclient": nbclient,
        }
        for run in runs.values():
            await run("1")
        for _ in range(rounds):
            for name, run in runs.items():
                await measure(run, cells, measured[name])
        tasks.cancel_scope.cancel()
    client.stop_channels()
    await kernels.aclose()
    tell(measured)
    if measured["executor"].lossy:
        raise AssertionError("our executor lost output")


def tell(measured: dict[str, Measured]) -> None:
    """Medians in ms; in brackets over the bare loop's."""
    base = measured["jupyter_client"]
    for name, of in measured.items():
        parts: list[str] = []
        for label, mine, floor in (
            ("cell", of.cells, base.cells),
            ("its CPU here", of.cpu, base.cpu),
            ("10 MB", of.prints, base.prints),
            ("1,000 updates", of.updates, base.updates),
        ):
            value, below = statistics.median(mine) * 1000, statistics.median(floor) * 1000
            parts.append(f"{label} {value:8.2f} ms ({value / below:4.2f})")
        print(f"{name:15} {'   '.join(parts)}   lost something in {of.lossy} of {of.floods} floods")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sandbox", action="store_true")
    options = parser.parse_args()
    anyio.run(main, options.cells, options.rounds, options.sandbox)
