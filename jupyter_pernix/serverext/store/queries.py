"""What is read out of the database; each function runs on its thread."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...events import Stored, decode_event
from ...ids import SessionId
from .views import SETTING_TYPES, Counts, Summaries

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Record = tuple[int, datetime, str, str]
"""seq, recorded_at without zone, session_id, body"""


def select(
    connection: "DuckDBPyConnection",
    session_id: str | None,
    *,
    after: int,
    until: int | None = None,
    limit: int | None = None,
) -> list[Record]:
    where, values = ["seq > ?"], list[object]([after])
    if until is not None:
        where.append("seq <= ?")
        values.append(until)
    if session_id is not None:
        where.append("session_id = ?")
        values.append(session_id)
    sql = f"SELECT seq, recorded_at, session_id, body FROM events WHERE {' AND '.join(where)} ORDER BY seq"
    if limit is not None:
        sql += " LIMIT ?"
        values.append(limit)
    return connection.execute(sql, values).fetchall()


def logs(connection: "DuckDBPyConnection", session_ids: Sequence[str]) -> dict[SessionId, list[Stored]]:
    """The whole logs of these sessions."""
    marks = ", ".join("?" for _ in session_ids)
    sql = f"SELECT seq, recorded_at, session_id, body FROM events WHERE session_id IN ({marks}) ORDER BY seq"
    return _by_session(connection.execute(sql, list(session_ids)).fetchall())


def _by_session(records: Sequence[Record]) -> dict[SessionId, list[Stored]]:
    found: dict[SessionId, list[Stored]] = {}
    for one, record in zip(stored(records), records, strict=True):
        found.setdefault(SessionId(record[2]), []).append(one)
    return found


def stored(records: Sequence[Record]) -> list[Stored]:
    return [
        Stored(seq=seq, recorded_at=recorded_at.replace(tzinfo=UTC), event=decode_event(body))
        for seq, recorded_at, _, body in records
    ]


def rebuild_summaries(connection: "DuckDBPyConnection") -> Summaries:
    marks = ", ".join("?" for _ in SETTING_TYPES)
    settings = connection.execute(
        f"""
        SELECT seq, recorded_at, session_id, body FROM events
        WHERE type IN ({marks})
           OR seq IN (SELECT max(seq) FROM events WHERE type = 'session.state_changed' GROUP BY session_id)
        ORDER BY seq
        """,
        list(SETTING_TYPES),
    ).fetchall()
    counts = connection.execute(
        """
        SELECT session_id, max(seq), arg_max(recorded_at, seq), count(*) FILTER (type = 'turn.submitted'),
               count(*) FILTER (type IN ('approval.requested', 'input.requested'))
               - count(*) FILTER (type IN ('approval.resolved', 'input.answered'))
        FROM event_log GROUP BY session_id
        """
    ).fetchall()
    return Summaries.rebuild(
        stored(settings),
        [
            Counts(
                session_id=session_id,
                last_seq=last_seq,
                updated_at=updated_at.replace(tzinfo=UTC),
                turns=turns,
                open_approvals=max(0, open_approvals),
            )
            for session_id, last_seq, updated_at, turns, open_approvals in counts
        ],
    )


def unfinished(connection: "DuckDBPyConnection") -> list[SessionId]:
    """Sessions that have a turn without an end, by their first such turn."""
    rows = connection.execute(
        """
        SELECT session_id FROM event_log WHERE type = 'turn.submitted' AND turn_id NOT IN (
            SELECT turn_id FROM event_log WHERE type = 'turn.finished' AND turn_id IS NOT NULL
        )
        GROUP BY session_id ORDER BY min(seq)
        """
    ).fetchall()
    return [SessionId(session_id) for (session_id,) in rows]


def has_input(connection: "DuckDBPyConnection", input_id: str) -> bool:
    asked = "SELECT 1 FROM events WHERE type = 'input.requested' AND body ->> '$.input_id' = ? LIMIT 1"
    return connection.execute(asked, [input_id]).fetchone() is not None


def approval(connection: "DuckDBPyConnection", approval_id: str) -> tuple[SessionId, bool] | None:
    rows = connection.execute(
        """
        SELECT session_id, type FROM events
        WHERE type IN ('approval.requested', 'approval.resolved') AND body ->> '$.approval_id' = ?
        """,
        [approval_id],
    ).fetchall()
    if not rows:
        return None
    return SessionId(rows[0][0]), any(type_ == "approval.resolved" for _, type_ in rows)
