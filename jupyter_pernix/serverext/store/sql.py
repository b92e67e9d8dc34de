"""The user's own queries over the log. Each has a connection and a thread of its own, so that a slow one holds up neither the writer
nor the event loop, and is stopped after a while."""

import asyncio
import json
import threading
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from ...errors import Conflict, InvalidInput, StoreError
from ...records import SqlQuery, SqlResult
from .sql_bounds import MEMORY, TEXT, bounded, held
from .sql_check import checked
from .sql_views import make_views

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS = 10_000
"""The most rows in one answer."""

SECONDS = 10.0
"""A query that takes longer is stopped."""

_GRACE = 2.0
_LOOK = 0.05
"""Seconds between two looks at what a query holds."""
_AT_ONCE = 2
_BYTES = 4_000_000
"""Of one answer, as JSON, about."""
_WHOLE = 2**53
"""Numbers beyond are texts: a browser would read them wrong."""


class _Watch:
    """Interrupts ``connection`` once ``seconds`` are over, its database holds more than ``MEMORY`` for queries, or ``stop`` was called,
    until ``end`` is."""

    def __init__(self, connection: "DuckDBPyConnection", seconds: float) -> None:
        self.late = self.large = False
        self._connection, self._seconds = connection, seconds
        self._wake, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="pernix-sql-watch", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        last = monotonic() + self._seconds
        while not self._wake.wait(_LOOK) and monotonic() < last and not self.large:
            self.large = self._holds_too_much()
        self.late = not self._ended.is_set()
        while not self._ended.wait(0.1):  # one interrupt may come between two statements
            self._connection.interrupt()

    def _holds_too_much(self) -> bool:
        try:
            with self._connection.cursor() as beside:
                return held(beside) > MEMORY
        except Exception:  # nothing is left to look with, or the connection is closed just now
            return not self._ended.is_set()

    def stop(self) -> None:
        self._wake.set()

    def end(self) -> None:
        self._ended.set()
        self._wake.set()
        self._thread.join()


