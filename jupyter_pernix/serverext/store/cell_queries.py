"""What the database knows of cells of notebooks; each function runs on its thread."""

from typing import TYPE_CHECKING, NamedTuple

from ...cells import cell_digest
from ...events import SessionAttached, decode_event
from ...ids import SessionId

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class WrittenCell(NamedTuple):
    """A cell as an agent was about to leave it."""

    cell_id: str
    digest: str


def written_cells(connection: "DuckDBPyConnection") -> set[WrittenCell]:
    rows = connection.execute(
        """
        SELECT DISTINCT body ->> '$.change.cell_id', body ->> '$.change.after.cell_type', body ->> '$.change.after.source'
        FROM events WHERE type = 'cell.change_requested' AND body ->> '$.change.op' IN ('insert', 'edit')
        """
    ).fetchall()
    return {WrittenCell(cell_id, cell_digest(type_, source)) for cell_id, type_, source in rows if source is not None}


def cell_sessions(
    connection: "DuckDBPyConnection",
) -> tuple[set[SessionId], dict[SessionId, list[SessionAttached]]]:
    """Sessions that have changed or run cells of notebooks, and what each session was attached to, in order."""
    rows = connection.execute(
        """
        SELECT DISTINCT session_id FROM events
        WHERE type = 'cell.change_requested' OR (type = 'execution.started' AND coalesce(body ->> '$.cell_id', '') <> '')
        """
    ).fetchall()
    found = {SessionId(session_id) for (session_id,) in rows}
    attached: dict[SessionId, list[SessionAttached]] = {}
    bodies = connection.execute("SELECT body FROM events WHERE type = 'session.attached' ORDER BY seq").fetchall()
    for (body,) in bodies:
        event = decode_event(body)
        if isinstance(event, SessionAttached):
            attached.setdefault(event.session_id, []).append(event)
    return found, attached


def session_of_change(connection: "DuckDBPyConnection", change_id: str) -> SessionId | None:
    rows = connection.execute(
        "SELECT session_id FROM events WHERE type = 'cell.change_requested' AND body ->> '$.change.change_id' = ?",
        [change_id],
    ).fetchall()
    return SessionId(rows[0][0]) if rows else None
