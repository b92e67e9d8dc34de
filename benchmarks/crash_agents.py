"""A job of 20 calls of one tool; the program is killed four times at random moments, started again, and goes on with it.

Each call writes a line to an outside ledger, durably, and takes 50 ms more until it returns. The table tells how often each call
had its effect: a tool that can look its calls up (``reconcile``) is run once each; one that cannot is never run again unasked.

python benchmarks/crash_agents.py --rounds 5
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from support.crashing_jobs import Outcome, crash_job  # noqa: E402
from support.model_server import ModelServer  # noqa: E402


def line(name: str, number: int, found: Outcome) -> str:
    return (
        f"{name:16} {number:5}  {found.kills:5}  {found.runs:9}  {found.doubled:7}  {found.lost:4}"
        f"  {found.failed_starts:13}  {found.answer}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--seed", type=int, default=5)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    good = True
    print("tool             round  kills  tool runs  doubled  lost  failed starts  answer")
    program = f"{TESTS / 'support' / 'adding.py'}:decide?n={given.calls}"
    with ModelServer(program=program) as model:
        for number in range(given.rounds):
            for name, blind in (("looks calls up", False), ("cannot tell", True)):
                with tempfile.TemporaryDirectory() as folder:
                    found = crash_job(
                        Path(folder), model.url, calls=given.calls, kills=given.kills, blind=blind, chance=chance
                    )
                print(line(name, number, found), flush=True)
                good = good and found.good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
