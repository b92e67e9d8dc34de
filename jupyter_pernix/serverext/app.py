"""The extension as the Jupyter server sees it. One supervising task owns everything that lives; the hooks start and stop that task."""

import asyncio
from pathlib import Path
from typing import Any

import jupyter_core.paths
from jupyter_server.extension.application import ExtensionApp
from traitlets import Dict, List, Unicode

from ..errors import PernixError, StoreError
from ..records import JSON
from .handlers import ROUTES, routes
from .openapi import describe
from .runtime import Runtime, RuntimeOptions, running
from .surroundings import Carry

READY_SECONDS = 30.0
STOP_SECONDS = 20.0


class PernixApp(ExtensionApp):
    """An AI agent workspace: sessions, their turns, and the HTTP API under ``/pernix/api``."""

    name = "jupyter_pernix"
    description = "An AI agent workspace: sessions, their turns, and the HTTP API under /pernix/api."
    load_other_extensions = True

    settings_file = Unicode(
        help="Path of the settings file; the default is pernix/config.toml in the Jupyter config directory."
    ).tag(config=True)
    data_folder = Unicode(
        help="Folder of the session store; the default is what the settings say, or pernix in the Jupyter data directory."
    ).tag(config=True)

    overrides = Dict(
        help="Settings that go before all others, nested or by dotted keys, e.g. {'budget.rounds': 20}; "
        "on the command line --PernixApp.overrides=budget.rounds=20."
    ).tag(config=True)
    assignments = List(
        Unicode(), help="Settings of a command that starts this server (`jupyter pernix … --set KEY=VALUE`)."
    ).tag(config=True)

    carry: Carry | None = None
    """Carries turns instead of the agent; for tests."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._settled = asyncio.Event()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._runtime: Runtime | None = None
        self._fault: PernixError | None = None

    def initialize_handlers(self) -> None:
        self.handlers.extend([(pattern, handler, {"app": self}) for pattern, handler in routes()])

    async def runtime(self) -> Runtime:
        """What the handlers work on; waits while it starts.

        :raises PernixError: if it cannot be had, with the reason
        """
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._settled.wait()
        except TimeoutError as exc:
            raise StoreError("jupyter_pernix has not started yet; try again in a moment") from exc
        if self._runtime is None:
            raise self._fault or StoreError("jupyter_pernix is stopped")
        return self._runtime

    def api_description(self) -> JSON:
        return describe(ROUTES)

    def current_activity(self) -> int | None:
        """Turns that run or wait; they keep a server alive that stops when idle."""
        return (self._runtime.sessions.busy or None) if self._runtime is not None else None

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        if self._task is None:
            # The only task that is not in a group: it owns the group that all others are in.
            self._task = asyncio.create_task(self._live(self._options(serverapp)), name="jupyter_pernix")

    async def stop_extension(self) -> None:
        """Interrupt running turns, close everything. May come without a start."""
        self._stop.set()
        if self._task is not None:
            _, late = await asyncio.wait([self._task], timeout=STOP_SECONDS)
            for task in late:
                self.log.error("jupyter_pernix did not stop within %d s", STOP_SECONDS)
                task.cancel()

    def _options(self, serverapp: Any) -> RuntimeOptions:
        config_folder = Path(jupyter_core.paths.jupyter_config_dir()) / "pernix"
        return RuntimeOptions(
            root=Path(serverapp.root_dir),
            config_folder=config_folder,
            settings_file=Path(self.settings_file) if self.settings_file else config_folder / "config.toml",
            data_folder=self.data_folder,
            assignments=tuple(self.assignments),
            overrides=self.overrides | ({"data_folder": self.data_folder} if self.data_folder else {}),
            url=serverapp.connection_url,
            token=serverapp.identity_provider.token,
            kernel_manager=serverapp.kernel_manager,
            contents_manager=serverapp.contents_manager,
            session_manager=serverapp.session_manager,
            extensions=lambda: serverapp.extension_manager.extension_apps,
            carry=self.carry,
        )

    async def _live(self, options: RuntimeOptions) -> None:
        try:
            async with running(options) as self._runtime:
                self._settled.set()
                await self._stop.wait()
        except* PernixError as group:
            self._fault = _first(group)
            self.log.error("jupyter_pernix does not serve: %s", self._fault)
        except* Exception as group:  # The edge of our task: the server and its other extensions go on.
            self._fault = PernixError(f"jupyter_pernix failed: {_first(group)!r}; the server's log has the details")
            self.log.error("jupyter_pernix failed", exc_info=group)
        finally:
            self._runtime = None
            self._settled.set()


def _first(group: BaseExceptionGroup[Any]) -> Any:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
