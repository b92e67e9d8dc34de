"""A browser page as the server sees it: it tells what it has open, reads the stream, and carries out what it is asked to."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import msgspec

from jupyter_pernix.cells import applied, found, refusal, same_content
from jupyter_pernix.events import PageRequest
from jupyter_pernix.records import JSON, CellSnapshot, PageAnswer

from ..served import Served


@dataclass(kw_only=True, eq=False)
class ScriptedPage:
    """Holds ``cells`` of one notebook. ``silent``: it takes requests and does nothing. ``before``: called with each request before it is
    carried out. ``asked`` keeps the requests, ``refusals`` the answers that the server did not want."""

    server: Served
    page_id: str
    path: str
    cells: list[CellSnapshot] = field(default_factory=list[CellSnapshot])
    visible: bool = True
    used_at: float = 0.0
    dirty: bool = False
    silent: bool = False
    before: Callable[[PageRequest], Any] = lambda request: None
    asked: list[PageRequest] = field(default_factory=list[PageRequest])
    running: dict[str, str] = field(default_factory=dict[str, str])
    refused_answers: int = 0
    changed: anyio.Event = field(default_factory=anyio.Event)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator["ScriptedPage"]:
        """While this lasts, the page is there; it does not say goodbye by itself."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._listen)
            await self.tell()
            yield self
            tasks.cancel_scope.cancel()

    async def tell(self) -> None:
        notebook: JSON = {
            "path": self.path,
            "dirty": self.dirty,
            "visible": self.visible,
            "used_at": self.used_at,
        }
        state = {"page_id": self.page_id, "notebooks": [notebook]}
        response = await self.server.http.put(f"/pages/{self.page_id}", json=state)
        assert response.status_code == 204, response.text

    async def close(self) -> None:
        response = await self.server.http.post(f"/pages/{self.page_id}/close")
        assert response.status_code == 204, response.text

    async def until_asked(self, count: int = 1) -> None:
        with anyio.fail_after(20):
            while len(self.asked) < count:
                await self.changed.wait()

    async def _listen(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with self.server.stream() as stream:
            task_status.started()
            async for message in stream:
                if message.event == "page" and message.data["page_id"] == self.page_id:
                    await self._take(msgspec.convert(message.data, PageRequest))

    async def _take(self, request: PageRequest) -> None:
        self.asked.append(request)
        changed, self.changed = self.changed, anyio.Event()
        changed.set()
        waits = self.before(request)
        if waits is not None:
            await waits
        if self.silent:
            return
        cells = list(self.cells)
        answer = self.carry_out(request)
        response = await self.server.http.post(f"/pages/{self.page_id}/answers", json=msgspec.to_builtins(answer))
        if response.status_code == 409:
            self.refused_answers += 1
            self.cells = cells

    def carry_out(self, request: PageRequest) -> PageAnswer:
        """As the page does it: looked at and changed at once."""
        match request.op:
            case "read":
                return PageAnswer(request_id=request.request_id, cells=self.cells, dirty=self.dirty)
            case "change":
                assert request.change is not None
                why = refusal(self.cells, request.change)
                if not why:
                    self.cells = applied(self.cells, request.change)
            case "run" | "outputs":
                why = self._outputs(request)
            case "save":
                why = ""
        return PageAnswer(request_id=request.request_id, refused=why, dirty=self.dirty)

    def _outputs(self, request: PageRequest) -> str:
        cell = found(self.cells, request.cell_id)
        if cell is None:
            return f"there is no cell {request.cell_id!r}"
        if request.op == "run" and not same_content(
            cell, CellSnapshot(cell_id="", cell_type="code", source=request.source)
        ):
            return f"the cell {request.cell_id!r} was changed meanwhile"
        new = msgspec.structs.replace(cell, outputs=request.outputs, execution_count=request.execution_count)
        self.cells = [new if one is cell else one for one in self.cells]
        return ""
