"""Looking at one file and putting it into another state, without following any link on the way or at the end. Blocking.

A file is replaced at once, so whoever reads it finds the old one or the new one; if this program is killed meanwhile, the same may simply
be done again.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...errors import ToolError, ToolFailed, ToolRetry
from ..policy.opening import folder_of
from ..policy.scope import Located

LINK = "link:"
_CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Found:
    """What is at a path. ``digest``: of a file's content, or ``LINK`` and that of where a link points; ``None`` unless it is one of them.
    ``mode``: permission bits of a file."""

    kind: Literal["absent", "file", "link", "folder", "other"]
    digest: str | None = None
    mode: int = 0


ABSENT = Found(kind="absent")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The state that a path is to have. ``content`` ``None``: nothing is there. ``link``: ``content`` is where a link points. ``mode``
    ``None``: as the file has it now, or as a new one gets it; ``executable``: changes only that of it."""

    content: bytes | None
    link: bool = False
    mode: int | None = None
    executable: bool | None = None

    @property
    def digest(self) -> str | None:
        return None if self.content is None else digest_of(self.content, link=self.link)


def digest_of(content: bytes, *, link: bool = False) -> str:
    return (LINK if link else "") + hashlib.sha256(content).hexdigest()


def look(located: Located) -> Found:
    """What is there; a path that leads through a file or a link is absent.

    :raises ToolError: if it cannot be read
    """
    try:
        with folder_of(located, create=False) as folder:
            return _look(_name(located), folder)
    except OSError as exc:
        if exc.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return ABSENT
        raise ToolFailed(f"{located.name!r}: {exc.strerror or exc}.") from exc


def content_of(located: Located, *, limit: int) -> bytes | None:
    """The content of a file, or where a link points; ``None`` if there is neither, or it is larger than ``limit`` bytes."""
    try:
        with folder_of(located, create=False) as folder:
            name = _name(located)
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                return os.fsencode(os.readlink(name, dir_fd=folder))
            if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
                return None
            with os.fdopen(_open(name, folder), "rb") as file:
                return file.read(limit + 1)
    except (OSError, ToolError):
        return None


def put(located: Located, wanted: Wanted, *, left: frozenset[str | None], missing: Sequence[str] = ()) -> None:
    """Bring ``located`` into the state ``wanted`` if it is in one of the states ``left`` (digests), or in that state already. ``missing``:
    folders on the way that go with it, if they are empty then.

    :raises ToolError: with the reason, if it was not done
    """
    try:
        with folder_of(located, create=wanted.content is not None) as folder:
            _put(_name(located), folder, wanted, left)
    except OSError as exc:
        if exc.errno == errno.ENOENT and wanted.content is None:
            pass  # the folder it was in is gone as well
        elif exc.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ToolRetry("a link or a file is in the place of a folder on the way to it") from exc
        else:
            raise ToolFailed(f"{exc.strerror or exc}") from exc
    if wanted.content is None:
        _remove_folders(located, missing)


def _put(name: str, folder: int, wanted: Wanted, left: frozenset[str | None]) -> None:
    now = _look(name, folder)
    if now.digest == wanted.digest and now.kind in ("absent", "file", "link"):
        if now.kind == "file":
            _set_mode(name, folder, _mode(wanted, now), now.digest)
        return
    if now.kind == "folder":
        if wanted.content is None or None not in left:
            raise ToolRetry("there is a folder in its place now")
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=folder)
        now = _look(name, folder)
    if now.kind not in ("absent", "file", "link"):
        raise ToolRetry("there is something else in its place now")
    if now.digest not in left:
        raise ToolRetry("it was changed by somebody else since; it was not touched")
    if wanted.content is None:
        os.unlink(name, dir_fd=folder)
        os.fsync(folder)
        return
    _replace(name, folder, wanted, now)


def _replace(name: str, folder: int, wanted: Wanted, now: Found) -> None:
    assert wanted.content is not None
    temporary = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    try:
        if wanted.link:
            os.symlink(wanted.content, os.fsencode(temporary), dir_fd=folder)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(temporary, flags, 0o666, dir_fd=folder)
            with os.fdopen(fd, "wb") as file:
                file.write(wanted.content)
                file.flush()
                made = Found(kind="file", mode=stat.S_IMODE(os.fstat(fd).st_mode))
                mode = _mode(wanted, now if now.kind == "file" else made)
                if mode is not None:
                    os.fchmod(fd, mode)
                os.fsync(fd)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _mode(wanted: Wanted, now: Found) -> int | None:
    """The permission bits to give it. Who may read a file may run it, when it becomes executable."""
    mode = wanted.mode if wanted.mode is not None else now.mode
    if wanted.executable is True:
        return mode | (mode & 0o444) >> 2
    return mode & ~0o111 if wanted.executable is False else mode


def _set_mode(name: str, folder: int, mode: int | None, digest: str | None) -> None:
    fd = _open(name, folder)
    try:
        if mode is not None and stat.S_IMODE(os.fstat(fd).st_mode) != mode and _digest(fd) == digest:
            os.fchmod(fd, mode)
    finally:
        os.close(fd)


def _look(name: str, folder: int) -> Found:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return ABSENT
    if stat.S_ISLNK(status.st_mode):
        return Found(kind="link", digest=digest_of(os.fsencode(os.readlink(name, dir_fd=folder)), link=True))
    if stat.S_ISDIR(status.st_mode):
        return Found(kind="folder")
    if not stat.S_ISREG(status.st_mode):
        return Found(kind="other")
    fd = _open(name, folder)
    try:
        return Found(kind="file", digest=_digest(fd), mode=stat.S_IMODE(os.fstat(fd).st_mode))
    finally:
        os.close(fd)


def _open(name: str, folder: int) -> int:
    # O_NONBLOCK: a named pipe that has come in its place must not hold us up
    return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)


def _digest(fd: int) -> str:
    found = hashlib.sha256()
    os.lseek(fd, 0, os.SEEK_SET)
    while chunk := os.read(fd, _CHUNK):
        found.update(chunk)
    return found.hexdigest()


def _remove_folders(located: Located, missing: Sequence[str]) -> None:
    """The innermost first, as far as they are empty."""
    for name in sorted(missing, key=len, reverse=True):
        parts = tuple(part for part in name.split("/") if part)
        try:
            with folder_of(replace(located, parts=parts), create=False) as folder:
                os.rmdir(parts[-1], dir_fd=folder)
        except OSError:
            return


def _name(located: Located) -> str:
    if not located.parts:
        raise ToolRetry("the space's folder is not a file")
    return located.parts[-1]
