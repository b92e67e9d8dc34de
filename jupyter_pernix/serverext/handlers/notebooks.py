"""Notebooks: attaching sessions to them, the pages that have them open, and what agents did to their cells."""

import msgspec
from jupyter_server.auth.decorator import authorized
from tornado import web

from ...errors import InvalidInput
from ...ids import ChangeId, SessionId, TurnId
from ...records import ChangesDecide, NotebookAttach, PageAnswer, PageState
from .base import PernixHandler

_LONGEST_ID = 100
SEQS_HEADER = "X-Pernix-Seqs"
"""JSON: for each execution in the answer, the last event of its session that its view contains; the stream goes on behind it."""


class SessionNotebookHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, session_id: str) -> None:
        runtime = await self.runtime()
        wanted = self.record(NotebookAttach)
        await runtime.check_settings(endpoint=None, kernel_name=wanted.kernel_name)
        self.answer(await runtime.sessions.attach(SessionId(session_id), wanted))

    @web.authenticated
    @authorized
    async def delete(self, session_id: str) -> None:
        self.answer(await (await self.runtime()).sessions.detach(SessionId(session_id)))


class PageHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def put(self, page_id: str) -> None:
        state = self.record(PageState)
        if state.page_id != page_id or len(page_id) > _LONGEST_ID:
            raise InvalidInput("$.page_id", "this is not the id in the address")
        (await self.runtime()).notebooks.pages.put(state)
        self.answer(status=204)

    @web.authenticated
    @authorized
    async def delete(self, page_id: str) -> None:
        (await self.runtime()).notebooks.pages.drop(page_id)
        self.answer(status=204)


class PageCloseHandler(PernixHandler):
    """What a page that is being closed can send: it has no time for another verb."""

    @web.authenticated
    @authorized
    async def post(self, page_id: str) -> None:
        (await self.runtime()).notebooks.pages.drop(page_id)
        self.answer(status=204)


class PageAnswersHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, page_id: str) -> None:
        answer = self.record(PageAnswer)
        await (await self.runtime()).sessions.cells.answered(page_id, answer)
        self.answer(status=204)


class CellChangesHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        path = self.get_query_argument("path")
        self.answer(await (await self.runtime()).sessions.cells.changes(path))


class CellExecutionsHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        path = self.get_query_argument("path")
        found = await (await self.runtime()).sessions.cells.executions(path)
        self.set_header(SEQS_HEADER, msgspec.json.encode(found.seqs))
        self.answer(found.views)


class ChangeHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, change_id: str) -> None:
        wanted = self.record(ChangesDecide)
        sessions = (await self.runtime()).sessions
        self.answer(await sessions.cells.decide(ChangeId(change_id), wanted.decision, by="user"))


class TurnChangesHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, session_id: str, turn_id: str) -> None:
        wanted = self.record(ChangesDecide)
        sessions = (await self.runtime()).sessions
        self.answer(
            await sessions.cells.decide_turn(SessionId(session_id), TurnId(turn_id), wanted.decision, by="user")
        )
