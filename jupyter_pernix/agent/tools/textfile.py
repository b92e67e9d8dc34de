"""A text file as bytes that are text: encoding, byte order mark and line endings are found out and kept. Pure.

A change is spliced into the original bytes, so what it does not touch stays as it was, mixed line endings included.
"""

import codecs
import difflib
import hashlib
import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...errors import ToolFailed, ToolRetry

_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NUMBERED = re.compile(r"\A\s*\d+\t")
_COMPARED = 200
_CANDIDATES = 100
_MOST_LINES = 20_000
_STEP = 65_536
_PIECE = 1_000_000
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_HUNK = re.compile(r"\A@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """``mark`` is the byte order mark, not part of ``text``; ``text`` has its line endings as they are."""

    text: str
    encoding: str
    mark: bytes

    @property
    def ending(self) -> str:
        """The line ending that most lines have."""
        pairs = self.text.count("\r\n")
        return "\r\n" if pairs > self.text.count("\n") - pairs else "\n"

    def encode(self, text: str) -> bytes:
        """:raises ToolRetry: if the file's encoding lacks a character of ``text``"""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as exc:
            character = text[exc.start : exc.start + 1]
            raise ToolRetry(
                f"Not done: the file is encoded as {self.encoding}, which has no {character!r}; leave that character out."
            ) from exc


def decode(content: bytes, *, name: str) -> TextFile:
    """:raises ToolFailed: if it is no text"""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            try:
                return TextFile(text=content[len(mark) :].decode(encoding), encoding=encoding, mark=mark)
            except UnicodeDecodeError as exc:
                raise ToolFailed(f"{name!r} starts like {encoding} text but is not: {exc.reason}.") from exc
    if len(_CONTROL.findall(content[:65536])) > len(content[:65536]) // 100 or b"\0" in content:
        raise ToolFailed(f"{name!r} is a binary file of {len(content):,} bytes; look at it with run_code.")
    for encoding in ("utf-8", "cp1252", "latin-1"):
        try:
            return TextFile(text=content.decode(encoding), encoding=encoding, mark=b"")
        except UnicodeDecodeError:
            continue
    raise AssertionError("latin-1 decodes everything")


def numbered(lines: list[str], first: int) -> str:
    """Lines with their numbers, as ``read_file`` shows them."""
    return "".join(f"{number}\t{line.rstrip(chr(13) + chr(10))}\n" for number, line in enumerate(lines, first))


def lines_of(text: str) -> list[str]:
    """The lines with their endings, split at LF, CR LF and CR only: the line numbers of an editor."""
    return _LINE.findall(text)


def line_count(text: str, end: int | None = None) -> int:
    """How many lines ``lines_of`` gives; with ``end``: how many are complete before that place. Quick for any size."""
    stop = len(text) if end is None else end
    breaks = text.count("\n", 0, stop) + text.count("\r", 0, stop) - text.count("\r\n", 0, stop)
    return breaks + (end is None and text != "" and text[-1] not in "\r\n")


def lines_from(text: str, first: int) -> Iterator[str]:
    """The lines from number ``first`` on, one by one: other threads get their turn while a large text is gone through."""
    for number, line in enumerate(_LINE.finditer(text), 1):
        if number >= first:
            yield line[0]


def replace_once(file: TextFile, old: str, new: str) -> str:
    """``file.text`` with ``new`` in the place of the one ``old``. Line endings of ``old`` and ``new`` do not matter: the file's hold.

    :raises ToolRetry: if ``old`` occurs never (with the nearest lines) or several times (with the line numbers)
    """
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise ToolRetry("Not done: old_text is empty. To make a new file, or to replace a whole one, use write_file.")
    if old == new:
        raise ToolRetry("Not done: old_text and new_text are the same.")
    plain = _plain(file.text)
    found = _places(plain, old)
    if not found:
        raise ToolRetry(_not_found(plain, old))
    if len(found) > 1:
        numbers = ", ".join(str(plain.count("\n", 0, start) + 1) for start in found)
        raise ToolRetry(
            f"Not done: old_text occurs {plain.count(old)} times, at lines {numbers}. "
            "Give more of the text around the one that you mean."
        )
    start, end = _original(file.text, found[0]), _original(file.text, found[0] + len(old))
    replaced = file.text[start:end]
    ending = file.ending if "\n" not in replaced else "\r\n" if "\r\n" in replaced else "\n"
    return file.text[:start] + new.replace("\n", ending) + file.text[end:]


def applied_already(file: TextFile, old: str, new: str) -> int | None:
    """The line where ``new`` stands already, if replacing ``old`` by it would do nothing or do it a second time; else ``None``."""
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not new.strip() or not old or old == new:
        return None
    plain = _plain(file.text)
    place = plain.find(new)
    if place < 0:
        return None
    rest = plain.count(old) - plain.count(new) * new.count(old)
    return plain.count("\n", 0, place) + 1 if rest == 0 else None


def place_of(text: str, old: str) -> int | None:
    """The line where ``old``, or the first line of it, or a line like that, stands; ``None`` if there is none."""
    plain, old = _plain(text), old.replace("\r\n", "\n")
    place = plain.find(old) if old else -1
    if place >= 0:
        return plain.count("\n", 0, place) + 1
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")
    if not wanted:
        return None
    lines = plain.split("\n")
    same = next((number for number, line in enumerate(lines, 1) if line.strip() == wanted), None)
    if same is not None:
        return same
    near = difflib.get_close_matches(wanted[:_COMPARED], _candidates(wanted, lines), n=1, cutoff=0.5)
    return next((number for number, line in enumerate(lines, 1) if line.strip()[:_COMPARED] in near), None)


def _plain(text: str) -> str:
    """With LF for CR LF; in pieces, since one replacement in a very large text would hold all other threads up."""
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = start + _PIECE
        end += text[end - 1 : end + 1] == "\r\n"
        pieces.append(text[start:end].replace("\r\n", "\n"))
        start = end
    return "".join(pieces)


def _places(plain: str, old: str, most: int = 20) -> list[int]:
    found: list[int] = []
    place = plain.find(old)
    while place >= 0 and len(found) < most:
        found.append(place)
        place = plain.find(old, place + len(old))
    return found


def _original(text: str, position: int) -> int:
    """The place in ``text`` of ``position`` in the same text with CR LF as LF."""
    found = position
    while True:
        between = text[found - 1 : found + 1] == "\r\n"
        pairs = text.count("\r\n", 0, found) + between
        if position + pairs == found:
            return found
        found = position + pairs


def _not_found(plain: str, old: str) -> str:
    start = "Not done: old_text does not occur in the file."
    wanted = [line for line in old.split("\n") if line.strip()]
    if wanted and all(_NUMBERED.match(line) for line in wanted):
        return f"{start} It has line numbers in front; leave them out."
    lines = plain.split("\n")
    if not wanted:
        return f"{start} Read the file again."
    first = wanted[0].strip()
    same = [number for number, line in enumerate(lines, 1) if line.strip() == first]
    if same:
        shown = "\n".join(f"{number}\t{lines[number - 1]}" for number in same[:3])
        return f"{start} Its first line is there with other spaces around it, or what follows it differs:\n{shown}"
    near = difflib.get_close_matches(first[:_COMPARED], _candidates(first, lines), n=3, cutoff=0.5)
    shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1) if line.strip()[:_COMPARED] in near)
    return (
        f"{start} The nearest lines are:\n{excerpt_lines(shown)}"
        if near
        else f"{start} Nothing in it is like its first line; read the file again."
    )


