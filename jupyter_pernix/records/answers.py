"""What the server answers beside a session's view."""

from datetime import datetime
from typing import Any, Literal

from ..ids import SessionId
from .values import Record
from .words import Constraint, EndpointKind, Mode, ModelProtocol, Role, SessionState


class SessionSummary(Record, frozen=True):
    """One line of the session list."""

    session_id: SessionId
    title: str
    state: SessionState
    mode: Mode
    endpoint: str | None
    kernel_name: str
    space_root: str
    record_path: str
    """Path of the run notebook, relative to the server root; the file exists once a turn has finished."""
    archived: bool
    created_at: datetime
    updated_at: datetime
    last_seq: int
    open_approvals: int = 0
    """What waits for a person: approvals, and lines that running code asked for."""
    turns: int = 0
    parent: SessionId | None = None
    """The session that this one works for."""
    sandbox: bool = False
    network: bool = False
    notebook: str = ""
    """The notebook that it is attached to, relative to the server root."""


class Ability(Record, frozen=True):
    """One thing a probe looked for. ``ok`` is ``None`` when it could not be found out."""

    name: Literal["reachable", "key", "model", "context", "streams", "tools", "json_schema"]
    ok: bool | None
    detail: str = ""


class EndpointInfo(Record, frozen=True):
    """An endpoint as the panel shows it; never carries a key. ``protocol`` is the effective one, ``None`` until probed."""

    name: str
    kind: EndpointKind
    base_url: str
    model: str
    models: list[str] = []
    protocol: ModelProtocol | None = None
    constraint: Constraint | None = None
    """``None``: it holds no answer to a schema, or that was not tried."""
    context_length: int | None = None
    vision: bool | None = None
    """Whether the model sees pictures; ``None``: the endpoint does not say, and it is shown none."""
    has_key: bool = False
    source: Literal["settings", "environment", "saved", "found", "local", "tour"] = "settings"
    status: Literal["unknown", "ready", "limited", "failed"] = "unknown"
    abilities: list[Ability] = []
    hint: str = ""
    default: bool = False
    roles: list[Role] = []
    """What the settings say it does beside answering where it is chosen."""


class Discovery(Record, frozen=True):
    """One loopback address that was tried, and what answered."""

    kind: EndpointKind
    base_url: str
    found: bool
    detail: str = ""


class LocalModel(Record, frozen=True):
    """A GGUF file that could be served, or is."""

    path: str
    size_bytes: int
    state: Literal["available", "loading", "ready", "failed"]
    detail: str = ""
    base_url: str = ""


class LocalStatus(Record, frozen=True):
    """``installed`` is false when the extra ``[local]`` is missing; ``hint`` then says how to get it."""

    installed: bool
    hint: str
    models: list[LocalModel]


class SqlResult(Record, frozen=True):
    """``types`` are DuckDB's names. Times are ISO 8601 texts, bytes and nested values JSON. ``truncated``: there were more rows."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    truncated: bool = False


class Finding(Record, frozen=True):
    """One line of ``doctor``."""

    name: str
    status: Literal["ok", "warning", "problem"]
    detail: str
    hint: str = ""


class SandboxStatus(Record, frozen=True):
    """Whether kernels and commands can run in the sandbox on this machine. ``why``: why not, and what to do. ``unlimited``: limits of the
    settings that do not hold here, as sentences."""

    works: bool
    why: str = ""
    unlimited: list[str] = []


class GpuProcess(Record, frozen=True):
    """A process that holds memory of a GPU. ``name`` "" and ``used_bytes`` ``None``: this user may not know, or the driver does not say."""

    pid: int
    name: str = ""
    used_bytes: int | None = None


class GpuDevice(Record, frozen=True):
    """One NVIDIA GPU at one moment, or one MIG slice of it (``slice``: its number). ``None``: the driver does not say.

    ``problem``: what could not be read and why, "" when nothing is missing that the card could tell.
    """

    index: int
    name: str
    uuid: str
    slice: int | None = None
    total_bytes: int | None = None
    used_bytes: int | None = None
    free_bytes: int | None = None
    utilization: int | None = None
    """Percent of the last moment in which code ran on it."""
    temperature: int | None = None
    """Degrees Celsius."""
    power_watts: float | None = None
    power_limit_watts: float | None = None
    processes: list[GpuProcess] = []
    problem: str = ""


class GpuDevices(Record, frozen=True):
    """The GPUs of the machine that the server runs on. ``detail``: why there are none to be seen, "" when there are."""

    devices: list[GpuDevice] = []
    driver: str = ""
    detail: str = ""


class Problem(Record, frozen=True):
    """The body of every HTTP error."""

    message: str
    place: str = ""
    hint: str = ""
