"""Numbered steps of the schema."""

from pathlib import Path

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


OLD = (
    ("ses_1", "trn_1", "turn.submitted", '{"type":"turn.submitted","turn_id":"trn_1","text":"a","session_id":"ses_1"}'),
    (
        "ses_1",
        "trn_1",
        "tool_call.started",
        '{"type":"tool_call.started","turn_id":"trn_1","call_id":"cal_1","session_id":"ses_1"}',
    ),
    ("ses_1", None, "session.state_changed", '{"type":"session.state_changed","turn_id":null,"session_id":"ses_1"}'),
    ("ses_1", None, "from.the.future", '{"session_id":"ses_1","type":"from.the.future"}'),
)


def test_the_rows_of_the_first_schema_read_as_they_did(tmp_path: Path) -> None:
    path = str(tmp_path / "old.duckdb")
    with duckdb.connect(path) as connection:
        migrate(connection, path=path, migrations=MIGRATIONS[:1])
        for seq, (session_id, turn_id, type_, body) in enumerate(OLD, start=1):
            connection.execute(
                "INSERT INTO events VALUES (?, ?, ?, ?, now()::TIMESTAMP, 'm', 7, 8, NULL, NULL, ?)",
                [seq, session_id, turn_id, type_, body],
            )
        columns = (
            "seq, session_id, turn_id, type, recorded_at, model, prompt_tokens, completion_tokens, tool, kind, body"
        )
        before = connection.execute(f"SELECT {columns} FROM events ORDER BY seq").fetchall()
        migrate(connection, path=path)
        assert connection.execute(f"SELECT {columns} FROM events ORDER BY seq").fetchall() == before
        ids = connection.execute("SELECT step_id, call_id FROM events ORDER BY seq").fetchall()
        kept = connection.execute("SELECT body FROM event_log ORDER BY seq").fetchall()
    assert ids == [(None, None), (None, "cal_1"), (None, None), (None, None)]
    assert [body for (body,) in kept] == [',"text":"a"', "", ',"turn_id":null', OLD[3][3]]
