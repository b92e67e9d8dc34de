"""``kill -9`` of the server at random moments of the main job, a table of what was left.

python benchmarks/crash.py --rounds 50
"""

import argparse
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from support.crash import Round, crash_rounds  # noqa: E402
from support.model_server import ModelServer  # noqa: E402


def table(rounds: list[Round]) -> str:
    lines = ["round  acknowledged  lost  changed  start   store     CPU  state       turn         goes on"]
    lines += [
        f"{crash.number:5}  {crash.acknowledged:12}  {crash.lost:4}  {crash.changed:7}  {crash.start_seconds:4.1f} s"
        f" {crash.store_seconds:5.2f} s  {crash.store_cpu_seconds:4.2f} s  {crash.state:10}  {crash.code:11}  {crash.goes_on}"
        for crash in rounds
    ]
    starts = sorted(crash.store_seconds for crash in rounds)
    good = sum(crash.good for crash in rounds)
    lines.append(
        f"{good} of {len(rounds)} good; store ready after {starts[len(starts) // 2]:.2f} s median, {starts[-1]:.2f} s worst"
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        ModelServer(program=f"{TESTS / 'support' / 'jobs.py'}:decide") as model,
    ):
        rounds = crash_rounds(Path(folder), model.url, rounds=given.rounds, seed=given.seed)
    print(table(rounds))
    return 0 if all(crash.good for crash in rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
