"""The log over HTTP: stored events as one JSON array."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from ...ids import SessionId
from .base import PernixHandler

PAGE = 10_000
"""At most so many events in one answer; ask again with the last ``seq``."""


class EventsHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        after, limit = self.number("after", 0), self.number("limit", PAGE)
        session = self.get_query_argument("session", None)
        runtime = await self.runtime()
        if session is not None:
            runtime.sessions.summary(SessionId(session))
        events = await runtime.store.wire(
            SessionId(session) if session is not None else None, after=after or 0, limit=min(limit or 0, PAGE)
        )
        self.set_status(200)
        self.finish(b"[" + b",".join(event.data for event in events) + b"]")
