"""Folders that an interpreter needs, wherever it is installed: a virtual environment, the Python below it, conda's folder."""

import os
import site
from collections.abc import Iterator
from pathlib import Path

_MOST_LINKS = 16
_USR = Path("/usr")


def needed(program: str, *, path: str, scope: Path, home: Path) -> tuple[Path, ...]:
    """For a program (a path, or a name to be found on ``path``). What stands in the scope is trusted with nothing: a file there cannot
    name a folder that is no installation. Blocking."""
    found = _found(program, path)
    if found is None:
        return ()
    shown: list[Path] = []
    for step in _links(found):
        prefix = step.parent.parent if step.parent.name in ("bin", "sbin") else None
        if prefix is not None and _is_installation(prefix, home):
            shown.append(prefix)
        elif not step.is_relative_to(_USR) and not found.is_relative_to(scope) and not step.is_symlink():
            shown.append(step)
        base = _base(prefix) if prefix is not None else None
        if base is not None and _is_installation(base, home):
            shown.append(base)
    shown += [path.resolve() for path in shown]
    outside = (path for path in shown if not path.is_relative_to(scope) and not path.is_relative_to(_USR))
    return tuple(dict.fromkeys(outside))


def user_packages() -> tuple[Path, ...]:
    """Packages that ``pip install --user`` put below the home."""
    folder = Path(site.getusersitepackages())
    return (folder,) if site.ENABLE_USER_SITE and folder.is_dir() else ()


def _found(program: str, path: str) -> Path | None:
    if os.sep in program:
        return Path(program)
    for folder in path.split(os.pathsep):
        candidate = Path(folder) / program
        if folder.startswith("/") and candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    return None


def _links(program: Path) -> Iterator[Path]:
    """The path, what it points to, what that points to."""
    for _ in range(_MOST_LINKS):
        yield program
        if not program.is_symlink():
            return
        program = Path(os.path.normpath(program.parent / program.readlink()))


def _base(prefix: Path) -> Path | None:
    """The installation on which a virtual environment is built."""
    try:
        lines = (prefix / "pyvenv.cfg").read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip().startswith("/"):
            return Path(os.path.normpath(value.strip())).parent
    return None


def _is_installation(prefix: Path, home: Path) -> bool:
    """It looks like one, and is not so wide that it would show the home with it."""
    if home.is_relative_to(prefix) or prefix in (home / ".local", _USR, Path("/usr/local")):
        return False
    return (
        (prefix / "pyvenv.cfg").is_file()
        or (prefix / "conda-meta").is_dir()
        or (prefix / "lib" / "node_modules").is_dir()
        or any(prefix.glob("lib*/python3*/os.py"))
        or any(prefix.glob("lib*/pypy3*/os.py"))
    )
