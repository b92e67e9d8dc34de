"""The user's saved rules."""

from urllib.parse import quote

from jupyter_server.auth.decorator import authorized
from tornado import web

from ...ids import SessionId
from ...records import PermissionChange
from .base import PernixHandler


class PermissionsHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        session = self.get_query_argument("session_id", None)
        runtime = await self.runtime()
        self.answer(await runtime.permissions.shown(runtime.sessions, SessionId(session) if session else None))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        runtime, change = await self.runtime(), self.record(PermissionChange)
        await runtime.permissions.add(runtime.sessions, change, by=self._who())
        query = f"?session_id={quote(change.session_id)}" if change.session_id else ""
        shown = await runtime.permissions.shown(runtime.sessions, change.session_id)
        self.answer(shown, status=201, location=self.request.path.rstrip("/") + query)

    @web.authenticated
    @authorized
    async def delete(self) -> None:
        runtime, change = await self.runtime(), self.record(PermissionChange)
        await runtime.permissions.remove(runtime.sessions, change)
        self.answer(await runtime.permissions.shown(runtime.sessions, change.session_id))

    def _who(self) -> str:
        """As the server knows them; without users it makes up a name for each browser."""
        user = self.current_user
        return str(getattr(user, "name", "") or getattr(user, "username", "") or "user")
