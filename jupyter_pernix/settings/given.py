"""The layers that are not files: variables of the environment, ``--set KEY=VALUE``, and what Jupyter's own configuration gives."""

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ..errors import ConfigError
from . import schema
from .layers import Layer, merged, put
from .schema import KeyPath, Node, Table, dotted

PREFIX = "PERNIX_"
_NOT_SETTINGS = re.compile(r"PERNIX_(CALL|CRASH_ROUNDS|TEST_\w+|BENCH_\w+)")
"""Variables of ours with another use: the mark of a call's processes, and those of tests and benchmarks."""

_OVERRIDES = "PernixApp.overrides"

OPENAI_URL = "https://api.openai.com/v1"


def variable(path: KeyPath) -> str:
    """The variable that gives a setting: ``("budget", "rounds")`` → ``PERNIX_BUDGET__ROUNDS``."""
    return PREFIX + "__".join(re.sub(r"\W", "_", part) for part in path).upper()


def from_environment(tree: Node, environ: Mapping[str, str], below: Table) -> Layer:
    """Unchecked. ``below``: what the layers below give; an endpoint is known by its name in any case. An empty variable is none.

    :raises ConfigError: for a variable that is none of ours
    """
    data: Table = {}
    places: dict[KeyPath, str] = {}
    usual = _openai(environ, cast(Table, below.get("endpoints", {})).get("openai", {}))
    for key, (value, name) in usual.items():
        put(data, ("endpoints", "openai", key), value)
        places["endpoints", "openai", key] = name
    for name, value in sorted(environ.items()):
        if not name.startswith(PREFIX) or _NOT_SETTINGS.fullmatch(name) or not value:
            continue
        path = _path_of(tree, name, below)
        put(data, path, value)
        places[path] = name
    return Layer("environment", "environment", data, places, text=True)


def _path_of(tree: Node, name: str, below: Table) -> KeyPath:
    path: KeyPath = ()
    for word in name.removeprefix(PREFIX).split("__"):
        node = schema.lookup(tree, path)
        part = word.lower()
        if node.entries is not None:
            named = _named(below, path)
            part = next((each for each in named if variable((each,)) == PREFIX + word), part)
        if not word or word != word.upper() or node.child(part) is None:
            raise ConfigError("environment", f"{name} is not a setting; {_nearest(tree, name)}")
        path = (*path, part)
    node = schema.lookup(tree, path)
    if not node.is_value:
        example = next(iter(schema.values(node)))
        raise ConfigError(
            "environment", f"{name}: {dotted(path)!r} is a table; set what is in it, e.g. {variable(example.path)}"
        )
    return path


def _named(data: Table, path: KeyPath) -> list[str]:
    for name in path:
        data = data.get(name, {})
    return list(data)


def _nearest(tree: Node, name: str) -> str:
    words = name.split("__")
    known = [
        variable(each.path).removeprefix(PREFIX)
        for each in schema.values(tree, name=words[1].lower() if len(words) > 1 else "NAME")
    ]
    near = difflib.get_close_matches(name.upper().removeprefix(PREFIX), known, n=1)
    return f"did you mean {PREFIX}{near[0]}?" if near else "`jupyter pernix config` lists the settings"


def _openai(environ: Mapping[str, str], below: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The endpoint that the usual variables make: key → value and variable. An address or key that ``below`` has for this endpoint
    stays with its own, so that no key is sent to another's address."""
    key, url, model = (environ.get(f"OPENAI_{word}", "") for word in ("API_KEY", "BASE_URL", "MODEL"))
    if not (key or url):
        return {}
    made: dict[str, tuple[str, str]] = {}
    if url:
        made["base_url"] = (url, "OPENAI_BASE_URL")
        if below.get("api_key"):
            made["api_key"] = ("", "OPENAI_BASE_URL")
    elif not below.get("base_url"):
        made["base_url"] = (OPENAI_URL, "OPENAI_API_KEY")
    if url or not (below.get("api_key") or below.get("api_key_env")):
        made["api_key_env"] = ("OPENAI_API_KEY", "OPENAI_API_KEY" if key else "OPENAI_BASE_URL")
    if model:
        made["model"] = (model, "OPENAI_MODEL")
    return made


def from_assignments(tree: Node, assignments: Iterable[str]) -> Layer:
    """Unchecked; of two for one key the later holds.

    :raises ConfigError: if one is not ``KEY=VALUE``, or is a secret, which would stand in the list of processes
    """
    data: Table = {}
    places: dict[KeyPath, str] = {}
    for assignment in assignments:
        key, sign, value = assignment.partition("=")
        if not sign:
            raise ConfigError("command line", f"--set {assignment}: a value is missing; write KEY=VALUE")
        path = key_path(key.strip())
        if path is None:
            raise ConfigError("command line", f"--set {assignment}: {key!r} is not a key, as budget.rounds is one")
        try:
            secret = schema.lookup(tree, path).rule.secret
        except KeyError as exc:
            raise ConfigError("command line", f"--set {dotted(path)}: {exc.args[0]}") from None
        if secret:
            raise ConfigError(
                "command line",
                f"--set {dotted(path)}: a key on a command line is seen by everyone on this machine; name a variable in "
                f"{dotted((*path[:-1], 'api_key_env'))}, or set {variable(path)}",
            )
        put(data, path, value)
        places[path] = f"--set {dotted(path)}"
    return Layer("command line", "command line", data, places, text=True)


def from_traits(given: Mapping[str, Any]) -> Layer:
    """Unchecked. What ``PernixApp.overrides`` holds: tables stand in each other, or keys are dotted; ``data_folder`` is the trait of
    that name.

    :raises ConfigError: for a key that is none
    """
    data: Table = {}
    places: dict[KeyPath, str] = {}
    for key, value in given.items():
        path, place = (("data_dir",), "PernixApp.data_folder") if key == "data_folder" else (key_path(key), _OVERRIDES)
        if path is None:
            raise ConfigError("traits", f"{place}: {key!r} is not a key, as budget.rounds is one")
        one: Table = {}
        put(one, path, value)
        data = merged(data, one)
        places[path] = place
    return Layer("traits", "traits", data, places, text=True)


def key_path(key: str) -> KeyPath | None:
    """The parts of a dotted key, written as in TOML; ``None``: it is none."""
    if "\n" in key or "=" in key or "#" in key:
        return None
    try:
        data: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(data, dict):
        table = cast(Table, data)
        ((name, data),) = table.items()
        path.append(name)
    return tuple(path)
