"""Builds everything, in the order in which things need each other, and takes it down in the reverse order."""

import json
import logging
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import jupyter_core.paths

from .. import config
from ..agent.clock import SystemClock
from ..config import Layered, Settings
from ..errors import InvalidInput
from ..events import Stored
from ..gpu.devices import Devices
from .audit.trail import Trail
from .background import start_guarded
from .bus import Bus
from .endpoints import Endpoints
from .incell import InCellExecutions
from .kernels import LazyKernels
from .known_secrets import KnownSecrets, from_environment
from .local import Local
from .notebooks.hub import JupyterServer, NotebookHub
from .notebooks.mirroring import Mirroring
from .notebooks.pages import Pages
from .notebooks.traces import Traces
from .notebooks.ydoc import SharedDocuments
from .permissions import SavedPermissions
from .reaper import Reaper
from .run_notebooks import RunNotebooks
from .sandbox import Sandboxes
from .sessions import Sessions, resolved_root
from .side_files import SideFiles
from .store import EventStore
from .surroundings import Carry, Surroundings
from .turns import AgentTurns
from .warming import warm_up

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RuntimeOptions:
    """``data_folder`` "": what the settings say. ``assignments`` and ``overrides`` are layers of settings, see ``config.resolve``.
    ``token`` is the server's own, for ``server.json``. ``carry`` ``None``: the agent."""

    root: Path
    config_folder: Path
    settings_file: Path
    data_folder: str
    url: str
    token: str
    kernel_manager: Any
    contents_manager: Any
    session_manager: Any
    extensions: Callable[[], Mapping[str, Any]] = dict
    """The server's extensions by name."""
    assignments: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    carry: Carry | None = None


@dataclass(kw_only=True)
class Runtime:
    """What the handlers work on."""

    settings: Settings
    config: Layered
    """The layers that gave the settings; ``config.explain()`` says which gave what."""
    root: Path
    data_folder: Path
    store: EventStore
    trail: Trail
    bus: Bus
    sessions: Sessions
    executions: InCellExecutions
    side_files: SideFiles
    endpoints: Endpoints
    kernels: LazyKernels
    notebooks: NotebookHub
    records: RunNotebooks
    local: Local
    devices: Devices
    permissions: SavedPermissions
    sandboxes: Sandboxes

    async def check_settings(self, *, endpoint: str | None, kernel_name: str | None) -> None:
        """:raises InvalidInput: if there is no such endpoint or kernelspec"""
        if endpoint and not self.endpoints.has(endpoint):
            names = ", ".join(one.name for one in self.endpoints.all())
            raise InvalidInput("$.endpoint", f"there is no endpoint {endpoint[:100]!r}; there is: {names}")
        if kernel_name:
            names = await self.kernels.names()
            if kernel_name not in names:
                raise InvalidInput(
                    "$.kernel_name",
                    f"there is no kernelspec {kernel_name[:100]!r}; installed: {', '.join(sorted(names)) or 'none'}",
                )


def data_folder_of(options: RuntimeOptions, settings: Settings) -> Path:
    given = options.data_folder or settings.data_dir
    return Path(given).expanduser() if given else Path(jupyter_core.paths.jupyter_data_dir()) / "pernix"


