"""Kernels over the Jupyter server's own kernel manager, so that they show in Running; loaded when the first one is needed."""

import os
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from anyio.abc import TaskGroup

from ..ports import Executor
from .background import start_guarded
from .known_secrets import KnownSecrets, Values
from .surroundings import OnLate, SideFile

if TYPE_CHECKING:
    from ..kernel.provision import Kernels, KernelSpec
    from ..kernel.sandbox import Wall

_SHORTEST = 8
"""Shorter values would be found where they mean something else."""


class LazyKernels:
    """``surroundings.Kernels``; costs nothing until a kernel is wanted."""

    def __init__(
        self,
        kernel_manager: Any,
        *,
        withheld: Collection[str] = (),
        secrets: Values = tuple,
        known: KnownSecrets | None = None,
    ) -> None:
        """``withheld``: variables that hold keys of endpoints; no kernel gets them, nor any other that holds one of ``secrets``.
        ``known``: what is masked in the texts that are put aside."""
        self._known = known or KnownSecrets()
        self._kernel_manager = kernel_manager
        self._secrets = secrets
        self._withheld = frozenset(withheld)
        self.tasks: TaskGroup | None = None
        """Where started kernels are listened to between executions; without it late outputs wait for the next one."""
        self._kernels: Kernels | None = None

    def _loaded(self) -> "Kernels":
        if self._kernels is None:
            # Imported here: it brings jupyter_client's blocking and threaded parts, which the server does not load by itself.
            from ..kernel.provision import Kernels

            self._kernels = Kernels(self._kernel_manager, masker=lambda: self._known.masker)
        return self._kernels

    async def _load(self) -> "Kernels":
        if self._kernels is None:
            # In a thread: the event loop has other sessions to serve meanwhile.
            await anyio.to_thread.run_sync(import_module, "jupyter_pernix.kernel.provision")
        return self._loaded()

    async def start(
        self, kernel_name: str, *, cwd: Path, side_file: SideFile, on_late: OnLate, wall: "Wall | None" = None
    ) -> Executor:
        """A new kernel with this process's environment, but for the keys of the server and of the endpoints; behind ``wall``, if one is
        given.

        :raises KernelError: if it cannot be had
        """
        environ = self.environment()
        kernels = await self._load()
        executor = await kernels.start(kernel_name, cwd, environ, side_file=side_file, on_late=on_late, wall=wall)
        if self.tasks is not None:
            start_guarded(self.tasks, executor.attend)
        return executor

    async def attach(self, kernel_id: str, *, side_file: SideFile, on_late: OnLate) -> Executor:
        """The kernel that runs under this id, which goes on running when the executor is closed.

        :raises KernelError: if it cannot be had
        """
        executor = await (await self._load()).attach(kernel_id, side_file=side_file, on_late=on_late)
        if self.tasks is not None:
            start_guarded(self.tasks, executor.attend)
        return executor

    def environment(self) -> dict[str, str]:
        """What a kernel may see of this process's environment, but for what ``kernel_environment`` keeps back from all of them."""
        secrets = [secret for secret in self._secrets() if len(secret) >= _SHORTEST]
        return {
            name: value
            for name, value in os.environ.items()
            if name not in self._withheld and not any(secret in value for secret in secrets)
        }

    def spec(self, name: str) -> "KernelSpec | None":
        """What is installed under this name (blocking); ``None`` also while no kernel has been wanted."""
        return self._kernels.kernelspecs().get(name) if self._kernels is not None else None

    def language_info(self, name: str) -> dict[str, Any]:
        """What the last kernel of this name said about its language; empty when there was none."""
        return self._kernels.language_info(name) if self._kernels is not None else {}

    async def names(self) -> set[str]:
        """Installed kernelspecs."""
        return set(await anyio.to_thread.run_sync((await self._load()).kernelspecs))

    async def aclose(self) -> None:
        """Shut down what was started."""
        if self._kernels is not None:
            await self._kernels.aclose()
