"""The one thread that writes the journal.

Requests wait in a queue; whatever waits when the thread is free becomes one record, so that ten callers pay for one write to the
disk. A request is answered on the event loop, once it is durable, in the order of ``seq``.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ...errors import StoreError
from .database import NO_ROOM
from .ingest import encode_line
from .journal import Journal

log = logging.getLogger(__name__)

_GROUP_ROWS = 2000
"""A record takes no further request once it holds this many events."""

_IDLE_SECONDS = 5.0
_MOST_ROWS = 5000
_MOST_BYTES = 4 * 1024 * 1024

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Row:
    """One event as it is stored. ``model``: where the event itself does not name it, else ""."""

    body: bytes
    model: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """A request that is durable: its rows have ``first_seq``, ``first_seq + 1``, …"""

    first_seq: int
    recorded_at: datetime


Answer = Callable[[Receipt | StoreError], None]


@dataclass(frozen=True, slots=True)
class _Request:
    rows: Sequence[Row]
    answer: Answer


class Writer:
    """Start it with ``start``; after ``close`` every request is refused. ``on_ripe`` is called on the thread when the journal should
    be taken into the database: it has grown, or nothing has come for a while. ``on_durable`` gets each payload there too, before
    its requests are answered; it must be quick, and not fail."""

    def __init__(
        self,
        journal: Journal,
        lock: threading.Lock,
        loop: asyncio.AbstractEventLoop,
        *,
        last_seq: int,
        on_ripe: Callable[[], None],
        on_durable: Callable[[bytes], None] | None = None,
    ) -> None:
        self._journal = journal
        self._lock = lock
        self._loop = loop
        self._last_seq = last_seq
        self._on_ripe = on_ripe
        self._on_durable = on_durable
        self._rows = 0
        self._queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="pernix-store-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, rows: Sequence[Row], answer: Answer) -> None:
        """Queue ``rows`` as one unit: all of them are stored, side by side, or none. ``answer`` is called on the event loop.

        :raises StoreError: if the store is closed
        """
        if self._closed:
            raise StoreError("the store is closed")
        self._queue.put(_Request(rows, answer))

    def close(self) -> None:
        """Store what waits (blocking). May be called twice."""
        self._closed = True
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        more = True
        while more:
            group, more = self._next_group()
            if group:
                self._commit(group)
                if self._rows >= _MOST_ROWS or self._journal.size >= _MOST_BYTES:
                    self._ripe()

    def _ripe(self) -> None:
        self._rows = 0
        self._on_ripe()

    def _next_group(self) -> tuple[list[_Request], bool]:
        """Everything that waits now, at least one; and whether more may come."""
        group: list[_Request] = []
        rows = 0
        request = self._first()
        while request is not None:
            group.append(request)
            rows += len(request.rows)
            if rows >= _GROUP_ROWS:
                break
            try:
                request = self._queue.get_nowait()
            except queue.Empty:
                break
        return group, request is not None

    def _first(self) -> _Request | None:
        try:
            return self._queue.get(timeout=_IDLE_SECONDS if self._rows else None)
        except queue.Empty:
            self._ripe()
            return self._queue.get()

    def _commit(self, group: list[_Request]) -> None:
        microseconds = time.time_ns() // 1000
        rows = [row for request in group for row in request.rows]
        first = self._last_seq + 1
        payload = b"".join(
            [encode_line(seq, microseconds, row.model, row.body) for seq, row in enumerate(rows, start=first)]
        )
        try:
            with self._lock:
                self._journal.append(payload)
        except Exception as exc:  # The edge of the thread: it must live on, and every caller must hear of it.
            log.exception("a record of %d events failed", len(rows))
            failure = StoreError(f"the store could not write: {exc}", hint=NO_ROOM)
            self._answer([(request.answer, failure) for request in group])
            return
        self._last_seq += len(rows)
        self._rows += len(rows)
        if self._on_durable is not None:
            self._on_durable(payload)
        recorded_at = _EPOCH + timedelta(microseconds=microseconds)
        receipts: list[tuple[Answer, Receipt | StoreError]] = []
        for request in group:
            receipts.append((request.answer, Receipt(first, recorded_at)))
            first += len(request.rows)
        self._answer(receipts)

    def _answer(self, answers: Sequence[tuple[Answer, Receipt | StoreError]]) -> None:
        try:
            self._loop.call_soon_threadsafe(_deliver, answers)
        except RuntimeError:  # The loop is closed: nobody waits any more, and the events are stored.
            log.debug("the event loop ended before %d answers", len(answers))


def _deliver(answers: Sequence[tuple[Answer, Receipt | StoreError]]) -> None:
    for answer, receipt in answers:
        answer(receipt)
