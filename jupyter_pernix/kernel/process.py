"""One kernel under a Jupyter multi-kernel manager, across all the processes that are started for it."""

import asyncio
import concurrent.futures
import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol, cast
from uuid import uuid4

import anyio
import anyio.to_thread
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from jupyter_core.utils import ensure_async

from ..errors import KernelDied, KernelError, KernelMissing, KernelStartFailed
from .automagic import NEVER
from .connection import Connection, Context
from .sandbox.wall import Wall
from .survivors import MARK, survivors
from .widgetstate import WidgetStates

_LOG_TAIL = 4_000
_LOG_LIMIT = 4_000_000
_NO_HISTORY = ("--HistoryManager.hist_file=:memory:",)
"""What the agent runs is no part of the user's own history; writing that file also costs some milliseconds a cell."""


class MultiManager(Protocol):
    """What is used of ``AsyncMultiKernelManager`` and of the Jupyter server's ``AsyncMappingKernelManager``."""

    kernel_spec_manager: KernelSpecManager | None
    default_kernel_name: str

    def start_kernel(self, *, kernel_name: str, **kwargs: Any) -> Any: ...
    def restart_kernel(self, kernel_id: str, now: bool = False) -> Any: ...
    def shutdown_kernel(self, kernel_id: str, now: bool = False) -> Any: ...
    def get_kernel(self, kernel_id: str) -> KernelManager: ...
    def __contains__(self, kernel_id: str) -> bool: ...


def explain_exit(code: int | None) -> str:
    """What a process's return code says, as the end of a sentence that begins with "it"."""
    if code is None:
        return "is gone"
    if code >= 0:
        return f"exited with code {code}"
    meaning = {
        signal.SIGKILL: "probably out of memory",
        signal.SIGSEGV: "a segmentation fault in native code",
        signal.SIGABRT: "native code called abort()",
        signal.SIGBUS: "a bus error in native code",
        signal.SIGILL: "an illegal instruction in native code",
        signal.SIGFPE: "an arithmetic error in native code",
        signal.SIGTERM: "something asked it to end",
    }
    try:
        name = signal.Signals(-code)
    except ValueError:
        return f"was killed by signal {-code}"
    reason = meaning.get(name)
    return f"was killed by signal {-code} ({name.name}{', ' + reason if reason else ''})"


