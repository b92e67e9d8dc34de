"""The variables of a session's kernel."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from ...ids import SessionId
from ..variables import variable, variables
from .base import PernixHandler


class VariablesHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self, session_id: str) -> None:
        self.answer(await variables((await self.runtime()).sessions, SessionId(session_id)))


class VariableHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self, session_id: str, name: str) -> None:
        self.answer(await variable((await self.runtime()).sessions, SessionId(session_id), name))
