"""What of this machine the sandbox shows: its programs, what they need of /etc, graphics cards. Facts that do not change while we run."""

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_PROGRAMS = ("/usr", "/nix/store", "/gnu/store", "/opt/rocm")

_ETC = (
    "alternatives",
    "bash.bashrc",
    "bash_completion",
    "ca-certificates",
    "crypto-policies",
    "debian_version",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "ImageMagick-6",
    "ImageMagick-7",
    "inputrc",
    "java",
    "java-17-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "OpenCL",
    "os-release",
    "passwd",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "protocols",
    "R",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "vulkan",
    "glvnd",
)
"""What programs look up there, and nothing that is secret: no keys, no other configuration."""

_ETC_NETWORK = ("resolv.conf", "gai.conf")

_CARDS = ("nvidia*", "dri", "kfd", "dxg", "accel")
_CARDS_SYS = ("/sys/bus/pci", "/sys/class/drm", "/sys/class/kfd", "/sys/dev/char", "/sys/devices", "/sys/module/nvidia")
_CPUS = ("/sys/devices/system/cpu", "/sys/devices/system/node")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """``options``: what this bubblewrap knows of the options that older ones lack. ``links``: (target, place)."""

    bwrap: str
    options: frozenset[str]
    links: tuple[tuple[str, str], ...]
    shown: tuple[Path, ...]
    shown_with_network: tuple[Path, ...]
    devices: tuple[Path, ...]
    prlimit: str


@cache
def this_machine() -> Machine | None:
    """``None`` without bubblewrap. Blocking the first time."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return None
    told = subprocess.run([bwrap, "--help"], capture_output=True, text=True, timeout=10, check=False)
    links, folders = _system(Path("/"))
    devices = cards(Path("/dev"))
    return Machine(
        bwrap=bwrap,
        options=frozenset(
            option for option in ("--disable-userns", "--size", "--unshare-cgroup-try") if option in told.stdout
        ),
        links=links,
        shown=(
            *folders,
            *(Path("/etc") / name for name in _ETC),
            *map(Path, _CARDS_SYS if devices else _CPUS),
        ),
        shown_with_network=tuple(Path("/etc") / name for name in _ETC_NETWORK),
        devices=devices,
        prlimit=shutil.which("prlimit") or "",
    )


def forget() -> None:
    """Look again the next time: something was installed."""
    this_machine.cache_clear()


def cards(dev: Path) -> tuple[Path, ...]:
    """The devices of graphics cards in a ``/dev``: files and folders."""
    return tuple(sorted(path for pattern in _CARDS for path in dev.glob(pattern)))


def _system(root: Path) -> tuple[tuple[tuple[str, str], ...], tuple[Path, ...]]:
    """Where ``/bin`` and its like are links into ``/usr`` they are links inside too."""
    links: list[tuple[str, str]] = []
    folders = [Path(name) for name in _PROGRAMS]
    for name in _SYSTEM:
        place = root / name.lstrip("/")
        if place.is_symlink():
            links.append((str(place.readlink()), name))
        elif place.is_dir():
            folders.append(Path(name))
    return tuple(links), tuple(folders)
