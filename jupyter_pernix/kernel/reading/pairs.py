"""A notebook and the text file that Jupytext keeps beside it. Pure, but for ``read_file``."""

import re
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

from ...records import JSON
from .reader import read_notebook
from .result import Note, Reading

_MARK = re.compile(r"^(?://|--|#|%|;)+\s*%%(?P<rest>.*)$")


def read_file(path: Path) -> Reading:
    """Read a notebook file, and look at what it is paired with (blocking).

    :raises OSError: if it cannot be read
    """
    reading = read_notebook(path.read_bytes(), name=path.name)
    notes: list[Note] = []
    for pair in paired_files(reading):
        other = path.parent / pair
        try:
            text = other.read_text(encoding="utf-8")
            newer = other.stat().st_mtime_ns > path.stat().st_mtime_ns
        except (OSError, UnicodeDecodeError):
            continue
        note = pair_note(reading, pair, text, newer=newer)
        if note is not None:
            notes.append(note)
    return replace(reading, notes=(*reading.notes, *notes)) if notes else reading


def paired_files(reading: Reading) -> list[str]:
    """Paths, relative to the notebook's folder, of the text files that Jupytext keeps in step with it; they need not exist."""
    notebook = reading.notebook
    if notebook is None or not reading.name:
        return []
    settings: Any = notebook["metadata"].get("jupytext")
    formats: Any = cast(JSON, settings).get("formats") if isinstance(settings, dict) else None
    if not isinstance(formats, str):
        return []
    every = [each.strip() for each in formats.split(",") if each.strip()]
    own = next((each for each in every if _extension(each) == "ipynb"), "ipynb")
    up = [".." for part in PurePosixPath(own).parent.parts if part not in (".", "")] if "//" in own else []
    stem = PurePosixPath(reading.name).stem
    found: list[str] = []
    for each in every:
        extension = _extension(each)
        if extension == "ipynb":
            continue
        folder = each.rpartition("//")[0]
        found.append(str(PurePosixPath(*up, folder, f"{stem}.{extension}")))
    return found


def _extension(form: str) -> str:
    return form.rpartition("//")[2].partition(":")[0].rpartition(".")[2]


def pair_note(reading: Reading, pair: str, text: str, *, newer: bool) -> Note | None:
    """What is to be said about the paired file ``pair`` with the content ``text``. ``newer``: it was changed after the notebook."""
    differs = _difference(reading, pair, text)
    if differs == "":
        return None
    if differs is None:
        if not newer:
            return None
        return Note(
            kind="pair",
            text=f"The paired file {pair} is newer than the notebook; whether it differs was not found out.",
        )
    when = "is newer and differs" if newer else "differs"
    return Note(
        kind="pair",
        text=f"The paired file {pair} {when} from the notebook ({differs}): bring them together first (jupytext --sync), or one of them "
        "is lost.",
    )


def pair_left_behind(reading: Reading) -> list[str]:
    """What to say when the notebook is saved without Jupytext."""
    return [
        f"The paired file {pair} is not changed with it; run jupytext --sync to bring it up to date."
        for pair in paired_files(reading)
    ]


def _difference(reading: Reading, pair: str, text: str) -> str | None:
    """In which code cell they first differ, "" if in none; ``None``: the form of the text file is not known here."""
    cells = percent_cells(text)
    if cells is None:
        return None
    ours = [_bare(cell["source"]) for cell in cast(JSON, reading.notebook)["cells"] if cell["cell_type"] == "code"]
    for number, (one, two) in enumerate(zip(ours, cells, strict=False), 1):
        if one != two:
            line = next((t for o, t in _lines(one, two) if o != t), "")
            return f"first in code cell {number}: {line.strip()[:80]!r} there"
    if len(ours) != len(cells):
        return f"it has {len(cells)} code cells, the notebook {len(ours)}"
    return ""


def _lines(one: str, two: str) -> list[tuple[str, str]]:
    left, right = one.split("\n"), two.split("\n")
    longest = max(len(left), len(right))
    left += [""] * (longest - len(left))
    right += [""] * (longest - len(right))
    return list(zip(left, right, strict=True))


def percent_cells(text: str) -> list[str] | None:
    """The code cells of a script in the percent format; ``None``: it is not in that."""
    lines = text.replace("\r\n", "\n").split("\n")
    if not any(_MARK.match(line) for line in lines):
        return None
    cells: list[str] = []
    current: list[str] | None = None
    for line in lines:
        mark = _MARK.match(line)
        if mark is None:
            if current is not None:
                current.append(line)
            continue
        if current is not None:
            cells.append(_bare("\n".join(current)))
        is_code = not re.search(r"\[(markdown|md|raw)\]", mark["rest"])
        current = [] if is_code else None
    if current is not None:
        cells.append(_bare("\n".join(current)))
    return cells


def _bare(source: str) -> str:
    """Code as it is compared: magics are comments in a script."""
    lines = [re.sub(r"^# ([%!])", r"\1", line.rstrip()) for line in source.replace("\r\n", "\n").strip().split("\n")]
    return "\n".join(lines)
