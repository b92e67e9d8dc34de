"""What a step of the whole loop costs, beside a floor that does the least: ``python benchmarks/agents.py [--steps 20,400] [--reps 5]``

The product's own parts run in a process of their own (``agents_peer.py``) against the scripted model server: streamed, every event
durable, a listener on the bus, the run notebook written. The floor (``agents_floor.py``) alternates with it, so that both see the
same machine. CPU is user and system of the process; a step's is taken over the last fifth before it. Of the repetitions the median
counts. It ends with 1 when a limit is broken:

* CPU at step 20, at step 400 and over the whole run: at most twice the floor's
* CPU at step 400 at most 1.5 times that at step 20
* stored bytes at most three times the bytes of the messages, at 400 steps (without the audit's files: 2 kB a step)
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.model_server import ModelServer  # noqa: E402 - the path is set above

PEERS = {"floor": HERE / "agents_floor.py", "pernix": HERE / "agents_peer.py"}
SECONDS = 300


def measured(server: ModelServer, script: Path, key: str, *, steps: int, padding: int) -> dict[str, Any]:
    server.ctl("program", {"conv": key, "program": f"builtin:add_loop?n={steps}"})
    with tempfile.TemporaryDirectory(prefix="pernix-agents-") as folder:
        environ = os.environ | {
            "MS_URL": server.url,
            "MS_KEY": key,
            "MS_N": str(steps),
            "MS_RESULT_BYTES": str(padding),
            "MS_TMP": folder,
            "PYTHONPATH": str(HERE.parent),
        }
        ran = subprocess.run(
            [sys.executable, str(script)], env=environ, cwd=folder, capture_output=True, text=True, timeout=SECONDS
        )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        sys.exit(f"{script.name} gave no result:\n{ran.stderr[-3000:]}")
    result: dict[str, Any] = json.loads(lines[-1].removeprefix("RESULT "))
    if result["calls"] != steps or result["answer"] != f"done {steps}":
        sys.exit(f"{script.name} did not do the job: {result}")
    return result


def median(results: list[dict[str, Any]], key: str) -> float:
    return statistics.median(float(result[key]) for result in results)


def at(results: list[dict[str, Any]], step: int) -> float:
    return statistics.median(float(result["cpu_ms_at"][str(step)]) for result in results)


def line(name: str, steps: int, results: list[dict[str, Any]]) -> str:
    whole, wall = (1e3 * median(results, key) / steps for key in ("cpu_s", "run_s"))
    at_end = f"{at(results, steps):10.2f}" if steps in (20, 100, 400) else f"{'-':>10}"
    return f"{steps:6} {name:8} {whole:10.2f} {at_end} {wall:10.2f} {median(results, 'rss_mb'):8.0f}"


def verdicts(found: dict[tuple[str, int], list[dict[str, Any]]], counts: list[int]) -> list[tuple[str, float, float]]:
    """What is limited, how much it is, and how much it may be."""
    limits: list[tuple[str, float, float]] = []
    for steps in counts:
        ours, floor = found["pernix", steps], found["floor", steps]
        limits.append((f"CPU of {steps} steps / floor", median(ours, "cpu_s") / median(floor, "cpu_s"), 2.0))
        if steps in (20, 100, 400):
            limits.append((f"CPU at step {steps} / floor", at(ours, steps) / at(floor, steps), 2.0))
        if steps >= 400:
            ratio = median(ours, "stored_bytes") / median(ours, "message_bytes")
            limits.append((f"stored bytes of {steps} steps / messages", ratio, 3.0))
    if {20, 400} <= set(counts):
        limits.append(
            ("CPU at step 400 / at step 20", at(found["pernix", 400], 400) / at(found["pernix", 20], 20), 1.5)
        )
    return limits


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU a step of the whole loop, beside a floor")
    parser.add_argument("--steps", default="20,400")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--result-bytes", type=int, default=0, help="padding of each result")
    given = parser.parse_args()
    counts = [int(text) for text in str(given.steps).split(",")]
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    with ModelServer() as server:
        for steps in counts:
            for repetition in range(given.reps):
                for name, script in PEERS.items():
                    key = f"conv-{name}-{steps}-{repetition}"
                    result = measured(server, script, key, steps=steps, padding=given.result_bytes)
                    found.setdefault((name, steps), []).append(result)
    print(f" steps          CPU ms/step  at the end    wall ms   RSS MB   (median of {given.reps})")
    for (name, steps), results in found.items():
        print(line(name, steps, results))
    limits = verdicts(found, counts)
    for what, is_, may_be in limits:
        print(f"{'ok  ' if is_ <= may_be else 'OVER'} {what}: {is_:.2f} (at most {may_be})")
    return int(any(is_ > may_be for _, is_, may_be in limits))


if __name__ == "__main__":
    sys.exit(main())
