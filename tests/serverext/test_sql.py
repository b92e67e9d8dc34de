"""Queries over HTTP."""

import pytest

from .carrying import Told, echo
from .conftest import Serve

pytestmark = pytest.mark.server


async def test_a_query_is_answered_with_columns_types_and_rows(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        turn = await server.submit(session, "hello")
        await server.wait_idle(session)
        answer = await server.post("/sql", {"query": "SELECT turn_id, text, code FROM turns"}, status=200)
        assert answer == {
            "columns": ["turn_id", "text", "code"],
            "types": ["VARCHAR", "VARCHAR", "VARCHAR"],
            "rows": [[turn, "hello", "answered"]],
            "truncated": False,
        }
        cut = await server.post("/sql", {"query": "FROM events", "limit": 1}, status=200)
        assert (len(cut["rows"]), cut["truncated"]) == (1, True)


@pytest.mark.parametrize(
    ("body", "place", "said"),
    [
        ({"query": "SELECT nothing FROM turns"}, "$.query", 'column "nothing" not found'),
        ({"query": "DROP VIEW events"}, "$.query", "only queries that read"),
        ({"query": "SELECT 1", "limit": 0}, "$.limit", "from 1 to 10,000 rows"),
        ({"query": 1}, "$.query", "Expected `str`"),
        ({}, "$", "missing required field `query`"),
        ({"query": "SELECT 1", "format": "csv"}, "$", "unknown field `format`"),
    ],
)
async def test_what_is_wrong_is_a_400_that_says_where(
    serve: Serve, body: dict[str, object], place: str, said: str
) -> None:
    async with serve(carry=Told(echo)) as server:
        problem = await server.post("/sql", body, status=400)
        assert problem["place"] == place
        assert said in problem["message"]
