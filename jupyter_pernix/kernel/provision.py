"""Find, start and attach to kernels through a Jupyter multi-kernel manager."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_client.manager import KernelManager
from jupyter_client.multikernelmanager import AsyncMultiKernelManager
from jupyter_core.paths import jupyter_runtime_dir
from traitlets.config import Config

from ..records import JSON
from .bundles import Caps
from .connection import Connection, Context, new_context
from .executor import KernelExecutor, OnLate, SideFile
from .process import KernelProcess, MultiManager
from .sandbox.provisioner import SandboxProvisioner, speaks_unix_sockets
from .sandbox.wall import Wall
from .telling import MaskerNow

_UNIX_PATH_LIMIT = 107
_KERNEL_FILE_LENGTH = 50


@dataclass(frozen=True, kw_only=True)
class KernelSpec:
    """An installed kernel; ``language`` in lower case."""

    name: str
    display_name: str
    language: str


class _OwnManager(AsyncMultiKernelManager):
    """Kernels that are not ipykernel's may not know how to bind Unix sockets; they get ports of loopback, as usual."""

    def pre_start_kernel(self, kernel_name: str | None, kwargs: dict[str, Any]) -> tuple[KernelManager, str, str]:
        manager, name, kernel_id = super().pre_start_kernel(kernel_name, kwargs)
        with contextlib.suppress(NoSuchKernel):  # starting it says so
            argv: list[str] = manager.kernel_spec.argv if manager.kernel_spec is not None else []
            if not speaks_unix_sockets(argv):
                manager.transport = "tcp"
        return manager, name, kernel_id


class _WalledManager(AsyncMultiKernelManager):
    """Kernels in the sandbox: each is given its ``wall`` when it is started. Nobody but us uses them."""

    def pre_start_kernel(self, kernel_name: str | None, kwargs: dict[str, Any]) -> tuple[KernelManager, str, str]:
        manager, name, kernel_id = super().pre_start_kernel(kernel_name, kwargs)
        manager.provisioner = SandboxProvisioner(
            parent=manager, kernel_id=kernel_id, kernel_spec=manager.kernel_spec, config=self.config
        )
        return manager, name, kernel_id


def own_manager() -> AsyncMultiKernelManager:
    """A multi-kernel manager for kernels that nobody but us uses: over Unix sockets, without open ports, where kernel and paths allow."""
    folder = Path(jupyter_runtime_dir()).absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The sockets lie beside the connection file, whose folder must be absolute: a kernel works in another folder than we do.
    manager = _OwnManager(connection_dir=str(folder), kernel_spec_manager=KernelSpecManager())
    if len(str(folder)) + _KERNEL_FILE_LENGTH <= _UNIX_PATH_LIMIT:
        manager.update_config(Config({"KernelManager": {"transport": "ipc"}}))
    return manager


