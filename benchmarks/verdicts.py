"""How long a verdict on a command line takes: the median over lines of every kind, and what long and deeply nested lines cost.

    python benchmarks/verdicts.py

Times are of the processor, so that other work on the machine does not count.
"""

import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from jupyter_pernix.agent.policy.shell import judge_line

CASES = Path(__file__).parents[1] / "tests" / "cases"

LONG = {
    "100 kB of letters": "a" * 100_000,
    "100 kB of words": "ls " * 33_000,
    "100 kB of commands": "true;" * 20_000,
    "10,000 open parentheses": "(" * 10_000,
    "10,000 open substitutions": "$(" * 10_000,
    "4,000 open parentheses": "(" * 4_000,
    "5,000 open substitutions": "$(" * 5_000,
    "2,300 commands": "true;" * 2_300,
    "12 kB of words": "a " * 5_999,
    "3,000 patterns": "echo " + "* " * 3_000,
    "nested loops over patterns": "for f in * * *; do for g in * * *; do cat $f $g; done; done",
    "1,900 arithmetic expansions": "echo " + "$((1))" * 1_900,
    "2,900 assignments": "a=1 " * 2_900,
    "3,900 redirections": ">x " * 3_900,
    "3,900 conditions": "[[ " * 3_900,
}


def milliseconds(line: str, *, root: str, home: str, rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        judge_line(line, root=root, home=home, deny=("git push", "rm -rf", "write:protected"))
        best = min(best, time.process_time() - start)
    return 1000 * best


def main() -> None:
    given = json.loads((CASES / "shell_gate.json").read_text(encoding="utf-8"))["shell"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["bash", str(CASES / "shell_world.sh"), f"{folder}/world"], check=True, capture_output=True)
        home = f"{folder}/world/home"
        root = f"{home}/proj"
        lines = [case["cmd"].replace("@P@", root).replace("@H@", home) for case in given]
        times = sorted(milliseconds(line, root=root, home=home, rounds=3) for line in lines)
        print(
            f"{len(times)} lines: median {statistics.median(times):.2f} ms, 95 % within {times[int(0.95 * len(times))]:.2f} ms,",
            end=" ",
        )
        print(f"longest {times[-1]:.1f} ms")
        for name, line in LONG.items():
            took = milliseconds(line, root=root, home=home, rounds=3)
            verdict = judge_line(line, root=root, home=home)
            print(f"{name:30} {took:6.1f} ms  {verdict.ruling}: {verdict.why[:70]}")


if __name__ == "__main__":
    main()
