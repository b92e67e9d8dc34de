"""What code in the sandbox sees and may do, and the command line that makes it so.

bubblewrap builds a new, empty file system for each command and shows parts of ours in it: programs read-only, the scope and a
temporary folder to write in. Nothing that is not named here is there: no home, no other process, no socket, and without ``network``
no way out of the machine or to anything that listens on it.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from . import environment
from .kept import still_plain
from .limits import LARGEST_FILE, NICE, NO_GROUP, Group, Limits
from .machine import Machine

_HOME_SIZE = 256 * 2**20

_TMP = Path("/tmp")

_TOO_WIDE = frozenset(
    {
        "/", "/home", "/tmp", "/var", "/var/tmp", "/usr", "/usr/local", "/opt", "/srv", "/mnt", "/media", "/etc", "/run", "/dev", "/proc",
        "/sys", "/boot", "/bin", "/sbin", "/lib", "/lib64", "/dev/shm",
    }
)  # fmt: skip

Access = Literal["read", "write", "empty", "nothing"]


@dataclass(frozen=True, kw_only=True)
class Wall:
    """Paths are absolute and, but for ``readable``, without links."""

    scope: Path
    """May be written."""
    temporary: Path
    """Shown as ``/tmp``, to be written."""
    home: Path
    """Shown as an empty folder."""
    network: bool = False
    readable: tuple[Path, ...] = ()
    """Shown read-only, where they are: data, interpreters."""
    kept: tuple[Path, ...] = ()
    """Inside the scope: read-only all the same."""
    hidden: tuple[Path, ...] = ()
    """Not shown, wherever they are."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, kw_only=True)
class Mount:
    place: Path
    access: Access


def refusal(scope: Path, home: Path) -> str:
    """Why no wall can be built around this scope; "" if one can."""
    if home.is_relative_to(scope):
        return f"the space {scope} holds your home folder, and with it your keys; use a folder of the project's own"
    if str(scope) in _TOO_WIDE:
        return f"the space {scope} is too wide; use a folder of the project's own"
    return ""


def mounts(wall: Wall) -> list[Mount]:
    """All that is shown of the user's folders, each after the one that holds it."""
    shown = {_TMP: Mount(place=_TMP, access="write"), wall.home: Mount(place=wall.home, access="empty")}
    for path in wall.readable:
        # above the scope or the home too: what is more narrow is mounted over it
        if not path.is_relative_to(wall.scope):
            shown[path] = Mount(place=path, access="read")
    shown[wall.scope] = Mount(place=wall.scope, access="write")
    for path in wall.kept:
        if still_plain(wall.scope, path):
            shown[path] = Mount(place=path, access="read")
    ours = [mount.place for mount in shown.values() if mount.access in ("read", "write") and mount.place != _TMP]
    for path in wall.hidden:
        if not wall.scope.is_relative_to(path) and any(path.is_relative_to(place) for place in ours):
            shown[path] = Mount(place=path, access="nothing")
    return sorted(shown.values(), key=lambda mount: len(mount.place.parts))


def walled(
    wall: Wall,
    command: Sequence[str],
    *,
    machine: Machine,
    group: Group = NO_GROUP,
    count_processes: bool = False,
    environ: Mapping[str, str],
    own: Sequence[tuple[Path, Access]] = (),
) -> list[str]:
    """The command line, to be run with ``environ`` or less. ``own``: what this one command needs besides, such as a kernel's connection
    file. ``count_processes``: the old limit on processes works here. Its exit code is that of the command, with 128 added to the number
    of a signal."""
    arguments = [machine.bwrap, *_namespaces(wall, machine)]
    for target, place in machine.links:
        arguments += ["--symlink", target, place]
    for path in (*machine.shown, *(machine.shown_with_network if wall.network else ())):
        arguments += ["--ro-bind-try", str(path), str(path)]
    # Read-only: what is below /proc/sys belongs to all of the machine, and root may write it whatever its capabilities are.
    arguments += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
    for path in machine.devices:
        arguments += ["--dev-bind-try", str(path), str(path)]
    arguments += ["--dir", "/run", "--symlink", "/tmp", "/var/tmp"]
    for mount in mounts(wall):
        arguments += _mount(mount, wall, machine)
    for path, access in own:
        arguments += _mount(Mount(place=path, access=access), wall, machine)
    arguments += ["--remount-ro", "/"]
    for name, value in environment.inside(str(wall.home)).items():
        arguments += ["--setenv", name, value]
    arguments += ["--chdir", str(wall.scope), "--", *_limited(wall, machine, group, count_processes), *command]
    return ["/bin/sh", "-c", _preamble(group, environ), "sh", *arguments]


def _namespaces(wall: Wall, machine: Machine) -> list[str]:
    flags = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--hostname", "sandbox"]
    flags += ["--new-session", "--die-with-parent", "--cap-drop", "ALL"]
    flags += [flag for flag in ("--unshare-cgroup-try", "--disable-userns") if flag in machine.options]
    return flags if wall.network else [*flags, "--unshare-net"]


def _mount(mount: Mount, wall: Wall, machine: Machine) -> list[str]:
    place = str(mount.place)
    match mount.access:
        case "write":
            return ["--bind", str(wall.temporary) if place == "/tmp" else place, place]
        case "read":
            return ["--ro-bind-try", place, place]
        case "empty":
            return [*(["--size", str(_HOME_SIZE)] if "--size" in machine.options else []), "--tmpfs", place]
        case "nothing":
            if mount.place.is_dir():
                return ["--tmpfs", place, "--remount-ro", place]
            return ["--ro-bind", "/dev/null", place] if mount.place.exists() else []


def _limited(wall: Wall, machine: Machine, group: Group, count_processes: bool) -> list[str]:
    if not machine.prlimit:
        return []
    limits = ["--core=0", f"--fsize={LARGEST_FILE}"]
    if wall.limits.processes is not None and "pids" not in group.counts and count_processes:
        limits.append(f"--nproc={wall.limits.processes}")
    if wall.limits.memory is not None and "memory" not in group.counts:
        limits.append(f"--data={wall.limits.memory}")
    return [machine.prlimit, *limits, "--"]


def _preamble(group: Group, environ: Mapping[str, str]) -> str:
    """What the shell does before it becomes bubblewrap: bubblewrap's own variables could be read inside."""
    gone = environment.plain([*environment.ALWAYS, *environment.withheld(environ)])
    return f'unset {" ".join(map(shlex.quote, gone))}; {group.joining()}exec nice -n {NICE} "$@"'
