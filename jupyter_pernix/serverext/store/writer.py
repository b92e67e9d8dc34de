"""The one thread that owns the DuckDB connection.

Requests wait in a queue; whatever waits when the thread is free goes into one transaction with one statement, so that ten
callers pay for one commit. A request is answered on the event loop, after COMMIT, in the order of ``seq``.
"""

import asyncio
import logging
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import StoreError, StoreLocked
from .migrations import migrate

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

log = logging.getLogger(__name__)

_MOVE_AWAY = (
    "Move {path} (and {path}.wal, if there is one) somewhere else and restart the server: it begins a new store. "
    "Keep the old file or put a backup in its place; the run notebooks are not touched."
)
_NO_ROOM = "See that the disk has room and can be written. What could not be stored was not done; running turns end once it can."
_NO_READING = "Try again. If it happens again, restart the server; it says then whether the store can be opened."

_LOG_LIMIT = "4MB"
"""DuckDB's write-ahead log is taken into the file at this size. Reading one after a crash was measured at 0.07 s of CPU a megabyte."""

_GROUP_ROWS = 2000
"""A transaction takes no further request once it holds this many rows."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One event as it is stored, but for ``seq`` and ``recorded_at``."""

    session_id: str
    turn_id: str | None
    type: str
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    tool: str | None
    kind: str | None
    body: str


_COLUMNS = tuple(field.name for field in fields(Row))
_SQL_TYPES = {"prompt_tokens": "BIGINT", "completion_tokens": "BIGINT"}

# unnest of lists: measured at 100 rows, 7 ms against 23 ms for a VALUES list of placeholders.
_INSERT = (
    f"INSERT INTO events (seq, recorded_at, {', '.join(_COLUMNS)}) "
    "SELECT unnest(?::BIGINT[]), unnest(?::TIMESTAMP[]), "
    + ", ".join(f"unnest(?::{_SQL_TYPES.get(column, 'VARCHAR')}[])" for column in _COLUMNS)
)


@dataclass(frozen=True)
class Receipt:
    """A committed request: its rows have ``first_seq``, ``first_seq + 1``, …"""

    first_seq: int
    recorded_at: datetime


@dataclass(frozen=True)
class _Request:
    rows: Sequence[Row]
    answer: Callable[[Receipt | StoreError], None]


def open_database(path: Path) -> "DuckDBPyConnection":
    """Open or create the file and bring it to the last schema.

    :raises StoreLocked: if another process holds it
    :raises StoreTooNew: if a newer program wrote it
    :raises StoreError: if it is no file of ours, or cannot be read
    """
    # Imported here: it costs 0.2 s of CPU that the start of the server need not wait for.
    import duckdb

    try:
        # What is said in sessions is for their user alone.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        connection = duckdb.connect(
            str(path),
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "threads": 2,
                "checkpoint_threshold": _LOG_LIMIT,
            },
        )
    except duckdb.IOException as exc:
        if "lock" in str(exc):
            raise StoreLocked(str(path), _holder(str(exc))) from exc
        raise _unusable(path, exc) from exc
    except (duckdb.Error, OSError) as exc:
        raise _unusable(path, exc) from exc
    try:
        migrate(connection, path=str(path))
    except duckdb.Error as exc:
        connection.close()
        raise StoreError(
            f"{str(path)!r} cannot be brought to this version's schema: {exc}", hint=_MOVE_AWAY.format(path=path)
        ) from exc
    except StoreError:
        connection.close()
        raise
    _take_in_log(connection, path)
    return connection


def _take_in_log(connection: "DuckDBPyConnection", path: Path) -> None:
    """What a killed server left in the write-ahead log goes into the file, or each further start would read it again."""
    import duckdb

    try:
        connection.execute("CHECKPOINT")
    except duckdb.Error as exc:
        log.warning("%s: the write-ahead log stays as it is: %s", path, exc)


def _unusable(path: Path, exc: Exception) -> StoreError:
    """The file is left as it is: what is in it may still be of use."""
    folder = path if path.is_dir() else path.parent
    if path.is_file() and os.access(path, os.R_OK | os.W_OK) and os.access(folder, os.W_OK):
        hint = _MOVE_AWAY.format(path=path)
    else:
        hint = (
            f"See that this user may write to {str(folder)!r}, or set another data directory; then restart the server."
        )
    return StoreError(f"{str(path)!r} cannot be opened: {exc}", hint=hint)


