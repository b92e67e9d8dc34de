"""The DuckDB file, on a thread of its own: it is opened, read, and given what the journal holds, nowhere else."""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ...errors import StoreError, StoreLocked
from .audit_rows import Auditor, AuditState, Ledger
from .ingest import ingest, last_seq_of
from .journal import Journal
from .migrations import migrate

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")
log = logging.getLogger(__name__)

_MOVE_AWAY = (
    "Move {path} (and {path}.wal, if there is one) somewhere else and restart the server: it begins a new store. "
    "Keep the old file or put a backup in its place; the run notebooks are not touched."
)
NO_ROOM = "See that the disk has room and can be written. What could not be stored was not done; running turns end once it can."
_NO_READING = "Try again. If it happens again, restart the server; it says then whether the store can be opened."

_LOG_LIMIT = "4MB"
"""DuckDB's write-ahead log is taken into the file at this size. Reading one after a crash was measured at 0.07 s of CPU a megabyte."""

_BLOCK_SIZE = "16384"
"""Of a new file; the smallest there is. The log of 400 small steps takes 0.2 MB with it, 0.4 with DuckDB's own 256 KiB."""

_MEMORY = "2GB"
"""The most that the database takes, whatever the user asks of it; a query that needs more fails and says so."""

_CONFIG: "dict[str, str | bool | int | float | list[str]]" = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": 2,
    "checkpoint_threshold": _LOG_LIMIT,
    "default_block_size": _BLOCK_SIZE,
    "memory_limit": _MEMORY,
    # A query of the user's reads the events and nothing else: no file, no address, no variable of this process.
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}

_TRY_AGAIN_SECONDS = 5.0
_MEMORY_WAITS = (0.1, 0.2, 0.5, 1.0, 2.0)


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
        connection = connect(path)
        _keep_private(path)
    except duckdb.IOException as exc:
        if "lock" in str(exc):
            raise StoreLocked(str(path), holder(str(exc))) from exc
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
    return connection


def connect(path: Path) -> "DuckDBPyConnection":
    """A connection to the file; in a process that has it open already, one more, which may be used and closed beside the others.

    :raises duckdb.Error: if it cannot be opened
    """
    import duckdb  # ``open_database`` says why here

    return duckdb.connect(str(path), config=_CONFIG)


def _keep_private(path: Path) -> None:
    """DuckDB makes its files as the umask says; a folder that was there before may let others in."""
    for one in (path, path.with_name(path.name + ".wal")):
        with contextlib.suppress(OSError):
            one.chmod(0o600)


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


def holder(message: str) -> str:
    """Who has the file open, from what DuckDB says when it cannot lock it."""
    start = message.find("(PID ")
    pid = message[start + 5 : message.find(")", start)] if start >= 0 else ""
    who = f"process {pid} has it open" if pid.isdigit() else "another process has it open"
    return (
        f"{who}; one server at a time uses a data directory. Stop that server, or give this one another data directory"
    )