def kernel_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What of this process's environment a kernel gets: all but the server's tokens and the model's key, and without a matplotlib
    backend that would keep figures from being shown."""
    withheld = {
        "OPENAI_API_KEY",
        "MPLBACKEND",
        "JUPYTER_TOKEN",
        "JPY_API_TOKEN",
        "JUPYTERHUB_API_TOKEN",
        "CONFIGPROXY_AUTH_TOKEN",
    }
    return {key: value for key, value in environ.items() if key not in withheld}


class Kernels:
    """Starts kernels and keeps hold of them until ``aclose``."""

    def __init__(
        self,
        manager: object,
        *,
        start_deadline: float = 60.0,
        interrupt_grace: float = 5.0,
        patience: float = 120.0,
        caps: Caps | None = None,
        automagic: bool = False,
        masker: MaskerNow | None = None,
    ) -> None:
        """``manager``: an ``AsyncMultiKernelManager``, or the Jupyter server's ``kernel_manager``. The others as for ``KernelExecutor``.
        ``automagic``: for cells that somebody wrote for IPython as it is."""
        self._manager = cast(MultiManager, manager)
        if self._manager.kernel_spec_manager is None:
            self._manager.kernel_spec_manager = KernelSpecManager()
        self._start_deadline, self._interrupt_grace, self._patience = start_deadline, interrupt_grace, patience
        self._caps, self._automagic = caps, automagic
        self._masker = masker
        self._walled: MultiManager | None = None
        self._context: Context | None = None
        self._executors: list[KernelExecutor] = []
        self._infos: dict[str, JSON] = {}

    def kernelspecs(self) -> dict[str, KernelSpec]:
        """The installed kernels by name."""
        assert self._manager.kernel_spec_manager is not None
        found = self._manager.kernel_spec_manager.get_all_specs()
        return {
            name: KernelSpec(
                name=name,
                display_name=str(entry["spec"].get("display_name", name)),
                language=str(entry["spec"].get("language", "")).lower(),
            )
            for name, entry in sorted(found.items())
        }

    def language_info(self, name: str) -> JSON:
        """What the last kernel of this name said about its language, as a notebook's ``language_info``; empty when none has."""
        return self._infos.get(name, {})

    def _keep_info(self, name: str, connection: Connection) -> None:
        info: Any = connection.info.get("language_info")
        if isinstance(info, dict):
            self._infos[name] = cast(JSON, info)

    async def start(
        self,
        kernel_name: str,
        cwd: Path,
        env: Mapping[str, str],
        *,
        side_file: SideFile | None = None,
        on_late: OnLate | None = None,
        wall: Wall | None = None,
    ) -> KernelExecutor:
        """A new kernel in the folder ``cwd``; ``kernel_name`` "" takes the manager's default. ``env`` is its whole environment. With a
        ``wall`` it runs in the sandbox, and is not listed among the kernels of the manager.

        :raises KernelMissing: naming the installed ones
        :raises KernelStartFailed: with what the process wrote to stderr
        :raises WallFailed: if it cannot run in the sandbox here
        """
        process = KernelProcess(
            self._manager if wall is None else self._behind_walls(),
            name=kernel_name or str(self._manager.default_kernel_name),
            cwd=cwd,
            env=kernel_environment(env),
            start_deadline=self._start_deadline,
            automagic=self._automagic,
            wall=wall,
        )
        context = self._opened()
        connection = await process.start(context)
        self._keep_info(process.name, connection)
        executor = KernelExecutor(
            process,
            connection,
            context=context,
            place="own",
            interrupt_grace=self._interrupt_grace,
            patience=self._patience,
            caps=self._caps,
            side_file=side_file,
            masker=self._masker,
            on_late=on_late,
            automagic=self._automagic,
        )
        self._executors = [*(kept for kept in self._executors if not kept.closed), executor]
        return executor

    async def attach(
        self, kernel_id: str, *, side_file: SideFile | None = None, on_late: OnLate | None = None
    ) -> KernelExecutor:
        """The kernel that runs under this id; closing the executor leaves it running.

        :raises KernelDied: if there is none
        :raises KernelStartFailed: if it does not answer
        """
        process = KernelProcess(self._manager, name="", start_deadline=self._start_deadline)
        context = self._opened()
        connection = await process.adopt(kernel_id, context)
        self._keep_info(process.name, connection)
        executor = KernelExecutor(
            process,
            connection,
            context=context,
            place="attached",
            interrupt_grace=self._interrupt_grace,
            patience=self._patience,
            caps=self._caps,
            side_file=side_file,
            masker=self._masker,
            on_late=on_late,
            automagic=self._automagic,
        )
        self._executors = [*(kept for kept in self._executors if not kept.closed), executor]
        return executor

    async def aclose(self) -> None:
        """Close all executors, at once. May be called twice."""
        async with anyio.create_task_group() as closing:
            while self._executors:
                closing.start_soon(self._executors.pop().aclose)
        if self._context is not None:
            self._context.destroy(linger=0)
            self._context = None

    def _behind_walls(self) -> MultiManager:
        if self._walled is None:
            # Its own: a kernel in the sandbox is no kernel for a notebook, and is reached by other means than the manager's.
            specs = cast(KernelSpecManager, self._manager.kernel_spec_manager)
            self._walled = cast(MultiManager, _WalledManager(kernel_spec_manager=specs))
        return self._walled

    def _opened(self) -> Context:
        if self._context is None:
            self._context = new_context()
        return self._context
