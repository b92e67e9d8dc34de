"""How far the audit goes."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from ..audit.examining import audit_head
from .base import PernixHandler


class AuditHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        runtime = await self.runtime()
        self.answer(await audit_head(runtime.store, runtime.trail))
