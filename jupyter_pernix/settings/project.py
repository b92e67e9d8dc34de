"""What a project's own settings file may say. It comes with a folder that somebody else may have made, so it is not trusted.

The rule: a key is allowed if it cannot send anything elsewhere, run anything, cost more, or widen what the agent may do. Limits and
permissions are only made tighter: where both give one, the stricter holds. Everything else is refused.
"""

import fnmatch
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import schema
from .given import variable
from .layers import Layer, at, put, read_toml
from .schema import KeyPath, Node, Table, dotted

FILE = Path(".pernix/config.toml")
"""Below the server's root folder."""

FILE_BYTES = 64 << 10

_STRICTNESS: Mapping[str, int] = {"ask": 0, "plan": 0, "edit": 1, "auto": 2}
_ALWAYS_THERE = frozenset({"local", "tour"})
"""Endpoints on this machine that no settings name."""

_SMALLER = "only tighter: the smaller holds"
_KNOWN = "only an endpoint that your own settings have"


def _limit(value: Any) -> float:
    return float("inf") if value is None else value


Stricter = Callable[[Any, Any], bool]
"""(the project's, the trusted) → the project's may hold."""


@dataclass(frozen=True)
class Allowed:
    says: str
    stricter: Stricter = lambda project, trusted: True


ALLOWED: dict[str, Allowed] = {
    "kernel_name": Allowed("yes"),
    "records_dir": Allowed("yes, not in a hidden folder"),
    "mode": Allowed(
        "only stricter: `ask` or `plan` over `edit` over `auto`",
        lambda own, other: _STRICTNESS[own] <= _STRICTNESS[other],
    ),
    "endpoint": Allowed(_KNOWN),
    "roles.*.endpoint": Allowed(_KNOWN),
    "budget.*": Allowed(_SMALLER, lambda own, other: _limit(own) <= _limit(other)),
    "session_budget.*": Allowed(_SMALLER, lambda own, other: _limit(own) <= _limit(other)),
    "deadlines.*": Allowed("only shorter: the smaller holds", lambda own, other: own <= other),
    "scout": Allowed("only off", lambda own, other: own <= other),
    "titles": Allowed("only off", lambda own, other: own <= other),
    "compaction.*": Allowed("yes"),
    "sandbox.on": Allowed("only on", lambda own, other: own >= other),
    "sandbox.network": Allowed("only off", lambda own, other: own <= other),
    "audit": Allowed("only on", lambda own, other: own >= other),
}
"""Pattern of dotted keys → what it may do. ``tests/test_config_project.py`` compares it with all keys."""

_WHY: dict[str, str] = {
    "endpoints.*": "it could send what you work on, and your keys, elsewhere",
    "roles.*": "it could change what is sent to your endpoints, and what that costs",
    "retry.*": "it could load your endpoints",
    "sandbox.*": "it could widen what code in the sandbox reaches",
    "permissions.*": "it could change what you are asked about",
    "data_dir": "it could put your sessions where others read them",
    "model_folders": "it could offer model files of its own",
    "discover": "it could look around on your machine",
}


def allowed(key: str) -> Allowed | None:
    return next((rule for pattern, rule in ALLOWED.items() if fnmatch.fnmatchcase(key, pattern)), None)


def read(path: Path) -> Layer:
    """:raises ConfigError: if it is a link, too long, not text, not TOML, or cannot be read"""
    return read_toml(path, "project file", limit=FILE_BYTES, follow=False)


def restricted(
    tree: Node, layer: Layer, *, trusted: Table, endpoints: Collection[str], user_file: Path | None
) -> Layer:
    """A checked project layer, held to what it may say. ``trusted``: what the layers below give; ``endpoints``: all that the user has.

    :raises ConfigError: for what it may not, with where it may stand
    """
    held: Table = {}
    lost: Table = {}
    for path, value in _given(tree, layer.data):
        rule = allowed(dotted(path))
        if rule is None:
            raise layer.fault(path, _refusal(path, user_file))
        _check_value(path, value, layer, endpoints)
        try:
            other = at(trusted, path)
        except KeyError:
            other = schema.lookup(tree, path).default
        put(held if rule.stricter(value, other) else lost, path, value)
    return replace(layer, data=held, lost=lost)


def _given(node: Node, data: Table) -> list[tuple[KeyPath, Any]]:
    found: list[tuple[KeyPath, Any]] = []
    for name, value in data.items():
        below = schema.lookup(node, (name,))
        if below.is_value:
            found.append((below.path, value))
        else:
            harmless = any(allowed(dotted(each.path)) for each in schema.values(below))
            found += _given(below, value) or ([] if harmless else [(below.path, value)])
    return found


def _refusal(path: KeyPath, user_file: Path | None) -> str:
    key = dotted(path)
    why = next(
        (reason for pattern, reason in _WHY.items() if fnmatch.fnmatchcase(key, pattern)), "it is yours to decide"
    )
    where = f"your own settings ({user_file})" if user_file else "your own settings file"
    return f"a project may not set {key!r}: {why}; it may stand in {where}, or in {variable(path)}"


def _check_value(path: KeyPath, value: Any, layer: Layer, endpoints: Collection[str]) -> None:
    key = dotted(path)
    if path[-1] == "endpoint" and value and value not in endpoints and value not in _ALWAYS_THERE:
        yours = f"yours are: {', '.join(sorted(endpoints))}" if endpoints else "you have none"
        raise layer.fault(
            path, f"{key!r}: a project may only name an endpoint that you have; {value!r} is none of them ({yours})"
        )
    if key == "records_dir" and any(part.startswith(".") for part in value.split("/")):
        raise layer.fault(path, f"{key!r}: a project may not keep run notebooks in a hidden folder; given: {value!r}")
