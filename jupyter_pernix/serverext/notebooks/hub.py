"""All notebooks of the server: who holds one now, asked anew for each thing that is done.

The server's shared document goes first where there is one, since every page follows it; then a page that has the notebook open; then
the file. One thing at a time is done to a notebook from here.
"""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio

from ...cells import standing
from ...errors import InvalidInput, NotebookRefused
from ...ids import SessionId
from ...ports import Executor
from ...records import CellChange, NotebookOwner
from ..kernels import LazyKernels
from ..surroundings import OnLate, SideFile
from .file import FileOwner
from .jupyter_sessions import JupyterSession, JupyterSessions, plain_path
from .owners import Held, Outputs, Owner, OwnerGone
from .page import PageOwner
from .pages import Pages
from .traces import Traces
from .ydoc import SharedDocuments

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class JupyterServer:
    """The managers of the server that we live in."""

    contents: Any
    sessions: Any
    kernels: Any


class NotebookHub:
    """``root``: the server's root folder, resolved."""

    def __init__(
        self,
        server: JupyterServer,
        *,
        pages: Pages,
        traces: Traces,
        kernels: LazyKernels,
        root: Path,
        shared: SharedDocuments | None = None,
    ) -> None:
        self.pages = pages
        self.traces = traces
        self.contents = server.contents
        self.sessions = JupyterSessions(
            server.sessions, server.contents, server.kernels, environment=kernels.environment
        )
        self._kernels = kernels
        self._root = root
        self._shared = shared
        self._locks: dict[str, anyio.Lock] = {}

    # ---- paths ----------------------------------------------------------------------------------------------------------

    def real(self, path: str) -> Path:
        """Where a path relative to the server's root really leads; it may be outside."""
        return Path(os.path.realpath(self._root / plain_path(path)))

    def same(self, one: str, two: str) -> bool:
        """Both name the same notebook, whatever links lead to it."""
        return plain_path(one) == plain_path(two) or self.real(one) == self.real(two)

    def located(self, given: str) -> str:
        """A notebook of the server's root as it was given, checked: it is a file there now.

        :raises InvalidInput: if it is not
        """
        path = plain_path(given)
        if "\0" in path or len(path) > 4096 or not path.casefold().endswith(".ipynb"):
            raise InvalidInput("$.path", f"{given[:200]!r} is not the path of a notebook")
        real = self.real(path)
        if not real.is_relative_to(self._root):
            raise InvalidInput("$.path", f"{given[:200]!r} leads out of the server's root")
        if not real.is_file():
            raise InvalidInput("$.path", f"there is no notebook {given[:200]!r}")
        return os.path.normpath(path).replace(os.sep, "/")

    @property
    def shares(self) -> bool:
        """Notebooks are shared documents, which pages follow instead of the stream."""
        return self._shared is not None and self._shared.enabled

    async def is_shared(self, path: str) -> bool:
        """It is open as a shared document now."""
        return self._shared is not None and await self._shared.owner(path) is not None

    def page_holds(self, path: str) -> bool:
        """A page has the notebook open. Unless it is shared, the page mirrors what runs in it by itself."""
        return bool(self.pages.holding(lambda other: self.same(other, path)))

    # ---- what is done to a notebook -------------------------------------------------------------------------------------

    async def read(self, path: str, session_id: SessionId) -> tuple[Held, NotebookOwner]:
        held, owner = await self.by_owner(path, session_id, lambda owner: owner.read())
        if not held.language:
            held = held._replace(language=await self._language(path))
        return held, owner

    async def change(self, path: str, session_id: SessionId, change: CellChange) -> NotebookOwner:
        """:raises NotebookRefused: if nothing was changed"""
        asked = 0

        async def make(owner: Owner) -> None:
            nonlocal asked
            asked += 1
            if asked > 1 and standing((await owner.read()).cells, change) == "after":
                return  # the owner before made it, and was gone before it said so
            await owner.change(change)

        return (await self.by_owner(path, session_id, make))[1]

    async def create(self, path: str, kernel_name: str) -> None:
        """A notebook without cells, in a file of its own.

        :raises NotebookRefused: if something is there, or it cannot be written
        """
        spec = await self.sessions.spec(kernel_name)
        async with self._locks.setdefault(str(self.real(path)), anyio.Lock()):
            if self.real(path).exists() or self.page_holds(path):
                raise NotebookRefused(f"there is something at {path!r} already")
            await self._file(path).create(spec)

    async def put_outputs(self, path: str, session_id: SessionId, outputs: Outputs) -> NotebookOwner:
        return (await self.by_owner(path, session_id, lambda owner: owner.put_outputs(outputs)))[1]

    async def by_owner(
        self, path: str, session_id: SessionId, act: Callable[[Owner], Awaitable[T]]
    ) -> tuple[T, NotebookOwner]:
        """Do something by whoever holds the notebook, and say who that was.

        :raises NotebookRefused: if nothing was done
        """
        async with self._locks.setdefault(str(self.real(path)), anyio.Lock()):
            shared = await self._shared.owner(path) if self._shared is not None else None
            if shared is not None:
                return await act(shared), shared.kind
            await self.pages.settled()
            for page, notebook in self.pages.holding(lambda other: self.same(other, path)):
                try:
                    return await act(PageOwner(self.pages, page, notebook, session_id)), "page"
                except OwnerGone:
                    continue
            return await act(self._file(path)), "file"

    def _file(self, path: str) -> FileOwner:
        real = self.real(path)
        if not real.is_relative_to(self._root):
            raise NotebookRefused(f"the path {path!r} leads out of the server's root")
        read_only = real.is_file() and not real.stat().st_mode & 0o222
        return FileOwner(self.contents, path, read_only=read_only)

    async def _language(self, path: str) -> str:
        try:
            return (await FileOwner(self.contents, path).read()).language
        except NotebookRefused:
            return ""  # a page may have open what is not saved yet

    # ---- kernels --------------------------------------------------------------------------------------------------------

    async def kernel_of(self, path: str) -> JupyterSession | None:
        return await self.sessions.of_path(lambda other: self.same(other, path))

    async def kernel_name_of(self, path: str) -> str:
        """The kernelspec that the notebook's file names, or ""."""
        return await FileOwner(self.contents, path).kernel_name()

    async def attach(self, kernel_id: str, *, side_file: SideFile, on_late: OnLate) -> Executor:
        """:raises KernelError: if it cannot be had"""
        return await self._kernels.attach(kernel_id, side_file=side_file, on_late=on_late)
