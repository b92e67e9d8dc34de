"""The user's own queries over the events."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from ...records import SqlQuery
from .base import PernixHandler


class SqlHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self) -> None:
        query = self.record(SqlQuery)
        runtime = await self.runtime()
        self.answer(await runtime.store.sql(query))
