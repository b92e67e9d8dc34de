"""Deny rules, matched against every command that a line might run and every path that it is seen to touch."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..paths import inside
from .parts import Word

_TAKE_A_VALUE: dict[str, frozenset[str]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"}),
}
"""Options in front of the subcommand that take the next word; of other programs each option may."""

_ALIKE: dict[str, str] = {"recursive": "r", "R": "r", "force": "f", "dir": "d", "verbose": "v", "interactive": "i"}
_TOOL = re.compile(r"(?:[\w-]+:)?([\w-]+)\.[\w.-]+\Z")
_MARKS = re.compile(r"['\"\\\n]|\$(?=['\"])")
_COMPUTED = ("$'", "$(", "${", "`", "$[")


@dataclass(frozen=True, slots=True)
class _Words:
    rule: str
    words: tuple[str, ...]
    flags: frozenset[str]


@dataclass(slots=True)
class Denials:
    """The user's deny rules for one space."""

    rules: Sequence[str]
    root: str
    home: str
    _words: list[_Words] = field(init=False)
    _paths: list[tuple[str, str, str]] = field(init=False)
    _connectors: list[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self._words, self._paths, self._connectors = [], [], []
        for rule in self.rules:
            kind, colon, rest = rule.partition(":")
            if colon and kind in ("write", "read", "file", "dir"):
                self._paths += [(rule, "read" if kind == "read" else "write", path) for path in self._places(rest)]
                if kind in ("file", "dir"):
                    self._paths += [(rule, "read", path) for path in self._places(rest)]
            elif rule.endswith(".*"):
                self._connectors.append((rule, rule[:-2]))
            elif kind not in ("tool", "exact") and rule.split():
                self._words.append(_parsed(rule))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def of_line(self, line: str) -> str:
        """The rule that denies this very line, or the command of that one text; "" if none does."""
        return next((rule for rule in self.rules if rule == f"exact:{line.strip()}"), "")

    def of_words(self, words: Sequence[Word]) -> str:
        """The rule that denies a command; "" if none does. Words that are not known count as what they are written as."""
        texts = [word.text if word.text is not None else word.raw for word in words]
        if not texts:
            return ""
        name = texts[0].rpartition("/")[2]
        for one in self._words:
            if one.words[0] in (name, texts[0]) and _applies(one, name, texts[1:]):
                return one.rule
        tool = _TOOL.match(texts[0])
        return next((rule for rule, connector in self._connectors if tool and tool[1] == connector), "")

    def of_path(self, path: str, how: str) -> str:
        """The rule that denies touching a canonical path; "" if none does."""
        needed = "read" if how == "read" else "write"
        return next((rule for rule, kind, denied in self._paths if kind == needed and inside(path, denied)), "")

    def of_text(self, text: str) -> str:
        """The rule that may deny a line which cannot be taken apart: its first word is seen in it, or could be computed there."""
        shown = _MARKS.sub("", text)
        computed = any(mark in text for mark in _COMPUTED)
        for one in self._words:
            if computed or re.search(rf"(?<![\w-]){re.escape(one.words[0])}(?![\w-])", shown):
                return one.rule
        for rule, _, path in self._paths:
            name = re.escape(os.path.basename(path))  # noqa: PTH119
            if computed or re.search(rf"(?<![\w.-]){name}(?![\w-])", shown):
                return rule
        return ""

    def _places(self, given: str) -> Iterator[str]:
        path = self.home + given[1:] if given == "~" or given.startswith("~/") else given.strip()
        absolute = os.path.normpath(os.path.join(self.root, path))  # noqa: PTH118
        yield absolute
        if (real := os.path.realpath(absolute)) != absolute:
            yield real


def _parsed(rule: str) -> _Words:
    words = rule.split()
    return _Words(rule, tuple(word for word in words if not word.startswith("-")) or (words[0],), _flags(words))


def _flags(words: Iterable[str]) -> frozenset[str]:
    """Options one by one, whatever their spelling and order; those that mean the same are written alike."""
    found: set[str] = set()
    for word in words:
        if word == "--":
            break
        if word.startswith("--"):
            name = word[2:].partition("=")[0]
            whole = [long for long in _ALIKE if len(long) > 1 and long.startswith(name)] if name else []
            found.add(_ALIKE[whole[0]] if len(whole) == 1 else _ALIKE.get(name, name))
        elif word.startswith("-"):
            found.update(_ALIKE.get(letter, letter) for letter in word[1:])
            found.add(word[1:])
    return frozenset(found)


def _applies(one: _Words, name: str, args: list[str]) -> bool:
    if one.flags and not one.flags - _single(one) <= _flags(args):
        return False
    return _follows(one.words[1:], name, args)


def _single(one: _Words) -> frozenset[str]:
    """Bundles as they are written: their letters are in the set one by one already."""
    return frozenset(
        flag for flag in one.flags if len(flag) > 1 and any(f"-{flag}" == word for word in one.rule.split())
    )


def _follows(wanted: tuple[str, ...], name: str, args: list[str]) -> bool:
    """Whether the first words that are no options are ``wanted``. Where an option may take the next word, either is tried."""
    known = _TAKE_A_VALUE.get(name)
    waiting, seen = [(0, 0)], set[tuple[int, int]]()
    while waiting:
        place = at, matched = waiting.pop()
        if matched == len(wanted):
            return True
        if at >= len(args) or place in seen:
            continue
        seen.add(place)
        word = args[at]
        if word.startswith("-") and word != "-":
            takes = word in known if known is not None else "=" not in word
            if not takes or known is None:
                waiting.append((at + 1, matched))
            if takes:
                waiting.append((at + 2, matched))
        elif word == wanted[matched]:
            waiting.append((at + 1, matched + 1))
        elif matched == 0 and name == "cargo" and word.startswith("+"):
            waiting.append((at + 1, matched))
    return False
