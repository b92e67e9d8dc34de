"""Where the agent may go: the folder of its space, and nothing outside, whatever links and dots a path is made of.

A path is judged by where it really leads: links are resolved on the deepest part that exists, and path parts are compared, not
strings. What is found here is opened through ``opening.py``, which does not follow links any more: a link that is put in place
after the decision is refused there.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from ...errors import ToolRetry

PROTECTED = frozenset({".git", ".pernix", "pernix-runs"})
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
    """A path in the space. ``parts`` lead from the root to it without links (none: the root itself); it need not exist."""

    root: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)

    @property
    def name(self) -> str:
        """Path below the root with forward slashes; ``"."`` is the root."""
        return "/".join(self.parts) or "."

    @property
    def protected(self) -> str | None:
        """The protected folder that this is, or is in."""
        return next((part for part in self.parts if part.casefold() in PROTECTED), None)


class Scope:
    """The folder of one space."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    def locate(self, given: str) -> Located:
        """Where ``given`` (relative to the root, or absolute) really leads.

        :raises OutOfScope: if that is outside of the root, or ``given`` is no path
        """
        self._check(given)
        try:
            real = Path(os.path.realpath(self.root / given))
        except OSError as exc:
            raise OutOfScope(given, "was changed while it was looked at") from exc
        if real != self.root and self.root not in real.parents:
            raise OutOfScope(given, "leads outside of the space; use paths relative to the space's folder")
        return Located(root=self.root, parts=real.relative_to(self.root).parts)

    def _check(self, given: str) -> None:
        if "\0" in given:
            raise OutOfScope(given, "contains a NUL character")
        try:
            raw = os.fsencode(given)
        except UnicodeEncodeError as exc:
            raise OutOfScope(given, "is not valid text") from exc
        if len(raw) > _LONGEST_PATH or any(len(part) > _LONGEST_PART for part in raw.split(b"/")):
            raise OutOfScope(given, "is too long")
        if given.startswith("~"):
            raise OutOfScope(given, "starts with '~', which is not expanded; use paths relative to the space's folder")