class SqlReader:
    """``connect`` gives a new connection that reads everything acknowledged."""

    def __init__(self, connect: "Callable[[], Awaitable[DuckDBPyConnection]]", *, seconds: float = SECONDS) -> None:
        self._connect = connect
        self._seconds = seconds
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._running: dict[_Watch, threading.Thread] = {}
        self._stopped = False

    async def answer(self, query: SqlQuery) -> SqlResult:
        """:raises InvalidInput: if the query is refused, is wrong (with what DuckDB says), or takes too long
        :raises Conflict: if other queries of the user's leave no room for so long
        :raises StoreError: if the store cannot be read
        """
        if not 1 <= query.limit <= ROWS:
            raise InvalidInput("$.limit", f"from 1 to {ROWS:,} rows can be asked for")
        try:
            await asyncio.wait_for(self._places.acquire(), self._seconds + _GRACE)
        except TimeoutError as exc:
            raise Conflict("other queries are still at work; wait for them or restart the server") from exc
        try:
            connection = await self._connect()
        except BaseException:
            self._places.release()
            raise
        if self._stopped:
            self._places.release()
            connection.close()
            raise StoreError("the store is closed")
        watch = _Watch(connection, self._seconds)
        work = self._start(connection, query, watch)
        try:
            # A function over one very long list does not notice an interrupt; its thread goes on, nobody waits for it.
            return await asyncio.wait_for(asyncio.shield(work), self._seconds + _GRACE)
        except TimeoutError as exc:
            raise self._too_long() from exc
        except asyncio.CancelledError:
            watch.stop()
            raise

    def _start(self, connection: "DuckDBPyConnection", query: SqlQuery, watch: _Watch) -> asyncio.Future[SqlResult]:
        """On a daemon thread: the end of the process waits for no query."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[SqlResult] = loop.create_future()
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())  # asked for, though nobody may wait

        def deliver(result: SqlResult | Exception) -> None:
            self._places.release()
            del self._running[watch]
            if isinstance(result, Exception):
                answer.set_exception(result)
            else:
                answer.set_result(result)

        def work() -> None:
            try:
                result: SqlResult | Exception = self._work(connection, query, watch)
            except Exception as exc:  # the edge of the thread: who waits gets it
                result = exc
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(deliver, result)

        thread = self._running[watch] = threading.Thread(target=work, name="pernix-sql", daemon=True)
        thread.start()
        return answer

    def stop(self) -> None:
        """Stop what runs; nothing is begun any more."""
        self._stopped = True
        for watch in self._running:
            watch.stop()

    def join(self) -> None:
        """After ``stop``: block until all has stopped, or for a moment if it does not."""
        for thread in list(self._running.values()):
            thread.join(_GRACE)

    def _work(self, connection: "DuckDBPyConnection", query: SqlQuery, watch: _Watch) -> SqlResult:
        import duckdb  # it is loaded; the start of the server need not wait for it

        try:
            return _read(connection, query, watch)
        except duckdb.Error as exc:
            if watch.large or isinstance(exc, duckdb.OutOfMemoryException):
                raise InvalidInput("$.query", _TOO_LARGE) from exc
            if watch.late or isinstance(exc, duckdb.InterruptException):
                raise self._too_long() from exc
            raise InvalidInput("$.query", str(exc)[:2000]) from exc
        finally:
            watch.end()
            connection.close()

    def _too_long(self) -> InvalidInput:
        why = f"the query took more than {self._seconds:g} s and was stopped; ask for less, e.g. with WHERE or LIMIT"
        return InvalidInput("$.query", why)


_TOO_LARGE = (
    "the query needs more memory than there is for queries; ask for less, e.g. with WHERE or LIMIT, or without sorting"
)


def _read(connection: "DuckDBPyConnection", query: SqlQuery, watch: _Watch) -> SqlResult:
    make_views(connection)
    statement = checked(connection, query.query)
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        described = connection.sql(query.query).description
        connection.execute(bounded(statement, described))
        rows, truncated = _rows(connection, query.limit, watch)
    finally:
        with suppress(Exception):  # what was wrong before counts
            connection.execute("ROLLBACK")
    return SqlResult(
        columns=[str(column[0]) for column in described],
        types=[str(column[1]) for column in described],
        rows=rows,
        truncated=truncated,
    )


def _rows(connection: "DuckDBPyConnection", limit: int, watch: _Watch) -> tuple[list[list[Any]], bool]:
    """At most ``limit`` rows of about ``_BYTES`` in all; true: there were more, or a text was cut."""
    rows: list[list[Any]] = []
    size, cut = 0, False
    while (row := connection.fetchone()) is not None:
        if len(rows) == limit or size > _BYTES or watch.late:
            return rows, True
        values = [_value(value) if long is None else long for value, long in zip(row[::2], row[1::2], strict=True)]
        cut = cut or any(long is not None for long in row[1::2])
        written = [len(json.dumps(value)) for value in values]
        if max(written, default=0) > TEXT:
            values = [_cut(value, length) for value, length in zip(values, written, strict=True)]
            cut = True
        size += sum(min(length, TEXT) for length in written)
        rows.append(values)
    return rows, cut


def _cut(value: Any, length: int) -> Any:
    if length <= TEXT:
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:TEXT] + "…"


def _value(value: Any) -> Any:
    """As JSON has it, for every client: no NaN, no number that loses digits, no bytes."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= _WHOLE else str(value)
        case float():
            return value if isfinite(value) else str(value)
        case Decimal():
            return float(value) if value.is_finite() and len(value.as_tuple().digits) <= 15 else str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case bytes() | bytearray():
            return b64encode(value).decode("ascii")
        case dict():
            return {_key(key): _value(each) for key, each in cast(dict[Any, Any], value).items()}
        case list() | tuple():
            return [_value(each) for each in cast(list[Any], value)]
        case _:
            return str(value)


def _key(key: Any) -> str:
    plain = _value(key)
    return plain if isinstance(plain, str) else json.dumps(plain)
