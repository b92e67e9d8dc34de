"""What a store that no server has open knows of the audit; nothing is changed."""

from dataclasses import dataclass
from pathlib import Path

from ...errors import StoreError, StoreLocked
from .audit_rows import AuditState, EventRow, Ledger, Mark
from .database import holder
from .journal import Journal


@dataclass(frozen=True, kw_only=True)
class Peek:
    """``marks`` and ``events``: what the next start would audit behind ``state``."""

    state: AuditState
    marks: list[Mark]
    events: list[EventRow]


def peek(path: Path) -> Peek | None:
    """``None``: it has had no audit.

    :raises StoreLocked: if a process has it open
    :raises StoreError: if it is not there, or cannot be read
    """
    # Imported here: the command line does without it otherwise.
    import duckdb

    if not path.is_file():
        raise StoreError(f"there is no store at {str(path)!r}")
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'audit_state'").fetchall():
                return None
            ledger = Ledger(connection)
            state = ledger.state()
            if state is None:
                return None
            taken = ledger.last_seq()
            events = [*ledger.events_behind(state.seq), *_journalled(path, max(taken, state.seq))]
            return Peek(state=state, marks=ledger.marks_behind(state.head.n), events=events)
    except duckdb.IOException as exc:
        if "lock" in str(exc):
            raise StoreLocked(str(path), holder(str(exc))) from exc
        raise StoreError(f"{str(path)!r} cannot be opened: {exc}") from exc
    except (duckdb.Error, OSError) as exc:
        raise StoreError(f"{str(path)!r} cannot be read: {exc}") from exc


def _journalled(path: Path, after: int) -> list[EventRow]:
    """Events that a server which was killed had not taken into the database."""
    found: dict[int, EventRow] = {}
    for _, contents in Journal(path).read():
        for payload in contents.payloads:
            for line in payload.decode().split("\n"):
                if line:
                    seq, microseconds, _, body = line.split("\t", 3)
                    if int(seq) > after:
                        found[int(seq)] = (int(seq), int(microseconds), body)
    return [found[seq] for seq in sorted(found)]
