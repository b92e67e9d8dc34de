"""Which settings there are, and how the layers give them:

defaults < user file < project file < environment < command line < traits of the server extension.

The user file is ``<jupyter config dir>/pernix/config.toml``, the project file ``.pernix/config.toml`` in the server's root folder; the
latter is not trusted, see ``settings/project.py``. The environment gives ``PERNIX_<KEY>``, with ``__`` between the parts of a key, and
``OPENAI_API_KEY`` / ``OPENAI_BASE_URL`` / ``OPENAI_MODEL`` for an endpoint named ``openai``. Unknown keys are refused with the nearest
right one, wrong values with what is expected; one bad layer is an error, never left out. ``docs/configuration.md`` is for users.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from .records import NO_LIMITS, Budget, EndpointKind, Mode, Record
from .settings import explain as explain_module
from .settings import given, project, schema
from .settings.explain import SECRET, Setting, explained
from .settings.layers import Layer, checked, find, merged, read_toml
from .settings.options import REFUSED
from .settings.schema import REQUIRED, KeyPath, Node, Rule, Rules, Table, dotted


class Price(Record, frozen=True):
    """What a million tokens cost."""

    prompt: float
    """Price of a million tokens that are sent."""
    completion: float
    """Price of a million tokens that are written."""
    cached: float | None = None
    """Price of a million tokens that the endpoint had already; none: as much as others."""
    currency: str = "USD"
    """Three letters; amounts of different currencies are never added up."""


class RoleSettings(Record, frozen=True):
    """Which endpoint a role uses."""

    endpoint: str = ""
    """Name of the endpoint."""
    model: str = ""
    """The model there; "" is the endpoint's own."""
    options: dict[str, Any] = {}
    """Further fields of each request; they go before the endpoint's."""


class Roles(Record, frozen=True):
    """Who does what."""

    primary: RoleSettings = RoleSettings()
    """`primary` carries turns; "" is the session's endpoint, or the default."""
    background: RoleSettings = RoleSettings()
    """`background` makes titles, plans and summaries and carries workers; without one there are no titles and plans, and summaries are
    made by the primary."""
    backup: RoleSettings = RoleSettings()
    """`backup` takes over when the primary fails for good; without one the turn ends."""


class Retry(Record, frozen=True):
    """What happens when a request fails in a way that may pass."""

    attempts: int = 4
    """How often a request is made, the first try included."""
    first_wait: float = 1.0
    """Seconds before the second try; each further wait is longer."""
    ceiling: float = 60.0
    """Longest single wait in seconds, also when the server asks for more."""


class Compaction(Record, frozen=True):
    """When the model's input is made shorter."""

    threshold: float = 0.8
    """The part of the context that may be full before the input is made shorter; 0 turns it off, except when the endpoint refuses."""
    keep: float = 0.3
    """The part of the context that recent messages keep."""


class EndpointSettings(Record, frozen=True):
    """An OpenAI-compatible address and a model there."""

    base_url: str
    """The address, up to and with `/v1`."""
    model: str = ""
    """The model; "" takes the first that the endpoint lists."""
    api_key: str = ""
    """The key itself; `api_key_env` keeps it out of files."""
    api_key_env: str = ""
    """Name of a variable to take the key from."""
    kind: EndpointKind = "openai"
    """What serves it."""
    protocol: Literal["auto", "tools", "actions", "chat"] = "auto"
    """How the model is driven; `auto` lets a probe find out."""
    context_length: int | None = None
    """Tokens that fit; none: what the endpoint says."""
    vision: bool | None = None
    """Whether the model is shown pictures; none: if the endpoint says that it sees."""
    price: Price | None = None
    """Without prices a turn's cost is not known, and no limit of cost can be kept."""
    options: dict[str, Any] = {}
    """Further fields of each request, e.g. `temperature` or `max_tokens`."""

    def key(self, environ: Mapping[str, str]) -> str:
        return (self.api_key or (environ.get(self.api_key_env, "") if self.api_key_env else "")).strip()


class Deadlines(Record, frozen=True):
    """Seconds to wait on the outside before giving up."""

    connect: float = 10.0
    """For a connection to an endpoint."""
    first_token: float = 300.0
    """For the first token of an answer."""
    between_tokens: float = 120.0
    """Between two tokens of an answer."""
    kernel_start: float = 60.0
    """For a kernel to be ready."""
    execution: float = 1800.0
    """For one piece of code in the kernel."""
    shell: float = 600.0
    """For one shell command."""
    interrupt: float = 5.0
    """For code to stop after an interrupt, before something stronger is tried."""
    silence: float = 900.0
    """A turn that has shown no sign of life for so long, with nothing running that has a deadline of its own, is ended."""


class Sandbox(Record, frozen=True):
    """The wall around kernels and commands of sessions that are in the sandbox."""

    on: bool = False
    """New sessions are in the sandbox."""
    network: bool = False
    """The sandbox lets the network through."""
    readable: list[str] = []
    """Further folders that code in the sandbox may read: data, models, environments."""
    memory_gib: float | None = None
    """How much memory a kernel or a command may take."""
    processes: int | None = 1024
    """How many processes and threads a kernel or a command may have."""


