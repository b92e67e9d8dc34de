"""The notebook that a session is attached to. Before each use it is asked what became of it: a page may have renamed it, given it another
kernel, or closed it with its kernel. What is new is stored before it is used.
"""

import logging
from collections.abc import Sequence

import anyio

from ...errors import Conflict, InvalidInput, NotebookRefused
from ...events import Event, KernelRestarted, SessionAttached, SessionDetached
from ...records import NotebookView
from ..session_log import SessionLog
from .hub import NotebookHub
from .jupyter_sessions import JupyterSession

log = logging.getLogger(__name__)

_OTHER_KERNEL = "The notebook has another kernel now ({name}): the variables of the one before are not there."
_NEW_KERNEL = "The notebook's kernel had been shut down; a new one was started ({name}): all variables are gone."


class Attachment:
    """Of one session. ``hub`` ``None``: there are no notebooks here."""

    def __init__(self, log_: SessionLog, hub: NotebookHub | None) -> None:
        self._log = log_
        self._hub = hub
        self._lock = anyio.Lock()

    @property
    def hub(self) -> NotebookHub:
        """:raises NotebookRefused: if there are no notebooks here"""
        if self._hub is None:
            raise NotebookRefused("this server has no notebooks")
        return self._hub

    async def attach(self, path: str, kernel_name: str = "") -> None:
        """Attach the session to the notebook, with the kernel that it has or, if it has none, a new one.

        :raises InvalidInput: if it is no notebook of the session's folder
        :raises NotebookRefused: if it cannot be read
        :raises KernelError: if it has no kernel and none can be started
        """
        hub, log_ = self.hub, self._log
        wanted = hub.located(path)
        if not hub.real(wanted).is_relative_to(log_.space):
            raise InvalidInput("$.path", f"{path[:200]!r} is not in the session's folder")
        async with self._lock:
            if (await log_.fold()).view.place == "in_cell":
                raise Conflict("this session's code runs in the cell that asks; it cannot be attached to a notebook")
            # it must be one that can be read, before a kernel is started for it
            await hub.read(wanted, log_.session_id)
            session = await hub.kernel_of(wanted) or await self._opened(wanted, kernel_name)
            await log_.append(self._attached(session, wanted))

    async def detach(self, reason: str = "") -> None:
        """:raises Conflict: if it is not attached"""
        async with self._lock:
            if (await self._log.fold()).view.notebook is None:
                raise Conflict("the session is not attached to a notebook")
            await self._log.append(SessionDetached(session_id=self._log.session_id, reason=reason))

    async def now(self) -> NotebookView:
        """The notebook and its kernel as they are now.

        :raises NotebookRefused: if the session is not attached, or the notebook is gone
        :raises KernelError: if the notebook has lost its kernel and no new one can be started
        """
        async with self._lock:
            view = (await self._log.fold()).view.notebook
            if view is None:
                raise NotebookRefused("this session is not attached to a notebook; name one by its path")
            session, said = await self._found(view)
            if session.path != view.path or session.kernel_id != view.kernel_id:
                events: list[Event] = [self._attached(session, session.path), *self._notice(session, said)]
                await self._log.append(*events)
            return NotebookView(path=session.path, kernel_id=session.kernel_id, kernel_name=session.kernel_name)

    async def has_kernel(self) -> bool:
        """Whether the notebook has a kernel; none is started for it."""
        view = (await self._log.fold()).view.notebook
        if view is None:
            return False
        by_kernel = await self.hub.sessions.of_kernel(view.kernel_id)
        return by_kernel is not None or await self.hub.kernel_of(view.path) is not None

    async def path(self) -> str:
        """Of the notebook, without a look at its kernel: one that was renamed is found by that.

        :raises NotebookRefused: if the session is not attached
        """
        async with self._lock:
            view = (await self._log.fold()).view.notebook
            if view is None:
                raise NotebookRefused("this session is not attached to a notebook; name one by its path")
            by_kernel = await self.hub.sessions.of_kernel(view.kernel_id)
            if by_kernel is None or by_kernel.path == view.path:
                return view.path
            await self._log.append(self._attached(by_kernel, by_kernel.path))
            return by_kernel.path

    async def _found(self, view: NotebookView) -> tuple[JupyterSession, str]:
        """The notebook's session now, and what there is to say about its kernel."""
        hub = self.hub
        by_kernel = await hub.sessions.of_kernel(view.kernel_id)
        if by_kernel is not None:
            return by_kernel, ""
        by_path = await hub.kernel_of(view.path)
        if by_path is not None:
            return by_path._replace(path=view.path), _OTHER_KERNEL
        if not hub.real(view.path).is_file():
            raise NotebookRefused(
                f"the notebook {view.path!r} is gone, and so is its kernel; attach the session to another one, or detach it"
            )
        return await self._opened(view.path, view.kernel_name), _NEW_KERNEL

    async def _opened(self, path: str, kernel_name: str) -> JupyterSession:
        hub = self.hub
        session = await hub.sessions.open(path, kernel_name or await hub.kernel_name_of(path))
        return session._replace(path=path)

    def _attached(self, session: JupyterSession, path: str) -> SessionAttached:
        return SessionAttached(
            session_id=self._log.session_id, path=path, kernel_id=session.kernel_id, kernel_name=session.kernel_name
        )

    def _notice(self, session: JupyterSession, said: str) -> Sequence[Event]:
        if not said:
            return []
        text = said.format(name=session.kernel_name)
        return [
            KernelRestarted(session_id=self._log.session_id, turn_id=None, kernel_name=session.kernel_name, text=text)
        ]
