"""The schema of the store, as numbered steps. A step that was released never changes; a change is a new step.

Each step runs once, in one transaction with the note that it ran. A file with a higher number than the last one here was
written by a newer program and is refused.
"""

from typing import TYPE_CHECKING

from ...errors import StoreTooNew

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The ids that an event may begin with, in this order; "session_id" is its last field.
_HEAD = """concat('{"type":"', type, '"', ',"turn_id":"' || turn_id || '"', ',"step_id":"' || step_id || '"',
    ',"call_id":"' || call_id || '"', ',"execution_id":"' || execution_id || '"')"""
_TAIL = """concat(',"session_id":"', session_id, '"}')"""

COMPACT = f"""CASE WHEN starts_with(body, {_HEAD}) AND suffix(body, {_TAIL})
    THEN body[length({_HEAD}) + 1 : length(body) - length({_TAIL})] ELSE body END"""
"""What ``event_log.body`` keeps of an event's JSON: what stands between the ids that are columns; all of it where that cannot be."""

_FULL = f"""CASE WHEN starts_with(body, '{{') THEN body ELSE {_HEAD} || body || {_TAIL} END"""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # recorded_at is UTC without a zone: DuckDB needs the icu extension and pytz to hand out the kind with one.
        """
        CREATE TABLE events (
            seq BIGINT NOT NULL,
            session_id VARCHAR NOT NULL,
            turn_id VARCHAR,
            type VARCHAR NOT NULL,
            recorded_at TIMESTAMP NOT NULL,
            model VARCHAR,
            prompt_tokens BIGINT,
            completion_tokens BIGINT,
            tool VARCHAR,
            kind VARCHAR,
            body VARCHAR NOT NULL
        )
        """,
    ),
    (
        """
        CREATE TABLE event_log (
            seq BIGINT NOT NULL,
            session_id VARCHAR NOT NULL,
            turn_id VARCHAR,
            step_id VARCHAR,
            call_id VARCHAR,
            execution_id VARCHAR,
            type VARCHAR NOT NULL,
            recorded_at TIMESTAMP NOT NULL,
            model VARCHAR,
            purpose VARCHAR,
            prompt_tokens BIGINT,
            completion_tokens BIGINT,
            cost DOUBLE,
            tool VARCHAR,
            kind VARCHAR,
            body VARCHAR NOT NULL USING COMPRESSION zstd
        )
        """,
        f"""
        INSERT INTO event_log
        SELECT seq, session_id, turn_id, step_id, call_id, execution_id, type, recorded_at, model, NULL,
               prompt_tokens, completion_tokens, NULL, tool, kind, {COMPACT}
        FROM (
            SELECT *, body ->> '$.step_id' AS step_id, body ->> '$.call_id' AS call_id, body ->> '$.execution_id' AS execution_id
            FROM events
        )
        ORDER BY seq
        """,
        "DROP TABLE events",
        f"""
        CREATE VIEW events AS
        SELECT seq, session_id, turn_id, step_id, call_id, execution_id, type, recorded_at, model, purpose,
               prompt_tokens, completion_tokens, cost, tool, kind, {_FULL} AS body
        FROM event_log
        """,
    ),
    (
        # one row, or none
        """
        CREATE TABLE audit_state (
            store_id VARCHAR NOT NULL,
            digest_key VARCHAR NOT NULL,
            n BIGINT NOT NULL,
            hash VARCHAR NOT NULL,
            day VARCHAR NOT NULL,
            seq BIGINT NOT NULL,
            switched_on BOOLEAN NOT NULL
        )
        """,
        """
        CREATE TABLE audit_marks (
            n BIGINT NOT NULL,
            at_time VARCHAR NOT NULL,
            kind VARCHAR NOT NULL,
            fields VARCHAR NOT NULL,
            seq BIGINT NOT NULL
        )
        """,
    ),
)
"""``MIGRATIONS[n]`` leads from schema ``n`` to schema ``n + 1``."""
SCHEMA = len(MIGRATIONS)


def schema_of(connection: "DuckDBPyConnection") -> int:
    """Number of steps that were carried out on this file; 0 for an empty one."""
    known = connection.execute(
        "SELECT count(*) FROM information_schema.tables WHERE table_name = 'schema_steps'"
    ).fetchone()
    if known is None or not known[0]:
        return 0
    row = connection.execute("SELECT coalesce(max(number), 0) FROM schema_steps").fetchone()
    return int(row[0]) if row is not None else 0


def migrate(
    connection: "DuckDBPyConnection", *, path: str, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS
) -> None:
    """Bring the file to the last schema.

    :raises StoreTooNew: if it is ahead of this program; it is left as it was
    """
    found = schema_of(connection)
    if found > len(migrations):
        raise StoreTooNew(path, found, len(migrations))
    for number, statements in enumerate(migrations[found:], start=found + 1):
        connection.execute("BEGIN")
        try:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS schema_steps (number INTEGER NOT NULL, carried_out_at TIMESTAMP NOT NULL)"
            )
            for statement in statements:
                connection.execute(statement)
            connection.execute("INSERT INTO schema_steps VALUES (?, now()::TIMESTAMP)", [number])
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