class Database:
    """Every method but the properties belongs on the one thread of the database, and blocks it."""

    def __init__(self, path: Path, *, auditor: Auditor | None = None) -> None:
        self.path = path
        self.auditor = auditor
        self.journal = Journal(path)
        self.journal_lock = threading.Lock()
        """Held around ``journal.append`` and ``journal.seal``."""
        self.taken = 0
        """Last ``seq`` that the database has, durably."""
        self.warnings: list[str] = []
        """What was wrong with the files when they were opened, for a person."""
        self._connection: DuckDBPyConnection | None = None
        self._doubtful = False
        self._not_before = 0.0

    def open(self) -> None:
        """Open the files; what an earlier process has left in the journal is taken in.

        :raises StoreError: as ``open_database``, or if the journal cannot be taken in
        """
        import duckdb  # ``open_database`` says why here

        connection = open_database(self.path)
        try:
            self.taken = _last_seq(connection)
            self._take_in_left(connection)
            self.journal.open()
            if self.auditor is not None:
                self.auditor.begin(Ledger(connection))
        except (duckdb.Error, OSError) as exc:
            connection.close()
            raise StoreError(f"the journal of {str(self.path)!r} cannot be taken in: {exc}", hint=NO_ROOM) from exc
        self._connection = connection

    def _take_in_left(self, connection: "DuckDBPyConnection") -> None:
        payloads: list[bytes] = []
        for path, contents in self.journal.read():
            if contents.torn:
                log.warning("%s: %d bytes of a record that was never finished are dropped", path, contents.torn)
            if contents.damaged:
                self.warnings.append(_set_aside(path, contents.damaged))
                log.error("%s", self.warnings[-1])
            payloads += contents.payloads
        payloads = sorted((one for one in payloads if last_seq_of(one) > self.taken), key=last_seq_of)
        if payloads:
            ingest(connection, payloads, after=self.taken)
            self.taken = last_seq_of(payloads[-1])
        self._checkpoint(connection)

    def _checkpoint(self, connection: "DuckDBPyConnection") -> None:
        """What is in the write-ahead log goes into the file, or each further start would read it again."""
        import duckdb  # it is loaded

        try:
            connection.execute("CHECKPOINT")
        except duckdb.Error as exc:
            log.warning("%s: the write-ahead log stays as it is: %s", self.path, exc)

    def take_in(self) -> int:
        """Take what the journal holds into the database; gives ``taken``. Nothing is lost if it fails: it is tried again later.

        :raises duckdb.Error: if it fails
        """
        for _ in range(2):  # what an earlier try left, and what has come since; what comes meanwhile can wait
            with self.journal_lock:
                payloads = self.journal.seal()
            if payloads:
                self._patiently(partial(self._ingest, payloads))
                self.journal.cut()
        return self.taken

    def _ingest(self, payloads: list[bytes]) -> None:
        connection = self._connected()
        try:
            ingest(connection, payloads, after=self.taken, also=lambda: self._settle_audit(connection))
        except BaseException:
            self._doubtful = True
            raise
        self.taken = last_seq_of(payloads[-1])

    def _settle_audit(self, connection: "DuckDBPyConnection") -> AuditState | None:
        """What the database says of the audit is true when it says it: the files have it before."""
        state = self.auditor.settle() if self.auditor is not None else None
        if state is not None:
            Ledger(connection).save(state)
        return state

    def settle_audit(self) -> AuditState | None:
        """How far the audit's files go now that all that was acknowledged is in them, so far as they could be written.

        :raises duckdb.Error: if that could not be noted
        """
        return self._patiently(lambda: self._settle_audit(self._connected()))

    def take_in_later(self) -> int:
        """As ``take_in``, for nobody who waits: a failure is logged, and it is not tried again at once."""
        if time.monotonic() >= self._not_before:
            try:
                return self.take_in()
            except Exception:  # The edge of background work: the events are safe in the journal.
                log.exception("%s: the journal could not be taken in now", self.path)
                self._not_before = time.monotonic() + _TRY_AGAIN_SECONDS
        return self.taken

    def query(self, read: "Callable[[DuckDBPyConnection], T]", *, fresh: bool) -> "tuple[T, int]":
        """The answer, and ``taken`` when it was given. ``fresh``: everything that is acknowledged is in the database before.

        :raises StoreError: if the database cannot be read
        """
        import duckdb  # it is loaded

        try:
            if fresh:
                self.take_in()
            return self._patiently(lambda: read(self._connected())), self.taken
        except (duckdb.Error, OSError) as exc:
            raise StoreError(f"the store could not be read: {exc}", hint=_NO_READING) from exc

    def _patiently(self, work: "Callable[[], T]") -> T:
        """A query of the user's may hold all the memory for the moment that it takes to stop it."""
        import duckdb  # it is loaded

        for wait in _MEMORY_WAITS:
            try:
                return work()
            except duckdb.OutOfMemoryException:
                time.sleep(wait)
        return work()

    def close(self) -> None:
        """Take in what waits and close the files. What cannot be taken in stays in the journal."""
        if self._connection is None:
            return
        self._not_before = 0.0
        self.take_in_later()
        self._close_audit()
        self._checkpoint(self._connection)
        self._connection.close()
        self._connection = None
        self.journal.close()

    def _close_audit(self) -> None:
        if self.auditor is None:
            return
        try:
            self.settle_audit()
        except Exception:  # The edge of closing: the next start finds it out from the files.
            log.exception("%s: how far the audit goes could not be noted", self.path)
        self.auditor.close()

    def _connected(self) -> "DuckDBPyConnection":
        """The connection; after a failure a new one, which knows what was stored."""
        assert self._connection is not None
        if self._doubtful:
            self._connection.close()
            self._connection = open_database(self.path)
            self.taken = _last_seq(self._connection)
            self._doubtful = False
        return self._connection


def _last_seq(connection: "DuckDBPyConnection") -> int:
    row = connection.execute("SELECT coalesce(max(seq), 0) FROM event_log").fetchone()
    return int(row[0]) if row is not None else 0


def _set_aside(path: Path, places: int) -> str:
    """Keep a damaged journal for whoever can read more out of it."""
    kept = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    path.replace(kept)
    return f"{str(path)!r} was damaged in {places} places; what could be read was taken in, the file is kept as {str(kept)!r}"
