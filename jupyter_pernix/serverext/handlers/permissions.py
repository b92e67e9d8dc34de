"""The user's saved rules."""

from urllib.parse import quote

from jupyter_server.auth.decorator import authorized
from tornado import web

from ...ids import SessionId
from ...records import ConsentChange, PermissionChange
from ..audit.noting import note_consent, note_rule
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
        await runtime.permissions.add(runtime.sessions, change, by=self.who())
        await note_rule(runtime.store, "rule.saved", change, by=self.who())
        query = f"?session_id={quote(change.session_id)}" if change.session_id else ""
        shown = await runtime.permissions.shown(runtime.sessions, change.session_id)
        self.answer(shown, status=201, location=self.request.path.rstrip("/") + query)

    @web.authenticated
    @authorized
    async def delete(self) -> None:
        runtime, change = await self.runtime(), self.record(PermissionChange)
        await runtime.permissions.remove(runtime.sessions, change)
        await note_rule(runtime.store, "rule.removed", change, by=self.who())
        self.answer(await runtime.permissions.shown(runtime.sessions, change.session_id))


class ConsentsHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self) -> None:
        runtime, change = await self.runtime(), self.record(ConsentChange)
        await runtime.permissions.consent(runtime.sessions, change, by=self.who())
        await note_consent(runtime.store, "consent.given", change, by=self.who())
        shown = await runtime.permissions.shown(runtime.sessions, change.session_id)
        place = self.request.path.rstrip("/").removesuffix("/consents")
        self.answer(shown, status=201, location=f"{place}?session_id={quote(change.session_id)}")

    @web.authenticated
    @authorized
    async def delete(self) -> None:
        runtime, change = await self.runtime(), self.record(ConsentChange)
        await runtime.permissions.take_back(runtime.sessions, change)
        await note_consent(runtime.store, "consent.taken", change, by=self.who())
        self.answer(await runtime.permissions.shown(runtime.sessions, change.session_id))
