"""Numbered steps of the schema."""

import duckdb
import pytest

from jupyter_pernix.errors import StoreTooNew
from jupyter_pernix.serverext.store.migrations import MIGRATIONS, SCHEMA, migrate, schema_of

FIRST = ("CREATE TABLE one (x INTEGER)",)
SECOND = ("CREATE TABLE two (y INTEGER)", "INSERT INTO two SELECT x FROM one")
BROKEN = ("CREATE TABLE three (z INTEGER)", "INSERT INTO nowhere VALUES (1)")


def test_an_empty_file_is_brought_to_the_last_schema() -> None:
    with duckdb.connect() as connection:
        migrate(connection, path="x")
        assert schema_of(connection) == SCHEMA == len(MIGRATIONS)


def test_each_step_runs_once_and_finds_the_data_of_the_one_before() -> None:
    with duckdb.connect() as connection:
        migrate(connection, path="x", migrations=(FIRST,))
        connection.execute("INSERT INTO one VALUES (7)")
        migrate(connection, path="x", migrations=(FIRST, SECOND))
        migrate(connection, path="x", migrations=(FIRST, SECOND))
        assert connection.execute("SELECT y FROM two").fetchall() == [(7,)]
        assert schema_of(connection) == 2


def test_a_step_that_fails_leaves_nothing_behind() -> None:
    with duckdb.connect() as connection:
        migrate(connection, path="x", migrations=(FIRST,))
        with pytest.raises(duckdb.Error):
            migrate(connection, path="x", migrations=(FIRST, BROKEN))
        assert schema_of(connection) == 1
        assert connection.execute("SELECT table_name FROM duckdb_tables() WHERE table_name = 'three'").fetchall() == []


def test_a_file_ahead_of_the_program_is_refused() -> None:
    with duckdb.connect() as connection:
        migrate(connection, path="x", migrations=(FIRST, SECOND))
        with pytest.raises(StoreTooNew) as caught:
            migrate(connection, path="x", migrations=(FIRST,))
        assert (caught.value.found, caught.value.known) == (2, 1)
