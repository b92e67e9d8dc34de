"""Files that only their user may have written: opened without links, owner and rights looked at, changed by one at a time."""

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Callable, Generator
from pathlib import Path

_LOCK_SECONDS = 10.0


class Untrusted(Exception):
    """A file or folder that is there and must not be used; the reason ends a sentence that begins with its name."""


@contextlib.contextmanager
def opened_folder(path: Path) -> Generator[int]:
    """:raises Untrusted: if others could change what is in it"""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as exc:
        if exc.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Untrusted("is in a folder that is none, or a link") from exc
        raise
    try:
        check_owner(os.fstat(fd), stat.S_ISDIR, "in a folder")
        yield fd
    finally:
        os.close(fd)


def check_owner(status: os.stat_result, fits: Callable[[int], bool], what: str) -> None:
    """:raises Untrusted: if it is not the user's own, or others may write to it"""
    if not fits(status.st_mode):
        raise Untrusted(f"is not {what}")
    if status.st_uid != os.geteuid():
        raise Untrusted(f"is {what} that belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Untrusted(f"is {what} that others may write to")


@contextlib.contextmanager
def locked(name: str, folder: int) -> Generator[None]:
    """One at a time, over threads and programs. The lock is a file beside: what it guards is replaced, and with it a lock on it.

    :raises Untrusted: if another holds it for too long
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(f".{name}.lock", flags, 0o600, dir_fd=folder)
    try:
        until = time.monotonic() + _LOCK_SECONDS
        while not _taken(fd):
            if time.monotonic() > until:
                raise Untrusted("is being changed by another program that does not end")
            time.sleep(0.01)
        yield
    finally:
        os.close(fd)


def _taken(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write(name: str, content: bytes, folder: int) -> None:
    """Put it in place at once, while ``locked``. What a program that was killed has left is cleared away."""
    for left in os.listdir(folder):
        if left.startswith(f".{name}.") and left.endswith(".tmp"):
            os.unlink(left, dir_fd=folder)
    temporary = f".{name}.{secrets.token_hex(6)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
