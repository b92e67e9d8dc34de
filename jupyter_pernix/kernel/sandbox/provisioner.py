"""``pernix-sandbox``: starts a kernel behind a wall, wherever Jupyter starts kernels.

Used for the kernels of sessions that are in the sandbox, and by any kernelspec that names it::

    {"argv": […], "metadata": {"kernel_provisioner": {"provisioner_name": "pernix-sandbox", "config": {"network": false}}}}

The kernel is spoken to over Unix sockets in a folder that only it and we see, so that it needs no network. One that cannot speak over
them starts only where the wall lets the network through.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from traitlets import Bool, Float, Int, List, Unicode

from . import environment
from .kept import kept_in
from .limits import NO_GROUP, Limits
from .probe import WallFailed, behind, limited_by, why_not
from .wall import Access, Wall

_UNIX_SOCKETS = ("ipykernel", "bash_kernel")
_SIGNALLED = 128
_GONE_DEADLINE = 5.0


def speaks_unix_sockets(argv: list[str]) -> bool:
    """Whether a kernel that is started so is known to bind Unix sockets; others may not know how."""
    return any(word in part for part in argv for word in _UNIX_SOCKETS)


class SandboxProvisioner(LocalProvisioner):
    """The traits hold where nobody gives a wall: for kernels by a kernelspec."""

    network = Bool(False, help="Let the network through.").tag(config=True)
    readable = List(Unicode(), help="Further folders that the kernel may read.").tag(config=True)
    memory_gib = Float(None, allow_none=True, help="Memory for the kernel and all it starts.").tag(config=True)
    processes = Int(1024, allow_none=True, help="Processes and threads.").tag(config=True)

    _wall: Wall | None = None
    _room: Path | None = None
    """Ours alone: the connection file, the sockets, and the temporary folder of a wall that nobody gave."""
    _group = NO_GROUP

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """:raises WallFailed: if the sandbox does not work here, or not for this folder or kernel"""
        wall = cast("Wall | None", kwargs.pop("wall", None))
        said = await anyio.to_thread.run_sync(why_not)
        if said:  # before anything is made for it
            raise WallFailed(said)
        self._room = self._room or await anyio.to_thread.run_sync(_new_room)
        try:
            return await self._prepared(wall, **kwargs)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.cleanup()
            raise

    async def _prepared(self, wall: Wall | None, **kwargs: Any) -> dict[str, Any]:
        environ = cast("dict[str, str]", kwargs.get("env") or dict(os.environ))
        kwargs["env"] = environment.cleaned(environ)
        folder = str(kwargs.get("cwd") or ".")
        self._wall = wall or await anyio.to_thread.run_sync(self._wall_of_our_own, folder)
        self._speak_over_sockets()
        prepared = await super().pre_launch(**kwargs)
        prepared["cmd"] = await anyio.to_thread.run_sync(
            partial(self._behind, self._wall, prepared["cmd"], prepared["env"])
        )
        return prepared

    async def poll(self) -> int | None:
        """As for a process without a wall: negative when a signal ended it."""
        code = await super().poll()
        return _SIGNALLED - code if code is not None and _SIGNALLED < code <= _SIGNALLED + signal.NSIG else code

    async def send_signal(self, signum: int) -> None:
        """To the kernel and what it started in its own group; KILL ends all that the wall holds."""
        kernel = await anyio.to_thread.run_sync(self._kernel_pid) if signum != signal.SIGKILL else None
        if kernel is None:
            await super().send_signal(signum)
            return
        with suppress(ProcessLookupError):
            os.killpg(os.getpgid(kernel), signum)

    async def cleanup(self, restart: bool = False) -> None:
        await super().cleanup(restart)
        await self._all_gone()
        self._group = NO_GROUP
        if not restart and self._room is not None:
            await anyio.to_thread.run_sync(partial(shutil.rmtree, self._room, ignore_errors=True))
            self._room = None

    # ---- the wall -------------------------------------------------------------------------------------------------------

    def _wall_of_our_own(self, folder: str) -> Wall:
        assert self._room is not None
        scope = Path(folder).resolve()
        return Wall(
            scope=scope,
            temporary=self._room / "tmp",
            home=Path.home().resolve(),
            network=bool(self.network),
            readable=tuple(Path(path).expanduser().resolve() for path in self.readable),
            kept=kept_in(scope),
            limits=Limits(
                memory=None if self.memory_gib is None else int(cast(float, self.memory_gib) * 2**30),
                processes=self.processes,
            ),
        )

    def _speak_over_sockets(self) -> None:
        manager, room, wall = cast(KernelManager, self.parent), self._room, self._wall
        assert room is not None and wall is not None and manager.kernel_spec is not None
        if not speaks_unix_sockets(manager.kernel_spec.argv):
            if not wall.network:
                raise WallFailed(
                    f"the kernel {self.kernel_spec.display_name!r} can only be spoken to over the network, which the sandbox keeps out; "
                    "let the network through for this session, or use a kernel of Python or bash"
                )
            return
        manager.transport, manager.cache_ports = "ipc", False
        if manager.connection_file != str(room / "connection.json"):
            manager.connection_file = str(room / "connection.json")
            manager.ip = str(room / "s" / "k")

    def _behind(self, wall: Wall, command: list[str], environ: Mapping[str, str]) -> list[str]:
        """Blocking."""
        assert self._room is not None
        self._group = limited_by(wall.limits)
        manager = cast(KernelManager, self.parent)
        folder = self.kernel_spec.resource_dir
        if folder and any(folder in part for part in command):
            wall = replace(wall, readable=(*wall.readable, Path(folder)))
        own: list[tuple[Path, Access]] = [(Path(manager.connection_file), "read"), (self._room / "s", "write")]
        return behind(wall, command, environ=environ, group=self._group, own=own)

    # ---- its processes --------------------------------------------------------------------------------------------------

    def _kernel_pid(self) -> int | None:
        """The kernel itself, as seen from outside: below bubblewrap is the first process inside, and below that the kernel."""
        process = cast("subprocess.Popen[bytes] | None", self.process)  # pyright: ignore[reportUnknownMemberType]
        first = _child(process.pid) if process is not None else None
        return _child(first) if first is not None else None

    async def _all_gone(self) -> None:
        """What the wall held has ended, a moment after bubblewrap, and its control group with it."""
        with anyio.move_on_after(_GONE_DEADLINE):
            while not self._group.remove():  # noqa: ASYNC110 - nothing tells of the end of a process that is not ours
                await anyio.sleep(0.01)


def _new_room() -> Path:
    room = Path(tempfile.mkdtemp(prefix="pernix-")).resolve()
    for name in ("s", "tmp"):
        (room / name).mkdir(mode=0o700)
    return room


def _child(pid: int) -> int | None:
    """The oldest process below this one."""
    with suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else None
    return next(iter(sorted(child for child, parent in _parents() if parent == pid)), None)


def _parents() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                # "pid (name) state ppid …"; a name may hold anything
                found.append((int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])))
    return found
