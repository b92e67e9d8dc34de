"""Whether the sandbox works on this machine, found out by starting one; and what to do where it does not."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ...errors import KernelError
from . import machine as machine_
from . import prefixes
from .limits import NO_GROUP, Group, Limits, Places, new_group, places, sweep
from .machine import Machine, this_machine
from .wall import Access, Wall, refusal, walled

_DEADLINE = 15.0
_FIRST_KERNEL_THAT_COUNTS = (5, 14)
"""Linux counts processes for each user namespace since then."""

_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_CLONE = Path("/proc/sys/kernel/unprivileged_userns_clone")
_MOST = Path("/proc/sys/user/max_user_namespaces")
_CONTAINERS = (Path("/.dockerenv"), Path("/run/.containerenv"))


class WallFailed(KernelError):
    """The sandbox does not work here; the sentence says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """``what``: what bubblewrap said. The others: what the machine allows."""

    what: str
    no_clone: bool = False
    no_namespaces: bool = False
    apparmor: bool = False
    container: bool = False


@cache
def why_not() -> str:
    """A sentence for the user; "" where it works. Blocking: starts one. The answer is kept; ``look_again`` forgets it."""
    if sys.platform != "linux":
        return "The sandbox needs Linux: it is made with bubblewrap."
    machine = this_machine()
    if machine is None:
        return (
            "bubblewrap is not installed. Debian, Ubuntu: apt-get install bubblewrap. Fedora: dnf install bubblewrap. "
            "Arch: pacman -S bubblewrap."
        )
    said = _tried(machine)
    return explained(_refused(said)) if said else ""


def look_again() -> None:
    machine_.forget()
    why_not.cache_clear()


def explained(refused: Refused) -> str:
    """What stands in the way, most specific first."""
    said = f" (bubblewrap: {refused.what})" if refused.what else ""
    if refused.no_clone:
        return (
            f"User namespaces are off on this machine: sysctl -w kernel.unprivileged_userns_clone=1 allows them{said}."
        )
    if refused.no_namespaces:
        return f"User namespaces are off on this machine: sysctl -w user.max_user_namespaces=15000 allows them{said}."
    if refused.apparmor:
        return (
            "AppArmor keeps programs from making user namespaces: allow it to bubblewrap with a profile "
            f"(/etc/apparmor.d/bwrap with `userns,`), or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0{said}."
        )
    if refused.container:
        return (
            "This container may not make namespaces of its own: start it with --security-opt seccomp=unconfined "
            f"--security-opt systempaths=unconfined (Docker, Podman), or run without the sandbox{said}."
        )
    return f"bubblewrap is installed and cannot build the sandbox: {refused.what}."


def _tried(machine: Machine) -> str:
    with tempfile.TemporaryDirectory(prefix="pernix-") as folder:
        for name in ("scope", "temporary"):
            (Path(folder) / name).mkdir()
        wall = Wall(
            scope=Path(folder) / "scope", temporary=Path(folder) / "temporary", home=Path("/home/nobody"), network=False
        )
        command = walled(wall, ["/bin/sh", "-c", "exit 0"], machine=machine, environ={})
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE, check=False)
        except (OSError, subprocess.TimeoutExpired) as exc:
            return str(exc)
    if done.returncode == 0:
        return ""
    return " ".join(done.stderr.split()).removeprefix("bwrap: ").rstrip(".") or f"it ended with code {done.returncode}"


def _refused(said: str) -> Refused:
    return Refused(
        what=said,
        no_clone=_value(_CLONE) == "0",
        no_namespaces=_value(_MOST) == "0",
        apparmor=_value(_APPARMOR) == "1",
        container=any(path.exists() for path in _CONTAINERS) or "container" in os.environ,
    )


def _value(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


# ---- limits -------------------------------------------------------------------------------------------------------------


@cache
def group_places() -> Places:
    """Where control groups can be made, tried by one process. Blocking the first time."""
    try:
        found = places(
            Path("/proc/self/cgroup").read_text(), Path("/proc/self/mounts").read_text(), is_root=os.geteuid() == 0
        )
    except OSError:
        return Places()
    tried = new_group(Limits(memory=2**30, processes=100), found)
    works = bool(tried.folders) and _joins(tried)
    tried.remove()
    sweep(found)
    return found if works else Places()


def counts_processes() -> bool:
    """Whether the old limit on processes counts those of one sandbox alone; it never holds for root."""
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2] if part.isdigit())
    return os.geteuid() != 0 and release >= _FIRST_KERNEL_THAT_COUNTS


def limits_missing(limits: Limits) -> list[str]:
    """What of these limits does not hold on this machine, as sentences."""
    counted = group_places().counts
    missing: list[str] = []
    if limits.memory is not None and "memory" not in counted:
        missing.append("memory is limited for each process by itself, not for all of a kernel together")
    if limits.processes is not None and "pids" not in counted and not counts_processes():
        missing.append("the number of processes is not limited")
    return missing


def limited_by(limits: Limits) -> Group:
    """A new control group with these limits, as far as they can be had here; to be removed. Blocking."""
    return new_group(limits, group_places())


# ---- commands -----------------------------------------------------------------------------------------------------------


def behind(
    wall: Wall,
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    group: Group = NO_GROUP,
    own: Sequence[tuple[Path, Access]] = (),
) -> list[str]:
    """``command`` behind ``wall`` on this machine, as ``wall.walled``; with what its program needs to run shown. Blocking.

    :raises WallFailed: if the sandbox does not work here, or not for this scope
    """
    said = why_not() or refusal(wall.scope, wall.home)
    machine = this_machine()
    if said or machine is None:
        raise WallFailed(said)
    path = environ.get("PATH", "")
    shown = (
        *prefixes.needed(command[0], path=path, scope=wall.scope, home=wall.home),
        *prefixes.needed(sys.executable, path=path, scope=wall.scope, home=wall.home),
        *prefixes.user_packages(),
        Path(__file__).resolve().parents[2],
    )
    return walled(
        replace(wall, readable=(*wall.readable, *shown)),
        command,
        machine=machine,
        group=group,
        count_processes=counts_processes(),
        environ=environ,
        own=own,
    )


def _joins(group: Group) -> bool:
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", f"{group.joining()}exit 0"], capture_output=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
