"""Kills at random boundaries of events, and what they left: nothing that was acknowledged is lost or changed, nothing happens twice
that the log does not explain, every log is legal, and every session goes on.

A process with real sessions, tools and store (and, in some, real kernels) kills itself before, in and behind each thing that the store
does; the next one begins with what is there. Every fifth store begins with 200 sessions and 100,000 events.

python benchmarks/crash_boundaries.py --kills 1000 --server 60
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from support.crash_server import ServerCrashes, ServerRound  # noqa: E402
from support.crash_store import AWAITING, EVENTS, INTERRUPTED, SESSIONS, write_store  # noqa: E402
from support.lab import Lab  # noqa: E402
from support.model_server import ModelServer  # noqa: E402

from jupyter_pernix.headless import WITHOUT_PAGES  # noqa: E402

LIMIT = 2.0
BACKGROUND = "--PernixApp.assignments=roles.background.endpoint=scripted"


def lines_of_lives(kills: int, seed: int, prepared: Path, base: int, keep: str, jobs: int) -> list[dict[str, Any]]:
    """``jobs`` processes at once; each line's seed is its own."""
    lines: list[dict[str, Any]] = []
    shares = [kills // jobs + (job < kills % jobs) for job in range(jobs)]
    processes: list[subprocess.Popen[str]] = []
    for job, share in enumerate(shares):
        command = [sys.executable, str(TESTS / "support" / "crash_lines.py"), "--kills", str(share)]
        command += ["--seed", str(seed + job * 10_000), "--prepared", str(prepared), "--base", str(base)]
        command += ["--keep", keep] if keep else []
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))

    def read(process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for text in process.stdout:
            lines.append(json.loads(text))
            done = sum(len(line["points"]) for line in lines)
            wrong = sum(len(line["wrong"]) for line in lines)
            print(f"\r{done} kills, {wrong} faults", end="", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(jobs) as threads:
        list(threads.map(read, processes))
    print(file=sys.stderr)
    ends = [process.wait() for process in processes]
    if not set(ends) <= {0, 1}:
        raise SystemExit(f"the harness ended with {ends}")
    return lines


def table(lines: list[dict[str, Any]]) -> str:
    points = Counter(point for line in lines for point in line["points"])
    places = Counter(point.removesuffix(" of a start") for point in points.elements())
    starts = Counter(point.removesuffix(" of a start") for point in points.elements() if point.endswith("of a start"))
    rows = ["killed                          kills  of them while starting"]
    rows += [f"{name:30}  {count:5}  {starts[name]:5}" for name, count in sorted(places.items())]
    ends = [line["findings"][-1] for line in lines if line["findings"]]
    findings = [found for line in lines for found in line["findings"]]
    kinds: Counter[str] = Counter()
    for end in ends:
        kinds.update(end["kinds"])
    rows.append(
        f"kills {sum(places.values())}, with real kernels {sum(line['kernels'] for line in lines)}; acknowledged "
        f"{sum(end['told'] for end in ends)}, lost {sum(found['lost'] for found in findings)}, changed "
        f"{sum(found['changed'] for found in findings)}, illegal {sum(len(found['illegal']) for found in findings)}, "
        f"unexplained effects {sum(len(found['unexplained']) for found in findings)}, faults "
        f"{sum(len(line['wrong']) for line in lines)}"
    )
    rows.append("in the logs: " + ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    for name, own in (
        ("small stores", [line for line in lines if not line["prepared"]]),
        (f"stores with {EVENTS:,} events", [line for line in lines if line["prepared"]]),
    ):
        times = [(found["seconds"], found["cpu"]) for line in own for found in line["findings"] if found["seconds"]]
        if times:
            rows.append(
                f"start, {name}: {spread([time for time, _ in times])}; CPU {spread([cpu for _, cpu in times])}"
            )
    return "\n".join(rows)


def spread(times: list[float]) -> str:
    return f"median {statistics.median(times):.2f} s, worst {max(times):.2f} s"


def server_rounds(folder: Path, rounds: int, seed: int, prepared: Path) -> list[ServerRound]:
    chance = random.Random(seed)
    root, home = folder / "root", folder / "home"
    root.mkdir()
    shutil.copytree(prepared, home / "jupyter_data_dir" / "pernix")
    found: list[ServerRound] = []
    with (
        ModelServer(program=f"{TESTS / 'support' / 'crash_script.py'}:decide") as model,
        Lab(home=home, root=root, endpoint=model.url, arguments=[*WITHOUT_PAGES, BACKGROUND]) as lab,
    ):
        print(
            f"first start of a server with {SESSIONS} sessions, {EVENTS:,} events, {INTERRUPTED} interrupted, {AWAITING} waiting: "
            f"store ready after {lab.waited:.2f} s, CPU {lab.worked:.2f} s"
        )
        crashes = ServerCrashes(lab, folder, chance)
        for number in range(rounds):
            one = crashes.round(number)
            found.append(one)
            print(
                f"server {number:3}: told {one.told:4}, start {one.start_seconds:4.1f} s, of it the store {one.store_seconds:4.2f} s "
                f"(CPU {one.store_cpu_seconds:4.2f} s), left {', '.join(one.left) or 'idle'}; {one.wrong or 'good'}",
                flush=True,
            )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--server", type=int, default=60, help="kills of a real server beside them")
    parser.add_argument("--jobs", type=int, default=1, help="so many processes of the harness at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="", help="folder for what was left where something is wrong")
    given = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared = folder / "prepared"
        base = anyio.run(write_store, prepared / "pernix.duckdb")
        if given.kills:
            lines = lines_of_lives(given.kills, given.seed, prepared, base, given.keep, given.jobs)
            print(table(lines))
            for line in lines:
                for wrong in line["wrong"]:
                    print(f"FAULT seed {line['seed']}: {wrong}")
            good = not any(line["wrong"] for line in lines)
            cpu = [found["cpu"] for line in lines for found in line["findings"]]
            good = good and max(cpu) < LIMIT
        if given.server:
            rounds = server_rounds(folder, given.server, given.seed, prepared)
            times = [one.store_seconds for one in rounds]
            cpu = [one.store_cpu_seconds for one in rounds]
            print(
                f"{sum(not one.wrong for one in rounds)} of {len(rounds)} good; store ready: {spread(times)}; CPU {spread(cpu)}"
            )
            good = good and not any(one.wrong for one in rounds) and max(cpu) < LIMIT
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
