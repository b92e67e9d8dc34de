"""A text file as bytes that are text: encoding, byte order mark and line endings are found out and kept. Pure.

A change is spliced into the original bytes, so what it does not touch stays as it was, mixed line endings included.
"""

import codecs
import difflib
import hashlib
import heapq
import re
from dataclasses import dataclass
from itertools import accumulate

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
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text)


def replace_once(file: TextFile, old: str, new: str) -> str:
    """``file.text`` with ``new`` in the place of the one ``old``. Line endings of ``old`` and ``new`` do not matter: the file's hold.

    :raises ToolRetry: if ``old`` occurs never (with the nearest lines) or several times (with the line numbers)
    """
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise ToolRetry("Not done: old_text is empty. To make a new file, or to replace a whole one, use write_file.")
    if old == new:
        raise ToolRetry("Not done: old_text and new_text are the same.")
    plain = file.text.replace("\r\n", "\n")
    found = [hit.start() for hit in re.finditer(re.escape(old), plain)]
    if not found:
        raise ToolRetry(_not_found(plain, old))
    if len(found) > 1:
        numbers = ", ".join(str(plain.count("\n", 0, start) + 1) for start in found[:20])
        raise ToolRetry(
            f"Not done: old_text occurs {len(found)} times, at lines {numbers}. Give more of the text around the one that you mean."
        )
    start, end = _original(file.text, found[0]), _original(file.text, found[0] + len(old))
    replaced = file.text[start:end]
    ending = file.ending if "\n" not in replaced else "\r\n" if "\r\n" in replaced else "\n"
    return file.text[:start] + new.replace("\n", ending) + file.text[end:]


def _original(text: str, position: int) -> int:
    """The place in ``text`` of ``position`` in the same text with CR LF as LF."""
    if "\r\n" not in text:
        return position
    pieces = text.split("\r\n")
    starts = accumulate((len(piece) + 1 for piece in pieces), initial=0)
    return position + max(0, sum(1 for start in starts if start <= position) - 1)


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


def unified_diff(before: str, after: str, *, name: str, limit: int = 20_000) -> tuple[str, int, int]:
    """A unified diff of at most about ``limit`` characters, then the numbers of added and removed lines."""
    one, two = lines_of(before), lines_of(after)
    if max(len(one), len(two)) > 20_000:
        return (
            "[the file has more than 20,000 lines; no diff]\n",
            max(0, len(two) - len(one)),
            max(0, len(one) - len(two)),
        )
    lines = [_ended(line) for line in difflib.unified_diff(one, two, f"a/{name}", f"b/{name}")]
    body = lines[2:]
    added = sum(line.startswith("+") for line in body)
    removed = sum(line.startswith("-") for line in body)
    text = "".join(lines)
    if len(text) > limit:
        cut = text.rfind("\n", 0, limit) + 1
        text = text[:cut] + f"[… the rest of the diff is cut: {len(text) - cut:,} characters]\n"
    return text, added, removed


def _ended(line: str) -> str:
    body = line.rstrip("\r\n")
    return f"{body}\n" if body != line else f"{line}\n\\ No newline at end of file\n"
