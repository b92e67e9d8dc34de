"""Layered settings: defaults < user file < environment < what the caller gives. Unknown keys are refused with the nearest right one.

The user file is ``<jupyter config dir>/pernix/config.toml``; its keys are the fields of ``Settings``, endpoints are
``[endpoints.NAME]`` tables. The environment gives ``PERNIX_<KEY>`` for the plain keys, and ``OPENAI_API_KEY`` /
``OPENAI_BASE_URL`` / ``OPENAI_MODEL`` for an endpoint named ``openai``.
"""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from .errors import ConfigError
from .records import NO_LIMITS, Budget, EndpointKind, Mode, Record


class Price(Record, frozen=True):
    """What a million tokens cost. ``cached``: those that the endpoint had already; ``None``: as much as others."""

    prompt: float
    completion: float
    cached: float | None = None
    currency: str = "USD"


class RoleSettings(Record, frozen=True):
    """Which endpoint a role uses. ``model`` "": the endpoint's own. ``options`` go before the endpoint's."""

    endpoint: str = ""
    model: str = ""
    options: dict[str, Any] = {}


class Roles(Record, frozen=True):
    """``primary`` carries turns; "" is the session's endpoint, or the default. ``background`` makes titles, plans, summaries and
    carries workers; without one there are no titles and plans, and summaries are made by the primary. ``backup`` takes over when
    the primary fails for good; without one the turn ends."""

    primary: RoleSettings = RoleSettings()
    background: RoleSettings = RoleSettings()
    backup: RoleSettings = RoleSettings()


class Retry(Record, frozen=True):
    """How often a failed request is made (the first try included), and the longest single wait in seconds."""

    attempts: int = 4
    first_wait: float = 1.0
    ceiling: float = 60.0


class Compaction(Record, frozen=True):
    """``threshold``: the part of the context that may be full before the input is made shorter; 0 turns it off, except when the
    endpoint refuses. ``keep``: the part of the context that recent messages keep."""

    threshold: float = 0.8
    keep: float = 0.3


class EndpointSettings(Record, frozen=True):
    """``api_key_env`` names a variable to take the key from, so that the key itself need not stand in a file."""

    base_url: str
    model: str = ""
    api_key: str = ""
    api_key_env: str = ""
    kind: EndpointKind = "openai"
    protocol: str = "auto"
    context_length: int | None = None
    price: "Price | None" = None
    options: dict[str, Any] = {}
    """Further fields of each request, e.g. ``temperature`` or ``max_tokens``."""

    def key(self, environ: Mapping[str, str]) -> str:
        return (self.api_key or (environ.get(self.api_key_env, "") if self.api_key_env else "")).strip()


class Deadlines(Record, frozen=True):
    """Seconds to wait on the outside before giving up."""

    connect: float = 10.0
    first_token: float = 300.0
    between_tokens: float = 120.0
    kernel_start: float = 60.0
    execution: float = 1800.0
    shell: float = 600.0
    interrupt: float = 5.0
    silence: float = 900.0
    """A turn that has shown no sign of life for so long, with nothing running that has a deadline of its own, is ended."""


class Settings(Record, frozen=True):
    """``discover``: probe the usual loopback ports once at first start. ``data_dir`` "" is ``<jupyter data dir>/pernix``."""

    endpoint: str = ""
    """Name of the endpoint that new sessions use; "" takes the first that is ready."""
    mode: Mode = "edit"
    kernel_name: str = ""
    records_dir: str = "pernix-runs"
    discover: bool = True
    data_dir: str = ""
    model_folders: list[str] = []
    """Folders to look for GGUF files in, besides the usual caches."""
    budget: Budget = Budget()
    """Of one turn."""
    session_budget: Budget = NO_LIMITS
    """Of all turns of a session together."""
    roles: Roles = Roles()
    scout: bool = True
    """Plan a substantive turn by the background role before it begins."""
    titles: bool = True
    """Let the background role write the titles of sessions."""
    retry: Retry = Retry()
    compaction: Compaction = Compaction()
    deadlines: Deadlines = Deadlines()
    endpoints: dict[str, EndpointSettings] = {}


Table = dict[str, Any]

_PLAIN = {"endpoint", "mode", "kernel_name", "records_dir", "discover", "data_dir"}


def _refuse_unknown(data: Mapping[str, Any], known: type[msgspec.Struct], *, source: str, place: str = "") -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(known)}
    for key, value in data.items():
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            advice = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(sorted(fields))}"
            raise ConfigError(source, f"unknown setting {place + key!r}{advice}")
        kind = fields[key]
        if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            _refuse_unknown(cast(Table, value), kind, source=source, place=f"{place}{key}.")


def _checked(data: dict[str, Any], *, source: str) -> Settings:
    _refuse_unknown(data, Settings, source=source)
    endpoints = data.get("endpoints", {})
    if isinstance(endpoints, dict):
        for name, endpoint in cast(Table, endpoints).items():
            if isinstance(endpoint, dict):
                _refuse_unknown(cast(Table, endpoint), EndpointSettings, source=source, place=f"endpoints.{name}.")
    try:
        return msgspec.convert(data, Settings, strict=False)
    except msgspec.ValidationError as exc:
        raise ConfigError(source, str(exc)) from exc


def read_file(path: Path) -> dict[str, Any]:
    """The settings of one TOML file, checked; an absent file has none.

    :raises ConfigError: if it is not TOML, or has an unknown or malformed setting
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise ConfigError(str(path), str(exc)) from exc
    _checked(data, source=str(path))
    return data


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Settings that the environment gives."""
    data: dict[str, Any] = {
        key: environ[f"PERNIX_{key.upper()}"] for key in _PLAIN if f"PERNIX_{key.upper()}" in environ
    }
    if environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL"):
        data["endpoints"] = {
            "openai": {
                "base_url": environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1",
                "api_key_env": "OPENAI_API_KEY",
                "model": environ.get("OPENAI_MODEL", ""),
            }
        }
    return data


def _merge(low: dict[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(low)
    for key, value in high.items():
        below = merged.get(key)
        both = isinstance(below, dict) and isinstance(value, Mapping)
        merged[key] = _merge(cast(Table, below), cast(Table, value)) if both else value
    return merged


def load(
    *, config_file: Path, environ: Mapping[str, str] | None = None, overrides: Mapping[str, Any] | None = None
) -> Settings:
    """All layers merged.

    :raises ConfigError: naming the layer and the setting
    """
    data = read_file(config_file)
    from_env = from_environment(os.environ if environ is None else environ)
    _checked(from_env, source="environment")
    return _checked(_merge(_merge(data, from_env), overrides or {}), source="settings")
