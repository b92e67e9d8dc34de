"""Where a line stands between two of its commands."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..paths import inside


@dataclass(frozen=True, slots=True)
class State:
    """``folder``: canonical. ``certain`` false: it may be another one. ``variables``: those that are known. ``put``: canonical paths where
    an earlier part may have put something else, a link for example. ``written``: files that an earlier part wrote."""

    folder: str
    variables: Mapping[str, str]
    certain: bool = True
    put: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    def at(self, folder: str) -> "State":
        return replace(self, folder=folder, variables={**self.variables, "PWD": folder})

    def lost(self) -> "State":
        return replace(self.without("PWD"), certain=False)

    def without(self, *names: str) -> "State":
        """Some variables are no longer known."""
        kept = {name: value for name, value in self.variables.items() if name not in names}
        return replace(self, variables=kept)

    def knowing(self, name: str, value: str) -> "State":
        return replace(self, variables={**self.variables, name: value})

    def with_put(self, paths: Iterable[str]) -> "State":
        return replace(self, put=(*self.put, *paths))

    def with_written(self, paths: Iterable[str]) -> "State":
        return replace(self, written=(*self.written, *paths))

    def beside(self, inner: "State") -> "State":
        """After something that ran in a shell of its own: only what it did to files lasts."""
        return replace(self, put=inner.put, written=inner.written)

    def either(self, other: "State") -> "State":
        """After something that may have been run or not."""
        shared = {name: value for name, value in self.variables.items() if other.variables.get(name) == value}
        merged = replace(
            self, variables=shared, put=_joined(self.put, other.put), written=_joined(self.written, other.written)
        )
        same = self.folder == other.folder and self.certain and other.certain
        return merged if same else merged.lost()

    def may_be_other(self, joined: str, real: str) -> bool:
        """Whether a path, given as ``joined`` and now at ``real``, leads through a place where something may have been put."""
        if not self.put:
            return False
        parts = joined.split("/")
        ways = {os.path.realpath("/".join(parts[: end + 1]) or "/") for end in range(len(parts))}
        return any(inside(way, put) for put in self.put for way in (*ways, real))


def _joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))