def _ignore_failure(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


async def _settled(manager: KernelManager) -> None:
    """Return once a manager that starts its kernels in the background has started this one."""
    ready = cast("asyncio.Future[None] | concurrent.futures.Future[None]", manager.ready)  # pyright: ignore[reportUnknownMemberType]
    if isinstance(ready, concurrent.futures.Future):
        ready = asyncio.wrap_future(ready)
    await ready


class KernelProcess:
    """``start`` or ``adopt`` one; then it can be asked, interrupted, restarted and shut down."""

    def __init__(
        self,
        manager: MultiManager,
        *,
        name: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        start_deadline: float = 60.0,
        automagic: bool = False,
        wall: Wall | None = None,
    ) -> None:
        """``wall``: the kernel runs in the sandbox; ``manager`` must know of walls."""
        self._wall = wall
        self._manager = manager
        self._kernel_id = ""
        self._cwd, self._env = cwd, env
        self._mark = uuid4().hex
        self._start_deadline = start_deadline
        self._automagic = automagic
        self._log: IO[bytes] | None = None
        """What the process writes to its own stderr."""
        self._owned = True
        self.widgets = WidgetStates()
        """Of all the processes: what a notebook shows outlives them."""
        self.name = name
        self.language = ""
        self.was_shut_down = False

    @property
    def kernel_id(self) -> str:
        """As the Jupyter server lists it; changes only when the kernel was removed there and had to be started anew."""
        return self._kernel_id

    async def start(self, context: Context) -> Connection:
        """Start the process and connect to it.

        :raises KernelMissing: if no such kernelspec is installed
        :raises KernelStartFailed: with what the process wrote to stderr
        """
        options: dict[str, Any] = {"stderr": self._open_log(), "stdout": subprocess.DEVNULL}
        if self._cwd is not None:
            options["cwd"] = str(self._cwd)
        if self._env is not None:
            options["env"] = {**self._env, MARK: self._mark}
        if self._wall is not None:
            options["wall"] = self._wall
        specs = self._manager.kernel_spec_manager
        assert specs is not None
        try:
            # In a thread: for Python's own kernel it loads ipykernel, which held the event loop for 0.06 s of CPU.
            spec = await anyio.to_thread.run_sync(specs.get_kernel_spec, self.name)
            if any("ipykernel" in part for part in spec.argv):
                options["extra_arguments"] = [*_NO_HISTORY, *(() if self._automagic else (NEVER,))]
            with anyio.CancelScope(shield=True):  # half a start leaves a process that nobody knows
                self._kernel_id = await ensure_async(self._manager.start_kernel(kernel_name=self.name, **options))
        except NoSuchKernel as exc:
            self._close_log()
            raise KernelMissing(self.name, sorted(specs.find_kernel_specs())) from exc
        except OSError as exc:
            self._close_log()
            raise KernelStartFailed(self.name, str(exc)) from exc
        except KernelError:  # there can be no wall
            self._close_log()
            raise
        self.language = str(spec.language or "").lower()
        return await self._connect_or_stop(context)

    async def adopt(self, kernel_id: str, context: Context) -> Connection:
        """Connect to a kernel that somebody else started and keeps; it may be busy.

        :raises KernelDied: if it is not there or does not answer
        """
        self._owned = False
        if kernel_id not in self._manager:
            raise KernelDied(self.name or kernel_id, "no such kernel is running")
        self._kernel_id = kernel_id
        manager = self._manager.get_kernel(kernel_id)
        self.name = cast(str, manager.kernel_name)  # pyright: ignore[reportUnknownMemberType] - a trait
        self.language = str(manager.kernel_spec.language or "").lower() if manager.kernel_spec else ""
        return await self.connect(context)

    async def connect(self, context: Context) -> Connection:
        """A new connection to the process that runs now.

        :raises KernelStartFailed: if it does not answer before the start deadline, or dies
        """
        connection = Connection(self._manager.get_kernel(self._kernel_id), context, self.widgets)
        try:
            await self._wait_ready(connection, or_busy=not self._owned)
        except BaseException:
            connection.close()
            raise
        return connection

    async def restart(self, context: Context) -> Connection:
        """End the process, whatever it does, start another and connect to it.

        :raises KernelStartFailed: as ``start``
        """
        if self._kernel_id not in self._manager:
            return await self.start(context)
        with anyio.CancelScope(shield=True):
            done = await ensure_async(self._manager.restart_kernel(self._kernel_id, now=True))
            if isinstance(done, asyncio.Future | concurrent.futures.Future):
                # The Jupyter server returns a future of its own check; ours below decides, and its failure is no news.
                cast("asyncio.Future[Any]", done).add_done_callback(_ignore_failure)
        return await self._connect_or_stop(context)

    @property
    def identity(self) -> int | None:
        """Tells one process from the next; ``None`` where that cannot be known."""
        provisioner = self._provisioner()
        return cast("int | None", provisioner.pid) if isinstance(provisioner, LocalProvisioner) else None  # pyright: ignore

    @property
    def is_leaving(self) -> bool:
        """It is being shut down or restarted, or was removed: what became of it is known afterwards."""
        if self._kernel_id not in self._manager:
            return True
        return bool(getattr(self._manager.get_kernel(self._kernel_id), "shutting_down", False))

    async def is_alive(self) -> bool:
        return self._kernel_id in self._manager and bool(
            await ensure_async(self._manager.get_kernel(self._kernel_id).is_alive())
        )

    async def exit_sentence(self) -> str:
        """How the process ended, as ``explain_exit``."""
        provisioner = self._provisioner()
        return explain_exit(await provisioner.poll() if provisioner is not None else None)

    async def survivors(self) -> list[str]:
        """Processes that a kernel of ours started and that are not below the one that runs now, as ``survivors.survivors``."""
        if not self._owned or self._env is None:
            return []
        kernel = self.identity if await self.is_alive() else None
        return await anyio.to_thread.run_sync(partial(survivors, self._mark, kernel=kernel))

    async def interrupt(self) -> None:
        with contextlib.suppress(RuntimeError, OSError):  # it has just died; whoever watches it will say so
            await ensure_async(self._manager.get_kernel(self._kernel_id).interrupt_kernel())

    async def shutdown(self, *, now: bool) -> None:
        """End a process of ours; let go of another's."""
        self.was_shut_down = True
        if self._owned and self._kernel_id and self._kernel_id in self._manager:
            await ensure_async(self._manager.shutdown_kernel(self._kernel_id, now=now))
        self._close_log()

    def log_tail(self) -> str:
        """The last that the process wrote to its own stderr, which is not what code prints."""
        if self._log is None:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), _LOG_TAIL, max(0, size - _LOG_TAIL)).decode("utf-8", "replace").strip()

    def trim_log(self) -> None:
        """Keep what the process writes to its own stderr from filling the disk."""
        if self._log is not None and os.fstat(self._log.fileno()).st_size > _LOG_LIMIT:
            os.ftruncate(self._log.fileno(), 0)

    def _open_log(self) -> int:
        if self._log is None:
            self._log = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed when the process is let go
        return self._log.fileno()

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _provisioner(self) -> Any:
        return self._manager.get_kernel(self._kernel_id).provisioner if self._kernel_id in self._manager else None

    async def _connect_or_stop(self, context: Context) -> Connection:
        manager = self._manager.get_kernel(self._kernel_id)
        # Jupyter's restarter would race with ours and hide a death behind a silent restart.
        manager.stop_restarter()
        manager.autorestart = False
        try:
            await _settled(manager)
            return await self.connect(context)
        except BaseException:
            with anyio.move_on_after(10, shield=True):
                if self._kernel_id in self._manager:
                    await ensure_async(self._manager.shutdown_kernel(self._kernel_id, now=True))
            self._close_log()
            raise

    async def _wait_ready(self, connection: Connection, *, or_busy: bool) -> None:
        reason = ""
        with anyio.move_on_after(self._start_deadline) as limit:
            async with anyio.create_task_group() as group:

                async def watch() -> None:
                    nonlocal reason
                    while await self.is_alive():  # noqa: ASYNC110 - nothing tells of the end of a process
                        await anyio.sleep(0.2)
                    reason = f"it {await self.exit_sentence()}"
                    group.cancel_scope.cancel()

                group.start_soon(watch)
                await connection.wait_ready(or_busy=or_busy)
                group.cancel_scope.cancel()
        if limit.cancelled_caught:
            reason = f"it did not answer within {self._start_deadline:g} s"
        if reason:
            tail = self.log_tail()
            raise KernelStartFailed(self.name, f"{reason}. It wrote:\n{tail}" if tail else reason)
