"""Opening what the scope has located, without following any link: each folder on the way is opened from the one above it.

A decision and the opening that follows it are two moments; whoever swaps a folder for a link between them gets an error, not a
file outside of the space.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager

from ...errors import ToolFailed, ToolRetry
from .scope import Located

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _refused(located: Located, exc: OSError) -> ToolFailed | ToolRetry:
    if exc.errno == errno.ENOENT:
        return ToolRetry(f"There is no file {located.name!r}.")
    if exc.errno in (errno.ELOOP, errno.ENOTDIR):
        return ToolRetry(
            f"Not done: {located.name!r} does not lead through real folders to a real file (a link or a file is in the way)."
        )
    if exc.errno == errno.EISDIR:
        return ToolRetry(f"{located.name!r} is a folder.")
    return ToolFailed(f"{located.name!r}: {exc.strerror or exc}.")


@contextmanager
def folder_of(located: Located, *, create: bool) -> Generator[int]:
    """A descriptor of the folder that holds ``located``; missing folders are made if ``create``."""
    here = os.open(located.root, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for part in located.parts[:-1]:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def read_bytes(located: Located, *, limit: int) -> bytes:
    """The content of a regular file.

    :raises ToolRetry: if there is none, or a link is in the way
    :raises ToolFailed: if it is larger than ``limit`` bytes, no regular file, or not readable
    """
    try:
        with folder_of(located, create=False) as folder:
            # O_NONBLOCK: a named pipe must not hold the reader up before it is found to be one
            fd = os.open(_last(located), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            try:
                _check_regular(located, os.fstat(fd), limit)
                return _all_of(fd)
            finally:
                os.close(fd)
    except OSError as exc:
        raise _refused(located, exc) from exc


def _check_regular(located: Located, status: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolRetry(f"{located.name!r} is a folder; list_files shows what is in it.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailed(f"{located.name!r} is not a regular file.")
    if status.st_size > limit:
        raise ToolFailed(
            f"{located.name!r} has {status.st_size:,} bytes, more than the {limit:,} that can be read at once."
        )


def _all_of(fd: int) -> bytes:
    with os.fdopen(fd, "rb", closefd=False) as file:
        return file.read()


def read_if_there(located: Located, *, limit: int) -> bytes | None:
    """As ``read_bytes``, but ``None`` if there is no such file."""
    try:
        return read_bytes(located, limit=limit)
    except ToolRetry as exc:
        cause = exc.__cause__
        if isinstance(cause, OSError) and cause.errno == errno.ENOENT:
            return None
        raise


def write_bytes(located: Located, content: bytes) -> None:
    """Put ``content`` in place at once: readers see the old file or the new one. The permission bits of an old one are kept.

    :raises ToolRetry: if a link or a folder is in the way
    :raises ToolFailed: if it cannot be written
    """
    name = _last(located)
    temporary = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    try:
        with folder_of(located, create=True) as folder:
            mode = _mode_of(name, folder)
            try:
                fd = os.open(
                    temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder
                )
                with os.fdopen(fd, "wb") as file:
                    file.write(content)
                    file.flush()
                    if mode is not None:
                        os.fchmod(fd, mode)
                    os.fsync(fd)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
                raise
    except OSError as exc:
        raise _refused(located, exc) from exc


def _last(located: Located) -> str:
    if not located.parts:
        raise ToolRetry("'.' is the space's folder, not a file.")
    return located.parts[-1]


def _mode_of(name: str, folder: int) -> int | None:
    """Permission bits of a regular file that is there; ``None`` if there is none."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    return stat.S_IMODE(status.st_mode)
