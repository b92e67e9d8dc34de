"""A notebook that a browser page has open: the page's own model is the truth, and the page changes it for us."""

from ...errors import NotebookRefused
from ...ids import ExecutionId, SessionId
from ...records import CellChange, CellSnapshot, NotebookOwner, OpenNotebook, PageAnswer
from .owners import Held, Outputs, OwnerGone
from .pages import Page, PageGone, Pages, new_request_id

READ_SECONDS = 6.0
CHANGE_SECONDS = 10.0
_STALE_SECONDS = 3.0


class PageOwner:
    """One page, and the notebook that it has open."""

    kind: NotebookOwner = "page"

    def __init__(self, pages: Pages, page: Page, notebook: OpenNotebook, session_id: SessionId) -> None:
        self._pages = pages
        self._page = page
        self._notebook = notebook
        self._session_id = session_id

    async def read(self) -> Held:
        answer = await self._ask(seconds=READ_SECONDS, op="read", request_id=new_request_id())
        return Held(cells=list(answer.cells))

    async def change(self, change: CellChange) -> None:
        self._writable()
        await self._ask(
            seconds=CHANGE_SECONDS, op="change", request_id=change.change_id, change=change, cell_id=change.cell_id
        )

    async def begin_run(self, cell: CellSnapshot, execution_id: ExecutionId, *, trusted: bool) -> None:
        await self._ask(
            seconds=CHANGE_SECONDS,
            op="run",
            request_id=new_request_id(),
            cell_id=cell.cell_id,
            source=cell.source,
            execution_id=execution_id,
            trusted=trusted,
        )

    async def put_outputs(self, outputs: Outputs) -> None:
        await self._ask(
            seconds=CHANGE_SECONDS,
            op="outputs",
            request_id=new_request_id(),
            cell_id=outputs.cell_id,
            execution_id=outputs.execution_id,
            outputs=outputs.outputs,
            execution_count=outputs.execution_count,
            trusted=outputs.trusted,
        )

    def _writable(self) -> None:
        if self._notebook.read_only:
            raise NotebookRefused(f"the notebook {self._notebook.path!r} is read-only")

    async def _ask(self, *, seconds: float, request_id: str, **fields: object) -> PageAnswer:
        """The answer of the page. One that has long been silent and is silent now is gone; one that has not may hold what the user has
        not saved, and then nobody else may change the notebook.

        :raises NotebookRefused: if it refused, or did not answer
        :raises OwnerGone: if the page is gone
        """
        stale = self._pages.is_stale(self._page)
        try:
            answer = await self._pages.ask(
                self._page.page_id,
                self._session_id,
                request_id=request_id,
                seconds=min(seconds, _STALE_SECONDS) if stale else seconds,
                path=self._notebook.path,
                **fields,
            )
        except PageGone as exc:
            raise OwnerGone from exc
        if answer is None:
            if stale:
                self._pages.drop(self._page.page_id)
                raise OwnerGone
            raise NotebookRefused(
                f"the browser page that has {self._notebook.path!r} open did not answer within {seconds:g} s; nothing was changed"
            )
        if answer.refused:
            raise NotebookRefused(answer.refused.rstrip("."))
        return answer
