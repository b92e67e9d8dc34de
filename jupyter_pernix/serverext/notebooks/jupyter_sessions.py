"""Which kernel belongs to which notebook: the Jupyter server's own sessions, as its pages make and change them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

from jupyter_core.utils import ensure_async
from tornado.web import HTTPError

from ...errors import KernelMissing, KernelStartFailed
from ...records import JSON


class JupyterSession(NamedTuple):
    """A notebook and its kernel. ``path`` is relative to the server's root."""

    path: str
    kernel_id: str
    kernel_name: str


class JupyterSessions:
    """``environment`` gives what a kernel started here may see of the server's own environment."""

    def __init__(self, manager: Any, contents: Any, kernels: Any, *, environment: Callable[[], dict[str, str]]) -> None:
        self._manager = manager
        self._contents = contents
        self._kernels = kernels
        self._environment = environment

    async def all(self) -> list[JupyterSession]:
        """Those of notebooks whose kernel runs."""
        listed = cast(list[JSON], await ensure_async(self._manager.list_sessions()))
        return [_session(model) for model in listed if model["type"] == "notebook"]

    async def of_path(self, is_it: Callable[[str], bool]) -> JupyterSession | None:
        return next((one for one in await self.all() if is_it(one.path)), None)

    async def of_kernel(self, kernel_id: str) -> JupyterSession | None:
        return next((one for one in await self.all() if one.kernel_id == kernel_id), None)

    async def spec(self, kernel_name: str) -> JSON:
        """What a notebook says of its kernelspec; of one that is not installed only the name."""
        name = kernel_name or str(self._kernels.default_kernel_name)
        installed = cast(JSON, await ensure_async(self._kernels.kernel_spec_manager.get_all_specs()))
        spec = installed[name]["spec"] if name in installed else {"display_name": name, "language": ""}
        return {"name": name, "display_name": str(spec["display_name"]), "language": str(spec["language"])}

    async def open(self, path: str, kernel_name: str) -> JupyterSession:
        """Start a kernel for the notebook, in the notebook's folder; a page that opens it later uses that one.

        :raises KernelMissing: if there is no such kernelspec
        :raises KernelStartFailed: if it does not start
        """
        # Imported here: it brings jupyter_client, which is not loaded with the server.
        from ...kernel.provision import kernel_environment

        folder = await ensure_async(self._contents.get_kernel_path(path=path))
        name = path.rsplit("/", 1)[-1]
        full = str(Path(self._kernels.cwd_for_path(folder), name))
        environ = {**kernel_environment(self._environment()), "JPY_SESSION_NAME": full}
        wanted = kernel_name or str(self._kernels.default_kernel_name)
        installed = sorted(await ensure_async(self._kernels.kernel_spec_manager.get_all_specs()))
        if wanted not in installed:
            raise KernelMissing(wanted, installed)
        try:
            kernel_id = await ensure_async(self._kernels.start_kernel(path=folder, kernel_name=wanted, env=environ))
            model = await ensure_async(
                self._manager.create_session(path=path, name=name, type="notebook", kernel_id=kernel_id)
            )
        except (HTTPError, OSError, RuntimeError) as exc:
            raise KernelStartFailed(wanted, str(exc)) from exc
        return _session(cast(JSON, model))


def plain_path(path: str) -> str:
    """Without the drive that a page that shares documents puts before it."""
    drive, colon, rest = path.partition(":")
    return (rest if colon and "/" not in drive and drive == "RTC" else path).lstrip("/")


def _session(model: JSON) -> JupyterSession:
    return JupyterSession(
        path=plain_path(str(model["path"])),
        kernel_id=str(model["kernel"]["id"]),
        kernel_name=str(model["kernel"]["name"]),
    )