@asynccontextmanager
async def running(options: RuntimeOptions) -> AsyncGenerator[Runtime]:
    """Everything, ready for requests; on leaving, running turns are interrupted and all is closed.

    :raises ConfigError: if a setting is wrong
    :raises StoreError: if the store cannot be had
    """
    root = resolved_root(options.root)
    layered = config.resolve(
        config_file=options.settings_file,
        project_file=root / config.PROJECT_FILE,
        assignments=options.assignments,
        overrides=options.overrides,
        endpoints=config.known_endpoints(options.config_folder),
    )
    settings = layered.settings
    data_folder = data_folder_of(options, settings)
    bus = Bus()
    late: list[Sessions | Traces | Mirroring] = []

    def publish(group: list[Stored]) -> None:
        for reader in late:
            reader.saw(group)
        bus.publish(group)

    async with AsyncExitStack() as stack:
        trail = Trail(data_folder / "audit", on=settings.audit)
        endpoints = Endpoints(settings, folder=options.config_folder)
        environment = from_environment(os.environ)
        secrets = KnownSecrets(lambda: {*endpoints.keys(), options.token, *environment}, home=Path.home())
        secrets.watch(root)
        store = await EventStore.open(
            data_folder / "pernix.duckdb", publish=publish, auditor=trail, mask=secrets.masked
        )
        stack.push_async_callback(store.aclose)
        stack.callback(bus.close)
        bus.last_seq = store.last_seq
        keys = config.secret_variables(settings, os.environ)
        kernels = LazyKernels(
            options.kernel_manager,
            withheld=keys,
            secrets=lambda: {*endpoints.keys(), options.token},
            known=secrets,
        )
        sandboxes = Sandboxes(settings.sandbox, home=Path.home().resolve(), hidden=_out_of_sight(options, data_folder))
        stack.push_async_callback(anyio.to_thread.run_sync, sandboxes.close)
        stack.push_async_callback(kernels.aclose)
        tasks = kernels.tasks = await stack.enter_async_context(anyio.create_task_group())
        local = Local(settings, endpoints, tasks)
        stack.push_async_callback(local.aclose)
        devices = Devices()
        stack.callback(devices.close)
        traces = Traces(store)
        late.append(traces)
        notebooks = NotebookHub(
            JupyterServer(
                contents=options.contents_manager, sessions=options.session_manager, kernels=options.kernel_manager
            ),
            pages=Pages(bus, SystemClock()),
            traces=traces,
            kernels=kernels,
            root=root,
            shared=SharedDocuments(options.extensions),
        )
        records = RunNotebooks(kernels, secrets)
        turns = AgentTurns(store=store, endpoints=endpoints, settings=settings)
        around = Surroundings(
            store=store,
            bus=bus,
            settings=settings,
            root=root,
            side_files=SideFiles(data_folder / "side"),
            kernels=kernels,
            carry=options.carry or turns.carry,
            compact=turns.compact,
            title=turns.title,
            warm=None if options.carry else warm_up,
            instructions_folder=options.config_folder,
            permissions_folder=options.config_folder / "permissions" if options.config_folder else None,
            kept_folder=data_folder / "kept",
            sandboxes=sandboxes,
            write_record=records.write,
            secrets=secrets,
            tasks=tasks,
            notebooks=notebooks,
        )
        sessions = Sessions(around)
        permissions = SavedPermissions(options.config_folder, settings.permissions.deny)
        late.append(sessions)
        mirroring = Mirroring(around, notebooks, sessions.cells)
        late.append(mirroring)
        interrupted = await sessions.recover()
        _write_server_file(data_folder / "server.json", options, root)
        stack.callback((data_folder / "server.json").unlink, missing_ok=True)
        start_guarded(tasks, sessions.write_records, interrupted)
        start_guarded(tasks, mirroring.run)
        start_guarded(tasks, mirroring.after_start)
        start_guarded(tasks, Reaper(around, lambda: sessions.live).run)
        if settings.discover and endpoints.never_looked:
            start_guarded(tasks, endpoints.discover)
        try:
            yield Runtime(
                settings=settings,
                config=layered,
                root=root,
                data_folder=data_folder,
                store=store,
                trail=trail,
                bus=bus,
                sessions=sessions,
                executions=around.executions,
                side_files=around.side_files,
                endpoints=endpoints,
                kernels=kernels,
                local=local,
                notebooks=notebooks,
                devices=devices,
                permissions=permissions,
                sandboxes=sandboxes,
                records=records,
            )
        finally:
            around.stopping = True
            tasks.cancel_scope.cancel()


def _out_of_sight(options: RuntimeOptions, data_folder: Path) -> list[Path]:
    """Where tokens, settings and other sessions are: in the sandbox they are not there, even below a space."""
    paths = jupyter_core.paths
    folders = [data_folder, Path(paths.jupyter_runtime_dir()), Path(paths.jupyter_config_dir())]
    return [*folders, options.config_folder] if options.config_folder else folders


def _write_server_file(path: Path, options: RuntimeOptions, root: Path) -> None:
    """Where the server that owns this store is, for the command line and the magics; readable by its user alone."""
    body = {"url": options.url, "token": options.token, "pid": os.getpid(), "root_dir": str(root)}
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(body, file)
