"""What keeping a space costs: python benchmarks/keeping.py [files]

A repository of so many small files (5,000): the first time its state is taken, later times without a change and with one, and naming the
commit. Seconds, the median of ten but for the first.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_pernix.agent.safety.repository import find_repository
from jupyter_pernix.agent.safety.snapshots import Snapshots

AGAIN = 10


def made(space: Path, count: int) -> None:
    for number in range(count):
        path = space / f"d{number // 50}" / f"f{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"line {number}\n" * 100, encoding="utf-8")
    for arguments in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"],
    ):
        subprocess.run(["git", *arguments], cwd=space, check=True)


def seconds(act: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    result = act()
    return time.perf_counter() - begun, result


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        space = Path(folder).resolve() / "space"
        space.mkdir()
        made(space, count)
        for name, attributes in (("index taken over", ""), ("every file read once", "* text=auto\n")):
            (space / ".gitattributes").write_text(attributes, encoding="utf-8")
            if not attributes:
                (space / ".gitattributes").unlink()
            else:
                subprocess.run(["git", "add", "-A"], cwd=space, check=True)
            repository = find_repository(space)
            assert repository is not None
            snapshots = Snapshots(repository, space, Path(folder) / name)
            first, _ = seconds(snapshots.take)
            same = [seconds(snapshots.take)[0] for _ in range(AGAIN)]
            changed: list[float] = []
            named: list[float] = []
            for number in range(AGAIN):
                (space / "d0" / "new.txt").write_text(str(number), encoding="utf-8")
                took, snapshot = seconds(snapshots.take)
                changed.append(took)
                named.append(seconds(partial(snapshots.commit, snapshot, ref="refs/pernix/b/1", says="b"))[0])
            print(
                f"{count} files, {name}: first {first:.3f}, unchanged {statistics.median(same):.3f}, "
                f"changed {statistics.median(changed):.3f}, commit {statistics.median(named):.3f}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
