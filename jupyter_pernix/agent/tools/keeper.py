"""Finds and ends the processes of one call, and is the watch that does so when the server itself is killed: it runs beside each
command as a process of its own (``python -I -S keeper.py MARK``), standard library only.

Its input is a pipe that only the server holds. A first line gives the command's process group; when the pipe is closed, the server
is gone, and what lives of the call is ended. A call that ends in any other way has its watch killed.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

MARK = "PERNIX_CALL"
"""Variable that every process of one call carries; it finds those that left the group."""

GRACE = 0.8
"""Seconds from TERM to KILL."""


def alive(group: int, mark: str) -> set[int]:
    """Living processes that carry the mark or are in the group (0: none). Where there is no /proc the group stands for all of its
    members."""
    processes = Path("/proc")
    if not processes.is_dir():
        with suppress(ProcessLookupError, PermissionError):
            if group:
                os.killpg(group, 0)
                return {group}
        return set()
    wanted = f"{MARK}={mark}".encode()
    return {int(entry.name) for entry in processes.iterdir() if entry.name.isdigit() and _is_ours(entry, group, wanted)}


def _is_ours(entry: Path, group: int, wanted: bytes) -> bool:
    try:
        # after the name in parentheses: state, parent, process group
        state, _, its_group = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:3]
        if state in (b"Z", b"X"):
            return False
        return int(its_group) == group or wanted in (entry / "environ").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return False  # it is gone, or not ours to look at


def holders(pipe: int) -> set[int]:
    """Other processes that have this pipe (its inode) open: they came out of the call, whatever they did to their group and their
    variables. None where there is no /proc."""
    processes = Path("/proc")
    if not processes.is_dir():
        return set()
    wanted, ourselves = f"pipe:[{pipe}]", str(os.getpid())
    others = (entry for entry in processes.iterdir() if entry.name.isdigit() and entry.name != ourselves)
    return {int(entry.name) for entry in others if _has_open(entry, wanted)}


def _has_open(entry: Path, wanted: str) -> bool:
    try:
        return any(os.readlink(file) == wanted for file in (entry / "fd").iterdir())  # noqa: PTH115 - it is no path
    except OSError:
        return False  # it is gone, or not ours to look at


def send(group: int, pids: set[int], number: signal.Signals) -> None:
    """A signal to the group (0: none) and to each process."""
    with suppress(ProcessLookupError, PermissionError):
        if group:
            os.killpg(group, number)
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def end_all(group: int, mark: str) -> None:
    """End what lives of the call (blocking): first by TERM, then by KILL."""
    send(group, alive(group, mark), signal.SIGTERM)
    until = time.monotonic() + GRACE
    while (left := alive(group, mark)) and time.monotonic() < until:
        time.sleep(0.05)
    if left:
        send(group, left, signal.SIGKILL)


def watch(mark: str) -> None:
    group = sys.stdin.readline().strip()
    while sys.stdin.readline():
        pass
    end_all(int(group) if group.isdigit() else 0, mark)


if __name__ == "__main__":
    watch(sys.argv[1])