class Permissions(Record, frozen=True):
    """What is asked about, besides the rules that you save."""

    deny: list[str] = []
    """Rules of what is refused in every session, whatever else is allowed, as `git push` or `write:data/raw`."""
    expires: float = 86400.0
    """Seconds that a question waits for you before it counts as declined; 0: it waits for ever."""
    hooks: bool = True
    """Run the hooks that you have set up before and after the agent's calls."""


class Settings(Record, frozen=True):
    """All settings, as they hold."""

    endpoint: str = ""
    """Name of the endpoint that new sessions use; "" takes the first that is ready."""
    mode: Mode = "edit"
    """What new sessions may do."""
    kernel_name: str = ""
    """Kernelspec of new sessions; "" is Jupyter's default."""
    records_dir: str = "pernix-runs"
    """Folder of the run notebooks, in the session's folder."""
    discover: bool = True
    """Look for model servers on the usual ports of this machine, once at the first start."""
    data_dir: str = ""
    """Folder of the session store; "" is `pernix` in Jupyter's data folder."""
    model_folders: list[str] = []
    """Folders to look for GGUF files in, besides the usual caches."""
    budget: Budget = Budget()
    """For one turn."""
    session_budget: Budget = NO_LIMITS
    """For all turns of a session together."""
    roles: Roles = Roles()
    scout: bool = True
    """Plan a substantive turn by the background role before it begins."""
    titles: bool = True
    """Let the background role write the titles of sessions."""
    retry: Retry = Retry()
    """For requests that fail in a way that may pass."""
    compaction: Compaction = Compaction()
    """For when the model's input becomes long."""
    deadlines: Deadlines = Deadlines()
    """Seconds to wait on the outside before giving up."""
    sandbox: Sandbox = Sandbox()
    """The wall around kernels and commands of sessions that are in the sandbox."""
    permissions: Permissions = Permissions()
    """What is asked about, besides the rules that you save."""
    audit: bool = True
    """Keep a chained record of every decision, call and approval, without contents."""
    endpoints: dict[str, EndpointSettings] = {}


# ---- what a value has to be -------------------------------------------------------------------------------------------------

