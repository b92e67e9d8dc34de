"""Processes that outlive the kernel that started them, found by a mark in their environment, which they inherit.

Whoever has left the kernel's process group (a server, a daemon) is not ended with it, and nothing else says to whom it belongs. They
are named, never ended: the user may have wanted just that. Found on Linux; elsewhere there are none to be named.
"""

import contextlib
from pathlib import Path

MARK = "PERNIX_KERNEL"
"""The environment variable; a kernel's value is its own."""

_PROC = Path("/proc")
_LONGEST_COMMAND = 80
_MOST = 10


def survivors(mark: str, *, kernel: int | None = None) -> list[str]:
    """``pid (command)`` of each process with this mark, oldest first, but for the process ``kernel`` and those below it. Blocking."""
    if not mark or not _PROC.is_dir():
        return []
    wanted = f"{MARK}={mark}".encode()
    marked = [pid for pid in sorted(_pids()) if wanted in _read(pid, "environ").split(b"\0")]
    return [f"{pid} ({_command(pid)})" for pid in marked if kernel is None or kernel not in _line(pid)]


def sentence(found: list[str]) -> str:
    """ "" when there are none."""
    if not found:
        return ""
    more = f", and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"Processes that earlier code started still run: {', '.join(found[:_MOST])}{more}."


def _pids() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]


def _read(pid: int, name: str) -> bytes:
    with contextlib.suppress(OSError):  # it has ended, or is not ours
        return (_PROC / str(pid) / name).read_bytes()
    return b""


def _line(pid: int) -> set[int]:
    """The process and those above it."""
    line: set[int] = set()
    while pid > 1 and pid not in line:
        line.add(pid)
        # "pid (name) state ppid …"; a name may hold anything
        rest = _read(pid, "stat").rpartition(b") ")[2].split()
        pid = int(rest[1]) if len(rest) > 1 else 0
    return line


def _command(pid: int) -> str:
    command = _read(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
    command = "".join(character if character.isprintable() else " " for character in command)
    return command if len(command) <= _LONGEST_COMMAND else command[: _LONGEST_COMMAND - 1] + "…"
