"""JSON text of a notebook → its value, and where in the text its parts stand, so that what does not change can be written back as it
is. Pure."""

import json
import math
from dataclasses import dataclass, field
from typing import Any, cast

_MOST_DIGITS = 4000
"""Python refuses to read longer whole numbers."""
_DEEPEST = 150
_SPACE = " \t\n\r"


@dataclass(frozen=True)
class Span:
    """``text[start:end]`` is the value's JSON."""

    start: int
    end: int


@dataclass(kw_only=True)
class Oddities:
    """What is not wrong enough to stop reading. ``duplicates``: keys that one object has twice."""

    duplicates: list[str] = field(default_factory=list[str])
    constants: int = 0
    long_numbers: int = 0


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """``members``: where the value of each top-level key stands; of a key that is there twice, the last. ``cells``: where each
    element of the top-level list ``cells`` stands; ``odd_cells``, ``odd_members``: those with NaN or an infinity in them."""

    text: str
    value: Any
    members: dict[str, Span]
    cells: list[Span]
    odd_cells: frozenset[int]
    odd_members: frozenset[str]
    oddities: Oddities


class TooDeep(ValueError):
    """Lists and objects are nested too deep to be a notebook's."""


class Broken(ValueError):
    """Not JSON. ``partial``: what had been read until then: whole cells, whole members."""

    def __init__(self, reason: str, position: int, cells: list[Any], members: dict[str, Any]) -> None:
        self.reason, self.position = reason, position
        self.cells, self.members = cells, members
        super().__init__(f"{reason} at {position}")


def depth_fits(value: object, room: int = _DEEPEST) -> bool:
    if room == 0:
        return False
    if isinstance(value, dict):
        return all(depth_fits(item, room - 1) for item in cast(dict[str, object], value).values())
    if isinstance(value, list):
        return all(depth_fits(item, room - 1) for item in cast(list[object], value))
    return True


def scan(text: str) -> Scanned:
    """:raises Broken: if it is not JSON, with the place
    :raises TooDeep: if no reader should follow it"""
    return _Scanner(text).whole()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._odd = Oddities()
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._pairs,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._int,
            strict=True,
        )
        self._members: dict[str, Any] = {}
        self._spans: dict[str, Span] = {}
        self._cells: list[Any] = []
        self._cell_spans: list[Span] = []
        self._odd_cells: set[int] = set()
        self._odd_members: set[str] = set()

    def whole(self) -> Scanned:
        try:
            start = self._skip(0)
            if self._text[start : start + 1] == "{":
                end = self._object(start)
                value: Any = self._members
            else:
                value, end = self._value(start)
            if self._skip(end) != len(self._text):
                raise json.JSONDecodeError("Extra data", self._text, self._skip(end))
        except json.JSONDecodeError as exc:
            raise Broken(exc.msg, exc.pos, self._cells, self._members) from exc
        except RecursionError as exc:
            raise TooDeep from exc
        if not depth_fits(value):
            raise TooDeep
        return Scanned(
            text=self._text,
            value=value,
            members=self._spans,
            cells=self._cell_spans,
            odd_cells=frozenset(self._odd_cells),
            odd_members=frozenset(self._odd_members),
            oddities=self._odd,
        )

    def _object(self, start: int) -> int:
        """The top-level object; its members one by one, since each must be found again."""
        at = self._skip(start + 1)
        if self._text[at : at + 1] == "}":
            return at + 1
        while True:
            if self._text[at : at + 1] != '"':
                raise json.JSONDecodeError("Expecting property name enclosed in double quotes", self._text, at)
            key, at = self._value(at)
            at = self._expect(":", at)
            if key in self._members:
                self._odd.duplicates.append(key)
            constants = self._odd.constants
            if key == "cells" and self._text[at : at + 1] == "[":
                end = self._list(at)
                self._members[key] = self._cells
            else:
                self._members[key], end = self._value(at)
            if self._odd.constants != constants:
                self._odd_members.add(key)
            self._spans[key] = Span(at, end)
            at = self._skip(end)
            if self._text[at : at + 1] == "}":
                return at + 1
            at = self._expect(",", at)

    def _list(self, start: int) -> int:
        self._cells, self._cell_spans, self._odd_cells = [], [], set()
        at = self._skip(start + 1)
        if self._text[at : at + 1] == "]":
            return at + 1
        while True:
            constants = self._odd.constants
            value, end = self._value(at)
            if self._odd.constants != constants:
                self._odd_cells.add(len(self._cells))
            self._cells.append(value)
            self._cell_spans.append(Span(at, end))
            at = self._skip(end)
            if self._text[at : at + 1] == "]":
                return at + 1
            at = self._expect(",", at)

    def _value(self, at: int) -> tuple[Any, int]:
        return self._decoder.raw_decode(self._text, at)

    def _expect(self, mark: str, at: int) -> int:
        at = self._skip(at)
        if self._text[at : at + 1] != mark:
            raise json.JSONDecodeError(f"Expecting '{mark}' delimiter", self._text, at)
        return self._skip(at + 1)

    def _skip(self, at: int) -> int:
        text = self._text
        while at < len(text) and text[at] in _SPACE:
            at += 1
        return at

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            self._odd.duplicates += [key for key, _ in pairs if key in seen or seen.add(key)]
        return made

    def _constant(self, _: str) -> None:
        self._odd.constants += 1

    def _float(self, text: str) -> float | None:
        value = float(text)
        if math.isfinite(value):
            return value
        self._odd.constants += 1
        return None

    def _int(self, text: str) -> int | float | str:
        if len(text) <= 18:
            return int(text)
        if len(text) > _MOST_DIGITS:
            self._odd.long_numbers += 1
            return text
        value = int(text)
        if -(2**63) <= value < 2**64:
            return value
        self._odd.long_numbers += 1
        return text
