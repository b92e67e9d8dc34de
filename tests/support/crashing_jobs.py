"""``adding.py`` as a program that is killed and started again until it has come to its end."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from .adding import Job, written

PROGRAM = Path(__file__).parent / "adding.py"
_DEADLINE = 120.0
_LOOK_EVERY = 0.005
_LONGEST_CALL = 0.08


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """``runs``: effects in the ledger. ``lost``: calls without one. ``failed_starts``: starts that ended in an error."""

    calls: int
    kills: int
    runs: int
    doubled: int
    failed_starts: int
    blind: bool
    answer: str

    @property
    def lost(self) -> int:
        return self.calls - (self.runs - self.doubled)

    @property
    def good(self) -> bool:
        """A tool that cannot tell what became of a call may leave the rest undone, but asks first."""
        finished = self.answer == f"done {self.calls}" and self.lost == 0
        return self.doubled == self.failed_starts == 0 and (finished or (self.blind and self.answer.startswith("asks")))


def started(job: Job) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM)],
        env={**os.environ, **job.environ()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_once(job: Job) -> tuple[int, str, str]:
    """Exit code (-9: it was killed), its answer ("" without one), and what it wrote to stderr."""
    process = started(job)
    out, err = process.communicate(timeout=_DEADLINE)
    return process.returncode, _answer(out), err


def _answer(out: str) -> str:
    lines = [line for line in out.splitlines() if line.startswith("RESULT ")]
    return str(json.loads(lines[-1][7:])["answer"]) if lines else ""


def crash_job(folder: Path, url: str, *, calls: int, kills: int, blind: bool, chance: random.Random) -> Outcome:
    """Kill it behind two to four more effects each time, somewhere in the middle of a call or of what lies between two."""
    key = f"conv-{folder.name}"
    job = Job(url=url, key=key, calls=calls, folder=folder, ledger=folder / "ledger", blind=blind)
    killed = failed = 0
    answer = ""
    while not answer and failed < 2:
        process = started(job)
        shot = killed < kills and _shoot(process, job, len(written(job.ledger)) + chance.randint(2, 4), chance)
        out, err = process.communicate(timeout=_DEADLINE)
        answer = _answer(out)
        killed += shot
        if not answer and not shot:
            failed += 1
            print(err[-2000:], file=sys.stderr)
        job = replace(job, resume=True)
    found = written(job.ledger)
    return Outcome(
        calls=calls,
        kills=killed,
        runs=len(found),
        doubled=len(found) - len(set(found)),
        failed_starts=failed,
        blind=blind,
        answer=answer,
    )


def _shoot(process: subprocess.Popen[str], job: Job, target: int, chance: random.Random) -> bool:
    """Whether it was killed: it may have come to its end before."""
    deadline = time.monotonic() + _DEADLINE
    while process.poll() is None and time.monotonic() < deadline:
        if len(written(job.ledger)) >= target:
            time.sleep(chance.random() * _LONGEST_CALL)
            process.send_signal(signal.SIGKILL)
            return process.wait() == -signal.SIGKILL
        time.sleep(_LOOK_EVERY)
    return False
