"""A notebook that nobody has open: its file, read and written through the server's contents manager.

What is saved is what was read with one thing changed: the file's hash is compared right before saving. Reading never writes. A file
that another program writes between the two is not overwritten.
"""

import base64
import json
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import anyio.to_thread
from jupyter_core.utils import ensure_async
from tornado.web import HTTPError

from ...cells import missing, refusal, same_content
from ...errors import NotebookMissing, NotebookRefused
from ...ids import ExecutionId
from ...records import JSON, CellChange, CellSnapshot, NotebookOwner
from .nbcells import change_cells, set_outputs, snapshot
from .owners import Held, Outputs
from .reading import Loaded, load, strictly
from .trust import only_safe


@dataclass(frozen=True, kw_only=True)
class _Read:
    """``state``: what tells whether the file was changed since."""

    loaded: Loaded
    content: bytes
    state: str


class FileOwner:
    """One notebook by its path, relative to the server's root. Whoever uses it holds the notebook's lock."""

    kind: NotebookOwner = "file"

    def __init__(self, contents: Any, path: str, *, read_only: bool = False) -> None:
        """``read_only``: nobody may write the file, whatever the server's user could."""
        self._contents = contents
        self._path = path
        self._read_only = read_only

    async def read(self) -> Held:
        loaded = (await self._read()).loaded
        return Held(cells=_snapshots(loaded), language=loaded.language)

    async def kernel_name(self) -> str:
        """The kernelspec that the file names, or ""."""
        return (await self._read()).loaded.kernel_name

    async def create(self, kernelspec: JSON) -> None:
        """Write it, without cells; nothing must be there."""
        metadata: JSON = {"kernelspec": kernelspec}
        if kernelspec["language"]:
            metadata["language_info"] = {"name": kernelspec["language"]}
        empty: JSON = {"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
        try:
            folder = self._path.rpartition("/")[0]
            for at in range(len(folder.split("/")) if folder else 0):
                await self._make_folder("/".join(folder.split("/")[: at + 1]))
            await ensure_async(
                self._contents.save({"type": "notebook", "format": "json", "content": empty}, self._path)
            )
        except HTTPError as exc:
            raise self._refused(exc) from exc

    async def _make_folder(self, path: str) -> None:
        if not await ensure_async(self._contents.dir_exists(path)):
            await ensure_async(self._contents.save({"type": "directory"}, path))

    async def change(self, change: CellChange) -> None:
        read = await self._read_to_change()
        why = refusal(_snapshots(read.loaded), change)
        if why:
            raise NotebookRefused(f"{self._path!r}: {why}")
        change_cells(read.loaded.cells, change)
        await self._save(read)

    async def begin_run(self, cell: CellSnapshot, execution_id: ExecutionId, *, trusted: bool) -> None:
        read = await self._read_to_change()
        now = self._cell(read, cell.cell_id)
        if not same_content(snapshot(now), cell):
            raise NotebookRefused(f"{self._path!r}: the cell {cell.cell_id!r} was changed meanwhile")
        set_outputs(now, [], None)
        await self._save(read)

    async def put_outputs(self, outputs: Outputs) -> None:
        read = await self._read_to_change()
        cell = self._cell(read, outputs.cell_id)
        if cell.get("cell_type") != "code":
            raise NotebookRefused(f"{self._path!r}: the cell {outputs.cell_id!r} is no code cell any more")
        set_outputs(cell, outputs.outputs, outputs.execution_count)
        cell["metadata"]["trusted"] = outputs.trusted or only_safe(outputs.outputs)
        if outputs.widgets:
            read.loaded.add_widgets(outputs.widgets)
        await self._save(read)

    def _cell(self, read: _Read, cell_id: str) -> JSON:
        why = missing(_snapshots(read.loaded), cell_id)
        if why:
            raise NotebookRefused(f"{self._path!r}: {why}")
        return next(cell for cell in read.loaded.cells if cell.get("id") == cell_id)

    async def _read_to_change(self) -> _Read:
        """What is trusted now is marked before anything is changed, and signed again by saving."""
        read = await self._read()
        strict = await anyio.to_thread.run_sync(strictly, read.content)
        read.loaded.mark(trusted=strict is not None and self._is_signed(strict))
        return read

    def _is_signed(self, notebook: Any) -> bool:
        """Not in a thread: the notary's database knows one."""
        try:
            return bool(self._contents.notary.check_signature(notebook))
        except UnicodeError:  # half a character was never signed
            return False

    async def _read(self) -> _Read:
        try:
            model = await self._get(content=True)
        except HTTPError as exc:
            raise self._refused(exc) from exc
        content = base64.b64decode(str(model["content"]))
        loaded = await anyio.to_thread.run_sync(partial(load, content, name=self._path))
        return _Read(loaded=loaded, content=content, state=_state(model))

    async def _get(self, *, content: bool) -> JSON:
        # As bytes: reading as a notebook may move a damaged file out of the way, and repairs in silence.
        wanted: JSON = {"type": "file", "format": "base64", "content": content}
        try:
            found: Any = await ensure_async(self._contents.get(self._path, **wanted, require_hash=True))
        except TypeError:  # a contents manager that knows no hashes
            found = await ensure_async(self._contents.get(self._path, **wanted))
        return cast(JSON, found)

    async def _save(self, read: _Read) -> None:
        try:
            model = await self._get(content=False)
            if _state(model) != read.state:
                raise NotebookRefused(f"the file {self._path!r} was changed meanwhile; nothing was written")
            if self._read_only or not model.get("writable", True):
                raise NotebookRefused(f"the file {self._path!r} is read-only; nothing was written")
            content = {"type": "notebook", "format": "json", "content": read.loaded.notebook}
            await ensure_async(self._contents.save(content, self._path))
        except HTTPError as exc:
            raise self._refused(exc) from exc

    def _refused(self, exc: HTTPError) -> NotebookRefused:
        match exc.status_code:
            case 404:
                return NotebookMissing(f"there is no notebook {self._path!r}; it may have been renamed or deleted")
            case 403:
                return NotebookRefused(f"the file {self._path!r} is read-only; nothing was written")
            case _:
                return NotebookRefused(f"the file {self._path!r} cannot be used: {exc.log_message or exc.reason}")


def _snapshots(loaded: Loaded) -> list[CellSnapshot]:
    return [snapshot(cell) for cell in loaded.cells]


def _state(model: JSON) -> str:
    return json.dumps([str(model.get("hash") or ""), "" if model.get("hash") else str(model.get("last_modified"))])
