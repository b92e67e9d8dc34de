"""Server-sent events: what was stored after ``after``, what is being written now, and then everything as it happens.

A stored event carries ``id: seq``, a delta does not. The stream is written only as fast as it is read: one that falls behind gets
what it has missed from the store, a page at a time, once it reads again; one that does not read is ended, and comes back with
``Last-Event-ID``. While a client keeps up, what happens is written by the bus's call, without waking the request's task.
"""

import asyncio
import socket
import time

import anyio
from jupyter_server.auth.decorator import authorized
from tornado import web
from tornado.iostream import StreamClosedError

from ...errors import InvalidInput
from ...ids import SessionId
from ..bus import Bus, Subscription, event_message
from ..store import EventStore
from .base import PernixHandler

HEARTBEAT_SECONDS = 15.0
STALLED_SECONDS = 60.0
_SEND_BUFFER = 256 * 1024
"""The kernel keeps at most twice as much for a client; left alone, it is some megabytes for one that does not read."""

_FIRST_PAGE = 200
_PAGE = 2000
_PAGE_BYTES = 512 * 1024
_HEARTBEAT = b": here\n\n"


class StreamHandler(PernixHandler):
    _subscription: Subscription | None = None
    _written: "asyncio.Future[None] | None" = None
    """The last write, while the socket has not taken all of it."""
    _written_at = 0.0
    _gone = False

    @web.authenticated
    @authorized
    async def get(self) -> None:
        runtime = await self.runtime()
        session = self.get_query_argument("session", None)
        session_id = SessionId(session) if session is not None else None
        if session_id is not None:
            runtime.sessions.summary(session_id)
        after = self._after()
        self._stirred = anyio.Event()
        self._open()
        try:
            await self.flush()
            await self._serve(runtime.bus, runtime.store, session_id, after)
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
        if self.settings.get("compress_response"):
            # Said so that Tornado does not compress: what follows goes past it.
            self.set_header("Content-Encoding", "identity")
        # Tornado's sockets have Nagle's algorithm on: without this a small event waits 44 ms for the next.
        stream = getattr(self.request.connection, "stream", None)
        if stream is not None:
            stream.set_nodelay(True)
            stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)

    async def _serve(self, bus: Bus, store: EventStore, session_id: SessionId | None, after: int | None) -> None:
        """Until the server or the client ends it; one that fell behind begins again where it is."""
        greeted = False
        while not (bus.closed or self._gone):
            with bus.subscribe(session_id) as self._subscription:
                if not greeted:
                    greeted = True
                    await self._send(b'event: hello\ndata: {"last_seq":%d}\n\n' % self._subscription.start)
                if after is not None:
                    await self._replay(store, session_id, after=after, until=self._subscription.start)
                await self._follow(self._subscription)
                if not self._subscription.fell_behind:
                    return
                after = self._subscription.seen

    async def _replay(self, store: EventStore, session_id: SessionId | None, *, after: int, until: int) -> None:
        limit = _FIRST_PAGE
        while after < until:
            page = await store.wire(session_id, after=after, until=until, limit=limit)
            if not page:
                return
            messages = b"".join([event_message(wire.seq, wire.data) for wire in page])
            after = page[-1].seq
            limit = max(1, min(_PAGE, _PAGE_BYTES * len(page) // len(messages)))
            await self._send(messages)

    async def _follow(self, subscription: Subscription) -> None:
        """Most of the work is done in ``_pour``; here it is waited for whatever is slow."""
        subscription.ready = self._pour
        while True:
            self._pour()
            if self._written is not None:
                await self._taken()
            elif subscription.cut:
                return
            else:
                await self._keep_warm()

    async def _keep_warm(self) -> None:
        """Until ``_pour`` has come to something slow; a quiet stream has its heartbeat meanwhile."""
        self._stirred = anyio.Event()
        with anyio.move_on_after(self._written_at + HEARTBEAT_SECONDS - time.monotonic()):
            await self._stirred.wait()
        if self._written is None and time.monotonic() >= self._written_at + HEARTBEAT_SECONDS:
            self._write(_HEARTBEAT)

    def _pour(self) -> None:
        """Write what waits, as long as the socket takes it at once."""
        subscription = self._subscription
        assert subscription is not None
        while self._written is None and (chunk := subscription.take()):
            self._write(chunk)
        if self._written is not None or subscription.cut:
            self._stirred.set()

    def _write(self, chunk: bytes) -> None:
        connection = self.request.connection
        assert connection is not None
        written = connection.write(chunk)
        self._written = None if written.done() and written.exception() is None else written
        self._written_at = time.monotonic()

    async def _taken(self) -> None:
        """Until the socket has taken the last write.

        :raises TimeoutError: if it does not
        :raises StreamClosedError: if the client has gone
        """
        if self._written is not None:
            with anyio.fail_after(STALLED_SECONDS):
                await self._written
            self._written = None

    async def _send(self, chunk: bytes) -> None:
        """As ``_write``; returns once the socket has taken it."""
        self._write(chunk)
        await self._taken()

    def _abandon(self) -> None:
        stream = getattr(self.request.connection, "stream", None)
        if stream is not None:
            stream.close()

    def on_connection_close(self) -> None:
        super().on_connection_close()
        self._gone = True
        if self._subscription is not None:
            self._subscription.end()


__all__ = ["StreamHandler"]
