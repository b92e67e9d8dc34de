"""Texts of a session that are made once and then stay the same bytes."""

import os
from collections.abc import Callable
from pathlib import Path


def kept_or_new(path: Path, make: Callable[[], str]) -> str:
    """The content of ``path``; if there is none, what ``make`` gives, kept there from now on. Readers see all of it or nothing."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8", newline="")
    temporary.replace(path)
    return text