def _candidates(wanted: str, lines: list[str]) -> list[str]:
    """The lines worth a close comparison, which costs a millisecond each: those that share most pairs of characters with ``wanted``."""
    pairs = _pairs(wanted[:_COMPARED])
    known = dict.fromkeys(line.strip()[:_COMPARED] for line in lines[:20_000])
    return heapq.nlargest(_CANDIDATES, known, key=lambda line: len(pairs & _pairs(line)) / (len(line) + len(wanted)))


def _pairs(text: str) -> set[str]:
    return {text[start : start + 2] for start in range(len(text) - 1)}


def excerpt_lines(text: str, limit: int = 10) -> str:
    return "\n".join(line[:300] for line in text.split("\n")[:limit])


@dataclass(frozen=True, kw_only=True)
class Window:
    """Where two texts differ, in whole lines: up to ``context`` lines that they share before (``head``) and after (``tail``) included.
    ``first``: number of the first line."""

    first: int
    old: list[str]
    new: list[str]
    head: int
    tail: int


def window(before: str, after: str, *, context: int = 3) -> Window:
    """The part of both texts that holds all of their differences. Quick for large texts that differ in one place."""
    head = _line_start(before, _common(before, after))
    tail = _common_end(before, after, most=min(len(before), len(after)) - head)
    tail = len(before) - _line_end(before, len(before) - tail)
    if after[len(after) - tail - 1 : len(after) - tail] not in ("\n", "\r", ""):
        # the new text ends a line that the old one does not
        tail = min(tail, len(after) - _line_end(after, len(after) - tail))
    start = head
    for _ in range(context):
        start = _line_start(before, start - 1) if start else 0
    end = tail
    for _ in range(context):
        end = len(before) - _line_end(before, len(before) - end + 1) if end else 0
    return Window(
        first=line_count(before, start) + 1,
        old=lines_of(before[start : len(before) - end]),
        new=lines_of(after[start : len(after) - end]),
        head=line_count(before, head) - line_count(before, start),
        tail=len(lines_of(before[len(before) - tail : len(before) - end])),
    )


