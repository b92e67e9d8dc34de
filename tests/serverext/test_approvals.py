"""Questions: stored before they are shown, answered once, checked against our own log."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from jupyter_pernix.records import ApprovalChoice, CallView

from .carrying import Told, Turn
from .conftest import Serve
from .served import JSON, Served

pytestmark = pytest.mark.server

CHOICES: list[ApprovalChoice] = ["allow_once", "reject_once"]


async def ask(turn: Turn) -> None:
    call = await turn.request()
    answer = await turn.host.ask(call_id=call, question="Run it?", detail="print(1)", choices=CHOICES)
    await turn.say(f"{answer.choice} {answer.text}")


async def asked(server: Served) -> tuple[str, str, str]:
    """Session, turn and approval of a question that is open."""
    session = await server.new_session()
    turn = await server.submit(session, "go")
    events = await server.wait(session, lambda event: event.get("after") == "awaiting_user")
    (question,) = [event for event in events if event["type"] == "approval.requested"]
    return session, turn, question["approval_id"]


async def answered(server: Served, approval: str, **body: Any) -> tuple[int, JSON]:
    response = await server.http.post(f"/approvals/{approval}", json=body)
    return response.status_code, response.json()


async def test_an_answer_is_stored_and_reaches_the_turn(serve: Serve) -> None:
    async with serve(carry=Told(ask)) as server:
        session, _, approval = await asked(server)
        (open_,) = await server.get("/approvals")
        assert (open_["approval_id"], open_["question"], open_["choices"]) == (approval, "Run it?", CHOICES)
        assert (await server.get("/sessions"))[0]["open_approvals"] == 1
        status, view = await answered(server, approval, choice="reject_once", text="use pandas")
        assert (status, view["choice"], view["text"], view["by"]) == (200, "reject_once", "use pandas", "user")
        events = await server.wait_idle(session)
        assert [event["text"] for event in events if event["type"] == "message.completed"] == ["reject_once use pandas"]
        assert await server.get("/approvals", session=session) == []


async def test_a_question_is_answered_once(serve: Serve) -> None:
    async with serve(carry=Told(ask)) as server:
        _, _, approval = await asked(server)
        assert (await answered(server, approval, choice="allow_once"))[0] == 200
        status, problem = await answered(server, approval, choice="reject_once")
        assert (status, problem["message"]) == (409, "the question has been answered already")


async def test_of_two_answers_at_once_one_counts(serve: Serve) -> None:
    async with serve(carry=Told(ask)) as server:
        session, _, approval = await asked(server)
        statuses: list[int] = []

        async def answer(choice: str) -> None:
            statuses.append((await answered(server, approval, choice=choice))[0])

        async with anyio.create_task_group() as group:
            group.start_soon(answer, "allow_once")
            group.start_soon(answer, "reject_once")
        events = await server.wait_idle(session)
        assert sorted(statuses) == [200, 409]
        assert len([event for event in events if event["type"] == "approval.resolved"]) == 1


async def test_a_choice_that_was_not_offered_is_refused_and_the_question_stays_open(serve: Serve) -> None:
    async with serve(carry=Told(ask)) as server:
        _, _, approval = await asked(server)
        status, problem = await answered(server, approval, choice="allow_always")
        assert (status, problem["place"]) == (400, "$.choice")
        assert (await answered(server, approval, choice="allow_once"))[0] == 200


async def test_an_unknown_question_is_not_found(serve: Serve) -> None:
    async with serve(carry=Told(ask)) as server:
        status, problem = await answered(server, "apr_none", choice="allow_once")
        assert (status, problem["message"]) == (404, "there is no approval 'apr_none'")


async def test_a_stopped_turn_takes_its_question_with_it(serve: Serve) -> None:
    async with serve(carry=Told(ask)) as server:
        session, turn, approval = await asked(server)
        await server.post(f"/sessions/{session}/turns/{turn}/cancel", status=202)
        events = await server.wait_idle(session)
        (resolved,) = [event for event in events if event["type"] == "approval.resolved"]
        assert (resolved["choice"], resolved["by"]) == ("reject_once", "host")
        assert (await answered(server, approval, choice="allow_once"))[0] == 409
        assert (await server.get("/sessions"))[0]["open_approvals"] == 0


async def test_a_turn_that_is_stopped_while_an_answer_is_on_its_way_leaves_no_open_question(serve: Serve) -> None:
    open_after_stop: list[int] = []
    server: Served

    async def ask_and_look(turn: Turn) -> None:
        try:
            await ask(turn)
        finally:
            with anyio.CancelScope(shield=True):
                open_after_stop.append(len(await server.get("/approvals")))

    async with serve(carry=Told(ask_and_look)) as server:
        session, turn, approval = await asked(server)
        (live,) = (await server.extension.runtime()).sessions.live
        statuses: list[int] = []

        async def answer() -> None:
            statuses.append((await answered(server, approval, choice="allow_once"))[0])

        async with live.log.moving, anyio.create_task_group() as group:
            group.start_soon(server.http.post, f"/sessions/{session}/turns/{turn}/cancel")
            await until_waits(live.log.moving, 1)
            group.start_soon(answer)
            await until_waits(live.log.moving, 2)
            live.log.moving.release()
            await server.wait_idle(session)
            await live.log.moving.acquire()
        assert statuses == [409]
        assert open_after_stop == [0]


async def until_waits(lock: anyio.Lock, tasks: int) -> None:
    with anyio.fail_after(10):
        while lock.statistics().tasks_waiting < tasks:
            await anyio.lowlevel.checkpoint()


async def test_a_question_of_a_stopped_server_is_answered_in_the_next_under_the_same_id(serve: Serve) -> None:
    async with serve(carry=Told(ask)) as server:
        session, turn, approval = await asked(server)
        waiting = await server.submit(session, "and then this")
        before = await server.log(session)

    async def go_on(turn: Turn) -> None:
        if turn.reopened:
            (call,) = [item for item in turn.view.items if isinstance(item, CallView)]
            answer = await turn.host.ask(call_id=call.call_id, question="?", detail="", choices=CHOICES)
            await turn.end(call.call_id, answer.text)
        await turn.say("done")

    async with serve(carry=Told(go_on)) as server:
        assert await server.log(session) == before, "a start adds nothing to a session that waits"
        (open_,) = await server.get("/approvals")
        assert (open_["approval_id"], open_["question"]) == (approval, "Run it?")
        assert (await server.get("/"))["busy"] == 0
        assert (await answered(server, approval, choice="allow_once", text="go"))[0] == 200
        events = await server.wait(
            session, lambda event: event["type"] == "turn.finished" and event["turn_id"] == waiting
        )
        assert [event["turn_id"] for event in events if event["type"] == "turn.finished"] == [turn, waiting]
        assert [event["result"] for event in events if event["type"] == "tool_call.finished"] == ["go"]
        assert len([event for event in events if event["type"] == "approval.requested"]) == 1
        await server.wait(session, lambda event: event["type"] == "turn.finished", after=events[-1]["seq"] - 1)
        assert (await answered(server, approval, choice="allow_once"))[0] == 409


async def test_a_turn_knows_whether_anybody_can_answer(serve: Serve) -> None:
    async def say(turn: Turn) -> None:
        await turn.say(str(turn.host.can_ask))

    async with serve(carry=Told(say)) as server:
        session = await server.new_session()
        await server.submit(session, "one", can_ask=False)
        events = await server.wait_idle(session)
        await server.submit(session, "two")
        events += await server.wait_idle(session, after=events[-1]["seq"])
        assert [event["text"] for event in events if event["type"] == "message.completed"] == ["False", "True"]
