"""Sessions and turns over HTTP, with turns that are told instead of thought."""

import pytest

from .carrying import Told, echo
from .conftest import Serve

pytestmark = pytest.mark.server


async def test_a_submitted_turn_is_carried_and_told_on_the_stream(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session(mode="auto")
        turn = await server.submit(session, "How many rows\nare there?")
        events = await server.wait_idle(session)
        assert [event["type"] for event in events] == [
            "session.created",
            "turn.submitted",
            "session.renamed",
            "session.state_changed",
            "turn.started",
            "message.completed",
            "session.state_changed",
            "turn.finished",
            "session.state_changed",
        ]
        view = await server.get(f"/sessions/{session}")
        assert view["title"] == "How many rows"
        assert view["turns"][0]["turn_id"] == turn
        assert view["turns"][0]["items"][0]["text"] == "echo: How many rows\nare there?"
