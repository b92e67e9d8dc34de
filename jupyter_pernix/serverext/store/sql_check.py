"""Which queries of a user are carried out: one statement that only reads, from the views, with functions that do nothing else.

What a query does is read off DuckDB's own syntax tree; what is not known to be harmless is refused, so that a newer DuckDB with
more functions lets no more through. Beside this the database has no access to files or the network at all.
"""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from ...errors import InvalidInput
from .sql_views import NAMES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement

_PLACE = "$.query"
_LENGTH = 100_000
_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE", "STATEMENT_NODE"}
_CATALOG = {("information_schema", "tables"), ("information_schema", "columns")}
_LISTS = {('"tables"',), ("__show_tables_expanded",)}
_TABLE_FUNCTIONS = {"range", "generate_series", "unnest", "repeat", "json_each", "json_tree"}
_HARMLESS = {"random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "error"}
_REFUSED = {
    "current_setting",
    "getenv",
    "getvariable",
    "sleep_ms",
    "write_log",
    "query",
    "query_table",
    "json_execute_serialized_sql",
    "json_serialize_plan",
    "which_secret",
}
"""Beside those that DuckDB calls volatile."""


def checked(connection: "DuckDBPyConnection", query: str) -> "Statement":
    """The one statement of ``query``.

    :raises InvalidInput: if it is not one, or would do more than read
    :raises duckdb.Error: if it cannot be parsed
    """
    if len(query) > _LENGTH:
        raise InvalidInput(_PLACE, f"a query has at most {_LENGTH:,} characters")
    import duckdb  # it is loaded; the start of the server need not wait for it

    statements = connection.extract_statements(query)
    if len(statements) != 1:
        found = f"these are {len(statements)}" if statements else "there is none"
        raise InvalidInput(_PLACE, f"a query is one statement, {found}")
    statement = statements[0]
    if statement.type != duckdb.StatementType.SELECT:
        raise InvalidInput(
            _PLACE,
            f"only queries that read are carried out (SELECT, FROM, WITH, DESCRIBE, SUMMARIZE): {_words(statement)}",
        )
    if statement.named_parameters:
        raise InvalidInput(_PLACE, "a query has no parameters; write the values into it")
    _check_tree(connection, _tree(connection, query))
    return statement


def _words(statement: "Statement") -> str:
    kind = statement.type.name
    return "write IN (…) behind the column that is pivoted" if kind == "MULTI" else f"this is {kind}"


def _tree(connection: "DuckDBPyConnection", query: str) -> Any:
    row = connection.execute("SELECT json_serialize_sql($1)", [query]).fetchone()
    tree: dict[str, Any] = json.loads(row[0]) if row is not None else {"error": True}
    if tree["error"]:
        raise InvalidInput(
            _PLACE, f"this query cannot be carried out here: {tree.get('error_message', 'unknown kind')}"
        )
    return tree["statements"]


def _check_tree(connection: "DuckDBPyConnection", tree: Any) -> None:
    nodes = list(_nodes(tree))
    readable = {*NAMES, *(name for node in nodes for name in _cte_names(node))}
    doing = _doing(connection) if any(node.get("function_name") for node in nodes) else set[str]()
    for node in nodes:
        kind = node.get("type")
        if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _NODES:
            words = kind.removesuffix("_NODE").removesuffix("_QUERY").replace("_", " ")
            raise InvalidInput(_PLACE, f"a query only reads; in this one there is {words}")
        shown = kind == "SHOW_REF" and node.get("query") is None and _path(node) not in _LISTS
        if kind == "BASE_TABLE" or shown:
            _check_table(_path(node), readable)
        elif kind == "TABLE_FUNCTION":
            _check_table_function(node["function"])
        if node.get("function_name"):
            _check_function(str(node["function_name"]).lower(), doing)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object in the tree, the outer ones first; without recursion, since a query may be nested deeply."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            node = cast(dict[str, Any], one)
            yield node
            waiting += node.values()
        elif isinstance(one, list):
            waiting += cast(list[Any], one)


def _cte_names(node: dict[str, Any]) -> Iterator[str]:
    ctes = node.get("cte_map")
    entries = cast(dict[str, Any], ctes).get("map") if isinstance(ctes, dict) else None
    for entry in cast(list[dict[str, Any]], entries or []):
        yield str(entry["key"]).lower()
    if node.get("type") in ("RECURSIVE_CTE_NODE", "CTE_NODE"):
        yield str(node.get("cte_name", "")).lower()


def _path(node: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(part).lower() for part in node["qualified_name"].get("path", []))


def _check_table(path: tuple[str, ...], readable: set[str]) -> None:
    if path in _CATALOG or (len(path) == 1 and path[0] in readable):
        return
    raise InvalidInput(_PLACE, f"there is no {'.'.join(path)[:100]!r} to read; there is: {', '.join(NAMES)}")


def _check_table_function(function: dict[str, Any]) -> None:
    name = str(function.get("function_name", "")).lower()
    if name not in _TABLE_FUNCTIONS:
        raise InvalidInput(
            _PLACE, f"{name[:100]}() cannot be read from here; there is: {', '.join(sorted(_TABLE_FUNCTIONS))}"
        )


def _check_function(name: str, doing: set[str]) -> None:
    if name in _REFUSED or name in doing:
        raise InvalidInput(_PLACE, f"the function {name[:100]}() does or tells more than a query over the events may")


def _doing(connection: "DuckDBPyConnection") -> set[str]:
    """Functions that DuckDB itself says do more than look at their arguments."""
    rows = connection.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"
    ).fetchall()
    return {name for (name,) in rows} - _HARMLESS
