"""One endpoint that is known to this server: its settings, where they come from, and what was found out about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import anyio

from ..config import EndpointSettings
from ..errors import ModelError
from ..records import EndpointInfo

Source = Literal["settings", "environment", "saved", "found", "local", "tour"]


@dataclass
class Entry:
    """``learning`` is held while the endpoint is asked what it is."""

    settings: EndpointSettings
    source: Source
    info: EndpointInfo
    learning: anyio.Lock = field(default_factory=anyio.Lock)


def new_entry(name: str, endpoint: EndpointSettings, source: Source, environ: Mapping[str, str]) -> Entry:
    info = EndpointInfo(
        name=name,
        kind=endpoint.kind,
        base_url=endpoint.base_url,
        model=endpoint.model,
        context_length=endpoint.context_length,
        vision=endpoint.vision,
        has_key=bool(endpoint.key(environ)),
        source=source,
    )
    return Entry(endpoint, source, info)


def _is_told(entry: Entry) -> bool:
    return bool(entry.settings.model) and entry.settings.protocol != "auto"


def needs_probe(entry: Entry) -> bool:
    return entry.info.status == "failed" or (entry.info.status == "unknown" and not _is_told(entry))


def needs_glance(entry: Entry) -> bool:
    """Model and protocol are set, so that no probe is needed, and nobody has looked yet how much its context holds and whether it sees."""
    unknown = entry.info.context_length is None or entry.info.vision is None
    return entry.info.status == "unknown" and not entry.info.abilities and unknown


def checked(entry: Entry) -> Entry:
    """:raises ModelError: if a probe found that it cannot be used"""
    if entry.info.status == "failed":
        raise ModelError(
            f"the endpoint {entry.info.name!r} cannot be used: {failure(entry.info)}", hint=entry.info.hint
        )
    return entry


def failure(info: EndpointInfo) -> str:
    faults = [ability.detail or ability.name for ability in info.abilities if ability.ok is False]
    return "; ".join(faults) or info.hint or "it does not answer"
