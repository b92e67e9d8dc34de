"""File names for patterns, as bash finds them. A pattern that is meant for another place than the space is not looked up."""

import os
import re
from dataclasses import dataclass

from ..paths import inside
from .lookalike import hidden
from .parts import Piece, Word

MOST_LOOKED_AT = 4000
MOST_FOUND = 400

_SPECIAL = frozenset("*?[")
_BRACKET = re.compile(r"\[[!^]?\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]/])*\]")


@dataclass(frozen=True, slots=True)
class Matches:
    """``names``: what the pattern becomes; none: bash leaves it as it is written. ``unknown``: why that is not known, else ""."""

    names: tuple[str, ...] = ()
    unknown: str = ""
    outside: bool = False


def matches(word: Word, *, folder: str, root: str) -> Matches:
    """The names that ``word``, all of whose pieces are text, matches in ``folder`` now."""
    search = _Search(root)
    parts = _components(word.pieces)
    absolute = len(parts) > 1 and not _text(parts[0])
    start = "/" if absolute else folder
    try:
        found = search.under(start, parts[1:] if absolute else parts)
    except _Unknown as exc:
        return Matches(unknown=str(exc), outside=exc.outside)
    names = tuple(("/" if absolute else "") + name for name in sorted(found))
    if any(name.startswith("-") for name in names):
        return Matches(unknown="a file's name looks like an option")
    if any(hidden(name) for name in names):
        return Matches(unknown="a file's name holds characters that hide something")
    return Matches(names)


class _Unknown(Exception):
    def __init__(self, why: str, *, outside: bool = False) -> None:
        self.outside = outside
        super().__init__(why)


@dataclass(slots=True)
class _Search:
    root: str
    looked_at: int = 0

    def under(self, folder: str, parts: list[list[Piece]]) -> list[str]:
        """Names below ``folder`` that match one component after the other."""
        found = [""]
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            following: list[str] = []
            for before in found:
                following += self._one(folder, before, part, last=last, fixed=_is_fixed(parts, index))
            found = following
            if len(found) > MOST_FOUND:
                raise _Unknown("a pattern matches too many names")
        return found

    def _one(self, folder: str, before: str, part: list[Piece], *, last: bool, fixed: bool) -> list[str]:
        """``fixed``: no pattern stands before; one that is looked for behind a link that another has found is judged by what it finds."""
        text = _text(part)
        if not _is_pattern(part):
            name = before + text
            path = f"{folder.rstrip('/')}/{name}"
            exists = os.path.lexists(path) if last else os.path.isdir(path)  # noqa: PTH112
            return [name if last else name + "/"] if exists else []
        path = os.path.realpath(f"{folder.rstrip('/')}/{before}")
        if fixed and not inside(path, self.root):
            raise _Unknown("a pattern looks for names outside of the space", outside=True)
        pattern = _expression(part)
        # older bash lets `.*` match `.` and `..` as well
        listed = self._names(path) + ([".", ".."] if text.startswith(".") else [])
        names = [name for name in listed if (text.startswith(".") or name[0] != ".") and pattern.match(name)]
        if last:
            return [before + name for name in names]
        return [before + name + "/" for name in names if os.path.isdir(f"{path}/{name}")]  # noqa: PTH112

    def _names(self, path: str) -> list[str]:
        try:
            with os.scandir(path) as entries:
                names = [entry.name for entry in entries]
        except OSError:
            return []
        self.looked_at += len(names)
        if self.looked_at > MOST_LOOKED_AT:
            raise _Unknown("a pattern looks at too many names")
        return names


def _components(pieces: tuple[Piece, ...]) -> list[list[Piece]]:
    parts: list[list[Piece]] = [[]]
    for piece in pieces:
        first, *others = piece.text.split("/")
        parts[-1].append(Piece("text", first, piece.quoted))
        parts += [[Piece("text", other, piece.quoted)] for other in others]
    return parts


def _text(part: list[Piece]) -> str:
    return "".join(piece.text for piece in part)


def _is_pattern(part: list[Piece]) -> bool:
    return any(not piece.quoted and set(piece.text) & _SPECIAL for piece in part)


def _is_fixed(parts: list[list[Piece]], index: int) -> bool:
    return not any(_is_pattern(part) for part in parts[:index])


def _expression(part: list[Piece]) -> re.Pattern[str]:
    """At least all that bash would match: what stands in brackets counts as any character."""
    out = ""
    for piece in part:
        out += re.escape(piece.text) if piece.quoted else _unquoted(piece.text)
    return re.compile(out + r"\Z", re.DOTALL)


def _unquoted(text: str) -> str:
    out, at = "", 0
    while at < len(text):
        character = text[at]
        bracket = _BRACKET.match(text, at) if character == "[" else None
        if bracket is not None:
            out, at = out + ".", bracket.end()
            continue
        if character == "*":
            while text[at + 1 : at + 2] == "*":
                at += 1
            out += ".*"
        else:
            out += "." if character == "?" else re.escape(character)
        at += 1
    return out
