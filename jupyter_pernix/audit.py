"""The audit's chain: how a line is written, and whether a folder of lines is sound. It reads files and knows no server.

Rules. A line is a JSON object with the keys ``n`` (1, 2, 3, … over all files), ``at`` (UTC), ``prev`` and ``kind`` first and ``hash``
last. ``hash`` is the SHA-256 of the line's own bytes up to ``,"hash"``, closed by ``}``; ``prev`` is the hash of the line before it, in
the file before where it is the first of a day, and 64 zeros for the very first. A file holds a day (UTC) and is named ``2026-11-30.jsonl``.
A clock that was set back begins no earlier file: lines stay in the file of the latest day so far, so files by name are in the order of ``n``.
Who may write the files could rebuild them all, so the store keeps the ``Head``: how many lines there are, and the hash of the last one.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

NO_HASH = "0" * 64
OPENED, SWITCHED_OFF, SWITCHED_ON, BREAK_FOUND = (
    "audit.opened",
    "audit.switched_off",
    "audit.switched_on",
    "audit.break_found",
)
"""Lines that are about the audit itself."""

_DAY_FILE = re.compile(r"\d{4}-\d\d-\d\d\.jsonl")
_TAIL = re.compile(rb',"hash":"([0-9a-f]{64})"\}\Z')
_MOST_FAULTS = 50
_encode = msgspec.json.Encoder().encode


class Head(NamedTuple):
    """The end of a chain: ``n`` lines, the last one with ``hash``, in the file of ``day`` ("" before the first)."""

    n: int = 0
    hash: str = NO_HASH
    day: str = ""


def next_line(head: Head, *, at: str, kind: str, fields: Mapping[str, Any]) -> tuple[bytes, Head]:
    """The line behind ``head``, with its line end, and the head that it makes. ``at``: ISO 8601 in UTC; ``fields`` have names of their own."""
    n, before, day = head
    body = _encode({"n": n + 1, "at": at, "prev": before, "kind": kind, **fields})
    digest = hashlib.sha256(body).hexdigest()
    return b'%b,"hash":"%b"}\n' % (body[:-1], digest.encode()), Head(n + 1, digest, max(day, at[:10]))


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line as it was found. ``sound``: its hash fits its bytes. ``fields``: all of it, as JSON."""

    n: int
    at: str
    prev: str
    kind: str
    hash: str
    sound: bool
    fields: dict[str, Any]


def read_line(raw: bytes) -> Line | None:
    """``None``: it is no line of a chain. ``raw`` is without its line end."""
    tail = _TAIL.search(raw)
    if tail is None:
        return None
    try:
        found: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    fields = cast(dict[str, Any], found)
    n, texts = fields.get("n"), [fields.get(name) for name in ("at", "prev", "kind")]
    if type(n) is not int or not all(isinstance(text, str) for text in texts):
        return None
    at, prev, kind = cast(list[str], texts)
    given = tail[1].decode()
    sound = hashlib.sha256(raw[: tail.start()] + b"}").hexdigest() == given
    return Line(n=n, at=at, prev=prev, kind=kind, hash=given, sound=sound, fields=fields)


def day_files(folder: Path) -> list[Path]:
    """The files of an audit, oldest first; none if there is no such folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _DAY_FILE.fullmatch(path.name))


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that is wrong with a chain. ``line`` counts from 1 in ``file``; 0: the file, or the chain, as a whole."""

    file: str
    line: int
    says: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        return place + self.says


@dataclass(kw_only=True)
class Report:
    """``faults``: the first that were found, none for a sound chain; ``more``: how many others. ``head``: the last line's. ``openings``:
    ``n`` of the lines with which a store's audit began."""

    lines: int = 0
    days: int = 0
    head: Head = field(default_factory=Head)
    faults: list[Fault] = field(default_factory=list[Fault])
    more: int = 0
    openings: list[int] = field(default_factory=list[int])

    @property
    def sound(self) -> bool:
        return not self.faults


