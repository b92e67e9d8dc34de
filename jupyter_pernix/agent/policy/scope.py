"""Where the agent may go: the folder of its space, and what a person has opened to one call outside of it, whatever links and dots a
path is made of.

A path is judged by where it really leads: links are resolved on the deepest part that exists, and path parts are compared, not
strings. What is found here is opened through ``opening.py``, which does not follow links any more: a link that is put in place
after the decision is refused there.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...errors import ToolRetry

OWNED = frozenset({".git", ".pernix", "pernix-runs"})
"""Folders that only their owners write: the repository's own data, ours, and the run notebooks. Compared without case."""

_LONGEST_PART = 255
_LONGEST_PATH = 4000


class OutOfScope(ToolRetry):
    """The path leads out of the space, or cannot be a path."""

    def __init__(self, given: str, reason: str) -> None:
        self.given = given
        super().__init__(f"Not done: the path {given[:200]!r} {reason}.")


@dataclass(frozen=True, kw_only=True)
class Located:
    """A path in the space. ``parts`` lead from the root to it without links (none: the root itself); it need not exist. ``outside``: it
    is none of the space's; ``root`` is then the root of the file system."""

    root: Path
    parts: tuple[str, ...]
    outside: bool = False

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)

    @property
    def name(self) -> str:
        """Path below the root with forward slashes, ``"."`` is the root; of one outside the whole path."""
        return str(self.path) if self.outside else "/".join(self.parts) or "."

    @property
    def owned(self) -> str | None:
        """The folder with an owner of its own that this is, or is in."""
        return next((part for part in self.parts if part.casefold() in OWNED), None)


class Scope:
    """The folder of one space. ``opened``: canonical paths outside of it that may be used as well, with what is below them."""

    def __init__(self, root: Path, *, opened: Iterable[str] = (), home: str = "") -> None:
        self.root = Path(os.path.realpath(root))
        self._opened = frozenset(opened)
        self._home = home

    def opening(self, paths: Iterable[str], *, home: str) -> "Scope":
        """This scope with ``paths`` opened."""
        return Scope(self.root, opened=paths, home=home)

    def locate(self, given: str) -> Located:
        """Where ``given`` (relative to the root, or absolute) really leads.

        :raises OutOfScope: if that is outside of the root and not opened, or ``given`` is no path
        """
        located = self.find(given, home=self._home)
        if located.outside and not self._is_open(str(located.path)):
            raise OutOfScope(given, "leads outside of the space; use paths relative to the space's folder")
        return located

    def find(self, given: str, *, home: str) -> Located:
        """Where ``given`` really leads, be it in the space or not. ``~/`` is the home folder, unless something in the space has that name.

        :raises OutOfScope: if it is no path
        """
        self._check(given)
        tilde, _, rest = given.partition("/")
        if tilde == "~" and not (self.root / "~").exists():
            if not home:
                raise OutOfScope(given, "starts with '~'; use paths relative to the space's folder")
            given = f"{home}/{rest}"
        try:
            real = Path(os.path.realpath(self.root / given))
        except OSError as exc:
            raise OutOfScope(given, "was changed while it was looked at") from exc
        if real != self.root and self.root not in real.parents:
            return Located(root=Path(real.anchor), parts=real.parts[1:], outside=True)
        return Located(root=self.root, parts=real.relative_to(self.root).parts)

    def _is_open(self, path: str) -> bool:
        return any(path == one or path.startswith(one.rstrip("/") + "/") for one in self._opened)

    def _check(self, given: str) -> None:
        if "\0" in given:
            raise OutOfScope(given, "contains a NUL character")
        try:
            raw = os.fsencode(given)
        except UnicodeEncodeError as exc:
            raise OutOfScope(given, "is not valid text") from exc
        if len(raw) > _LONGEST_PATH or any(len(part) > _LONGEST_PART for part in raw.split(b"/")):
            raise OutOfScope(given, "is too long")
        if given.startswith("~") and given.partition("/")[0] != "~":
            raise OutOfScope(
                given, "starts with '~' and a name, which is not expanded; use paths relative to the space's folder"
            )
