"""The user's own queries: what they see, what they cannot do, and what stops them."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.story import story

from jupyter_pernix.errors import InvalidInput, StoreError
from jupyter_pernix.records import SqlQuery, SqlResult
from jupyter_pernix.serverext.store import EventStore
from jupyter_pernix.serverext.store.database import connect
from jupyter_pernix.serverext.store.sql import SqlReader
from jupyter_pernix.serverext.store.sql_views import VIEWS

from .appending import message


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EventStore]:
    store = await EventStore.open(tmp_path / "pernix.duckdb")
    (tmp_path / "secret.csv").write_text("a,b\n1,hidden\n")
    yield store
    await store.aclose()


async def ask(store: EventStore, query: str, limit: int = 1000) -> SqlResult:
    return await store.sql(SqlQuery(query=query, limit=limit))


async def rows(store: EventStore, query: str) -> list[list[Any]]:
    return (await ask(store, query)).rows


# ---- what is seen -----------------------------------------------------------------------------------------------------------


async def test_everything_acknowledged_is_seen(store: EventStore) -> None:
    for number in range(3):
        await store.append([message(number)])
        assert await rows(store, "SELECT count(*) FROM events") == [[number + 1]]


READING = [
    "FROM events",
    "TABLE events",
    "VALUES (1), (2)",
    "DESCRIBE events",
    "SUMMARIZE events",
    "SHOW TABLES",
    "WITH one AS (FROM events) SELECT * FROM one",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) FROM n",
    "SELECT type, count(*) OVER (PARTITION BY type) FROM events ORDER BY ALL",
    "SELECT body ->> '$.text' FROM events WHERE session_id IN (SELECT session_id FROM messages)",
    "SELECT e.key FROM events, json_each(events.body) e",
    "SELECT list_transform([1, 2], lambda x: x + 1), unnest(range(3)), random() < 2",
    "PIVOT events ON type IN ('message.completed') USING count(*)",
    "SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3",
    "SELECT * FROM information_schema.columns WHERE table_name = 'turns'",
    "SELECT now() - INTERVAL 1 DAY, current_date;",
    "-- how many\nSELECT 1 /* one */",
]


async def test_queries_that_read_are_answered(store: EventStore) -> None:
    await store.append([message(1)])
    for query in READING:
        assert (await ask(store, query)).rows, query


async def test_each_view_can_be_read_and_is_empty_at_first(store: EventStore) -> None:
    for name in VIEWS:
        answer = await ask(store, f"FROM {name}")
        assert (name, answer.rows, answer.columns[0]) == (name, [], "session_id")


TOLD = {
    "SELECT title, mode, place, archived, state, turns, tool_calls, prompt_tokens FROM sessions": [
        ["The lost row", "edit", "own", True, "idle_ready", 2, 5, 900]
    ],
    "SELECT text, origin, code, steps, completion_tokens FROM turns ORDER BY turn_id": [
        ["Find it.", "panel", "answered", 1, 100],
        ["Thank you.", "cli", "cancelled", None, None],
    ],
    "SELECT model, role, prompt_tokens, finish_reason FROM steps ORDER BY step_id": [
        ["spare-1", "primary", 900, "tool_calls"],
        ["scripted-1", "primary", None, None],
    ],
    "SELECT tool, verdict, status, result FROM tool_calls WHERE kind = 'execute' ORDER BY call_id LIMIT 1": [
        ["run_code", "ask", "completed", "1460\n"]
    ],
    "SELECT code, status, seconds, notebook FROM executions WHERE place = 'own'": [
        ["print(len(rows))", "ok", 0.2, ""],
    ],
    "SELECT question, choice, answered_by FROM approvals": [["Run this code?", "allow_session", "panel"]],
    "SELECT text FROM messages": [["I look at the rows."]],
    "SELECT path, added_lines, created, deleted FROM file_changes": [["lines.py", 2, False, False]],
    "SELECT op, status FROM cell_changes ORDER BY change_id": [["edit", "undone"], ["delete", "refused"]],
}


async def test_the_views_tell_what_happened(store: EventStore) -> None:
    await store.append([stored.event for stored in story()])
    assert {query: await rows(store, query) for query in TOLD} == TOLD


async def test_values_are_what_every_reader_of_json_can_read(store: EventStore) -> None:
    answer = await ask(
        store,
        "SELECT 1, 9007199254740993::BIGINT, 1.5::DECIMAL(4, 2), 'nan'::DOUBLE, 'ab'::BLOB, DATE '2026-01-02', TIME '10:00', "
        "TIMESTAMP '2026-01-02 03:04:05', INTERVAL 90 MINUTE, {'a': [1, NULL]}, MAP {1: 'x'}, "
        "'6f9619ff-8b86-d011-b42d-00c04fc964ff'::UUID, NULL, true, TIMESTAMPTZ '2026-01-02 03:04:05+00'",
    )
    assert answer.rows[0][:-1] == [
        1,
        "9007199254740993",
        1.5,
        "nan",
        "YWI=",
        "2026-01-02",
        "10:00:00",
        "2026-01-02T03:04:05",
        "1:30:00",
        {"a": [1, None]},
        {"1": "x"},
        "6f9619ff-8b86-d011-b42d-00c04fc964ff",
        None,
        True,
    ]
    assert answer.rows[0][-1].startswith("2026-01-02T") or answer.rows[0][-1].startswith("2026-01-01T")
    assert answer.types[:3] == ["INTEGER", "BIGINT", "DECIMAL(4,2)"]


# ---- what is refused --------------------------------------------------------------------------------------------------------

WAYS_OUT = [
    # more than one statement, or none
    "",
    "  -- nothing\n",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE event_log",
    # other statements
    "INSERT INTO event_log SELECT * FROM event_log",
    "DELETE FROM event_log",
    "UPDATE event_log SET type = 'x'",
    "DROP VIEW events",
    "CREATE TABLE t AS SELECT 1",
    "CREATE MACRO f() AS 1",
    "CREATE TEMP TABLE t (a INT)",
    "CREATE SECRET s (TYPE http)",
    "COPY events TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/out.duckdb' AS out",
    "DETACH pernix",
    "USE temp",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{folder}/x.duckdb_extension'",
    "SET memory_limit = '1TB'",
    "SET enable_external_access = true",
    "RESET memory_limit",
    "SET VARIABLE x = 1",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "CALL force_checkpoint()",
    "CALL enable_logging()",
    "CHECKPOINT",
    "VACUUM",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "EXPLAIN ANALYZE SELECT 1",
    # writing inside of reading
    "WITH gone AS (DELETE FROM event_log RETURNING seq) FROM gone",
    "WITH made AS (INSERT INTO event_log FROM event_log RETURNING seq) FROM made",
    "WITH other AS (UPDATE event_log SET type = 'x' RETURNING seq) FROM other",
    "SELECT * FROM (WITH gone AS (DELETE FROM event_log RETURNING seq) FROM gone)",
    "SELECT (WITH gone AS (DELETE FROM event_log RETURNING seq) SELECT max(seq) FROM gone)",
    # files
    "SELECT * FROM '{folder}/secret.csv'",
    'SELECT * FROM "{folder}/secret.csv"',
    "FROM read_csv('{folder}/secret.csv')",
    "FROM read_csv_auto('{folder}/secret.csv')",
    "FROM READ_TEXT('{folder}/secret.csv')",
    "FROM main.read_blob('{folder}/secret.csv')",
    "FROM system.main.read_text('{folder}/secret.csv')",
    "FROM read_json('{folder}/secret.csv')",
    "FROM read_parquet('{folder}/x.parquet')",
    "FROM parquet_metadata('{folder}/x.parquet')",
    "FROM sniff_csv('{folder}/secret.csv')",
    "FROM glob('{folder}/*')",
    "FROM 'https://example.org/x.csv'",
    "FROM read_text('https://example.org/x.csv')",
    "FROM read_duckdb('{folder}/pernix.duckdb')",
    "WITH f AS (FROM read_text('{folder}/secret.csv')) FROM f",
    "WITH f AS MATERIALIZED (SELECT 1 UNION ALL SELECT size FROM read_text('{folder}/secret.csv')) FROM f",
    "WITH RECURSIVE f(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM f, glob('{folder}/*') WHERE i < 3) FROM f",
    "SELECT * FROM events WHERE seq IN (SELECT size FROM read_text('{folder}/secret.csv'))",
    "SELECT (SELECT content FROM read_text('{folder}/secret.csv'))",
    "SELECT 1 ORDER BY (SELECT size FROM read_text('{folder}/secret.csv'))",
    "SELECT 1 LIMIT (SELECT count(*) FROM glob('{folder}/*'))",
    "SELECT 1 HAVING (SELECT count(*) FROM glob('{folder}/*')) > 0",
    "SELECT sum(1) FILTER ((SELECT count(*) FROM glob('{folder}/*')) > 0)",
    "SELECT sum(1) OVER (ORDER BY (SELECT count(*) FROM glob('{folder}/*')))",
    "SELECT list_transform([1], lambda x: (SELECT count(*) FROM glob('{folder}/*')))",
    "FROM events JOIN glob('{folder}/*') g ON true",
    "FROM events, LATERAL (FROM glob('{folder}/*'))",
    "VALUES ((SELECT count(*) FROM glob('{folder}/*')))",
    "SUMMARIZE FROM read_text('{folder}/secret.csv')",
    "DESCRIBE FROM read_text('{folder}/secret.csv')",
    "PIVOT (FROM glob('{folder}/*')) ON file IN ('x')",
    "SELECT COLUMNS(*) FROM glob('{folder}/*')",
    # a query in a text
    "FROM query('SELECT 1')",
    "FROM query('FROM read_text(''{folder}/secret.csv'')')",
    "FROM query_table('event_log')",
    "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    # settings, secrets, what else is in the process
    "SELECT current_setting('memory_limit')",
    "SELECT getenv('HOME')",
    "SELECT getvariable('x')",
    "FROM duckdb_secrets()",
    "FROM duckdb_settings()",
    "FROM duckdb_databases()",
    "FROM pragma_database_list",
    "FROM pg_catalog.pg_settings",
    "FROM duckdb_logs",
    "FROM duckdb_temporary_files()",
    "FROM which_secret('x', 'http')",
    "SHOW DATABASES",
    "SHOW ALL TABLES FROM system",
    "FROM schema_steps",
    "FROM event_log",
    "FROM main.event_log",
    # what works on the process or the database
    "FROM force_checkpoint()",
    "FROM checkpoint()",
    "FROM enable_logging()",
    "FROM enable_profiling()",
    "FROM truncate_duckdb_logs()",
    "FROM add_grammar_extension('x')",
    "FROM create_external_resource('x')",
    "FROM arrow_scan(1, 2, 3)",
    "FROM pandas_scan(140000000000)",
    "FROM python_map_function('x')",
    "FROM seq_scan()",
    "SELECT write_log('x')",
    "SELECT sleep_ms(100000)",
    "SELECT setseed(0.5)",
    "SELECT nextval('s')",
    "SELECT list_transform([1], lambda x: sleep_ms(x))",
    "SELECT main.sleep_ms(1)",
    # values from outside
    "SELECT $1",
    "SELECT ?",
    "FROM store",
    "FROM tmp_path",
]


def others(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if not path.name.startswith("pernix")]


async def test_no_way_leads_out_of_reading_the_events(store: EventStore, tmp_path: Path) -> None:
    await store.append([message(1)])
    carried_out: list[str] = []
    for query in WAYS_OUT:
        try:
            await ask(store, query.replace("{folder}", str(tmp_path)))
        except InvalidInput as exc:
            assert exc.place == "$.query"
            assert "hidden" not in str(exc)
        else:
            carried_out.append(query)
    assert carried_out == []
    assert others(tmp_path) == ["secret.csv"]
    await store.append([message(2)])
    assert await rows(store, "SELECT count(*) FROM events") == [[2]]


async def test_the_database_itself_has_no_way_out(store: EventStore, tmp_path: Path) -> None:
    """What the check would miss fails all the same."""
    import duckdb

    connection = await store._read(lambda _: connect(tmp_path / "pernix.duckdb"))
    try:
        for query in (
            f"FROM read_text('{tmp_path}/secret.csv')",
            f"FROM '{tmp_path}/secret.csv'",
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            f"ATTACH '{tmp_path}/out.duckdb'",
            "SET enable_external_access = true",
            "INSTALL httpfs",
            "FROM tmp_path",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(query)
        connection.execute("BEGIN TRANSACTION READ ONLY")
        with pytest.raises(duckdb.Error, match="read-only"):
            connection.execute("DELETE FROM event_log")
    finally:
        connection.close()


async def test_what_is_wrong_is_said_as_duckdb_says_it(store: EventStore) -> None:
    with pytest.raises(InvalidInput, match='column "nothing" not found'):
        await ask(store, "SELECT nothing FROM events")
    with pytest.raises(InvalidInput, match="syntax error"):
        await ask(store, "SELEC 1")
    with pytest.raises(InvalidInput, match="there is: events, sessions"):
        await ask(store, "FROM session")


@pytest.mark.parametrize("limit", [0, -1, 10_001])
async def test_a_limit_out_of_bounds_is_refused(store: EventStore, limit: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        await ask(store, "SELECT 1", limit)
    assert caught.value.place == "$.limit"


# ---- limits -----------------------------------------------------------------------------------------------------------------


async def test_more_rows_than_wanted_are_said_to_be_there(store: EventStore) -> None:
    some, all_ = await ask(store, "FROM range(11)", 10), await ask(store, "FROM range(10)", 10)
    assert (len(some.rows), some.truncated, len(all_.rows), all_.truncated) == (10, True, 10, False)


HOGS = [
    "SELECT list(i) FROM range(100_000_000) t(i)",
    "SELECT string_agg(repeat('x', 1000), '') FROM range(3_000_000)",
]


@pytest.mark.parametrize("query", HOGS)
async def test_a_query_that_wants_all_the_memory_is_stopped_and_the_store_goes_on(
    store: EventStore, query: str
) -> None:
    async def hog() -> None:
        with pytest.raises(InvalidInput, match="more memory than there is for queries"):
            await ask(store, query)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(hog)
            for number in range(40):
                await store.append([message(number)])
                await anyio.to_thread.run_sync(lambda: None)
        assert await rows(store, "SELECT count(*) FROM events") == [[40]]


async def test_the_stores_own_work_waits_for_memory_that_a_query_holds(
    store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    from jupyter_pernix.serverext.store import database

    tries: list[int] = []

    def ingest(*given: Any, **options: Any) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate")
        whole(*given, **options)

    whole = database.ingest
    monkeypatch.setattr(database, "ingest", ingest)
    await store.append([message(1)])
    assert await rows(store, "SELECT count(*) FROM events") == [[1]]
    assert len(tries) == 3


async def test_long_values_are_cut_in_the_database(store: EventStore) -> None:
    answer = await ask(
        store, "SELECT range(2_000_000) AS a, 1 AS a, {'b': repeat('y', 5_000_000)} AS c, 'd' AS d; -- end"
    )
    ((numbers, one, struct, text),) = answer.rows
    assert (answer.columns, answer.truncated, one, text) == (["a", "a", "c", "d"], True, 1, "d")
    assert numbers.startswith("[0, 1, 2,") and struct.startswith("{'b': yyy")
    assert all(len(long) < 300_000 for long in (numbers, struct))
    assert answer.types == ["BIGINT[]", "INTEGER", "STRUCT(b VARCHAR)", "VARCHAR"]


@pytest.mark.parametrize("end", [";", " ; ; ", " -- ; end", "; /* ü; */", "\n--x\n;\n"])
async def test_a_query_may_end_as_it_likes(store: EventStore, end: str) -> None:
    assert await rows(store, f"SELECT ';é' AS a{end}") == [[";é"]]


async def test_a_large_answer_is_cut(store: EventStore) -> None:
    answer = await ask(store, "SELECT repeat('x', 100_000) FROM range(1000)")
    assert answer.truncated
    assert 30 < len(answer.rows) < 50
    (long,) = (await ask(store, "SELECT repeat('x', 10_000_000)")).rows[0]
    assert len(long) < 300_000


ENDLESS = [
    "SELECT count(*) FROM range(100_000_000) a, range(100_000_000) b WHERE a.range + b.range = 3",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
    "SELECT sum(hash(range)) FROM range(1_000_000_000_000)",
    "SELECT * FROM range(1_000_000_000_000) WHERE range < 0",
    "SELECT list_sum(list_transform(range(100_000_000), lambda x: x * random())) FROM range(1000)",
]


@pytest.mark.parametrize("query", ENDLESS)
async def test_an_endless_query_is_stopped_and_holds_up_nobody(tmp_path: Path, query: str) -> None:
    store = await EventStore.open(tmp_path / "pernix.duckdb")
    reader = SqlReader(lambda: store._read(lambda _: connect(tmp_path / "pernix.duckdb")), seconds=0.3)
    stopped: list[InvalidInput] = []

    async def endless() -> None:
        with pytest.raises(InvalidInput) as caught:
            await reader.answer(SqlQuery(query=query))
        stopped.append(caught.value)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(endless)
            await store.append([message(1)])
            assert len(await store.events()) == 1
    assert "took more than 0.3 s" in str(stopped[0]) or "Out of Memory" in str(stopped[0])
    reader.stop()
    reader.join()
    await store.aclose()


async def test_closing_the_store_stops_what_is_asked(tmp_path: Path) -> None:
    store = await EventStore.open(tmp_path / "pernix.duckdb")
    begun = threading.Event()
    connect = store._sql._connect

    async def connected() -> Any:
        begun.set()
        return await connect()

    store._sql._connect = connected
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(_stopped, store, ENDLESS[0])
            await asyncio.to_thread(begun.wait)
            await store.aclose()
        again = await EventStore.open(tmp_path / "pernix.duckdb")
        await again.aclose()


async def _stopped(store: EventStore, query: str) -> None:
    with pytest.raises((InvalidInput, StoreError)):
        await ask(store, query)
