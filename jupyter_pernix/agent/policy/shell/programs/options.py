"""How a program's words are read: options with and without a value, bundles, ``--option=value``, ``--``; what is not listed is not
known and therefore not harmless.

A ``Spec`` is written as one text, one option a word, its kind as the last character:
``a`` a flag, ``n:`` takes a value, ``color?`` may take one after ``=`` (short: glued), ``f<`` reads the file it is given, ``o>`` writes
it, ``x!`` runs something or takes names that are not known, ``f~`` is no plain reading (asked under the program's name). One letter is a
short option, more a long one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from ..parts import Word

Operands = Literal["files", "text", "none", "pattern", "folders"]
"""What the words that are no options are. ``pattern``: the first is a pattern unless an option gave one. ``folders``: files, ``.``
without any."""


@dataclass(frozen=True, slots=True)
class Spec:
    short: Mapping[str, str]
    long: Mapping[str, str]
    operands: Operands
    numeric: bool
    """``-5`` is a number, not options."""
    glued: bool
    """A short option's value may stand in the same word."""


def word_set(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())


@cache
def spec(text: str, operands: Operands = "files", *, numeric: bool = False, glued: bool = True) -> Spec:
    short: dict[str, str] = {}
    long: dict[str, str] = {}
    for token in text.split():
        kind = token[-1] if len(token) > 1 and token[-1] in ":?<>!~" else ""
        name = token[: len(token) - len(kind)]
        (short if len(name) == 1 else long)[name] = kind
    return Spec(short=short, long=long, operands=operands, numeric=numeric, glued=glued)


@dataclass(slots=True)
class Parsed:
    """``given``: options in their order with their values. ``unknown``: the first option that is not listed as harmless. ``starts``: with
    an option ``!``; ``follows``: with one of kind ``~``."""

    given: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    operands: list[str] = field(default_factory=list[str])
    reads: list[str] = field(default_factory=list[str])
    writes: list[str] = field(default_factory=list[str])
    unknown: str = ""
    starts: str = ""
    follows: str = ""

    def value(self, *names: str) -> str | None:
        return next((value for name, value in reversed(self.given) if name in names), None)

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.given)


def parse(of: Spec, args: tuple[str, ...], *, to_first_operand: bool = False) -> Parsed:
    """``to_first_operand``: options end where the first operand stands, which keeps all that follows."""
    found = Parsed()
    index = 0
    while index < len(args):
        word = args[index]
        index += 1
        if word == "--":
            found.operands.extend(args[index:])
            break
        if word == "-" or not word.startswith("-"):
            found.operands.append(word)
            if to_first_operand:
                found.operands.extend(args[index:])
                break
            continue
        if of.numeric and word[1:].isdecimal():
            continue
        following = args[index] if index < len(args) else None
        takes = _long(of, found, word, following) if word.startswith("--") else _bundle(of, found, word, following)
        index += takes
    return found


def _long(of: Spec, found: Parsed, word: str, following: str | None) -> bool:
    name, equals, value = word[2:].partition("=")
    kind = of.long.get(name)
    if kind is None:
        # a shortened name is what getopt makes of it, but never counts as written out
        near = {kind for long, kind in of.long.items() if long.startswith(name)} if name else set[str]()
        kind = near.pop() if len(near) == 1 else ""
        found.unknown = found.unknown or word.partition("=")[0]
        if equals:
            found.writes.append(value)
    return _take(found, "--" + name, kind, value if equals else None, following)


def _bundle(of: Spec, found: Parsed, word: str, following: str | None) -> bool:
    letters = word[1:]
    for place, letter in enumerate(letters):
        kind = of.short.get(letter)
        rest = letters[place + 1 :]
        if kind is None:
            found.unknown = found.unknown or word
            if rest:
                found.writes.append(rest)
            return False
        if kind in ("", "~"):
            _take(found, "-" + letter, kind, None, None)
            continue
        if rest and not of.glued and not rest.isdecimal():
            found.unknown = found.unknown or word
        return _take(found, "-" + letter, kind, rest or None, following)
    return False


def _take(found: Parsed, name: str, kind: str, value: str | None, following: str | None) -> bool:
    """Notes one option; whether the word that follows is its value."""
    separate = kind in (":", "<", ">") and value is None
    if separate:
        if following is None:
            found.unknown = found.unknown or name
        value = following or ""
        if found.operands and "/" in value:
            found.reads.append(value)  # where options end at the first operand this word is a file
    found.given.append((name, value))
    if kind == "<":
        found.reads.append(value or "")
    elif kind == ">":
        found.writes.append(value or "")
    elif kind == "!":
        found.starts = found.starts or name
    elif kind == "~":
        found.follows = found.follows or name
    elif kind == "" and value is not None:
        found.unknown = found.unknown or name
    return separate


def could_be_option(words: tuple[Word, ...]) -> bool:
    """Whether a glob among ``words`` could turn into an option: its first character is not fixed."""
    return any(word.glob and (word.text or "")[:1] in ("*", "?", "[", "-", "@", "+", "!") for word in words)
