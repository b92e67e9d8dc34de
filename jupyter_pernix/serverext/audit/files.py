"""The audit's files, for their one writer."""

import os
from dataclasses import dataclass
from pathlib import Path

from ...audit import Head, day_files, read_line

_BINARY = getattr(os, "O_BINARY", 0)
_make_durable = getattr(os, "fdatasync", os.fsync)


@dataclass(frozen=True, kw_only=True)
class DayLine:
    """One line with the day in whose file it stands."""

    day: str
    raw: bytes


@dataclass(frozen=True, kw_only=True)
class Behind:
    """What the files hold behind a line. ``fault``: why that line is not there as it should be, "" if it is."""

    lines: list[DayLine]
    fault: str = ""


def behind(folder: Path, head: Head) -> Behind:
    """What stands behind the last line of ``head``; the last one may lack its end.

    :raises OSError: if a file cannot be read
    """
    files = [path for path in day_files(folder) if path.stem >= head.day]
    lines: list[DayLine] = []
    if head.n:
        if not files or files[0].stem != head.day:
            return Behind(lines=[], fault=f"{head.day}.jsonl is gone, which held line n={head.n}")
        data = files[0].read_bytes()
        end = _end_of(data, head)
        if end is None:
            return Behind(lines=[], fault=f"{head.day}.jsonl lacks line n={head.n} as it was written")
        lines = _split(files.pop(0).stem, data[end:])
    for path in files:
        lines += _split(path.stem, path.read_bytes())
    return Behind(lines=lines)


def _end_of(data: bytes, head: Head) -> int | None:
    mark = b',"hash":"%b"}\n' % head.hash.encode()
    at = data.find(mark)  # a copy of it may have been put behind it
    if at < 0:
        return None
    end = at + len(mark)
    line = read_line(data[data.rfind(b"\n", 0, at) + 1 : end - 1])
    return end if line is not None and line.sound and line.n == head.n else None


def _split(day: str, data: bytes) -> list[DayLine]:
    return [DayLine(day=day, raw=raw) for raw in data.splitlines(keepends=True)]


def last_head(folder: Path) -> Head:
    """Of the last line that can be read: where another store's audit ended.

    :raises OSError: if a file cannot be read
    """
    for path in reversed(day_files(folder)):
        for raw in reversed(path.read_bytes().splitlines()):
            line = read_line(raw)
            if line is not None:
                return Head(n=line.n, hash=line.hash, day=path.stem)
    return Head()


class DayFiles:
    """Appends lines to the file of their day. ``meddled``: somebody else has changed a file while it was written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meddled = ""
        self._day = ""
        self._handle: int | None = None
        self._size = 0
        self._dirty = False

    def cut(self, day: str, bytes_: int) -> None:
        """Take that many bytes off the end of a day's file."""
        path = self._path(day)
        os.truncate(path, path.stat().st_size - bytes_)

    def append(self, day: str, lines: bytes) -> None:
        """:raises OSError: if they could not be written; none of them is then"""
        handle = self._opened(day)
        before = os.fstat(handle).st_size
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(handle, rest) :]
        except OSError:
            os.ftruncate(handle, before)
            raise
        self._size = before + len(lines)
        self._dirty = True

    def make_durable(self) -> None:
        """:raises OSError: if that fails"""
        if self._handle is not None and self._dirty:
            _make_durable(self._handle)
            self._dirty = False

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle, self._day = None, ""

    def _path(self, day: str) -> Path:
        return self.folder / f"{day}.jsonl"

    def _opened(self, day: str) -> int:
        if self._handle is not None and self._day == day and self._is_ours(self._handle):
            return self._handle
        self.make_durable()
        self.close()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(day)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | _BINARY, 0o600)
        try:
            _end_last_line(handle)
            _make_name_durable(self.folder)
        except OSError:
            os.close(handle)
            raise
        self._handle, self._day, self._size = handle, day, os.fstat(handle).st_size
        return handle

    def _is_ours(self, handle: int) -> bool:
        """The open file still is the one of that name, and as long as we left it."""
        mine = os.fstat(handle)
        try:
            there = self._path(self._day).stat()
        except FileNotFoundError:
            self.meddled = f"{self._day}.jsonl was removed while the server wrote it"
            return False
        if (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev):
            self.meddled = f"{self._day}.jsonl was replaced while the server wrote it"
            return False
        if mine.st_size != self._size:
            self.meddled = f"{self._day}.jsonl was changed while the server wrote it"
            return False
        return True


def _end_last_line(handle: int) -> None:
    size = os.fstat(handle).st_size
    if size:
        os.lseek(handle, size - 1, os.SEEK_SET)
        if os.read(handle, 1) != b"\n":
            os.write(handle, b"\n")


def _make_name_durable(folder: Path) -> None:
    if os.name != "posix":
        return  # a folder cannot be opened there
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
