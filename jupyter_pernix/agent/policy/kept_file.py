"""Files of the user's own decisions, below their configuration of this program: read with distrust, changed by one at a time.

What cannot be trusted to be the user's own words (not JSON, someone else's, writable by others or by the agent, a link) is neither used
nor overwritten.
"""

import errno
import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from ...errors import Conflict
from .own_files import Untrusted, check_owner, locked, opened_folder, write
from .paths import inside, judge_path

VERSION = 1
EXPOSED = "is in the space, where the agent may write: move Jupyter's configuration folder out of it"

_LARGEST = 1_000_000
_SETTLED_NS = 100_000_000
"""A file that was changed just before it was read may be changed again within the same tick of the file system's clock."""

Signature = tuple[int, ...]


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file holds. ``space``: the folder that it is about, "" for all."""

    version: int = VERSION
    space: str = ""


def name_for(space: str, ending: str = ".json") -> str:
    """The name of the file about the space with this canonical root."""
    return hashlib.sha256(os.fsencode(space)).hexdigest()[:32] + ending


def is_exposed(folder: Path, space: str, home: str) -> bool:
    """Whether the agent could write there as it writes any file of the space."""
    real = os.path.realpath(folder)
    if not space or not inside(real, space):
        return False
    judged = judge_path(f"{real}/any.json", "write", root=space, home=home or os.path.realpath(Path.home()))
    return judged.ruling != "ask_always"


def content_of(name: str, folder: int, *, exposed: bool) -> bytes:
    """What the user's own file ``name`` holds.

    :raises FileNotFoundError: if it is not there
    :raises OSError: if it cannot be read
    :raises Untrusted: if it must not be believed
    """
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            raise Untrusted("is a link") from exc
        raise
    with os.fdopen(fd, "rb") as file:
        if exposed:
            raise Untrusted(EXPOSED)
        check_owner(os.fstat(fd), stat.S_ISREG, "a file")
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise Untrusted(f"has more than {_LARGEST:,} bytes")
    return content


K = TypeVar("K", bound=Kept)


class KeptFile(Generic[K]):
    """One file in ``folder``. What was read is kept until the file changes. ``empty``: what it holds while it is not there. ``exposed``: it
    is where the agent may write. ``what``: a word for what it holds."""

    def __init__(self, folder: Path, name: str, empty: K, *, exposed: bool, what: str) -> None:
        self._exposed = exposed
        self._empty = empty
        self._what = what
        self.name = name
        self.space = empty.space
        self._folder = folder
        self._kept: tuple[Signature, K, str] | None = None
        self._reading = threading.Lock()

    def read(self) -> tuple[K, str]:
        """What it holds, and why it must not be used: "" if it may, or is not there."""
        with self._reading:
            now = self._signature()
            if self._kept is not None and self._kept[0] == now:
                return self._kept[1:]
            saved, reason = self._empty, ""
            try:
                saved = self._load()
            except Untrusted as exc:
                reason = str(exc)
            settled = bool(now) and time.time_ns() - max(now[-2:]) > _SETTLED_NS
            self._kept = (now, saved, reason) if settled and now == self._signature() else None
            return saved, reason

    def _signature(self) -> Signature:
        """Differs when the file, or who may write to it, has changed; empty if it is not there."""
        try:
            folder = os.lstat(self._folder)
            file = os.lstat(self._folder / self.name)
        except OSError:
            return ()
        return (
            folder.st_mode,
            folder.st_uid,
            file.st_mode,
            file.st_uid,
            file.st_dev,
            file.st_ino,
            file.st_size,
            file.st_mtime_ns,
            file.st_ctime_ns,
        )

    def _load(self) -> K:
        """:raises Untrusted: if it is there and cannot be used"""
        try:
            with opened_folder(self._folder) as folder:
                return self._decoded(content_of(self.name, folder, exposed=self._exposed))
        except FileNotFoundError:
            return self._empty
        except OSError as exc:
            raise Untrusted(f"cannot be read: {os.strerror(exc.errno or 0)}") from exc

    def _decoded(self, content: bytes) -> K:
        try:
            saved = msgspec.json.decode(content, type=type(self._empty))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
            raise Untrusted(f"is not what it should be: {exc}") from exc
        if saved.version > VERSION:
            raise Untrusted(f"was written by a newer version (format {saved.version}, this one knows {VERSION})")
        if saved.space != self.space:
            raise Untrusted(f"is about another space: {saved.space[:200]!r}")
        return saved

    def change(self, made: Callable[[K], K]) -> None:
        """Read, change and write as one, whoever else does.

        :raises Conflict: if it cannot be done; the file is as it was
        """
        path = self._folder / self.name
        try:
            self._folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            with opened_folder(self._folder) as folder, locked(self.name, folder):
                if self._exposed:
                    raise Untrusted(EXPOSED)
                try:
                    before = self._decoded(content_of(self.name, folder, exposed=False))
                except FileNotFoundError:
                    before = self._empty
                after = made(before)
                if after != before:
                    write(self.name, _encoded(after), folder)
        except Untrusted as exc:
            raise Conflict(
                f"The {self._what} was not saved: {path} {exc}. Put it right or move it away, then try again."
            ) from exc
        except OSError as exc:
            raise Conflict(f"The {self._what} was not saved: {path}: {os.strerror(exc.errno or 0)}") from exc


def _encoded(saved: Kept) -> bytes:
    """:raises Untrusted: if it would be too large to be read again"""
    content = msgspec.json.format(msgspec.json.encode(saved), indent=1) + b"\n"
    if len(content) > _LARGEST:
        raise Untrusted(f"would have more than {_LARGEST:,} bytes")
    return content
