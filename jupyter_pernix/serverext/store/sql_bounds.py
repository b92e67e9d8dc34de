"""What a query of the user's may take of the process's memory: its values are measured in the database, before any of them becomes an
object of Python, and what it holds while it runs is looked at from beside it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement

TEXT = 200_000
"""Characters of one text."""
MEMORY = 1_000_000_000
"""Bytes that all queries together may hold at once; the database's limit leaves as much for the store's own work."""

_LARGEST = 4 * TEXT
_SMALL = {
    "boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint", "uhugeint", "float",
    "double", "decimal", "date", "time", "time with time zone", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns",
    "timestamp with time zone", "interval", "uuid", "enum",
}  # fmt: skip
# Pages of the file that are kept in memory make room by themselves.
_HELD = """
SELECT coalesce(sum(memory_usage_bytes), 0) FROM duckdb_memory() WHERE tag NOT IN ('BASE_TABLE', 'ART_INDEX', 'METADATA', 'EXTERNAL_FILE_CACHE')
"""


def bounded(statement: "Statement", columns: list[Any]) -> str:
    """The query of ``statement`` (which has ``columns``, as DuckDB describes them), with two columns for each of its own: the value, or
    ``NULL`` when it is too long, and then the beginning of it as a text."""
    wanted: list[str] = []
    for number, column in enumerate(columns, 1):
        if column[1].id in _SMALL:
            wanted += [f"#{number}", "NULL"]
            continue
        text = f"#{number}::VARCHAR"
        wanted.append(f"CASE WHEN strlen({text}) <= {_LARGEST} THEN #{number} END")
        wanted.append(f"CASE WHEN strlen({text}) > {_LARGEST} THEN left({text}, {TEXT}) || '…' END")
    return f"SELECT {', '.join(wanted)} FROM (\n{_without_end(statement.query)}\n)"


def _without_end(query: str) -> str:
    """``query`` without the semicolons behind it."""
    import duckdb  # it is loaded; the start of the server need not wait for it

    raw = query.encode()
    end = len(raw)
    for offset, kind in reversed(duckdb.tokenize(query)):
        if raw[offset : offset + 1] == b";":
            end = offset
        elif kind != duckdb.token_type.comment:
            break
    return raw[:end].decode()


def held(connection: "DuckDBPyConnection") -> int:
    """Bytes that queries hold in the database of ``connection``, all of them together."""
    row = connection.execute(_HELD).fetchone()
    return int(row[0]) if row is not None else 0
