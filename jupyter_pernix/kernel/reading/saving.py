"""A notebook that was read and then changed → the bytes of its file: in the file's own style, and with every part that did not change
as it stands there, so that a diff shows what was changed and nothing else. Pure."""

from collections.abc import Mapping
from typing import cast

from ...records import JSON
from .result import Origin, Reading
from .scan import Scanned
from .style import cell_in_style, dump


def save_bytes(reading: Reading, notebook: JSON, *, keep_ids: bool = False) -> bytes:
    """What the file should hold so that reading it gives ``notebook``, an edited copy of ``reading.notebook``.

    The minor format stays as it is, unless ids make 4.5 necessary: the file has some already, or ``keep_ids`` says that those which
    were given here shall last. Without a change and without a repair these are the very bytes that were read.

    :raises ValueError: if the file was refused
    """
    if reading.origin is None or reading.notebook is None:
        raise ValueError(f"{reading.name or 'the file'} was refused, so there is nothing to save over it")
    mended = any(note.repair for note in reading.notes)
    if notebook == reading.notebook and not mended and not keep_ids and reading.major == 4:
        return reading.origin.content
    return _Saver(reading, reading.origin, notebook, keep_ids=keep_ids).body().encode()


def saving_changes(reading: Reading, *, keep_ids: bool = False) -> list[str]:
    """What saving would change in the file beside the edits themselves, a sentence each; empty: nothing."""
    if reading.origin is None:
        return []
    said: list[str] = []
    if reading.major < 4:
        said.append(f"The file becomes format 4.5; it is format {reading.major} now.")
    elif (reading.origin.own_ids or keep_ids) and reading.minor < 5:
        said.append(f"The file becomes format 4.5, which has cell ids; it is format 4.{reading.minor} now.")
    elif reading.minor > 5:
        said.append(f"The file becomes format 4.5; it is format 4.{reading.minor} now.")
    repairs = [note.text for note in reading.notes if note.repair]
    if repairs:
        said.append("What was mended is written as it was read:")
    return [*said, *repairs]


class _Saver:
    def __init__(self, reading: Reading, origin: Origin, notebook: JSON, *, keep_ids: bool) -> None:
        self._reading = reading
        self._origin = origin
        self._notebook = notebook
        self._style = origin.style
        self._with_ids = origin.own_ids or keep_ids or reading.major < 4
        shown = cast(JSON, reading.notebook)["cells"]
        self._index = {cell["id"]: index for index, cell in enumerate(shown)}
        self._shown: list[JSON] = shown

    def body(self) -> str:
        minor = min(max(self._reading.minor, 5 if self._with_ids else 0), 5) if self._reading.major == 4 else 5
        values: dict[str, str] = {"cells": self._cells(), "metadata": self._metadata()}
        values |= {"nbformat": "4", "nbformat_minor": str(minor)}
        scanned = self._origin.scanned
        if scanned is None or set(scanned.members) != set(values) or scanned.oddities.duplicates:
            return self._anew(values)
        return _spliced(scanned, values) if scanned.text.strip() else self._anew(values)

    def _anew(self, values: Mapping[str, str]) -> str:
        style, scanned = self._style, self._origin.scanned
        order = [key for key in scanned.members if key in values] if scanned is not None else []
        keys = [*order, *(key for key in values if key not in order)]
        gap = style.newline + style.indent if style.indent else ""
        members = (style.item + gap if gap else style.item).join(f'"{key}"{style.key}{values[key]}' for key in keys)
        return f"{{{gap}{members}{style.newline if gap else ''}}}{style.end}"

    def _metadata(self) -> str:
        scanned, metadata = self._origin.scanned, self._notebook["metadata"]
        unchanged = metadata == cast(JSON, self._reading.notebook)["metadata"]
        if scanned is not None and unchanged and not self._origin.metadata_fresh and "metadata" in scanned.members:
            span = scanned.members["metadata"]
            return scanned.text[span.start : span.end]
        return dump(metadata, self._style, 1)

    def _cells(self) -> str:
        style, scanned = self._style, self._origin.scanned
        cells = cast(list[JSON], self._notebook["cells"])
        texts = [self._cell(cell) for cell in cells]
        if scanned is not None and scanned.cells and texts:
            return _joined(scanned, texts)
        if not texts or not style.indent:
            return f"[{style.item.join(texts)}]"
        gap = style.newline + style.indent * 2
        return f"[{gap}{f',{gap}'.join(texts)}{style.newline}{style.indent}]"

    def _cell(self, cell: JSON) -> str:
        index = self._index.get(cell["id"])
        scanned = self._origin.scanned
        if index is None:
            return self._dumped(cell_in_style(cell, before=None, shown=None, style=self._style, with_id=self._with_ids))
        raw = self._origin.cells[index]
        same = cell == self._shown[index]
        has_id = "id" in raw and (self._origin.own_ids or not self._with_ids)
        if scanned is not None and same and index not in self._origin.fresh and has_id:
            span = scanned.cells[index]
            return scanned.text[span.start : span.end]
        made = cell_in_style(cell, before=raw, shown=self._shown[index], style=self._style, with_id=self._with_ids)
        return self._dumped(made)

    def _dumped(self, cell: JSON) -> str:
        return dump(cell, self._style, 2)


def _joined(scanned: Scanned, texts: list[str]) -> str:
    """The list of cells, with the blanks and commas that stand in the file."""
    first, last, span = scanned.cells[0], scanned.cells[-1], scanned.members["cells"]
    head = scanned.text[span.start : first.start]
    tail = scanned.text[last.end : span.end]
    several = len(scanned.cells) > 1
    between = scanned.text[first.end : scanned.cells[1].start] if several else f",{head[1:]}"
    return head + between.join(texts) + tail


def _spliced(scanned: Scanned, values: Mapping[str, str]) -> str:
    """The file's text with the values of its top-level keys replaced."""
    pieces: list[str] = []
    done = 0
    for key, span in sorted(scanned.members.items(), key=lambda member: member[1].start):
        pieces += [scanned.text[done : span.start], values[key]]
        done = span.end
    return "".join([*pieces, scanned.text[done:]])
