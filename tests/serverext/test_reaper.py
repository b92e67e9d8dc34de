"""What hangs is ended, and said to be; what works is left alone."""

import anyio
import pytest

from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.ids import SessionId
from jupyter_pernix.serverext.reaper import CELL_SECONDS, ENDING_SECONDS, Reaper
from jupyter_pernix.serverext.sessions import Sessions

from .carrying import Told, Turn, echo, forever
from .conftest import Serve
from .served import Served

pytestmark = pytest.mark.server

SILENCE = 900.0
"""The default of ``deadlines.silence``."""


class ManualClock:
    """Moves by hand; whoever sleeps on it sleeps for good."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep_forever()


async def reaping(server: Served) -> tuple[Sessions, ManualClock, Reaper]:
    sessions = (await server.extension.runtime()).sessions
    clock = sessions.around.clock = ManualClock()
    return sessions, clock, Reaper(sessions.around, lambda: sessions.live)


async def begun(server: Served) -> tuple[str, str]:
    session = await server.new_session()
    turn = await server.submit(session, "go")
    await server.wait(session, lambda event: event["type"] == "turn.started")
    await anyio.wait_all_tasks_blocked()
    return session, turn


async def test_a_turn_without_a_sign_of_life_is_ended_and_says_why(serve: Serve) -> None:
    async with serve(carry=Told(forever)) as server:
        _, clock, reaper = await reaping(server)
        session, _ = await begun(server)
        clock.now += SILENCE
        await reaper.look()
        assert (await server.get(f"/sessions/{session}"))["state"] == "processing"
        clock.now += 1
        await reaper.look()
        events = await server.wait_idle(session)
        (problem,) = [event for event in events if event["type"] == "problem.noticed"]
        (end,) = [event for event in events if event["type"] == "turn.finished"]
        assert "no sign of life for 901 s" in problem["text"]
        assert (end["code"], end["detail"].startswith("hung")) == ("interrupted", True)
        assert illegalities(await server.log(session)) == []


@pytest.mark.parametrize("sign", ["delta", "event", "execution"])
async def test_a_turn_that_shows_life_is_left_alone(serve: Serve, sign: str) -> None:
    go = anyio.Event()

    async def story(turn: Turn) -> None:
        call = await turn.request("run_code")
        if sign == "execution":
            await turn.begin(call)
        await go.wait()
        if sign == "delta":
            turn.write("more")
        if sign == "event":
            await turn.say("more")
        await anyio.sleep_forever()

    async with serve(carry=Told(story)) as server:
        _, clock, reaper = await reaping(server)
        session, _ = await begun(server)
        clock.now += SILENCE - 1
        go.set()
        await anyio.wait_all_tasks_blocked()
        if sign == "event":
            await server.wait(session, lambda event: event.get("text") == "more")
        clock.now += 2
        await reaper.look()
        assert (await server.get(f"/sessions/{session}"))["state"] == "processing"


async def test_who_waits_for_a_person_may_wait(serve: Serve) -> None:
    async def story(turn: Turn) -> None:
        call = await turn.request()
        await turn.host.ask(call_id=call, question="?", detail="", choices=["allow_once"])

    async with serve(carry=Told(story)) as server:
        _, clock, reaper = await reaping(server)
        session, _ = await begun(server)
        clock.now += 100 * SILENCE
        await reaper.look()
        assert (await server.get(f"/sessions/{session}"))["state"] == "awaiting_user"


async def test_a_turn_that_does_not_end_when_it_is_stopped_is_closed_and_the_next_one_runs(serve: Serve) -> None:
    release = anyio.Event()

    async def story(turn: Turn) -> None:
        if turn.view.text != "go":
            await echo(turn)
            return
        call = await turn.request()
        await turn.begin(call)
        with anyio.CancelScope(shield=True):
            await release.wait()
        await turn.end(call, "too late")

    async with serve(carry=Told(story)) as server:
        _, clock, reaper = await reaping(server)
        session, turn = await begun(server)
        after = await server.submit(session, "next")
        await server.post(f"/sessions/{session}/turns/{turn}/cancel", status=202)
        clock.now += ENDING_SECONDS
        await reaper.look()
        assert (await server.get(f"/sessions/{session}"))["state"] == "cancelling"
        clock.now += 1
        await reaper.look()
        events = await server.wait(
            session, lambda event: event["type"] == "turn.finished" and event["turn_id"] == after
        )
        ends = {event["turn_id"]: event["code"] for event in events if event["type"] == "turn.finished"}
        assert ends == {turn: "interrupted", after: "answered"}
        (call,) = [event for event in events if event["type"] == "tool_call.finished"]
        assert call["status"] == "unknown"
        await server.wait_idle(session, after=events[-1]["seq"])
        release.set()
        await anyio.wait_all_tasks_blocked()
        assert illegalities(await server.log(session)) == []
        assert "too late" not in str(await server.get("/events", session=session))


async def test_a_session_whose_task_is_gone_is_made_idle(serve: Serve) -> None:
    async with serve(carry=Told(forever)) as server:
        sessions, _, reaper = await reaping(server)
        session, turn = await begun(server)
        (live,) = [each for each in sessions.live if each.session_id == session]
        assert live.live is not None
        live.live.host.detached = True
        live.live._scope.cancel()
        await anyio.wait_all_tasks_blocked()
        assert (await server.get(f"/sessions/{session}"))["state"] == "processing"
        await reaper.look()
        view = await server.get(f"/sessions/{session}")
        assert (view["state"], view["turns"][0]["code"]) == ("idle_ready", "interrupted")
        assert (await server.submit(session, "next")) != turn


async def asks(turn: Turn) -> None:
    call = await turn.request()
    await turn.host.ask(call_id=call, question="?", detail="", choices=["allow_once"])


async def asked_in_a_cell(server: Served) -> str:
    session = await server.new_session(place="in_cell", origin="magic")
    await server.submit(session, "go", origin="magic")
    await server.wait(session, lambda event: event.get("after") == "awaiting_user")
    return session


async def test_a_question_of_a_cell_that_is_gone_is_given_up(serve: Serve) -> None:
    async with serve(carry=Told(asks)) as server:
        _, clock, reaper = await reaping(server)
        session = await asked_in_a_cell(server)
        bus = (await server.extension.runtime()).bus
        cell = bus.subscribe(SessionId(session))
        for _ in range(2):
            await reaper.look()
            clock.now += 10 * CELL_SECONDS
        bus.leave(cell)
        for seconds in (0, CELL_SECONDS - 1, 1):
            assert (await server.get(f"/sessions/{session}"))["state"] == "awaiting_user"
            clock.now += seconds
            await reaper.look()
        events = await server.wait_idle(session)
        (end,) = [event for event in events if event["type"] == "turn.finished"]
        assert (end["code"], "the cell that asked is gone" in end["detail"]) == ("interrupted", True)
        assert await server.get("/approvals") == []


async def test_after_a_restart_a_question_without_its_cell_is_given_up_too(serve: Serve) -> None:
    async with serve(carry=Told(asks)) as server:
        session = await asked_in_a_cell(server)
    async with serve(carry=Told(asks)) as server:
        _, clock, reaper = await reaping(server)
        assert (await server.get(f"/sessions/{session}"))["state"] == "awaiting_user"
        await reaper.look()
        clock.now += CELL_SECONDS
        await reaper.look()
        view = await server.get(f"/sessions/{session}")
        assert (view["state"], view["turns"][0]["code"]) == ("idle_ready", "interrupted")
        assert illegalities(await server.log(session)) == []
