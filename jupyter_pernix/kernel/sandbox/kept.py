"""Files inside a space that make something run later, outside of the sandbox: they are shown read-only."""

import os
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

KEPT_NAMES = frozenset(
    {
        ".git",
        ".pernix",
        ".mcp.json",
        ".github",
        ".gitlab",
        ".gitlab-ci.yml",
        ".gitmodules",
        ".gitattributes",
        ".husky",
        ".githooks",
        ".vscode",
        ".idea",
        ".devcontainer",
        ".envrc",
        ".ipython",
        ".jupyter",
        ".pre-commit-config.yaml",
        "sitecustomize.py",
        "usercustomize.py",
    }
)
"""Where nobody gives a longer list."""

_DEPTH = 4
_MOST_LOOKED_AT = 20_000
_MOST_KEPT = 500
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "site-packages", ".cache"})


def kept_in(scope: Path, names: Collection[str] = KEPT_NAMES) -> tuple[Path, ...]:
    """What is there of these names (given without case), down to the fourth folder: all of a ``.git``, a file, a folder. Links are
    left out: what one points to is inside and protected by its own name, or outside and not shown. Blocking."""
    found: list[Path] = []
    entries = _walk(scope, frozenset(name.casefold() for name in names))
    for entry in islice(entries, _MOST_LOOKED_AT):
        if entry is not None:
            found.append(entry)
        if len(found) >= _MOST_KEPT:
            break
    return tuple(sorted(found))


def still_plain(scope: Path, path: Path) -> bool:
    """Whether no part of a path below ``scope`` has become a link since."""
    return path.exists() and not any(
        part.is_symlink() for part in (path, *path.parents) if part.is_relative_to(scope) and part != scope
    )


def _walk(scope: Path, names: frozenset[str]) -> Iterator[Path | None]:
    """Each entry, breadth first: its path if it is to be kept."""
    level = [str(scope)]
    for _ in range(_DEPTH):
        following: list[str] = []
        for folder in level:
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                if entry.is_symlink():
                    yield None
                elif entry.name.casefold() in names:
                    yield Path(entry.path)
                else:
                    yield None
                    if entry.is_dir(follow_symlinks=False) and entry.name not in _PASSED_OVER:
                        following.append(entry.path)
        level = following