class _Check:
    """Takes line after line and names each that is not as it was written."""

    def __init__(self, *, from_start: bool, known: Head | None) -> None:
        self.report = Report()
        self._known = known
        self._known_hash: str | None = NO_HASH if known is not None and known.n == 0 else None
        self._started = from_start
        self._file, self._line = "", 0

    def fault(self, says: str) -> None:
        if len(self.report.faults) < _MOST_FAULTS:
            self.report.faults.append(Fault(file=self._file, line=self._line, says=says))
        else:
            self.report.more += 1

    def begin_file(self, name: str) -> None:
        self._file, self._line = name, 0
        self.report.days += 1

    def take(self, raw: bytes) -> None:
        self._line += 1
        self.report.lines += 1
        if not raw.endswith(b"\n"):
            self.fault("the line is cut off")
        line = read_line(raw.removesuffix(b"\n"))
        if line is None:
            self.fault("this is no line of the chain: it was changed or put here")
            return
        if not line.sound:
            self.fault(f"line n={line.n} was changed: its hash does not fit what it says")
        if line.kind == OPENED:
            self.report.openings.append(line.n)
        self._day(line)
        self._link(line)
        if self._known is not None and line.n == self._known.n and self._known_hash != self._known.hash:
            self._known_hash = line.hash

    def _day(self, line: Line) -> None:
        day = self._file.removesuffix(".jsonl")
        if line.at[:10] > day or (self._line == 1 and line.at[:10] != day):
            self.fault(f"line n={line.n} is of {line.at[:10]}, which is not the day of this file")

    def _link(self, line: Line) -> None:
        last = self.report.head
        head = Head(n=line.n, hash=line.hash, day=self._file.removesuffix(".jsonl"))
        if not self._started:
            self._started, self.report.head = True, head
            return
        if line.n <= last.n:
            self.fault(f"line n={line.n} stands behind n={last.n}: it was put here, repeated, or moved")
            if line.kind != BREAK_FOUND:
                return
        elif line.n > last.n + 1:
            missing = f"n={last.n + 1}" if line.n == last.n + 2 else f"n={last.n + 1} to n={line.n - 1}"
            gone = ", or a day's file is gone" if self._line == 1 else ""
            self.fault(f"in front of line n={line.n}, {missing} is missing: removed{gone}")
        elif line.prev != last.hash and line.kind != BREAK_FOUND:
            self.fault(f"line n={line.n} was chained to another line than the one before it: that one was replaced")
        if line.kind == BREAK_FOUND:
            self.fault(f"here the server found the files changed, and said: {line.fields.get('found')}")
        elif line.n == 1 and (line.prev != NO_HASH or line.kind != OPENED):
            self.fault("line n=1 is not the beginning of a chain")
        self.report.head = head

    def finish(self, *, exact: bool) -> Report:
        self._file, self._line = "", 0
        known, last = self._known, self.report.head
        if known is None:
            return self.report
        if last.n < known.n:
            cut = known.n - last.n
            self.fault(f"the last {cut} lines are missing: the store knows n={known.n}, the files end with n={last.n}")
        elif self._known_hash != known.hash:
            self.fault(f"line n={known.n} is not the one that the store knows: lines were replaced and chained anew")
        elif exact and last.n > known.n:
            self.fault(f"the store knows nothing of the lines behind n={known.n}: they were put here")
        return self.report


def check(
    paths: Sequence[Path],
    *,
    known: Head | None = None,
    from_start: bool = True,
    exact: bool = True,
    unfinished: bool = False,
) -> Report:
    """Read the day files ``paths``, oldest first, and name whatever is not as it was written.

    ``known``: the head that the store has; without one, lines that were cut off at the end are not noticed, nor a chain that was
    made anew as a whole. ``exact``: no line may come behind it. ``from_start`` false: the first line may be any of a chain.
    ``unfinished``: the last line may lack its end, and does not count then.

    :raises OSError: if a file cannot be read
    """
    checking = _Check(from_start=from_start, known=known)
    for path in paths:
        checking.begin_file(path.name)
        with path.open("rb") as file:
            for raw in file:
                if raw.endswith(b"\n") or not unfinished or path is not paths[-1]:
                    checking.take(raw)
    return checking.finish(exact=exact)


def lines_of(paths: Iterable[Path]) -> Iterator[Line]:
    """The lines that can be read, oldest first, whether they are sound or not."""
    for path in paths:
        with path.open("rb") as file:
            for raw in file:
                line = read_line(raw.removesuffix(b"\n"))
                if line is not None:
                    yield line