def reading_failed(exc: Exception) -> StoreError | None:
    """The error that tells of a failed query; ``None``: it is no error of the database."""
    import duckdb  # it is loaded: there has been a query

    return (
        StoreError(f"the store could not be read: {exc}", hint=_NO_READING) if isinstance(exc, duckdb.Error) else None
    )


def _holder(message: str) -> str:
    start = message.find("(PID ")
    pid = message[start + 5 : message.find(")", start)] if start >= 0 else ""
    who = f"process {pid} has it open" if pid.isdigit() else "another process has it open"
    return (
        f"{who}; one server at a time uses a data directory. Stop that server, or give this one another data directory"
    )


class Writer:
    """Start it with ``open``; after ``close`` every request is refused."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.path = path
        self.last_seq = 0
        """Last committed ``seq``; set before the first request is taken, then by the writing thread."""
        self._loop = loop
        self._queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._connection: DuckDBPyConnection | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="pernix-store-writer", daemon=True)

    def open(self) -> "DuckDBPyConnection":
        """Open the file (blocking; call from a worker thread) and give a second connection to it for a reading thread.

        :raises StoreError: as ``open_database``
        """
        self._connection = open_database(self.path)
        row = self._connection.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()
        self.last_seq = int(row[0]) if row is not None else 0
        self._thread.start()
        return self._connection.cursor()

    def submit(self, rows: Sequence[Row], answer: Callable[[Receipt | StoreError], None]) -> None:
        """Queue ``rows`` as one unit: all of them are stored, side by side, or none. ``answer`` is called on the event loop.

        :raises StoreError: if the store is closed
        """
        if self._closed:
            raise StoreError("the store is closed")
        self._queue.put(_Request(rows, answer))

    def close(self) -> None:
        """Store what waits, then close the file (blocking). May be called twice."""
        self._closed = True
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        assert self._connection is not None
        more = True
        while more:
            group, more = self._next_group()
            if group:
                self._commit(self._connection, group)
        self._connection.close()

    def _next_group(self) -> tuple[list[_Request], bool]:
        """Everything that waits now, at least one; and whether more may come."""
        group: list[_Request] = []
        rows = 0
        request = self._queue.get()
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

    def _commit(self, connection: "DuckDBPyConnection", group: list[_Request]) -> None:
        rows = [row for request in group for row in request.rows]
        recorded_at = datetime.now(UTC)
        first = self.last_seq + 1
        seqs = range(first, first + len(rows))
        columns = [[getattr(row, column) for row in rows] for column in _COLUMNS]
        try:
            connection.execute("BEGIN")
            connection.execute(_INSERT, [list(seqs), [recorded_at.replace(tzinfo=None)] * len(rows), *columns])
            connection.execute("COMMIT")
        except Exception as exc:  # The edge of the thread: it must live on, and every caller must hear of it.
            log.exception("a transaction of %d events failed", len(rows))
            self._roll_back(connection)
            failure = StoreError(f"the store could not write: {exc}", hint=_NO_ROOM)
            self._answer([(request, failure) for request in group])
            return
        self.last_seq = first + len(rows) - 1
        receipts: list[tuple[_Request, Receipt | StoreError]] = []
        for request in group:
            receipts.append((request, Receipt(first, recorded_at)))
            first += len(request.rows)
        self._answer(receipts)

    def _roll_back(self, connection: "DuckDBPyConnection") -> None:
        try:
            connection.execute("ROLLBACK")
        except Exception:  # The failed statement may have ended the transaction itself.
            log.debug("nothing to roll back", exc_info=True)

    def _answer(self, answers: Sequence[tuple[_Request, Receipt | StoreError]]) -> None:
        def deliver() -> None:
            for request, answer in answers:
                request.answer(answer)

        try:
            self._loop.call_soon_threadsafe(deliver)
        except RuntimeError:  # The loop is closed: nobody waits any more, and the events are stored.
            log.debug("the event loop ended before %d answers", len(answers))
