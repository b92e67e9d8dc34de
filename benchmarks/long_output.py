"""Whether our memory stays flat while one cell puts out for half an hour.

    python benchmarks/long_output.py [--rate 50] [--minutes 30] [--kind mixed|lines|bar|displays]

Linux only: the resident memory of this process is read from /proc, once a second. `--rate 500 --minutes 3` sends as much in a tenth of
the time. Prints the memory in ten slices of the run, its growth over the last half, how many steps were told, and what the side file
holds.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

import anyio

from jupyter_pernix.fold import apply_output
from jupyter_pernix.ids import new_execution_id
from jupyter_pernix.kernel.provision import Kernels, own_manager
from jupyter_pernix.records import JSON, OutputOp

CODE = """
import time
from IPython.display import display, update_display
rate, seconds, kind = {rate}, {seconds}, {kind!r}
began = time.monotonic()
display('value 0', display_id='live')
for i in range(int(rate * seconds)):
    what = i % 10 if kind == 'mixed' else {{'lines': 0, 'bar': 7, 'displays': 8}}[kind]
    if what == 9 or kind == 'displays' and i % 2:
        display({{'text/plain': f'output {{i}}', 'text/html': '<b>' + 'x' * 200 + '</b>'}}, raw=True)
    elif what == 8:
        update_display(f'value {{i}}', display_id='live')
    elif what == 7:
        print(f'\\\\r{{i}} done', end='', flush=True)
    else:
        print(f'line {{i}} ' + 'y' * 100, flush=True)
    time.sleep(max(0, began + (i + 1) / rate - time.monotonic()))
"""


def resident() -> float:
    """MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def watch(samples: list[float]) -> None:
    while True:
        samples.append(resident())
        await anyio.sleep(1)


async def measure(rate: float, minutes: float, kind: str) -> None:
    samples: list[float] = []
    outputs: list[JSON] = []
    steps = 0

    async def on_output(op: OutputOp) -> None:
        nonlocal steps
        steps += 1
        apply_output(outputs, op)

    with tempfile.TemporaryDirectory() as folder:
        kernels = Kernels(own_manager())
        executor = await kernels.start(
            "python3", Path(folder), os.environ, side_file=lambda name: (Path(folder, "side", name), name)
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, samples)
            code = CODE.format(rate=rate, seconds=minutes * 60, kind=kind)
            result = await executor.execute(code, execution_id=new_execution_id(), on_output=on_output)
            tasks.cancel_scope.cancel()
        aside = sum(path.stat().st_size for path in Path(folder, "side").glob("*"))  # noqa: ASYNC240
        await kernels.aclose()
    report(samples, kind)
    print(
        f"{result.status}; {rate * minutes * 60:,.0f} messages, {steps:,} steps told; {len(outputs)} outputs, "
        f"{len(str(outputs)):,} characters; {aside:,} bytes in the side file"
    )


def report(samples: list[float], kind: str) -> None:
    size = max(1, len(samples) // 10)
    slices = [statistics.mean(samples[at : at + size]) for at in range(0, size * 10, size) if samples[at : at + size]]
    print(f"{kind}: memory by tenths (MB): " + " ".join(f"{each:.1f}" for each in slices))
    half = samples[len(samples) // 2 :]
    quarter = max(1, len(half) // 4)
    growth = statistics.mean(half[-quarter:]) - statistics.mean(half[:quarter])
    print(f"{kind}: growth over the last half {growth:+.2f} MB, highest {max(samples):.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=50, help="messages a second")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--kind", choices=["mixed", "lines", "bar", "displays"], default="mixed")
    given = parser.parse_args()
    anyio.run(measure, given.rate, given.minutes, given.kind)


if __name__ == "__main__":
    main()
