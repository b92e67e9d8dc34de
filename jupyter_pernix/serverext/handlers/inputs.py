"""Lines that running code waits for."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from ...ids import InputId
from ...records import InputAnswer
from .base import PernixHandler


class InputHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, input_id: str) -> None:
        wanted = self.record(InputAnswer)
        sessions = (await self.runtime()).sessions
        self.answer(await sessions.inputs.answer(InputId(input_id), wanted, by="user"))
