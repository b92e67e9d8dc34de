"""Questions that wait for a person."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from ...ids import ApprovalId, SessionId
from ...records import ApprovalAnswer
from .base import PernixHandler


class ApprovalsHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        session = self.get_query_argument("session", None)
        self.answer(await (await self.runtime()).sessions.approvals(SessionId(session) if session else None))


class ApprovalHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, approval_id: str) -> None:
        wanted = self.record(ApprovalAnswer)
        sessions = (await self.runtime()).sessions
        self.answer(await sessions.answer(ApprovalId(approval_id), wanted, by="user"))
