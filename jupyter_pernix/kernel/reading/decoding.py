"""Bytes of a file → its text, or why it is no text. Pure."""

import codecs
from dataclasses import dataclass

from .result import Note, Refusal

_MAGIC = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip file: unpack it first"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x89HDF", "an HDF5 file"),
)


@dataclass(frozen=True, kw_only=True)
class Text:
    """``encoding``: how the bytes were read; only UTF-8 without a byte order mark is written again."""

    text: str
    encoding: str
    notes: tuple[Note, ...] = ()


def decode(content: bytes) -> Text | Refusal:
    if not content:
        return Refusal(
            kind="empty",
            text="The file is empty (0 bytes): nothing can be read from it. An earlier state may be in .ipynb_checkpoints beside it, or "
            "in its version history.",
            offset=0,
            offers=(),
        )
    if content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE)):
        return _marked(content)
    if not content.strip(b"\x00"):
        return _zeros(content)
    unmarked = _utf16_without_mark(content)
    if unmarked is not None:
        return unmarked
    for magic, what in _MAGIC:
        if content.startswith(magic):
            return Refusal(kind="binary", text=f"This is {what}, not a notebook.", offset=0, offers=())
    try:
        return Text(text=content.decode("utf-8"), encoding="utf-8")
    except UnicodeDecodeError as exc:
        return _not_utf8(content, exc)


def _marked(content: bytes) -> Text | Refusal:
    if content.startswith(codecs.BOM_UTF8):
        encoding, what = "utf-8-sig", "The file begins with a byte order mark (UTF-8): it is read without it."
    elif content.startswith(codecs.BOM_UTF32_LE):
        encoding, what = "utf-32", "The file is UTF-32, not UTF-8: it is read as that."
    else:
        encoding, what = "utf-16", "The file is UTF-16, not UTF-8: it is read as that."
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as exc:
        return _not_utf8(content, exc)
    return Text(text=text, encoding=encoding, notes=(Note(kind="encoding", text=what, repair=True),))


def _utf16_without_mark(content: bytes) -> Text | None:
    """JSON begins with two ASCII characters, so UTF-16 shows by its zeros."""
    head = content[:4]
    encoding = "utf-16-le" if head[1::2] == b"\0\0" and head[0] else "utf-16-be" if head[::2] == b"\0\0" else ""
    if not encoding or len(content) % 2:
        return None
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return None
    what = "The file is UTF-16 without a byte order mark, not UTF-8: it is read as that."
    return Text(text=text, encoding=encoding, notes=(Note(kind="encoding", text=what, repair=True),))


def _zeros(content: bytes) -> Refusal:
    return Refusal(
        kind="empty",
        text=f"All {len(content):,} bytes of the file are zero: its content was lost, probably when the machine went down while it was "
        "saved. An earlier state may be in .ipynb_checkpoints beside it, or in its version history.",
        offset=0,
        offers=(),
    )


def _not_utf8(content: bytes, exc: UnicodeDecodeError) -> Refusal:
    line = content.count(b"\n", 0, exc.start) + 1
    column = exc.start - (content.rfind(b"\n", 0, exc.start) + 1) + 1
    return Refusal(
        kind="not_utf8",
        text=f"The file is not UTF-8: byte {exc.start} (line {line}) is 0x{content[exc.start]:02X}, which cannot stand there. It may be in an "
        "older encoding such as Windows-1252; a converted copy can be made.",
        line=line,
        column=column,
        offset=exc.start,
        offers=("text", "rescue"),
    )
