"""Places at which a process of the crash harness kills itself. They are put around the product's functions in that process alone."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jupyter_pernix.serverext.store.database as database
import jupyter_pernix.serverext.store.journal as journal
import jupyter_pernix.serverext.store.writer as writer

POINTS: dict[str, int] = {
    "before the record is written": 40,
    "in the middle of a record": 40,
    "before it is made durable": 40,
    "durable, not acknowledged": 40,
    "acknowledged": 70,
    "the journal is sealed": 3,
    "in the middle of taking in": 3,
    "while taking in is committed": 3,
    "taken in, journal not cut": 3,
    "in the middle of cutting": 3,
    "during a checkpoint": 2,
    "while the store is closed": 1,
    "any moment": 1,
}
"""Each with the highest count of its passing at which the process is killed."""

_LONGEST_MOMENT = 1.5
_LONGEST_COMMIT = 0.004
_LONGEST_CHECKPOINT = 0.03


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)  # the signal is on its way


class Point:
    """``passed`` is called whenever the named place is passed; at the ``hit``-th time since ``arm`` the process ends, and ``mark`` is a
    file that says so."""

    def __init__(self, name: str, hit: int, chance: random.Random, *, mark: Path) -> None:
        self.name = name
        self._mark = mark
        self._left = hit
        self._armed = False
        self._chance = chance
        self._lock = threading.Lock()

    def arm(self) -> None:
        self._armed = True
        if self.name == "any moment":
            self._mark.touch()
            self.within(_LONGEST_MOMENT)

    def passed(self, name: str) -> bool:
        """Whether the process is to end here."""
        if name != self.name or not self._armed:
            return False
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._mark.touch()
            return self._left == 0

    def within(self, seconds: float) -> None:
        """End within so many seconds, whatever is done meanwhile."""
        wait = self._chance.random() * seconds

        def later() -> None:
            time.sleep(wait)
            die()

        threading.Thread(target=later, daemon=True).start()


def install(point: Point) -> None:
    """Put the point into this process, for good."""
    file, book = journal.JournalFile, journal.Journal
    append, write, empty = file.append, file._write, file.empty
    seal, cut, close = book.seal, book.cut, database.Database.close
    durable, answer = journal._make_durable, writer.Writer._answer
    taken_in, checkpoint = database.ingest, database.Database._checkpoint

    def new_append(self: Any, payload: bytes) -> None:
        if point.passed("before the record is written"):
            die()
        append(self, payload)

    def new_write(self: Any, data: bytes, *, at: int) -> None:
        if point.passed("in the middle of a record"):
            write(self, data[: max(1, len(data) // 2)], at=at)
            die()
        write(self, data, at=at)

    def new_durable(handle: int) -> None:
        if point.passed("before it is made durable"):
            die()
        durable(handle)

    def new_answer(self: Any, answers: Sequence[Any]) -> None:
        if point.passed("durable, not acknowledged"):
            die()
        answer(self, answers)

    def new_seal(self: Any) -> list[bytes]:
        payloads = seal(self)
        if payloads and point.passed("the journal is sealed"):
            die()
        return payloads

    def new_cut(self: Any) -> None:
        if point.passed("taken in, journal not cut"):
            die()
        cut(self)

    def new_empty(self: Any) -> None:
        if self._end and point.passed("in the middle of cutting"):
            os.ftruncate(self._handle, self._end // 2)
            die()
        empty(self)

    def new_ingest(connection: Any, payloads: Sequence[bytes], *, after: int) -> None:
        taken_in(_Watched(connection, point), payloads, after=after)  # type: ignore[arg-type]

    def new_checkpoint(self: Any, connection: Any) -> None:
        if point.passed("during a checkpoint"):
            point.within(_LONGEST_CHECKPOINT)
        checkpoint(self, connection)

    def new_close(self: Any) -> None:
        if point.passed("while the store is closed"):
            point.within(_LONGEST_CHECKPOINT)
        close(self)

    replaced: list[tuple[Any, str, Callable[..., Any]]] = [
        (file, "append", new_append),
        (file, "_write", new_write),
        (file, "empty", new_empty),
        (book, "seal", new_seal),
        (book, "cut", new_cut),
        (journal, "_make_durable", new_durable),
        (writer.Writer, "_answer", new_answer),
        (database, "ingest", new_ingest),
        (database.Database, "_checkpoint", new_checkpoint),
        (database.Database, "close", new_close),
    ]
    for owner, name, function in replaced:
        setattr(owner, name, function)


class _Watched:
    """A connection that is seen between the statements of a transaction."""

    def __init__(self, connection: Any, point: Point) -> None:
        self._connection = connection
        self._point = point

    def execute(self, sql: str, *more: Any) -> Any:
        if sql == "COMMIT":
            if self._point.passed("in the middle of taking in"):
                die()
            if self._point.passed("while taking in is committed"):
                self._point.within(_LONGEST_COMMIT)
        return self._connection.execute(sql, *more)


def tune(chance: random.Random) -> None:
    """Let the store take in, and DuckDB write its file, as often as it does in much longer sessions."""
    writer._MOST_ROWS = chance.choice([8, 40, 5000])
    writer._IDLE_SECONDS = chance.choice([0.05, 5.0])
    database._LOG_LIMIT = chance.choice(["32KB", "4MB"])
