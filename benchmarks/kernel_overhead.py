"""What our executor adds to a trivial cell, against a bare jupyter_client loop on the same kernel.

    python benchmarks/kernel_overhead.py [--cells 200] [--rounds 3]

Both run `x = <number>` in the same process and wait for reply and idle; rounds alternate, so that a busy machine slows both.
Prints the medians in milliseconds, and their ratio.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import cast

import anyio
from jupyter_client.asynchronous.client import AsyncKernelClient

from jupyter_pernix.ids import new_execution_id
from jupyter_pernix.kernel.executor import KernelExecutor
from jupyter_pernix.kernel.provision import Kernels, own_manager
from jupyter_pernix.records import OutputOp


async def bare(client: AsyncKernelClient, cells: int) -> list[float]:
    """Seconds a cell."""
    seconds: list[float] = []
    for number in range(cells):
        began = time.perf_counter()
        request = client.execute(f"x = {number}")
        while True:
            message = await client.get_iopub_msg(timeout=60)
            if (
                message["parent_header"].get("msg_id") == request
                and message["content"].get("execution_state") == "idle"
            ):
                break
        while (await client.get_shell_msg(timeout=60))["parent_header"].get("msg_id") != request:
            pass
        seconds.append(time.perf_counter() - began)
    return seconds


async def ours(executor: KernelExecutor, cells: int) -> list[float]:
    async def on_output(op: OutputOp) -> None:
        raise AssertionError(op)

    seconds: list[float] = []
    for number in range(cells):
        began = time.perf_counter()
        await executor.execute(f"x = {number}", execution_id=new_execution_id(), on_output=on_output)
        seconds.append(time.perf_counter() - began)
    return seconds


async def main(cells: int, rounds: int) -> None:
    manager = own_manager()
    kernels = Kernels(manager)
    executor = await kernels.start("python3", Path(tempfile.gettempdir()), os.environ)
    # An AsyncMultiKernelManager has asynchronous kernels; its annotations do not say so.
    client = cast(AsyncKernelClient, manager.get_kernel(executor.kernel_id).client())
    client.start_channels()
    await client.wait_for_ready(timeout=60)
    floor: list[float] = []
    measured: list[float] = []
    for _ in range(rounds):
        floor += await bare(client, cells)
        measured += await ours(executor, cells)
    client.stop_channels()
    await kernels.aclose()
    below, above = statistics.median(floor) * 1000, statistics.median(measured) * 1000
    print(f"bare jupyter_client {below:.2f} ms   executor {above:.2f} ms   ratio {above / below:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    anyio.run(main, options.cells, options.rounds)
