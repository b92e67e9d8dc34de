"""The local model: a GGUF file served by a process of ours, offered to sessions as the endpoint named "local"."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from ..config import Settings
from ..errors import ModelError
from ..records import LocalModel, LocalStart, LocalStatus
from .background import start_guarded
from .endpoints import Endpoints

if TYPE_CHECKING:
    from ..gpu.local import LocalModels, LocalServer

log = logging.getLogger(__name__)


class Local:
    """What could be served, and the one that is; its endpoint comes and goes with it."""

    def __init__(self, settings: Settings, endpoints: Endpoints, tasks: TaskGroup) -> None:
        self._folders = [Path(folder).expanduser() for folder in settings.model_folders]
        self._endpoints = endpoints
        self._tasks = tasks
        self._models: LocalModels | None = None

    def _loaded(self) -> "LocalModels":
        if self._models is None:
            # Imported here: only who serves a model of their own needs it.
            from ..gpu.local import LocalModels

            self._models = LocalModels(self._folders)
        return self._models

    async def status(self) -> LocalStatus:
        status = await self._loaded().status()
        if not any(model.state in ("loading", "ready") for model in status.models):
            self._endpoints.drop_local()
        return status

    async def start(self, order: LocalStart) -> LocalModel:
        """Begin to load a file; ``status`` tells how far it is.

        :raises Conflict: if another file is being served
        :raises NotFound: if there is no such file
        :raises ModelError: if it cannot be served
        """
        models = self._loaded()
        before = models.server
        server = await models.start(order)
        if server is not before:
            self._endpoints.put_local(
                server.base_url, server.alias, key=server.key, context_length=server.context_length
            )
            start_guarded(self._tasks, self._follow, server)
        return server.record()

    async def stop(self) -> None:
        """May be called when nothing is served."""
        self._endpoints.drop_local()
        if self._models is not None:
            await self._models.stop()

    async def aclose(self) -> None:
        """Stop what is served, even while everything else is being cancelled."""
        with anyio.CancelScope(shield=True):
            await self.stop()

    async def _follow(self, server: "LocalServer") -> None:
        try:
            await self._endpoints.load_local(server.wait_ready)
        except ModelError as exc:
            if self._loaded().server is server:  # else it was stopped while it loaded
                log.warning("the local model does not run: %s", exc)
