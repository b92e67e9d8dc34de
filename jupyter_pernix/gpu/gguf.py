"""GGUF files: is it one, is it whole? Only the head is read: magic, counts, names, and where each tensor lies."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_UNSIGNED = {0: "<B", 2: "<H", 4: "<I", 10: "<Q"}
_MOST = 1_000_000
_LONGEST_STRING = 64 * 1024 * 1024


class BrokenGguf(ValueError):
    """``str()`` says what is wrong with the file."""


@dataclass(frozen=True, kw_only=True)
class GgufHead:
    architecture: str
    name: str
    context_length: int | None


def looks_like_gguf(path: Path) -> str:
    """Why this file is none, by its size and first bytes; "" if it looks right.

    :raises OSError: if it cannot be read
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(200)
    if size == 0:
        return "the file is empty"
    if start.startswith(b"version https://git-lfs"):
        return "it is only a Git LFS pointer: the model itself was not downloaded"
    if start.lstrip()[:1] == b"<":
        return "it is a web page, not a model: the download went wrong"
    if start[:4] != MAGIC:
        return "it does not begin as a GGUF file"
    return "" if size > 1024 else "the file is too short to hold a model"


def read_head(path: Path) -> GgufHead:
    """The head of a whole GGUF file; reads a few MB.

    :raises BrokenGguf: if it is none, or if its end is missing
    :raises OSError: if it cannot be read
    """
    fault = looks_like_gguf(path)
    if fault:
        raise BrokenGguf(fault)
    with path.open("rb") as file:
        try:
            return _Reader(file, path.stat().st_size).head()
        except (struct.error, UnicodeDecodeError) as exc:
            raise BrokenGguf("the file is cut off within its head") from exc


class _Reader:
    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size

    def head(self) -> GgufHead:
        self._file.seek(4)
        version = self._number("<I")
        if version not in _VERSIONS:
            raise BrokenGguf(f"GGUF version {version} is not known")
        tensors, pairs = self._number("<Q"), self._number("<Q")
        if tensors > _MOST or pairs > _MOST:
            raise BrokenGguf("its head makes no sense")
        values = dict(self._pair() for _ in range(pairs))
        self._check_tensors(tensors, values.get("general.alignment"))
        architecture = str(values.get("general.architecture") or "")
        context = values.get(f"{architecture}.context_length")
        return GgufHead(
            architecture=architecture,
            name=str(values.get("general.name") or ""),
            context_length=context if isinstance(context, int) else None,
        )

    def _check_tensors(self, count: int, alignment: object) -> None:
        """The last tensor must begin within the file; most interrupted downloads fail this."""
        last = 0
        for _ in range(count):
            self._string()
            dimensions = self._number("<I")
            self._skip(8 * dimensions + 4)
            last = max(last, self._number("<Q"))
        step = alignment if isinstance(alignment, int) and alignment > 0 else 32
        data = (self._file.tell() + step - 1) // step * step
        if data + last >= self._size:
            missing = (data + last - self._size) / 1e6
            raise BrokenGguf(f"the file is cut off: at least {missing:.0f} MB are missing at its end")

    def _pair(self) -> tuple[str, object]:
        return self._string().decode(), self._value(self._number("<I"))

    def _value(self, kind: int) -> object:
        if kind == _STRING:
            return self._string().decode("utf-8", "replace")
        if kind == _ARRAY:
            self._skip_array()
            return None
        if kind in _UNSIGNED:
            return self._number(_UNSIGNED[kind])
        if kind not in _SIZES:
            raise BrokenGguf("its head holds a kind of value that is not known")
        self._skip(_SIZES[kind])
        return None

    def _skip_array(self) -> None:
        kind, count = self._number("<I"), self._number("<Q")
        if kind in _SIZES:
            self._skip(_SIZES[kind] * count)
        elif kind == _STRING and count <= _MOST:
            for _ in range(count):
                self._skip(self._number("<Q"))
        else:
            raise BrokenGguf("its head holds a list that makes no sense")

    def _number(self, form: str) -> int:
        return struct.unpack(form, self._file.read(struct.calcsize(form)))[0]

    def _string(self) -> bytes:
        length = self._number("<Q")
        if length > _LONGEST_STRING:
            raise BrokenGguf("its head makes no sense")
        return self._file.read(length)

    def _skip(self, count: int) -> None:
        if count > self._size:
            raise BrokenGguf("the file is cut off within its head")
        self._file.seek(count, 1)
