"""What one layer says: read, checked against the tree of settings, and put on top of the layers below."""

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from ..errors import ConfigError
from . import schema
from .places import lines_of
from .schema import KeyPath, Node, Table, dotted
from .values import accepted, as_json, expectation, shown

Source = Literal["default", "user file", "project file", "environment", "command line", "traits"]
"""The layers, lowest first."""

USER_FILE_BYTES = 1 << 20


@dataclass(frozen=True)
class Layer:
    """``where`` is what an error names first; ``places`` says where exactly a key was given. ``text``: its values are text, to be
    read as what is expected. ``lost``: what it gives and does not hold, because a layer below is stricter."""

    source: Source
    where: str
    data: Table
    places: Mapping[KeyPath, str] = field(default_factory=dict[KeyPath, str])
    text: bool = False
    lost: Table = field(default_factory=dict[str, Any])

    def place(self, path: KeyPath) -> str:
        """Where a key, or what it stands in, was given."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return next((place for given, place in self.places.items() if given[: len(path)] == path), "")

    def fault(self, path: KeyPath, sentence: str) -> ConfigError:
        place = self.place(path)
        return ConfigError(self.where, f"{place}: {sentence}" if place else sentence)


# ---- files ------------------------------------------------------------------------------------------------------------------


def read_toml(path: Path, source: Source, *, limit: int = USER_FILE_BYTES, follow: bool = True) -> Layer:
    """One file, unchecked; an absent one says nothing. ``follow`` false: a link is refused.

    :raises ConfigError: if it cannot be read, is too long, or is not TOML
    """
    where = str(path)
    content = _content(path, limit=limit, follow=follow)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ConfigError(where, f"is not text in UTF-8 (byte {exc.start + 1})") from exc
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise ConfigError(where, str(exc) or "nested too deeply") from exc
    return Layer(source, where, data, {key: f"line {line}" for key, line in lines_of(text).items()})


def _content(path: Path, *, limit: int, follow: bool) -> bytes:
    where = str(path)
    if not follow and (path.is_symlink() or path.parent.is_symlink()):
        raise ConfigError(
            where, "is a link, or in a folder that is one; a project's settings must be a file of its own"
        )
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    try:
        handle = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as exc:
        raise ConfigError(where, f"cannot be read: {exc.strerror}") from exc
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ConfigError(where, "is not a file")
    with os.fdopen(handle, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ConfigError(where, f"is longer than {limit // 1024} KiB, which no settings are")
    return content


# ---- checking ---------------------------------------------------------------------------------------------------------------


def checked(tree: Node, layer: Layer) -> Layer:
    """The layer with every key known and every value what it must be.

    :raises ConfigError: naming layer, place and key, with what is right
    """
    data = _table(tree, tree, layer.data, layer)
    return Layer(layer.source, layer.where, data, layer.places, layer.text)


def _table(tree: Node, node: Node, data: Mapping[str, Any], layer: Layer) -> Table:
    result: Table = {}
    for name, value in data.items():
        path = (*node.path, name)
        below = node.child(name)
        if below is None:
            raise layer.fault(path, schema.unknown(tree, node, name))
        if node.entries is not None:
            _check_name(node, name, layer)
        result[name] = _value(below, value, layer) if below.is_value else _entries(tree, below, value, layer)
    return result


def _check_name(node: Node, name: str, layer: Layer) -> None:
    path = (*node.path, name)
    if name in node.rule.refused:
        raise layer.fault(path, f"{dotted(path)!r} cannot be set: {node.rule.refused[name]}")
    try:
        accepted(name, node.rule.keys, text=False)
    except ValueError:
        raise layer.fault(path, f"{dotted(path)!r}: the name must be {expectation(node.rule.keys)}") from None


def _entries(tree: Node, node: Node, value: Any, layer: Layer) -> Table:
    if not isinstance(value, dict):
        known = ", ".join(dotted(each.path) for each in list(schema.values(node))[:3])
        raise layer.fault(
            node.path, f"{dotted(node.path)!r} is a table; set what is in it, e.g. {known}; given: {shown(value)}"
        )
    return _table(tree, node, cast(Table, value), layer)


def _value(node: Node, value: Any, layer: Layer) -> Any:
    try:
        result = accepted(value, node.kind, text=layer.text)
        return as_json(result) if node.kind is Any else result
    except ValueError as exc:
        said = f"must be {expectation(node.kind)}" if node.rule.secret or node.rule.hushed else str(exc)
        raise layer.fault(node.path, f"{dotted(node.path)!r} {said}") from None


# ---- putting together -------------------------------------------------------------------------------------------------------


def merged(low: Table, high: Mapping[str, Any]) -> Table:
    """``high`` over ``low``, table by table."""
    result = dict(low)
    for key, value in high.items():
        below = result.get(key)
        both = isinstance(below, dict) and isinstance(value, Mapping)
        result[key] = merged(cast(Table, below), cast(Table, value)) if both else value
    return result


def at(data: Mapping[str, Any], path: KeyPath) -> Any:
    """:raises KeyError: if it is not given"""
    value: Any = data
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            raise KeyError(dotted(path))
        value = cast(Table, value)[name]
    return value


def find(data: Mapping[str, Any], path: KeyPath) -> Any:
    """As ``at``; ``None`` if it is not given."""
    try:
        return at(data, path)
    except KeyError:
        return None


def put(data: Table, path: KeyPath, value: Any) -> None:
    for name in path[:-1]:
        data = data.setdefault(name, {})
    data[path[-1]] = value
