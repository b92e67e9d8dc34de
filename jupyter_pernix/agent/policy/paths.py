"""What touching one path means. The path is judged by where it really leads: links are resolved by the caller (``canonical``)."""

import os
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Literal

from .judgement import Effect, Judgement
from .places import (
    HARMLESS_DEVICES,
    SECRET_BELOW_HOME,
    SECRET_TREES,
    SHARED,
    SYSTEM_TREES,
    TOO_WIDE,
    effects_of_write,
    is_secret_name,
    runs_later,
    steers,
)

How = Literal["read", "write", "delete"]


def canonical(path: str, *, folder: str) -> str:
    """The absolute path that ``path`` really is now: links resolved on the deepest part that exists.

    :raises ValueError: if it holds a NUL character
    """
    return os.path.realpath(path if path.startswith("/") else f"{folder}/{path}")


def inside(path: str, folder: str) -> bool:
    """Whether a canonical ``path`` is ``folder`` or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def judge_path(path: str, how: How, *, root: str, home: str, as_folder: bool = False) -> Judgement:
    """``path``, ``root`` and ``home`` are canonical and absolute. A read inside of the space is ``auto``; a write or deletion there
    is ``ask`` without a rule, since the mode decides about it, unless the file makes something run later. Outside, what can be given
    is asked with a ``dir:`` or ``file:`` rule; credentials and too wide folders are asked each time. ``as_folder``: it is
    meant as a folder, also if it is not there."""
    reads, writes = ((path,), ()) if how == "read" else ((), (path,))
    if path in HARMLESS_DEVICES:
        return Judgement(ruling="auto", why="nothing is kept", reads=reads, writes=writes)
    if inside(path, root):
        return _inside(path, how, root, home, reads, writes)
    return _outside(path, how, home, reads, writes, as_folder)


def _inside(path: str, how: How, root: str, home: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> Judgement:
    parts = PurePosixPath(os.path.relpath(path, root)).parts if path != root else ()
    name = "/".join(parts) or "."
    if how == "read":
        if is_secret_name(parts) or _of_the_user(path, root, home):
            why = f"{name} looks like it holds secrets"
            return Judgement(ruling="ask_always", why=why, effects=("reads_secret",), grave=True, reads=reads)
        return Judgement(ruling="auto", why="reads inside of the space", reads=reads)
    later = runs_later(parts) or _of_the_user(path, root, home)
    effects = effects_of_write(later, outside=False) if how == "write" else ("deletes",)
    if later:
        why = f"changes {name}: {later}"
        return Judgement(ruling="ask_always", why=why, effects=effects, grave=True, writes=writes)
    if not parts:
        return Judgement(
            ruling="ask_always", why="changes the space's folder itself", effects=effects, grave=True, writes=writes
        )
    steered = steers(parts)
    if steered:
        why = f"changes {name}: {steered}"
        return Judgement(ruling="ask", why=why, rules=(f"file:{path}",), effects=effects, grave=True, writes=writes)
    return Judgement(ruling="ask", why=f"changes {name}", effects=effects, writes=writes)


def _of_the_user(path: str, root: str, home: str) -> str:
    """Why ``path`` is not the space's although it is in it: where the space is the home folder, or holds it, the user's credentials and
    settings are in it as well; "" if it is the space's."""
    places = (f"{home}/{name}" for name in SECRET_BELOW_HOME)
    mine = any(inside(path, place) and inside(place, root) and place != root for place in places)
    return "your credentials or settings are there" if mine else ""


def _outside(
    path: str, how: How, home: str, reads: tuple[str, ...], writes: tuple[str, ...], as_folder: bool
) -> Judgement:
    parts = PurePosixPath(path).parts[1:]
    later = runs_later(parts) if how != "read" else ""
    effects = _effects_outside(how, later)
    never = _never(path, parts, how, home)
    if never:
        secret = ("reads_secret",) if how == "read" and holds_credentials(path, home=home) else ()
        return Judgement(
            ruling="ask_always", why=never, effects=(*effects, *secret), grave=True, reads=reads, writes=writes
        )
    if later:
        why = f"changes {path}: {later}"
        return Judgement(ruling="ask_always", why=why, effects=effects, grave=True, reads=reads, writes=writes)
    does = "reads" if how == "read" else "changes" if how == "write" else "deletes"
    why = f"{does} {path}, which is outside of the space"
    return Judgement(
        ruling="ask",
        why=why,
        rules=(grantable(path, home=home, as_folder=as_folder),),
        effects=effects,
        grave=True,
        reads=reads,
        writes=writes,
    )


def _effects_outside(how: How, later: str) -> tuple[Effect, ...]:
    if how == "read":
        return ("reads_outside",)
    written = effects_of_write(later, outside=True)
    return written if how == "write" else ("deletes", *written[:1])


def _never(path: str, parts: tuple[str, ...], how: How, home: str) -> str:
    """Why ``path`` can never be given for good; "" if it can."""
    if path in TOO_WIDE or path == home or inside(home, path):
        return f"{path} is too wide"
    if holds_credentials(path, home=home):
        return f"{path} may hold credentials"
    if how != "read" and any(inside(path, tree) for tree in SYSTEM_TREES):
        return f"{path} belongs to the machine"
    if inside(path, home) and len(PurePosixPath(path).relative_to(home).parts) and _hidden(path, home):
        return f"{path} is in a hidden place of the home folder"
    return ""


def _hidden(path: str, home: str) -> bool:
    return PurePosixPath(path).relative_to(home).parts[0].startswith(".")


@lru_cache(maxsize=4096)
def holds_credentials(path: str, *, home: str) -> bool:
    """Whether what is at ``path``, or below it, are credentials or the machine's own secrets, as far as names tell."""
    if is_secret_name(PurePosixPath(path).parts[1:]):
        return True
    if any(inside(path, tree) for tree in SECRET_TREES):
        return True
    return any(inside(path, below) or inside(below, path) for below in (f"{home}/{name}" for name in SECRET_BELOW_HOME))


def is_shared(folder: str, *, home: str) -> bool:
    """Whether others put their files there as well."""
    return not inside(folder, home) and any(inside(folder, one) for one in SHARED)


def grantable(path: str, *, home: str, as_folder: bool = False) -> str:
    """The rule that gives ``path``: its folder, or in everybody's folders, in the home folder itself and at the top that one file."""
    it = Path(path)
    folder = path if as_folder or it.is_dir() else str(it.parent)
    if is_shared(folder, home=home) or folder in TOO_WIDE or folder == home or inside(home, folder):
        return f"file:{path}"
    return f"dir:{folder}"
