"""Whether a program that follows links below a folder would come by one that leads out of the space."""

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from ..parts import Call

_LOOKED_AT = 400
"""How many files are looked at before the answer is that it is not known."""


def stays(call: Call, folders: Iterable[str], *, patterns: tuple[str, ...] = ()) -> bool:
    """Whether none of the links below ``folders``, of those whose names match all ``patterns``, leads out of the space; ``False`` as well
    if there are too many files to look at."""
    root = Path(call.root).resolve()
    seen = 0
    for folder in folders:
        for parent, below, files in os.walk(Path(call.folder, folder)):
            for name in (*below, *files):
                seen += 1
                path = Path(parent, name)
                if seen > _LOOKED_AT:
                    return False
                if all(fnmatchcase(name, pattern) for pattern in patterns) and _leads_out(path, root):
                    return False
    return True


def _leads_out(path: Path, root: Path) -> bool:
    try:
        return path.is_symlink() and not path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return True
