"""What holds, and which layer said so. Values that are secret never leave here."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from ..errors import ConfigError
from ..records import Record
from . import given, schema
from .layers import Layer, Source, at, find
from .schema import REQUIRED, KeyPath, Node, Table, dotted

HIDDEN = "(hidden)"
SECRET = re.compile(r"key|token$|secret|passw|auth|cookie|header|credential", re.IGNORECASE)
"""In the name of an option or variable: its value is a secret. ``max_tokens`` is none."""


class SettingLayer(Record, frozen=True):
    """What one layer says of a setting. ``note``: why it does not hold although no layer above says anything."""

    source: Source
    value: Any
    place: str = ""
    note: str = ""


class Setting(Record, frozen=True):
    """A setting as it holds. ``source`` is the layer that gave ``value``, ``place`` where it did: a file and line, a variable, an
    option. Values that are secret are ``HIDDEN``. ``layers``: all that give it, lowest first."""

    key: str
    value: Any
    source: Source
    place: str = ""
    doc: str = ""
    layers: list[SettingLayer] = []


def explained(tree: Node, layers: Sequence[Layer], key: str = "") -> list[Setting]:
    """Each setting in the order of the structs, or those at and below ``key``. ``layers``: lowest first, without the defaults.

    :raises ConfigError: if there is no setting ``key``
    """
    return part([_setting(node, layers) for node in _values(tree, layers)], tree, key)


def part(told: Sequence[Setting], tree: Node, key: str) -> list[Setting]:
    """Those at and below ``key``; all if it is "".

    :raises ConfigError: if there is no setting ``key``
    """
    path = _path(tree, key)
    found = [setting for setting in told if (given.key_path(setting.key) or ())[: len(path)] == path]
    if path and not found:
        # A name of the user's own that is not there, or a table without any.
        raise ConfigError("settings", f"nothing is set in {dotted(path)!r}")
    return found


def _path(tree: Node, key: str) -> KeyPath:
    if not key:
        return ()
    path = given.key_path(key)
    if path is None:
        raise ConfigError("settings", f"{key!r} is not a key, as budget.rounds is one")
    try:
        schema.lookup(tree, path)
    except KeyError as exc:
        raise ConfigError("settings", str(exc.args[0])) from None
    return path


def _values(node: Node, layers: Sequence[Layer]) -> Iterator[Node]:
    if node.is_value or (node.struct is not None and node.default is None and not _keys(node, layers)):
        yield node  # a value, or a table that is absent as a whole
    elif node.struct is not None:
        for child in node.children().values():
            yield from _values(child, layers)
    else:
        for name in _keys(node, layers):
            yield from _values(cast(Node, node.child(name)), layers)


def _keys(node: Node, layers: Sequence[Layer]) -> list[str]:
    names: dict[str, None] = {}
    for layer in layers:
        names |= dict.fromkeys(find(layer.data, node.path) or {})
    return list(names)


def _setting(node: Node, layers: Sequence[Layer]) -> Setting:
    found: list[SettingLayer] = []
    if node.default is not REQUIRED:
        found.append(SettingLayer(source="default", value=msgspec.to_builtins(node.default)))
    holding = found[-1:]
    for layer in layers:
        for data, note in ((layer.lost, "the stricter value holds"), (layer.data, "")):
            try:
                value = _shown(node, at(data, node.path))
            except KeyError:
                continue
            place = ", ".join(filter(None, [layer.where if "file" in layer.source else "", layer.place(node.path)]))
            found.append(SettingLayer(source=layer.source, value=value, place=place, note=note))
            holding = holding if note else found[-1:]
    (top,) = holding
    return Setting(
        key=dotted(node.path),
        value=top.value,
        source=top.source,
        place=top.place,
        doc=f"{node.doc} {node.about}".strip(),
        layers=found,
    )


def _shown(node: Node, value: Any) -> Any:
    secret = node.rule.secret or ("options" in node.path and SECRET.search(node.path[-1]))
    return HIDDEN if secret and value not in ("", None) else _hide_inside(value)


def _hide_inside(value: Any) -> Any:
    """Secrets in the tables that an option holds."""
    if isinstance(value, dict):
        table = cast(Table, value)
        return {key: HIDDEN if SECRET.search(key) else _hide_inside(each) for key, each in table.items()}
    return [_hide_inside(each) for each in cast(list[Any], value)] if isinstance(value, list) else value
