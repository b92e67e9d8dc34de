"""Whether a page stays flat and responsive while a cell of its notebook puts out for half an hour.

    python benchmarks/long_page.py [--rate 50] [--minutes 30] [--kind mixed|lines|bar|displays] [--every 10]

JupyterLab in Chromium shows a notebook to which a session is attached; the agent runs the cell of `long_output.py` in it. Each ten
seconds: the page's heap (after a collection of garbage) and its elements, how long a task of the page took at most and how many took 200 ms
or more, how long a key pressed in another cell needs to be drawn, and the resident memory of the server. The samples are printed as they come,
then a table of tenths.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import psutil
from long_output import CODE
from playwright.sync_api import CDPSession

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.browser import Screen, chromium  # noqa: E402
from support.lab import Lab  # noqa: E402
from support.model_server import ModelServer  # noqa: E402
from support.notebook_desk import call, open_notebook, say, script, turns_at  # noqa: E402
from support.notebook_view import NotebookView  # noqa: E402

PATH = "long.ipynb"
LONG = 200
"""Milliseconds of a task that a person notices."""
WATCH = """() => { window.longTasks = [];
  new PerformanceObserver(list => window.longTasks.push(...list.getEntries().map(entry => entry.duration))).observe({type: 'longtask'}); }"""
TAKE = "() => window.longTasks.splice(0)"
KEY = """path => new Promise(done => {
  const panel = [...window.jupyterapp.shell.widgets('main')].find(widget => widget.context?.path === path);
  const cell = [...panel.context.model.cells].find(cell => cell.id === 'notes');
  const began = performance.now();
  setTimeout(() => { cell.sharedModel.updateSource(0, 0, 'x');
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began), 0)); }, 0); })"""


@dataclass(frozen=True)
class Sample:
    """MB, counts and milliseconds."""

    minute: float
    heap: float
    nodes: float
    server: float
    longest: float
    long: float
    key: float


def sample(screen: Screen, devtools: CDPSession, server: psutil.Process, began: float) -> Sample:
    tasks: list[float] = screen.page.evaluate(TAKE)
    key = screen.page.evaluate(KEY, PATH)
    devtools.send("HeapProfiler.collectGarbage")
    heap = devtools.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    nodes = devtools.send("Memory.getDOMCounters")["nodes"]
    return Sample(
        minute=(time.monotonic() - began) / 60,
        heap=heap,
        nodes=nodes,
        server=server.memory_info().rss / 1e6,
        longest=max(tasks, default=0),
        long=sum(task >= LONG for task in tasks),
        key=key,
    )


def watch(
    screen: Screen, view: NotebookView, server: psutil.Process, every: float, tell: Callable[[str], None]
) -> list[Sample]:
    """Until the cell runs no more."""
    devtools = screen.page.context.new_cdp_session(screen.page)
    screen.page.evaluate(WATCH)
    samples: list[Sample] = []
    began = time.monotonic()
    while view.running("one"):
        screen.page.wait_for_timeout(every * 1000)
        samples.append(sample(screen, devtools, server, began))
        tell(line(samples[-1]))
    return samples


def line(one: Sample) -> str:
    return " ".join(f"{field.name} {value:.1f}" for field, value in zip(fields(one), astuple(one), strict=True))


def measure(rate: float, minutes: float, kind: str, every: float, tell: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory() as folder, ModelServer(program="builtin:echo") as model:
        home, root = Path(folder, "home"), Path(folder, "root")
        root.mkdir()
        lab = Lab(
            home=home,
            root=root,
            endpoint=model.url,
            mode="auto",
            app="jupyterlab",
            arguments=["--LabApp.expose_app_in_browser=True"],
            settings=f"[deadlines]\nexecution = {120 * minutes + 60}\n",
        )
        with (
            lab,
            chromium() as browser,
        ):
            screen = Screen(browser, lab)
            screen.open()
            code = CODE.format(rate=rate, seconds=minutes * 60, kind=kind).strip()
            view = open_notebook(screen, root, PATH, one=code, notes="# typed")
            script(model, call("read_notebook"), call("run_cells", cell_ids=["one"]), say("It ran."))
            screen.send("Run it")
            view.page.wait_for_function(
                "path => [...[...window.jupyterapp.shell.widgets('main')].find(one => one.context?.path === path)"
                ".context.model.cells][0].executionState === 'running'",
                arg=PATH,
            )
            samples = watch(screen, view, psutil.Process(lab.pid), every, tell)
            screen.wait_turn(0, "answered")
            tell(table(samples))
            outputs = view.outputs("one")
            ran = [item for item in turns_at(lab, PATH)[0]["items"] if item.get("tool") == "run_cells"]
            tell(
                f"{kind}: {rate * minutes * 60:,.0f} messages; {ran[0]['status']}; {len(outputs)} outputs in the page; errors of the "
                f"page: {screen.errors}"
            )
            screen.close()


def table(samples: list[Sample]) -> str:
    size = max(1, len(samples) // 10)
    rows = []
    for field in fields(Sample)[1:]:
        values: list[float] = [getattr(one, field.name) for one in samples]
        tenths = [values[at : at + size] for at in range(0, size * 10, size)]
        put: Callable[[Any], float] = {"longest": max, "long": sum, "key": max}.get(field.name, statistics.mean)
        rows.append(f"{field.name:8}" + " ".join(f"{put(tenth):8.1f}" for tenth in tenths if tenth))
    half = samples[len(samples) // 2 :]
    growth = half[-1].heap - half[0].heap
    rows.append(
        f"heap over the last half {growth:+.1f} MB; server {half[-1].server - half[0].server:+.1f} MB; tasks of {LONG} ms and more: "
        f"{sum(one.long for one in samples):.0f}, the longest {max(one.longest for one in samples):.0f} ms"
    )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=50, help="messages a second")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--kind", choices=["mixed", "lines", "bar", "displays"], default="mixed")
    parser.add_argument("--every", type=float, default=10, help="seconds between two samples")
    given = parser.parse_args()
    measure(given.rate, given.minutes, given.kind, given.every, lambda text: print(text, flush=True))


if __name__ == "__main__":
    main()
