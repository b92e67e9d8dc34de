"""Lines of lives: one store, used by one process after another, each killed at a point of its own and the last one brought to its end.

The processes are forked from this one, which has everything loaded and no threads: run it as a program, ``python crash_lines.py --kills
100``, or start it from one. It writes one line of JSON for each line of lives.
"""

import argparse
import gc
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import duckdb  # noqa: F401
import jupyter_client.multikernelmanager  # noqa: F401
import msgspec

import jupyter_pernix.agent.recovery  # noqa: F401
from support import crash_points
from support.crash_user import Findings, Life, live

# Some of these are loaded for the processes to come: what they load on demand is here already.

IN_A_LINE = 10
AT_THE_END = "at the end of its work"
"""Where a process is killed that did not come to its point."""
_KERNELS_SHARE = 0.06
_FROM_START_SHARE = 0.25
_PREPARED_EVERY = 5
_LONGEST_LIFE = 240.0


@dataclass(kw_only=True)
class Line:
    """``points``: where its processes were killed; ``kernels``: how many of them had real kernels. ``prepared``: it began with a large
    store. ``faults``: what went wrong otherwise, in words."""

    seed: int
    points: list[str] = field(default_factory=list[str])
    kernels: int = 0
    prepared: bool = False
    findings: list[Findings] = field(default_factory=list[Findings])
    faults: list[str] = field(default_factory=list[str])

    @property
    def wrong(self) -> list[str]:
        found = list(self.faults)
        for one in self.findings:
            where = ", ".join(self.points[number] for number in one.after if number < len(self.points))
            found += [f"{one.lost} lost after: {where}"] if one.lost else []
            found += [f"{one.changed} changed after: {where}"] if one.changed else []
            found += [f"{what} (after: {where})" for what in (*one.illegal, *one.unexplained)]
        return found


def lives_of(folder: Path, seed: int, kills: int, base: int) -> Iterator[Life]:
    chance = random.Random(seed)
    names = list(crash_points.POINTS)
    for number in range(kills):
        name = chance.choice(names)
        from_start = chance.random() < _FROM_START_SHARE
        most = crash_points.POINTS[name]
        yield Life(
            folder=folder,
            number=number,
            seed=seed,
            point=name,
            hit=chance.randint(1, min(most, 3) if from_start else most),
            from_start=from_start,
            kernels=chance.random() < _KERNELS_SHARE,
            base=base,
        )
    yield Life(folder=folder, number=kills, seed=seed, point="", hit=0, from_start=False, kernels=False, base=base)


def run_line(seed: int, kills: int, *, prepared: Path | None = None, base: int = 0, keep: Path | None = None) -> Line:
    """``prepared``: a store to begin with, whose last event is ``base``. ``keep``: where the folder of a line that went wrong goes."""
    line = Line(seed=seed, prepared=prepared is not None)
    folder = Path(tempfile.mkdtemp(prefix="crash-"))
    try:
        if prepared is not None:
            shutil.copytree(prepared, folder / "data")
        for life in lives_of(folder, seed, kills, base):
            _one(life, line)
            if line.faults:
                break
        findings = folder / "findings"
        texts = findings.read_bytes().splitlines() if findings.exists() else []
        line.findings = [msgspec.json.decode(text, type=Findings) for text in texts]
        if (folder / "faults").exists():
            line.faults.append((folder / "faults").read_text(encoding="utf-8"))
        if line.wrong and keep is not None:
            shutil.copytree(folder, keep / str(seed), dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return line


def _one(life: Life, line: Line) -> None:
    mark = life.folder / "mark"
    mark.unlink(missing_ok=True)
    status = _forked(life)
    if life.point:
        name = life.point if mark.exists() else AT_THE_END
        line.points.append(f"{name}{' of a start' if life.from_start else ''}")
        line.kernels += life.kernels
    if life.point and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        with (life.folder / "kills").open("a") as file:
            file.write(f"{life.number}\n")
    elif life.point or status != 0:
        line.faults.append(f"life {life.number} ended with {os.waitstatus_to_exitcode(status)}")


def _forked(life: Life) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            quiet = os.open(life.folder / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            live(life)
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + _LONGEST_LIFE
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.005)
    os.kill(child, signal.SIGABRT)
    return os.waitpid(child, 0)[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--in-a-line", type=int, default=IN_A_LINE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prepared", type=Path, help="a folder with a store in which every fifth line begins")
    parser.add_argument("--base", type=int, default=0, help="its last seq")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    gc.freeze()  # the pages that all processes share stay shared
    good, seed, left, number = True, given.seed, given.kills, 0
    while left > 0:
        count = min(left, given.in_a_line)
        prepared = given.prepared if given.prepared and number % _PREPARED_EVERY == 0 else None
        line = run_line(seed, count, prepared=prepared, base=given.base if prepared else 0, keep=given.keep)
        number += 1
        print(msgspec.json.encode({**msgspec.to_builtins(line), "wrong": line.wrong}).decode(), flush=True)
        good = good and not line.wrong
        seed, left = seed + 1, left - count
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