_Seconds = Annotated[float, Meta(gt=0)]
_Count = Annotated[int, Meta(ge=1)]
_Lines = Annotated[int, Meta(ge=0)]
_Amount = Annotated[float, Meta(ge=0)]
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_NAME_WORDS = "letters, digits, '.', '_' and '-', at most 64, beginning with a letter or digit"
_EndpointName = Annotated[
    str, Meta(pattern=rf"^(?!(local|tour)$){_NAME}$", description=f"{_NAME_WORDS}, and not local or tour")
]
_Named = Annotated[str, Meta(pattern=rf"^({_NAME})?$", description="the name of an endpoint")]
_Folder = Annotated[
    str,
    Meta(
        pattern=r"^(?!/|~|.*(^|/)\.\.?(/|$)|.*[\\:\x00-\x1f])[^/].*$",
        description="a folder below the session's own, without '..'",
    ),
]
_Url = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s/?#@]+[^\s?#@]*$",
        description="an http:// or https:// address without name, password and query",
    ),
]
_Variable = Annotated[
    str, Meta(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$", description="the name of a variable, not the key itself")
]
_Key = Annotated[str, Meta(pattern=r"^[!-~]*$", description="a key, without spaces and line ends")]
_Currency = Annotated[str, Meta(pattern=r"^[A-Z]{3}$", description="three capital letters, as USD")]

RULES: Rules = {
    Settings: {
        "endpoint": Rule(kind=_Named),
        "records_dir": Rule(kind=_Folder),
        "endpoints": Rule(keys=_EndpointName),
    },
    Budget: {
        "rounds": Rule(kind=_Count | None, doc="How many model requests."),
        "tokens": Rule(kind=_Count | None, doc="How many tokens, sent and written."),
        "seconds": Rule(
            kind=_Seconds | None, doc="How many seconds of work; waiting for you and pauses are not counted."
        ),
        "cost": Rule(kind=_Seconds | None, doc="What it may cost, in the currency of the endpoint's price; needs one."),
        "changed_lines": Rule(kind=_Lines | None, doc="How many lines of files may be added and removed."),
    },
    RoleSettings: {"endpoint": Rule(kind=_Named), "options": Rule(refused=REFUSED)},
    Retry: {"attempts": Rule(kind=_Count), "first_wait": Rule(kind=_Amount), "ceiling": Rule(kind=_Amount)},
    Compaction: {
        "threshold": Rule(kind=Annotated[float, Meta(ge=0, le=1)]),
        "keep": Rule(kind=Annotated[float, Meta(ge=0, le=1)]),
    },
    Sandbox: {
        "memory_gib": Rule(kind=_Seconds | None),
        "processes": Rule(kind=_Count | None),
    },
    Permissions: {"expires": Rule(kind=_Amount)},
    Deadlines: {field: Rule(kind=_Seconds) for field in Deadlines.__struct_fields__},
    Price: {
        "prompt": Rule(kind=_Amount),
        "completion": Rule(kind=_Amount),
        "cached": Rule(kind=_Amount | None),
        "currency": Rule(kind=_Currency),
    },
    EndpointSettings: {
        "base_url": Rule(kind=_Url, hushed=True),
        "api_key": Rule(kind=_Key, secret=True),
        "api_key_env": Rule(kind=_Variable, hushed=True),
        "context_length": Rule(kind=_Count | None),
        "options": Rule(refused=REFUSED),
    },
}

TREE: Node = schema.root(Settings, RULES)

PROJECT_FILE = project.FILE


# ---- reading ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layered:
    """``settings`` as they hold, and the checked ``layers`` that gave them, lowest first, without the defaults."""

    settings: Settings
    layers: tuple[Layer, ...]

    def explain(self, key: str = "") -> list[Setting]:
        """Each setting in the order of ``Settings``, or those at and below ``key``.

        :raises ConfigError: if there is no setting ``key``
        """
        return explained(TREE, self.layers, key)


def read_file(path: Path) -> dict[str, Any]:
    """The settings of one TOML file that is trusted, checked; an absent file has none.

    :raises ConfigError: if it is not TOML, or has an unknown or malformed setting
    """
    return checked(TREE, read_toml(path, "user file")).data


def resolve(
    *,
    config_file: Path,
    project_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    assignments: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    endpoints: Collection[str] = (),
) -> Layered:
    """All layers. ``assignments`` are the command line's ``KEY=VALUE``, ``overrides`` the traits, nested or with dotted keys;
    ``endpoints``: names that the user has besides those in the settings, which a project file may choose from.

    :raises ConfigError: naming the layer, the place and the setting
    """
    user = checked(TREE, read_toml(config_file, "user file"))
    environment = checked(TREE, given.from_environment(TREE, os.environ if environ is None else environ, user.data))
    command_line = checked(TREE, given.from_assignments(TREE, assignments))
    traits = checked(TREE, given.from_traits(overrides or {}))
    layers = [user, environment, command_line, traits]
    if project_file is not None:
        names = {name for layer in layers for name in layer.data.get("endpoints", {})} | set(endpoints)
        own = checked(TREE, project.read(project_file))
        layers.insert(1, project.restricted(TREE, own, trusted=user.data, endpoints=names, user_file=config_file))
    data: Table = {}
    for layer in layers:
        data = merged(data, layer.data)
    _check_whole(TREE, data, layers)
    return Layered(msgspec.convert(schema.filled(TREE, data), Settings), tuple(layers))


def load(
    *,
    config_file: Path,
    project_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    assignments: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    endpoints: Collection[str] = (),
) -> Settings:
    """As ``resolve``, without where each value came from."""
    return resolve(
        config_file=config_file,
        project_file=project_file,
        environ=environ,
        assignments=assignments,
        overrides=overrides,
        endpoints=endpoints,
    ).settings


def explain(*, key: str = "", **sources: Any) -> list[Setting]:
    """As ``load``: each setting with where it came from."""
    return resolve(**sources).explain(key)


def part(told: Sequence[Setting], key: str) -> list[Setting]:
    """Those of ``told`` at and below ``key``; all if it is "".

    :raises ConfigError: if there is no setting ``key``
    """
    return explain_module.part(told, TREE, key)


def _check_whole(node: Node, data: Table, layers: Sequence[Layer]) -> None:
    """What no layer can be asked alone: whether everything is there that has to be, and fits together."""
    for name, value in data.items():
        below = cast(Node, node.child(name))
        if below.is_value or not isinstance(value, dict):
            continue
        table = cast(Table, value)
        for needed in below.children().values():
            if needed.default is REQUIRED and needed.path[-1] not in table:
                raise _top(layers, below.path).fault(below.path, f"{dotted(needed.path)!r} is missing")
        _check_whole(below, table, layers)
    if node.path == () and (compaction := data.get("compaction")):
        whole = msgspec.convert(compaction, Compaction)
        if 0 < whole.threshold <= whole.keep:
            raise _top(layers, ("compaction",)).fault(
                ("compaction",),
                f"'compaction.keep' ({whole.keep}) must be below 'compaction.threshold' ({whole.threshold})",
            )


def _top(layers: Sequence[Layer], path: KeyPath) -> Layer:
    """The highest layer that gives ``path``."""
    return next(layer for layer in reversed(layers) if find(layer.data, path) is not None)


def known_endpoints(folder: Path) -> frozenset[str]:
    """Names of the endpoints that the user has added or that were found, as our config folder keeps them."""
    try:
        saved = msgspec.json.decode((folder / "endpoints.json").read_bytes(), type=dict[str, Any])
        return frozenset([*(saved.get("endpoints") or {}), *(saved.get("found") or {})])
    except (OSError, ValueError, TypeError):
        return frozenset()


def secret_variables(settings: Settings, environ: Mapping[str, str]) -> set[str]:
    """Variables that hold keys of endpoints: those that settings name, and those that are settings."""
    named = {endpoint.api_key_env for endpoint in settings.endpoints.values() if endpoint.api_key_env}
    return named | {name for name in environ if name.startswith(given.PREFIX) and SECRET.search(name)}
