"""``ports.Notebooks`` for one session: the notebooks of its space, and nothing outside."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from ...agent.policy.scope import OutOfScope, Scope
from ...cells import digest_of
from ...errors import NotebookRefused
from ...ids import ExecutionId
from ...ports import NotebookState
from ...records import JSON, CellChange, CellSnapshot, NotebookOwner
from ..session_log import SessionLog
from ..session_widgets import widgets_of
from .attachment import Attachment
from .owners import Outputs


class SessionNotebooks:
    def __init__(self, log: SessionLog, attachment: Attachment, *, widgets: Callable[[], Mapping[str, JSON]]) -> None:
        """``widgets``: the state of the kernel's widgets now, by the id of the model."""
        self._log = log
        self._widgets = widgets
        self._attachment = attachment

    async def read(self, path: str, *, from_root: bool = False) -> NotebookState:
        where = await self._where(path, from_root=from_root)
        hub = self._attachment.hub
        held, owner = await hub.read(where, self._log.session_id)
        written = await hub.traces.written()
        attached = (await self._log.fold()).view.notebook
        return NotebookState(
            path=where,
            owner=owner,
            language=held.language or "python",
            cells=held.cells,
            name=Path(self._log.around.root / where).relative_to(self._log.space).as_posix(),
            attached=attached is not None and hub.same(attached.path, where),
            written=frozenset(cell.cell_id for cell in held.cells if (cell.cell_id, digest_of(cell)) in written),
        )

    async def create(self, path: str) -> None:
        where = await self._where(path, writes=True)
        view = (await self._log.fold()).view
        kernel_name = view.kernel_name or self._log.around.settings.kernel_name
        await self._attachment.hub.create(where, kernel_name)

    async def change(self, change: CellChange) -> NotebookOwner:
        where = await self._where(change.path, from_root=True, writes=True)
        return await self._attachment.hub.change(where, self._log.session_id, replace(change, path=where))

    async def begin_run(
        self, path: str, cell: CellSnapshot, execution_id: ExecutionId, *, trusted: bool
    ) -> NotebookOwner:
        where = await self._where(path, writes=True)
        _, owner = await self._attachment.hub.by_owner(
            where, self._log.session_id, lambda owner: owner.begin_run(cell, execution_id, trusted=trusted)
        )
        return owner

    async def put_outputs(
        self,
        path: str,
        cell_id: str,
        execution_id: ExecutionId,
        outputs: list[JSON],
        execution_count: int | None,
        *,
        trusted: bool,
    ) -> NotebookOwner:
        where = await self._where(path, writes=True)
        widgets = widgets_of(outputs, self._widgets())
        put = Outputs(cell_id, execution_id, outputs, execution_count, trusted, widgets=widgets)
        return await self._attachment.hub.put_outputs(where, self._log.session_id, put)

    async def _where(self, path: str, *, from_root: bool = False, writes: bool = False) -> str:
        """The notebook's path below the server's root. ``from_root``: ``path`` is one already.

        :raises NotebookRefused: if it is outside of the space, or no notebook, or one that is not to be written
        """
        root, space = self._log.around.root, self._log.space
        given = path or await self._attachment.path()
        base = root if from_root or not path else space
        try:
            located = Scope(space).locate(str(base / given))
        except OutOfScope as exc:
            raise NotebookRefused(f"the notebook {given!r} is not in the session's folder") from exc
        if writes and located.owned is not None:
            raise NotebookRefused(f"{given!r} is in {located.owned!r}, which only its owner writes")
        if not located.name.casefold().endswith(".ipynb"):
            raise NotebookRefused(f"{given!r} is not a notebook")
        return located.path.relative_to(root).as_posix()
