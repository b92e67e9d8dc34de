"""What a user may do to turns that wait or run: change, pause, resume, stop; and to the conversation between them: make it shorter."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.errors import EndpointUnreachable
from jupyter_pernix.events import ContextCompacted, Stored
from jupyter_pernix.ports import TurnHost
from jupyter_pernix.records import ApprovalChoice, SessionState

from .carrying import Told, Turn, echo, forever
from .conftest import Serve
from .served import JSON, Served

pytestmark = pytest.mark.server

CHOICES: list[ApprovalChoice] = ["allow_once", "reject_once"]


class Steps:
    """A turn of steps that end when the test says so; between two of them it looks for a pause, as a Run does."""

    def __init__(self, count: int = 3) -> None:
        self.count = count
        self.gates: list[anyio.Event] = []

    async def __call__(self, turn: Turn) -> None:
        for number in range(self.count):
            gate = anyio.Event()
            self.gates.append(gate)
            await turn.say(f"step {number}")
            await gate.wait()
            if turn.host.pause_wanted:
                await turn.host.pause()

    def end_step(self) -> None:
        self.gates[-1].set()


async def state(server: Served, session: str, after: str) -> None:
    """Wait until the session has been in this state."""
    await server.wait(session, lambda event: event.get("after") == after)


async def said(server: Served, session: str, text: str) -> None:
    await server.wait(session, lambda event: event.get("text") == text)


async def ended(server: Served, session: str, turn: str) -> JSON:
    events = await server.wait(session, lambda event: event["type"] == "turn.finished" and event["turn_id"] == turn)
    return events[-1]


async def reasons(server: Served, session: str) -> list[str]:
    return [event["reason"] for event in await server.get("/events", session=session) if "reason" in event]


async def legal(server: Served, session: str) -> None:
    assert illegalities(await server.log(session)) == []


async def patch(server: Served, session: str, turn: str, text: str) -> tuple[int, JSON]:
    response = await server.http.patch(f"/sessions/{session}/turns/{turn}", json={"text": text})
    return response.status_code, response.json()


# ---- the queue --------------------------------------------------------------------------------------------------------------


async def test_a_waiting_message_is_changed_and_the_turn_reads_the_new_text(serve: Serve) -> None:
    release = anyio.Event()

    async def story(turn: Turn) -> None:
        await release.wait()
        await turn.say(f"read: {turn.view.text}")

    async with serve(carry=Told(story)) as server:
        session = await server.new_session()
        first, second = await server.submit(session, "one"), await server.submit(session, "two")
        await server.wait(session, lambda event: event["type"] == "turn.started")
        status, accepted = await patch(server, session, second, "deux")
        assert (status, accepted["turn_id"]) == (200, second)
        assert await patch(server, session, first, "un") == (
            409,
            {"message": "the turn has begun", "place": "", "hint": ""},
        )
        release.set()
        await said(server, session, "read: deux")
        await ended(server, session, second)
        assert (await patch(server, session, second, "zwei"))[0] == 409
        assert (await patch(server, session, "trn_none", "x"))[0] == 404
        assert (await patch(server, session, second, "  "))[0] == 400
        await server.wait_idle(session, after=(await server.get("/"))["last_seq"] - 1)
        await legal(server, session)


# ---- pause and resume -------------------------------------------------------------------------------------------------------


async def test_a_turn_pauses_after_its_step_and_goes_on(serve: Serve) -> None:
    steps = Steps()
    async with serve(carry=Told(steps)) as server:
        session = await server.new_session()
        turn = await server.submit(session, "go")
        await said(server, session, "step 0")
        for _ in range(2):
            summary = await server.post(f"/sessions/{session}/pause", status=202)
            assert summary["state"] == "pause_requested"
        steps.end_step()
        await state(server, session, "paused")
        assert (await server.post(f"/sessions/{session}/pause", status=202))["state"] == "paused"
        accepted = await server.post(f"/sessions/{session}/resume", status=202)
        assert accepted["turn_id"] == turn
        await said(server, session, "step 1")
        for _ in range(2):
            steps.end_step()
            await anyio.wait_all_tasks_blocked()
        assert (await ended(server, session, turn))["code"] == "answered"
        assert await reasons(server, session) == [
            "turn_started",
            "pause_asked",
            "step_ended",
            "resumed",
            "turn_ending",
            "turn_ended",
        ]


async def test_a_pause_that_was_asked_for_can_be_taken_back(serve: Serve) -> None:
    steps = Steps(1)
    async with serve(carry=Told(steps)) as server:
        session = await server.new_session()
        turn = await server.submit(session, "go")
        await said(server, session, "step 0")
        await server.post(f"/sessions/{session}/pause", status=202)
        assert (await server.post(f"/sessions/{session}/resume", status=202))["turn_id"] == turn
        steps.end_step()
        await ended(server, session, turn)
        assert "step_ended" not in await reasons(server, session)


async def test_an_idle_session_has_nothing_to_pause(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        for path, words in (
            ("pause", "nothing to pause"),
            ("stop", "nothing is running"),
            ("resume", "nothing to go on"),
        ):
            response = await server.http.post(f"/sessions/{session}/{path}")
            assert (response.status_code, words in response.json()["message"]) == (409, True)


async def test_a_pause_that_is_asked_for_during_a_question_comes_after_the_answer(serve: Serve) -> None:
    async def story(turn: Turn) -> None:
        call = await turn.request()
        await turn.host.ask(call_id=call, question="Run it?", detail="", choices=CHOICES)
        await turn.end(call)
        assert turn.host.pause_wanted
        await turn.host.pause()

    async with serve(carry=Told(story)) as server:
        session = await server.new_session()
        await server.submit(session, "go")
        await state(server, session, "awaiting_user")
        assert (await server.post(f"/sessions/{session}/pause", status=202))["state"] == "awaiting_user"
        (question,) = await server.get("/approvals")
        await server.post(f"/approvals/{question['approval_id']}", {"choice": "allow_once"}, status=200)
        await state(server, session, "paused")
        await server.post(f"/sessions/{session}/resume", status=202)
        await server.wait_idle(session)
        assert (await reasons(server, session))[1:6] == [
            "approval_requested",
            "approval_resolved",
            "pause_asked",
            "step_ended",
            "resumed",
        ]
        await legal(server, session)


async def test_a_pause_outlives_the_server_and_the_turn_goes_on_in_the_next(serve: Serve) -> None:
    steps = Steps(1)
    async with serve(carry=Told(steps)) as server:
        session = await server.new_session()
        turn = await server.submit(session, "go")
        await said(server, session, "step 0")
        waiting = await server.submit(session, "and then")
        await server.post(f"/sessions/{session}/pause", status=202)
        steps.end_step()
        await state(server, session, "paused")
        before = await server.log(session)
    for _ in range(2):
        async with serve(carry=Told(echo)) as server:
            assert await server.log(session) == before
            await legal(server, session)
    async with serve(carry=Told(echo)) as server:
        edited = await patch(server, session, waiting, "and then that")
        assert edited[0] == 200
        assert (await server.http.post(f"/sessions/{session}/compact")).status_code == 409
        assert (await server.http.patch(f"/sessions/{session}", json={"archived": True})).status_code == 409
        accepted = await server.post(f"/sessions/{session}/resume", status=202)
        assert accepted["turn_id"] == turn
        assert (await ended(server, session, turn))["code"] == "answered"
        assert (await ended(server, session, waiting))["code"] == "answered"
        await server.wait_idle(session, after=(await server.get("/"))["last_seq"] - 1)
        await legal(server, session)
        types = [event["type"] for event in await server.get("/events", session=session)]
        assert types.count("turn.resumed") == 1


# ---- stopping ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("where", ["paused", "awaiting_user"])
async def test_a_turn_that_waits_for_a_person_is_stopped(serve: Serve, where: str, *, restarted: bool) -> None:
    pause_asked = anyio.Event()

    async def story(turn: Turn) -> None:
        if turn.view.text != "go":
            await turn.say("the next one")
        elif where == "awaiting_user":
            call = await turn.request()
            await turn.host.ask(call_id=call, question="Run it?", detail="", choices=CHOICES)
        else:
            await pause_asked.wait()
            await turn.host.pause()

    async def stop(server: Served) -> None:
        await server.post(f"/sessions/{session}/turns/{turn}/cancel", status=202)
        assert (await ended(server, session, turn))["code"] == "cancelled"
        await said(server, session, "the next one")
        await server.wait_idle(session, after=(await server.get("/"))["last_seq"] - 1)
        assert await server.get("/approvals") == []
        log = await server.log(session)
        closed = [each for each in illegalities(log) if "left the call" not in each]
        assert closed == []

    async with serve(carry=Told(story)) as server:
        session = await server.new_session()
        turn = await server.submit(session, "go")
        await server.submit(session, "next")
        if where == "paused":
            await server.wait(session, lambda event: event["type"] == "turn.started")
            await server.post(f"/sessions/{session}/pause", status=202)
            pause_asked.set()
        await state(server, session, where)
        if not restarted:
            await stop(server)
    if restarted:
        async with serve(carry=Told(story)) as server:
            await stop(server)


async def test_stop_ends_the_turn_that_runs_and_the_next_one_begins(serve: Serve) -> None:
    async def story(turn: Turn) -> None:
        if turn.view.text == "one":
            await forever(turn)
        await echo(turn)

    async with serve(carry=Told(story)) as server:
        session = await server.new_session()
        first, second = await server.submit(session, "one"), await server.submit(session, "two")
        await server.wait(session, lambda event: event["type"] == "turn.started")
        await server.post(f"/sessions/{session}/stop", status=202)
        assert (await ended(server, session, first))["code"] == "cancelled"
        assert (await ended(server, session, second))["code"] == "answered"


# ---- going on ---------------------------------------------------------------------------------------------------------------


async def test_a_resumed_session_is_told_what_is_not_known(serve: Serve) -> None:
    async def story(turn: Turn) -> None:
        if turn.view.text == "go":
            await turn.begin(await turn.request("run_shell"))
            raise ValueError("boom")
        await turn.say(turn.view.text)

    async with serve(carry=Told(story)) as server:
        session = await server.new_session()
        await ended(server, session, await server.submit(session, "go"))
        await server.wait_idle(session)
        accepted = await server.post(f"/sessions/{session}/resume", status=202)
        await ended(server, session, accepted["turn_id"])
        text = (await server.get(f"/sessions/{session}"))["turns"][-1]["text"]
        assert "not known whether these calls had their effect" in text
        assert "- run_shell: run_shell" in text


# ---- compaction -------------------------------------------------------------------------------------------------------------


def shorter(release: anyio.Event, *, error: Exception | None = None) -> Any:
    async def compact(host: TurnHost, log: Sequence[Stored]) -> bool:
        await release.wait()
        if error is not None:
            raise error
        await host.append(
            ContextCompacted(
                session_id=host.session_id,
                turn_id=None,
                level="outputs",
                upto_seq=log[-1].seq,
                summary="",
                kept=[],
                dropped="old outputs",
                tokens_before=900,
                tokens_after=100,
            )
        )
        return True

    return compact


async def with_turn(server: Served) -> str:
    session = await server.new_session()
    await server.submit(session, "hello")
    await server.wait_idle(session)
    return session


async def test_a_conversation_is_made_shorter_between_turns_and_messages_wait(serve: Serve) -> None:
    release = anyio.Event()
    async with serve(carry=Told(echo)) as server:
        sessions = (await server.extension.runtime()).sessions
        sessions.around.compact = shorter(release)
        session = await with_turn(server)
        assert (await server.post(f"/sessions/{session}/compact", status=202))["state"] == "compacting"
        turn = await server.submit(session, "next")
        again = await server.http.post(f"/sessions/{session}/compact")
        assert (again.status_code, "by itself" in again.json()["message"]) == (409, True)
        assert (await server.get(f"/sessions/{session}"))["state"] == "compacting"
        release.set()
        assert (await ended(server, session, turn))["code"] == "answered"
        types = [event["type"] for event in await server.get("/events", session=session)]
        assert types.index("context.compacted") < len(types) - types[::-1].index("turn.started") - 1
        await server.wait_idle(session, after=(await server.get("/"))["last_seq"] - 1)
        await legal(server, session)


async def test_a_compaction_that_fails_says_why_and_the_session_is_idle(serve: Serve) -> None:
    release = anyio.Event()
    release.set()
    async with serve(carry=Told(echo)) as server:
        sessions = (await server.extension.runtime()).sessions
        sessions.around.compact = shorter(release, error=EndpointUnreachable("nobody answers", hint="start it"))
        session = await with_turn(server)
        await server.post(f"/sessions/{session}/compact", status=202)
        events = await server.wait(session, lambda event: event.get("reason") == "settled")
        (problem,) = [event for event in events if event["type"] == "problem.noticed"]
        assert ("nobody answers" in problem["text"], problem["hint"]) == (True, "start it")
        await legal(server, session)


async def test_a_compaction_is_stopped(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        sessions = (await server.extension.runtime()).sessions
        sessions.around.compact = shorter(anyio.Event())
        session = await with_turn(server)
        await server.post(f"/sessions/{session}/compact", status=202)
        await server.post(f"/sessions/{session}/stop", status=202)
        await server.wait(session, lambda event: event.get("before") == "cancelling" and event["after"] == "idle_ready")
        assert (await server.get(f"/sessions/{session}"))["state"] == SessionState.IDLE_READY
        await ended(server, session, await server.submit(session, "next"))
        await server.wait_idle(session, after=(await server.get("/"))["last_seq"] - 1)
        await legal(server, session)
