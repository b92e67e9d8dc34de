"""Titles that a model writes: once, after the first answer, and never over the user's own."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from jupyter_pernix.events import Event, StepFinished, StepStarted, Stored
from jupyter_pernix.ids import SessionId, new_step_id
from jupyter_pernix.records import Timings, Usage

from .carrying import Told, echo
from .conftest import Serve
from .served import Served

pytestmark = pytest.mark.server


def writing(title: str | None, release: anyio.Event | None = None) -> Any:
    """A ``surroundings.Title`` that counts how often it was asked."""

    async def title_for(session_id: SessionId, log: Sequence[Stored]) -> tuple[Sequence[Event], str | None]:
        title_for.asked += 1  # type: ignore[attr-defined]
        if release is not None:
            await release.wait()
        step_id = new_step_id()
        ids: dict[str, Any] = {"session_id": session_id, "turn_id": None, "step_id": step_id}
        started = StepStarted(
            **ids,
            index=0,
            endpoint="e",
            model="m",
            prompt_bytes=9,
            prefix_bytes=0,
            role="background",
            purpose="title",
        )
        ended = StepFinished(**ids, usage=Usage(), timings=Timings(), prefix_share=None, finish_reason="stop")
        return [started, ended], title

    title_for.asked = 0  # type: ignore[attr-defined]
    return title_for


async def with_title(server: Served, title: Any) -> None:
    (await server.extension.runtime()).sessions.around.title = title


async def title_of(server: Served, session: str) -> str:
    return (await server.get(f"/sessions/{session}"))["title"]


async def test_the_first_answer_gets_the_session_a_title(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        title = writing("Rows of a table\nand more")
        await with_title(server, title)
        session = await server.new_session()
        await server.submit(session, "how many rows does this table have?")
        events = await server.wait(session, lambda event: event.get("by") == "model")
        assert await title_of(server, session) == "Rows of a table"
        path = (await server.get(f"/sessions/{session}"))["record_path"]
        assert (server.root / path).exists(), "its notebook stays where it was written"
        await server.submit(session, "and columns?")
        await server.wait_idle(session, after=events[-1]["seq"])
        assert title.asked == 1


async def test_a_title_that_the_user_gave_stays(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        title = writing("Another")
        await with_title(server, title)
        session = await server.new_session(title="Mine")
        await server.submit(session, "hello")
        await server.wait_idle(session)
        await anyio.wait_all_tasks_blocked()
        assert (title.asked, await title_of(server, session)) == (0, "Mine")


async def test_a_title_that_the_user_gives_while_one_is_written_stays_and_nobody_waits(serve: Serve) -> None:
    release = anyio.Event()
    async with serve(carry=Told(echo)) as server:
        await with_title(server, writing("Another", release))
        session = await server.new_session()
        await server.submit(session, "hello")
        await server.wait_idle(session)
        again = await server.submit(session, "more")
        await server.wait(session, lambda event: event["type"] == "turn.finished" and event["turn_id"] == again)
        await server.http.patch(f"/sessions/{session}", json={"title": "Mine"})
        release.set()
        await server.wait(session, lambda event: event.get("purpose") == "title")
        assert await title_of(server, session) == "Mine"


async def test_without_a_title_from_a_model_the_first_words_stay(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        await with_title(server, writing(None))
        session = await server.new_session()
        await server.submit(session, "hello there")
        await server.wait(session, lambda event: event.get("purpose") == "title")
        assert await title_of(server, session) == "hello there"
