"""Titles and file names that are made from what the user wrote. Pure."""

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from pathlib import PurePosixPath

TITLE_LENGTH = 60
_SLUG_LENGTH = 48


def plain_line(text: str) -> str:
    """``text`` as one line without control and invisible formatting characters."""
    return " ".join("".join(" " if unicodedata.category(c) in ("Cc", "Cf") else c for c in text).split())


def title_from(text: str) -> str:
    """The first line that says something, at most 60 characters."""
    line = next((line for line in map(plain_line, text.splitlines()) if line), "")
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def slug(title: str) -> str:
    """``title`` as part of a file name: lower-case ASCII letters, digits and dashes, never empty."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    short = ""
    for word in words:
        longer = f"{short}-{word}" if short else word[:_SLUG_LENGTH]
        if len(longer) > _SLUG_LENGTH:
            break
        short = longer
    return short or "session"


def record_path(*, space_root: str, records_dir: str, title: str, day: date, taken: Callable[[str], bool]) -> str:
    """Path of a new run notebook relative to the server root, such that ``taken(path)`` is false."""
    folder = PurePosixPath(space_root) / records_dir
    stem = f"{day.isoformat()}-{slug(title)}"
    number = 1
    while True:
        path = str(folder / (f"{stem}.ipynb" if number == 1 else f"{stem}-{number}.ipynb"))
        if not taken(path):
            return path
        number += 1
