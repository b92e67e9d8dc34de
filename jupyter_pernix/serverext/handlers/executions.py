"""Executions that a cell carries out for its session, and texts that were too long to show."""

import anyio
from jupyter_server.auth.decorator import authorized
from tornado import web

from ...errors import NotFound
from ...ids import ExecutionId, SessionId
from ...records import ExecutionResult, OutputsPosted
from .base import PernixHandler


class OutputsHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, execution_id: str) -> None:
        posted = self.record(OutputsPosted)
        await (await self.runtime()).executions.outputs(ExecutionId(execution_id), posted.ops)
        self.answer(status=204)


class FinishHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, execution_id: str) -> None:
        result = self.record(ExecutionResult)
        await (await self.runtime()).executions.finish(ExecutionId(execution_id), result)
        self.answer(status=204)


class SideFileHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self, session_id: str, name: str) -> None:
        runtime = await self.runtime()
        runtime.sessions.summary(SessionId(session_id))
        path = anyio.Path(runtime.side_files.path(SessionId(session_id), name))
        try:
            text = await path.read_bytes()
        except OSError as exc:
            raise NotFound("side file", name) from exc
        self.finish(text, set_content_type="text/plain; charset=utf-8")
