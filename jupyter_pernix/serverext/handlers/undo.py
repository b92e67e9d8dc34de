"""Files that a session has changed, and putting them back."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from ...errors import InvalidInput
from ...ids import SessionId
from ...records import FilesUndo
from .base import PernixHandler


class FilesHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self, session_id: str) -> None:
        path = self.get_query_argument("path", "", strip=False)
        diff = self.get_query_argument("diff", "0")
        if diff not in ("0", "1"):
            raise InvalidInput("query diff", "0 or 1")
        files = (await self.runtime()).sessions.files
        self.answer(await files.changed(SessionId(session_id), path=path, diff=diff == "1" or path != ""))


class UndoHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, session_id: str) -> None:
        wanted = self.record(FilesUndo)
        files = (await self.runtime()).sessions.files
        self.answer(await files.undo(SessionId(session_id), wanted, by="user"))
