"""How much a kernel or a command in the sandbox may take of the machine.

Where we may make control groups (a desktop with systemd, or root), one group counts memory and processes of all that one wall holds.
Elsewhere the kernel's older limits stand in: processes are counted for the sandbox (not for root), memory for each process by itself.
"""

import contextlib
import os
import shlex
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

LARGEST_FILE = 64 * 2**30
"""Bytes; a runaway write ends there."""

NICE = 2
"""A little: at 5 a kernel on a busy machine got half of what others did."""

_numbers = count(1)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """``memory`` in bytes. ``None``: as much as there is."""

    memory: int | None = None
    processes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Group:
    """Control groups for one wall: one folder in version 2, one for each controller in version 1."""

    folders: tuple[Path, ...] = field(default=())
    counts: frozenset[str] = frozenset()
    """"memory", "pids"."""

    def joining(self) -> str:
        """Shell words that put the shell into the group, or end it."""
        return "".join(
            f"echo $$ > {shlex.quote(str(folder / 'cgroup.procs'))} || exit 125; " for folder in self.folders
        )

    def remove(self) -> bool:
        """Whether it is gone; what still runs in it keeps it, also in the moment in which it ends."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
        return not any(folder.exists() for folder in self.folders)


def sweep(places: "Places") -> None:
    """Remove what processes left behind that were killed. Blocking."""
    for group in (group for folder in places.folders for group in folder.glob("pernix-*-*")):
        pid = group.name.split("-")[1]
        if pid.isdigit() and not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):
                group.rmdir()


NO_GROUP = Group()


def new_group(limits: Limits, places: "Places") -> Group:
    """A group with these limits, as far as ``places`` allow. Blocking."""
    wanted = {"memory": limits.memory, "pids": limits.processes}
    name = f"pernix-{os.getpid()}-{next(_numbers)}"
    made: list[Path] = []
    counts: set[str] = set()
    for folder, controllers in places.folders.items():
        group = folder / name
        mine = {key: wanted[key] for key in controllers if wanted[key] is not None}
        if not mine:
            continue
        try:
            group.mkdir()
            made.append(group)
            for key, value in mine.items():
                _limit(group, key, value or 0)
                counts.add(key)
        except OSError:
            continue
    return Group(folders=tuple(made), counts=frozenset(counts))


def _limit(group: Path, key: str, value: int) -> None:
    for name in ("pids.max",) if key == "pids" else ("memory.max", "memory.limit_in_bytes"):
        if (group / name).exists():
            (group / name).write_text(str(value))
            break
    else:
        raise FileNotFoundError(key)
    with contextlib.suppress(OSError):
        if (group / "memory.swap.max").exists() and key == "memory":
            (group / "memory.swap.max").write_text("0")


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where we may make control groups: folder → what is counted there."""

    folders: dict[Path, frozenset[str]] = field(default_factory=dict[Path, frozenset[str]])

    @property
    def counts(self) -> frozenset[str]:
        return frozenset[str]().union(*self.folders.values())


def places(own: str, mounts: str, *, is_root: bool) -> Places:
    """Of ``/proc/self/cgroup`` and ``/proc/self/mounts``. Blocking: looks what can be written."""
    lines = [line.split(":", 2) for line in own.splitlines() if line.count(":") >= 2]
    found: dict[Path, frozenset[str]] = {}
    for point, kind, options in _mounts(mounts):
        if kind == "cgroup2":
            place = next((path for number, names, path in lines if number == "0" and not names), None)
            above = _delegated(Path(point), place) if place is not None else None
            if above is not None:
                found[above[0]] = above[1]
        elif kind == "cgroup" and is_root:
            for controller in ("memory", "pids"):
                if controller in options:
                    place = next((path for _, names, path in lines if controller in names.split(",")), "/")
                    folder = Path(point) / place.lstrip("/")
                    if os.access(folder, os.W_OK):
                        found[folder] = frozenset({controller})
    return Places(folders=found)


def _mounts(mounts: str) -> list[tuple[str, str, list[str]]]:
    rows = [line.split(" ") for line in mounts.splitlines()]
    return [(row[1], row[2], row[3].split(",")) for row in rows if len(row) > 3 and row[2] in ("cgroup", "cgroup2")]


def _delegated(point: Path, place: str) -> tuple[Path, frozenset[str]] | None:
    """The nearest folder above our own group in which a new group counts, and which lets us move a process there."""
    folder = point / place.lstrip("/")
    while folder != point.parent:
        with contextlib.suppress(OSError):
            counted = frozenset((folder / "cgroup.subtree_control").read_text().split()) & {"memory", "pids"}
            if counted and os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK):
                return folder, counted
        folder = folder.parent
    return None
