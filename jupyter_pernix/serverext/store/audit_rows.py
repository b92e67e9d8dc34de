"""What the database knows of the audit: how far its files go, and the lines that no event gives; each method runs on its thread.

The log is the record, the audit's files are made from it. ``AuditState`` is stored with the events, once the files have its lines durably:
files that hold less, or other lines up to there, were changed by somebody else.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ...audit import Head

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, kw_only=True)
class AuditState:
    """``head``: up to here the files are as they must be. ``seq``: of the last event that was considered for them. ``on``: lines are
    written. ``store_id`` names the store in its files; ``key`` is for digests."""

    store_id: str
    key: str
    head: Head
    seq: int
    on: bool


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A line that no event gives. ``fields``: JSON. Events up to ``seq`` are not audited behind it."""

    n: int
    at: str
    kind: str
    fields: str
    seq: int


EventRow = tuple[int, int, str]
"""seq, microseconds since 1970, JSON"""


class Auditor(Protocol):
    """Writes the audit. ``add`` is called on the writing thread with each payload that is durable; the others on the database's."""

    def begin(self, ledger: "Ledger") -> None:
        """The store is open and holds all events; catch up."""
        ...

    def add(self, payload: bytes) -> None: ...

    def note(self, ledger: "Ledger", kind: str, facts: Callable[[Any], dict[str, Any]]) -> None:
        """Write a line that no event gives; ``facts`` makes its fields with what turns texts into digests."""
        ...

    def settle(self) -> AuditState | None:
        """Bring everything that was added into the files, durably. How far they go then; ``None``: there is no audit."""
        ...

    def close(self) -> None: ...


def new_state(*, head: Head, seq: int) -> AuditState:
    return AuditState(store_id=f"sto_{secrets.token_hex(8)}", key=secrets.token_hex(32), head=head, seq=seq, on=True)


class Ledger:
    """The audit's tables."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def state(self) -> AuditState | None:
        """``None``: there has been no audit."""
        row = self._connection.execute(
            "SELECT store_id, digest_key, n, hash, day, seq, switched_on FROM audit_state"
        ).fetchone()
        if row is None:
            return None
        store_id, key, n, hash_, day, seq, on = row
        return AuditState(store_id=store_id, key=key, head=Head(n=n, hash=hash_, day=day), seq=seq, on=on)

    def save(self, state: AuditState) -> None:
        """Replace what was known; at once, or with the transaction that is open."""
        head = state.head
        self._connection.execute(
            "UPDATE audit_state SET n = ?, hash = ?, day = ?, seq = ?, switched_on = ?",
            [head.n, head.hash, head.day, state.seq, state.on],
        )

    def begin(self, state: AuditState, first: Mark) -> None:
        """Store the first state and line of this store's audit, together."""
        head = state.head
        self._connection.execute("BEGIN")
        try:
            self._connection.execute(
                "INSERT INTO audit_state VALUES (?, ?, ?, ?, ?, ?, ?)",
                [state.store_id, state.key, head.n, head.hash, head.day, state.seq, state.on],
            )
            self._add(first)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def insert_mark(self, mark: Mark) -> None:
        """Put a line in; those from its place on move back by one."""
        self._connection.execute("BEGIN")
        try:
            self._connection.execute("UPDATE audit_marks SET n = n + 1 WHERE n >= ?", [mark.n])
            self._add(mark)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _add(self, mark: Mark) -> None:
        self._connection.execute(
            "INSERT INTO audit_marks VALUES (?, ?, ?, ?, ?)", [mark.n, mark.at, mark.kind, mark.fields, mark.seq]
        )

    def marks_behind(self, n: int) -> list[Mark]:
        rows = self._connection.execute(
            "SELECT n, at_time, kind, fields, seq FROM audit_marks WHERE n > ? ORDER BY n", [n]
        ).fetchall()
        return [Mark(n=n, at=at, kind=kind, fields=fields, seq=seq) for n, at, kind, fields, seq in rows]

    def events_behind(self, seq: int) -> list[EventRow]:
        return self._connection.execute(
            "SELECT seq, epoch_us(recorded_at), body FROM events WHERE seq > ? ORDER BY seq", [seq]
        ).fetchall()

    def last_seq(self) -> int:
        row = self._connection.execute("SELECT coalesce(max(seq), 0) FROM event_log").fetchone()
        return int(row[0]) if row is not None else 0
