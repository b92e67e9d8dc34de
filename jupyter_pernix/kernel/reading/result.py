"""What comes of reading a notebook: frozen values."""

from dataclasses import dataclass, field
from typing import Literal

from ...records import JSON
from .scan import Scanned

Outcome = Literal["opened", "repaired", "refused"]
RefusalKind = Literal[
    "empty",
    "merge_conflict",
    "lfs_pointer",
    "html",
    "python",
    "text",
    "binary",
    "not_utf8",
    "truncated",
    "trailing_comma",
    "missing_comma",
    "comments",
    "extra_data",
    "not_json",
    "too_deep",
    "null",
    "not_a_notebook",
    "too_new",
]
Offer = Literal["text", "rescue"]
"""What can still be done with a refused file: open it as text; make a new notebook of what can be read (``rescue``)."""


@dataclass(frozen=True, kw_only=True)
class Note:
    """Something odd about a notebook and how it is read, as a sentence. ``repair``: what was read differs from what a strict reader
    would find, and saving writes it as read."""

    kind: str
    text: str
    repair: bool = False


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why a file is no notebook, as a sentence. ``line`` and ``column`` count from 1, ``offset`` is in bytes from 0; ``None``: not
    known, or of no use."""

    kind: RefusalKind
    text: str
    line: int | None = None
    column: int | None = None
    offset: int | None = None
    offers: tuple[Offer, ...] = ("text",)


@dataclass(frozen=True, kw_only=True)
class Style:
    """How a file is written. ``indent`` "": all on one line. ``lines``: long texts are lists of lines. ``ascii``: other characters
    stand as ``\\u`` escapes."""

    indent: str = " "
    newline: str = "\n"
    end: str = "\n"
    item: str = ","
    key: str = ": "
    lines: bool = True
    ascii: bool = False


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The file as it was read: what an unchanged cell is written back from. ``cells``: as they would stand in the file after all
    repairs. ``fresh``: indices of cells whose text in the file cannot be used again. ``own_ids``: the file has cell ids."""

    content: bytes = field(repr=False)
    scanned: Scanned | None = field(repr=False)
    cells: list[JSON] = field(repr=False)
    fresh: frozenset[int] = frozenset()
    metadata_fresh: bool = False
    own_ids: bool = True
    style: Style = Style()


@dataclass(frozen=True, kw_only=True)
class Reading:
    """``notebook``: nbformat 4.5 with every text in one piece, an id on each cell, nothing that UTF-8 or JSON cannot hold; ``None``
    when refused. ``major`` and ``minor``: of the file. Nothing has been written, whatever the outcome."""

    name: str
    outcome: Outcome
    notes: tuple[Note, ...] = ()
    refusal: Refusal | None = None
    notebook: JSON | None = field(default=None, repr=False)
    major: int = 4
    minor: int = 5
    origin: Origin | None = field(default=None, repr=False)

    @property
    def sentences(self) -> list[str]:
        """All there is to say about the file."""
        return [self.refusal.text] if self.refusal is not None else [note.text for note in self.notes]
