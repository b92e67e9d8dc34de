"""The tolerant reader: what can be opened opens, what must be mended says how, what cannot be read says why. Pure: it gets bytes and
gives values; no file is ever written by reading it."""

from collections.abc import Mapping
from typing import Any, cast

from ...records import JSON
from ..bundles import scrub_json
from .cells import give_ids, mend_cell
from .decoding import Text, decode
from .metadata import mend_metadata, parameter_cells
from .notes import Notes
from .plain import plain_cell
from .refusing import refuse_text, refuse_value
from .result import Origin, Reading, Refusal
from .scan import Broken, Scanned, TooDeep, scan
from .style import NBFORMAT, style_of
from .upgrading import upgrade

_TOP = ("cells", "metadata", "nbformat", "nbformat_minor")


def read_notebook(content: bytes, *, name: str = "", display_names: Mapping[str, str] | None = None) -> Reading:
    """Read the bytes of a notebook file. Never raises, and takes time in proportion to their number.

    ``name`` is the file's, for messages of the caller. ``display_names``: what installed kernels are called, by name.
    """
    text = decode(content)
    if isinstance(text, Refusal):
        return Reading(name=name, outcome="refused", refusal=text)
    try:
        scanned = scan(text.text)
    except TooDeep:
        words = "Its lists and objects are nested too deep to be a notebook's."
        return Reading(name=name, outcome="refused", refusal=Refusal(kind="too_deep", text=words))
    except Broken as broken:
        return Reading(name=name, outcome="refused", refusal=refuse_text(text.text, broken, len(content)))
    refusal = refuse_value(scanned.value)
    if refusal is not None:
        return Reading(name=name, outcome="refused", refusal=refusal)
    return _Reader(content, text, scanned, display_names or {}).read(name)


class _Reader:
    def __init__(self, content: bytes, text: Text, scanned: Scanned, display_names: Mapping[str, str]) -> None:
        self._content = content
        self._text = text
        self._scanned = scanned
        self._value = cast(JSON, scanned.value)
        self._display_names = display_names
        self._notes = Notes()
        self._fresh: set[int] = set()

    def read(self, name: str) -> Reading:
        major, minor = self._version()
        self._oddities()
        raw_cells: list[Any] = self._value.get("cells") or []
        raw_metadata: Any = self._value.get("metadata")
        if major < 4:
            raw_cells, raw_metadata = upgrade(self._value, major, self._notes)
        before = self._notes.repairs
        metadata = mend_metadata(raw_metadata, self._notes, display_names=self._display_names)
        metadata_fresh = self._notes.repairs != before or "metadata" in self._scanned.odd_members
        cells = self._cells(raw_cells)
        own_ids = self._ids(cells, major, minor)
        parameter_cells(cells, self._notes)
        if major >= 4:
            self._top()
        notebook: JSON = {
            "cells": [plain_cell(cell) for cell in cells],
            "metadata": scrub_json(metadata),
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        origin = Origin(
            content=self._content,
            scanned=self._scanned if major >= 4 else None,
            cells=cells,
            fresh=frozenset(self._fresh),
            metadata_fresh=metadata_fresh,
            own_ids=own_ids,
            style=style_of(self._text.text, cells) if major >= 4 else NBFORMAT,
        )
        notes = (*self._text.notes, *self._notes.all())
        outcome = "repaired" if any(note.repair for note in notes) else "opened"
        return Reading(
            name=name, outcome=outcome, notes=notes, notebook=notebook, major=major, minor=minor, origin=origin
        )

    def _version(self) -> tuple[int, int]:
        major = self._number("nbformat")
        minor = self._number("nbformat_minor")
        if major is None:
            major = 3 if "cells" not in self._value else 4
            self._notes.add("no_version", f"The file does not say which format it has: {major} is assumed.")
            minor = minor if minor is not None else self._minor_by_ids()
        elif "cells" in self._value and major in (2, 3) and "worksheets" not in self._value:
            self._notes.add(
                "wrong_version", f"The file says format {major} but has the shape of format 4: that is read."
            )
            major, minor = 4, self._minor_by_ids()
        elif "cells" not in self._value and major == 4:
            self._notes.add("wrong_version", "The file says format 4 but has the shape of format 3: that is read.")
            major, minor = 3, 0
        if minor is None:
            minor = 0
            if major == 4:
                minor = self._minor_by_ids()
                self._notes.add("no_minor", f"The file does not say its minor format: {minor} is assumed.")
        if major == 4 and minor > 5:
            self._notes.add(
                "newer_minor",
                f"The format 4.{minor} is newer than this program knows (4.5): what it does not know is left out.",
                repair=False,
            )
        return max(major, 1), max(minor, 0)

    def _minor_by_ids(self) -> int:
        cells: list[Any] = self._value.get("cells") or []
        return 5 if any(isinstance(cell, dict) and "id" in cell for cell in cells) else 4

    def _number(self, key: str) -> int | None:
        value: Any = self._value.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        whole = int(float(value)) if isinstance(value, str | float) and _is_number(str(value)) else None
        if whole is not None:
            self._notes.add(f"number_{key}", f"{key} is {value!r}, not a whole number: it is read as {whole}.")
        return whole

    def _oddities(self) -> None:
        odd = self._scanned.oddities
        if odd.duplicates:
            names = ", ".join(repr(key[:40]) for key in dict.fromkeys(odd.duplicates))
            self._notes.add(
                "duplicate_keys",
                f"Keys stand twice in one object ({names}): the last of them counts, and the others are lost when it is saved.",
                repair=False,
            )
        if odd.constants:
            self._notes.add(
                "constants", f"{odd.constants} numbers are NaN or infinite, which JSON does not know: read as null."
            )
        if odd.long_numbers:
            self._notes.add(
                "long_numbers",
                f"{odd.long_numbers} whole numbers have more digits than programs can hold: they are shown as texts.",
                repair=False,
            )

    def _cells(self, raw: list[Any]) -> list[JSON]:
        cells: list[JSON] = []
        for index, cell in enumerate(raw):
            before = self._notes.repairs
            mended = mend_cell(cell, self._notes, index + 1)
            if mended is None:
                continue
            if self._notes.repairs != before or index in self._scanned.odd_cells or index != len(cells):
                self._fresh.add(len(cells))
            cells.append(mended)
        return cells

    def _ids(self, cells: list[JSON], major: int, minor: int) -> bool:
        expected = major == 4 and minor >= 5
        before = [cell.get("id") for cell in cells]
        own = give_ids(cells, self._notes, expected=expected)
        if own and not expected and major == 4:
            self._notes.add(
                "ids_early",
                f"Its cells have ids, which format 4.{minor} does not know: they are kept, and saving raises the format to 4.5.",
            )
        self._fresh |= {
            index
            for index, (cell, old) in enumerate(zip(cells, before, strict=True))
            if cell["id"] != old and (own or expected)
        }
        return own or expected

    def _top(self) -> None:
        extra = [key for key in self._value if key not in _TOP]
        if extra:
            named = ", ".join(repr(key[:40]) for key in extra[:5])
            self._notes.add(
                "extra_top", f"The notebook has keys that do not belong there ({named}): they are left out."
            )


def _is_number(text: str) -> bool:
    return text.strip().replace(".", "", 1).isdecimal() and len(text) < 10
