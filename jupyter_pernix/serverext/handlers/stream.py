"""Server-sent events: what was stored after ``after``, what is being written now, and then everything as it happens.

A stored event carries ``id: seq``, a delta does not. The stream is written only as fast as it is read: one that does not read is
ended, and comes back with ``Last-Event-ID``.
"""

from collections.abc import Iterable

import anyio
from jupyter_server.auth.decorator import authorized
from tornado import web
from tornado.iostream import StreamClosedError

from ...errors import InvalidInput
from ...ids import SessionId
from ..bus import Frame, Subscription
from ..store import EventStore, Wire
from .base import PernixHandler

HEARTBEAT_SECONDS = 15.0
STALLED_SECONDS = 60.0
_REPLAY_PAGE = 2000


def _message(frame: Frame | Wire) -> bytes:
    if frame.seq is None:
        return b"event: delta\ndata: " + frame.data + b"\n\n"
    return b"id: %d\nevent: pernix\ndata: %b\n\n" % (frame.seq, frame.data)


class StreamHandler(PernixHandler):
    _subscription: Subscription | None = None

    @web.authenticated
    @authorized
    async def get(self) -> None:
        runtime = await self.runtime()
        session = self.get_query_argument("session", None)
        session_id = SessionId(session) if session is not None else None
        if session_id is not None:
            runtime.sessions.summary(session_id)
        after = self._after()
        self._open()
        try:
            with runtime.bus.subscribe(session_id) as self._subscription:
                await self._send([b'event: hello\ndata: {"last_seq":%d}\n\n' % self._subscription.start])
                await self._replay(runtime.store, session_id, after=after, until=self._subscription.start)
                await self._follow(self._subscription)
        except (StreamClosedError, TimeoutError):
            self._abandon()
            return
        self.finish(set_content_type="text/event-stream")

    def _after(self) -> int | None:
        text = self.request.headers.get("Last-Event-ID")
        if text is None:
            return self.number("after", None)
        if not text.isascii() or not text.isdigit() or len(text) > 18:
            raise InvalidInput("header Last-Event-ID", f"{text[:40]!r} is not a whole number")
        return int(text)

    def _open(self) -> None:
        self.set_header("Content-Type", "text/event-stream; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Accel-Buffering", "no")
        # Tornado's sockets have Nagle's algorithm on: without this a small event waits 44 ms for the next.
        stream = getattr(self.request.connection, "stream", None)
        if stream is not None:
            stream.set_nodelay(True)

    async def _replay(self, store: EventStore, session_id: SessionId | None, *, after: int | None, until: int) -> None:
        while after is not None and after < until:
            page = await store.wire(session_id, after=after, until=until, limit=_REPLAY_PAGE)
            if not page:
                return
            await self._send(map(_message, page))
            after = page[-1].seq

    async def _follow(self, subscription: Subscription) -> None:
        while not subscription.cut:
            frames: list[Frame] = []
            with anyio.move_on_after(HEARTBEAT_SECONDS):
                frames = await subscription.frames()
            if subscription.cut:
                return
            await self._send(map(_message, frames) if frames else [b": here\n\n"])

    async def _send(self, messages: Iterable[bytes]) -> None:
        """One write for all; returns once the socket has taken it."""
        self.write(b"".join(messages))
        with anyio.fail_after(STALLED_SECONDS):
            await self.flush()

    def _abandon(self) -> None:
        stream = getattr(self.request.connection, "stream", None)
        if stream is not None:
            stream.close()

    def on_connection_close(self) -> None:
        super().on_connection_close()
        if self._subscription is not None:
            self._subscription.end()


__all__ = ["StreamHandler"]