def _common(one: str, two: str) -> int:
    """Length of the common start."""
    place, step = 0, _STEP
    while step:
        while place < min(len(one), len(two)) and one[place : place + step] == two[place : place + step]:
            place += step
        step //= 16
    return min(place, len(one), len(two))


def _common_end(one: str, two: str, *, most: int) -> int:
    """Length of the common end, at most ``most``."""
    size, step = 0, _STEP
    while step:
        while (
            size + step <= most
            and one[len(one) - size - step : len(one) - size] == two[len(two) - size - step : len(two) - size]
        ):
            size += step
        step //= 16
    return size


def _line_start(text: str, place: int) -> int:
    """Where the line of ``place`` begins."""
    place = max(0, place)
    while place > 0 and not (text[place - 1] == "\n" or (text[place - 1] == "\r" and text[place : place + 1] != "\n")):
        place = max(text.rfind("\n", 0, place - 1), text.rfind("\r", 0, place - 1)) + 1
    return place


def _line_end(text: str, place: int) -> int:
    """Where the line ends that ``place`` is in or directly behind."""
    while 0 < place < len(text) and not (text[place - 1] == "\n" or (text[place - 1] == "\r" and text[place] != "\n")):
        ends = [end for end in (text.find("\n", place), text.find("\r", place)) if end >= 0]
        place = min(ends) + 1 if ends else len(text)
    return place


def unified_diff(before: str, after: str, *, name: str, limit: int = 20_000) -> tuple[str, int, int]:
    """A unified diff of at most about ``limit`` characters, then the numbers of added and removed lines."""
    if before == after:
        return "", 0, 0
    where = window(before, after)
    removed, added = (len(lines) - where.head - where.tail for lines in (where.old, where.new))
    if max(added, removed) > _MOST_LINES:
        return f"[more than {_MOST_LINES:,} lines differ; no diff]\n", added, removed
    lines = [_ended(line) for line in difflib.unified_diff(where.old, where.new, f"a/{name}", f"b/{name}")]
    body = lines[2:]
    added = sum(line.startswith("+") for line in body)
    removed = sum(line.startswith("-") for line in body)
    text = "".join([*lines[:2], *(_moved(line, where.first - 1) for line in body)])
    if len(text) > limit:
        cut = text.rfind("\n", 0, limit) + 1
        text = text[:cut] + f"[… the rest of the diff is cut: {len(text) - cut:,} characters]\n"
    return text, added, removed


def _moved(line: str, lines: int) -> str:
    """A hunk's head for a text that begins ``lines`` lines earlier."""
    return _HUNK.sub(lambda found: f"@@ -{int(found[1]) + lines}{found[2]} +{int(found[3]) + lines}{found[4]} @@", line)


def _ended(line: str) -> str:
    body = line.rstrip("\r\n")
    return f"{body}\n" if body != line else f"{line}\n\\ No newline at end of file\n"
