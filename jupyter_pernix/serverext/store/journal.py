"""The journal: where events are made durable before they are taken into the database.

Rules. A record is ``FF 'P' 'J' '1'``, the length of its payload and a CRC-32 of both (little-endian, 4 bytes each), and the payload.
A payload is UTF-8 text, so the byte ``FF`` marks nothing but the start of a record. Room is written ahead as zeros, so a record
overwrites bytes that are there and making it durable need not change the size of the file. What comes after the last whole record is
zeros, or a record whose writing was cut off: that one was never acknowledged, and is dropped. A whole record behind a broken one
means that the file was damaged.
"""

import logging
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

MAGIC = b"\xffPJ1"
_NUMBERS = struct.Struct("<II")
_HEAD = len(MAGIC) + _NUMBERS.size
_ROOM = bytes(256 * 1024)
_BINARY = getattr(os, "O_BINARY", 0)
_make_durable = getattr(os, "fdatasync", os.fsync)


def encode_record(payload: bytes) -> bytes:
    """``payload`` is not empty: zeros behind a mark are no record."""
    length = len(payload)
    return b"".join((MAGIC, _NUMBERS.pack(length, _crc(length, payload)), payload))


def _crc(length: int, payload: bytes | memoryview) -> int:
    return zlib.crc32(payload, length & 0xFFFFFFFF)


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a journal file holds. ``damaged``: places with bytes that belong to no record, in front of whole records. ``torn``:
    bytes of a record that was cut off at the end."""

    payloads: list[bytes]
    damaged: int
    torn: int


def read_records(data: bytes) -> Contents:
    """All whole records, in order."""
    payloads: list[bytes] = []
    at = damaged = 0
    while at < len(data):
        payload = _payload_at(data, at)
        if payload is None:
            following = _next_whole(data, at + 1)
            if following is None:
                break
            damaged += 1
            at = following
            continue
        payloads.append(payload)
        at += _HEAD + len(payload)
    return Contents(payloads=payloads, damaged=damaged, torn=len(data[at:].rstrip(b"\0")))


def _payload_at(data: bytes, at: int) -> bytes | None:
    if data[at : at + len(MAGIC)] != MAGIC or at + _HEAD > len(data):
        return None
    length, crc = _NUMBERS.unpack_from(data, at + len(MAGIC))
    payload = data[at + _HEAD : at + _HEAD + length]
    return payload if payload and len(payload) == length and _crc(length, payload) == crc else None


def _next_whole(data: bytes, at: int) -> int | None:
    at = data.find(MAGIC, at)
    while at >= 0:
        if _payload_at(data, at) is not None:
            return at
        at = data.find(MAGIC, at + 1)
    return None


class JournalFile:
    """One file, empty when it is opened; what was in it must have been read before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | _BINARY, 0o600)
        self._end = self._room = 0
        self.empty()

    def append(self, payload: bytes) -> None:
        """Write one record; returns once it is durable.

        :raises OSError: if it could not be written; the file is as it was, and later records can be tried
        """
        record = encode_record(payload)
        try:
            if self._end + len(record) > self._room:
                self._make_room(self._end + len(record))
            self._write(record, at=self._end)
            _make_durable(self._handle)
        except OSError:
            self._take_back()
            raise
        self._end += len(record)
        self._room = max(self._room, self._end)

    def empty(self) -> None:
        """Forget all records; what they took on the disk is free again."""
        os.ftruncate(self._handle, 0)
        self._end = self._room = 0

    def close(self) -> None:
        os.close(self._handle)

    def remove(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)

    def _make_room(self, wanted: int) -> None:
        """Zeros up to ``wanted`` and some more; where there is no place for more, the record itself is tried."""
        try:
            while self._room < wanted:
                self._write(_ROOM, at=self._room)
                self._room += len(_ROOM)
        except OSError:
            os.ftruncate(self._handle, self._room)

    def _write(self, data: bytes, *, at: int) -> None:
        os.lseek(self._handle, at, os.SEEK_SET)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._handle, rest) :]

    def _take_back(self) -> None:
        """Nothing of a record that failed may be read as one later."""
        try:
            os.ftruncate(self._handle, self._end)
            self._room = self._end
        except OSError:
            log.exception("%s: half a record stays behind byte %d", self.path, self._end)


class Journal:
    """Two files in turn: while what one holds is taken into the database, the other takes what comes. The caller sees to it that
    ``append`` and ``seal`` do not happen at once."""

    def __init__(self, path: Path) -> None:
        """``path``: of the database."""
        self._paths = [path.with_suffix(".journal"), path.with_suffix(".journal2")]
        self._files: list[JournalFile] = []
        self._taking: list[bytes] = []
        self._held: list[bytes] = []
        self.size = 0
        """Bytes of payload that came after the last ``seal``."""

    def read(self) -> list[tuple[Path, Contents]]:
        """What an earlier process has left; before ``open``."""
        return [(path, read_records(path.read_bytes())) for path in self._paths if path.exists()]

    def open(self) -> None:
        """Begin empty.

        :raises OSError: if the files cannot be made
        """
        self._files = [JournalFile(path) for path in self._paths]
        _make_names_durable(self._paths[0].parent)

    def append(self, payload: bytes) -> None:
        """As ``JournalFile.append``."""
        self._files[0].append(payload)
        self._held.append(payload)
        self.size += len(payload)

    def seal(self) -> list[bytes]:
        """The payloads to take into the database now: those that an earlier try left, or all that there are."""
        if not self._taking:
            self._files.reverse()
            self._taking, self._held, self.size = self._held, [], 0
        return self._taking

    def cut(self) -> None:
        """What ``seal`` gave is in the database, durably."""
        self._taking = []
        self._files[1].empty()

    def close(self) -> None:
        """The files go when there is nothing in them that the database has not."""
        for file in self._files:
            if self._taking or self._held:
                file.close()
            else:
                file.remove()
        self._files = []


def _make_names_durable(folder: Path) -> None:
    if os.name != "posix":
        return  # a folder cannot be opened there
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
