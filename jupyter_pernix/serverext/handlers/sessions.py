"""Sessions and their turns."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from ...errors import InvalidInput
from ...ids import SessionId, TurnId
from ...records import SessionCreate, SessionPatch, TurnCreate, TurnPatch
from .base import PernixHandler

_ARCHIVED = {None: False, "false": False, "true": True, "all": None}


class SessionsHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        archived = self.get_query_argument("archived", None)
        if archived not in _ARCHIVED:
            raise InvalidInput("query archived", "one of true, false, all")
        workers = self.get_query_argument("workers", "false")
        if workers not in ("true", "false"):
            raise InvalidInput("query workers", "true or false")
        parent = self.get_query_argument("parent", None)
        self.answer(
            (await self.runtime()).sessions.listed(
                archived=_ARCHIVED[archived],
                parent=SessionId(parent) if parent else None,
                workers=workers == "true",
            )
        )

    @web.authenticated
    @authorized
    async def post(self) -> None:
        runtime = await self.runtime()
        wanted = self.record(SessionCreate)
        await runtime.check_settings(endpoint=wanted.endpoint, kernel_name=wanted.kernel_name)
        summary = await runtime.sessions.create(wanted)
        self.answer(summary, status=201, location=f"{self.request.path.rstrip('/')}/{summary.session_id}")


class SessionHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self, session_id: str) -> None:
        self.answer(await (await self.runtime()).sessions.view(SessionId(session_id)))

    @web.authenticated
    @authorized
    async def patch(self, session_id: str) -> None:
        runtime = await self.runtime()
        wanted = self.record(SessionPatch)
        await runtime.check_settings(endpoint=wanted.endpoint, kernel_name=wanted.kernel_name)
        self.answer(await runtime.sessions.patch(SessionId(session_id), wanted))


class TurnsHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, session_id: str) -> None:
        wanted = self.record(TurnCreate)
        self.answer(await (await self.runtime()).sessions.submit(SessionId(session_id), wanted), status=202)


class TurnHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def patch(self, session_id: str, turn_id: str) -> None:
        wanted = self.record(TurnPatch)
        sessions = (await self.runtime()).sessions
        self.answer(await sessions.edit(SessionId(session_id), TurnId(turn_id), wanted))


class CancelHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, session_id: str, turn_id: str) -> None:
        await (await self.runtime()).sessions.cancel(SessionId(session_id), TurnId(turn_id))
        self.answer({}, status=202)


class ResumeHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, session_id: str) -> None:
        self.answer(await (await self.runtime()).sessions.resume(SessionId(session_id)), status=202)


class PauseHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, session_id: str) -> None:
        self.answer(await (await self.runtime()).sessions.pause(SessionId(session_id)), status=202)


class StopHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, session_id: str) -> None:
        self.answer(await (await self.runtime()).sessions.stop(SessionId(session_id)), status=202)


class CompactHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self, session_id: str) -> None:
        self.answer(await (await self.runtime()).sessions.compact(SessionId(session_id)), status=202)
