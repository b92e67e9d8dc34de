"""Workers: sessions of their own, told in the log of the session that they work for, however they end."""

import anyio
import pytest

from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.errors import ToolError
from jupyter_pernix.records import ApprovalChoice, Budget

from .carrying import Story, Told, Turn
from .conftest import Serve
from .served import JSON, Served

pytestmark = pytest.mark.server

CHOICES: list[ApprovalChoice] = ["allow_once", "reject_once"]
BUDGET = Budget(rounds=5, seconds=60.0)


def delegating(child: Story, tasks: int = 1) -> Told:
    """A turn that hands everything to workers, which are carried by ``child``."""

    async def one(turn: Turn, number: int) -> None:
        call = await turn.request("delegate")
        await turn.begin(call)
        answer = await turn.host.delegate(call_id=call, title=f"Part {number}", task=f"do part {number}", budget=BUDGET)
        await turn.end(call, f"{answer.code.value}: {answer.answer}")

    async def story(turn: Turn) -> None:
        if turn.host.is_worker:
            await child(turn)
            return
        async with anyio.create_task_group() as group:
            for number in range(tasks):
                group.start_soon(one, turn, number)

    return Told(story)


async def answering(turn: Turn) -> None:
    await turn.say(f"done: {turn.view.text}")


async def run(server: Served) -> tuple[str, str]:
    session = await server.new_session(title="Parent", mode="auto")
    return session, await server.submit(session, "go")


def of_type(events: list[JSON], type_: str) -> list[JSON]:
    return [event for event in events if event["type"] == type_]


async def test_a_worker_does_its_part_and_reports(serve: Serve) -> None:
    async with serve(carry=delegating(answering)) as server:
        session, _ = await run(server)
        events = await server.wait_idle(session)
        (spawned,), (reported,) = of_type(events, "worker.spawned"), of_type(events, "worker.reported")
        assert (spawned["title"], spawned["task"]) == ("Part 0", "do part 0")
        assert (reported["code"], reported["answer"]) == ("answered", "done: do part 0")
        (ended,) = of_type(events, "tool_call.finished")
        assert ended["result"] == "answered: done: do part 0"
        assert "no endpoint is set for the background role" in of_type(events, "problem.noticed")[0]["text"].lower()
        (listed,) = await server.get("/sessions")
        assert listed["session_id"] == session
        (worker,) = await server.get("/sessions", parent=session)
        assert (worker["parent"], worker["title"], worker["mode"]) == (session, "Part 0", "auto")
        assert len(await server.get("/sessions", workers="true")) == 2
        (turn,) = (await server.get(f"/sessions/{worker['session_id']}"))["turns"]
        assert turn["code"] == "answered"
        log = await server.get("/events", session=worker["session_id"])
        assert of_type(log, "turn.submitted")[0]["budget"]["rounds"] == 5
        for each in (session, worker["session_id"]):
            assert illegalities(await server.log(each)) == []


async def test_workers_side_by_side_are_waited_for_once(serve: Serve) -> None:
    async with serve(carry=delegating(answering, tasks=3)) as server:
        session, _ = await run(server)
        events = await server.wait_idle(session)
        assert [event["reason"] for event in of_type(events, "session.state_changed")] == [
            "turn_started",
            "workers_started",
            "workers_done",
            "turn_ending",
            "turn_ended",
        ]
        assert len(of_type(events, "worker.reported")) == 3
        assert illegalities(await server.log(session)) == []


async def test_a_worker_has_no_workers(serve: Serve) -> None:
    async def child(turn: Turn) -> None:
        try:
            await turn.host.delegate(call_id="cal_x", title="", task="more", budget=BUDGET)
        except ToolError as exc:
            await turn.say(str(exc))

    async with serve(carry=delegating(child)) as server:
        session, _ = await run(server)
        events = await server.wait_idle(session)
        assert "cannot have workers" in of_type(events, "worker.reported")[0]["answer"]
        assert len(await server.get("/sessions", workers="true")) == 2


async def test_a_worker_that_breaks_is_reported(serve: Serve) -> None:
    async def child(turn: Turn) -> None:
        await turn.say("I had begun")
        raise ValueError("boom")

    async with serve(carry=delegating(child)) as server:
        session, _ = await run(server)
        (reported,) = of_type(await server.wait_idle(session), "worker.reported")
        assert reported["code"] == "internal_error"
        assert "boom" in reported["answer"]
        assert "I had begun" in reported["answer"]


async def test_a_workers_question_is_asked_for_its_parent_too(serve: Serve) -> None:
    async def child(turn: Turn) -> None:
        call = await turn.request()
        answer = await turn.host.ask(call_id=call, question="May I?", detail="", choices=CHOICES)
        await turn.end(call)
        await turn.say(answer.choice)

    async with serve(carry=delegating(child)) as server:
        session, _ = await run(server)
        spawned = (await server.wait(session, lambda event: event["type"] == "worker.spawned"))[-1]
        await server.wait(spawned["worker_id"], lambda event: event.get("after") == "awaiting_user")
        (question,) = await server.get("/approvals", session=session)
        assert question["session_id"] == spawned["worker_id"]
        (listed,) = await server.get("/sessions")
        assert listed["open_approvals"] == 1
        await server.post(f"/approvals/{question['approval_id']}", {"choice": "allow_once"}, status=200)
        (reported,) = of_type(await server.wait_idle(session), "worker.reported")
        assert reported["answer"] == "allow_once"


async def test_stopping_the_parent_stops_the_worker_and_both_say_so(serve: Serve) -> None:
    async def child(turn: Turn) -> None:
        await anyio.sleep_forever()

    async with serve(carry=delegating(child)) as server:
        session, turn = await run(server)
        spawned = (await server.wait(session, lambda event: event["type"] == "worker.spawned"))[-1]
        await server.wait(spawned["worker_id"], lambda event: event["type"] == "turn.started")
        await server.post(f"/sessions/{session}/turns/{turn}/cancel", status=202)
        events = await server.wait_idle(session)
        assert of_type(events, "worker.reported")[0]["code"] == "cancelled"
        assert of_type(events, "turn.finished")[0]["code"] == "cancelled"
        worker = await server.get(f"/sessions/{spawned['worker_id']}")
        assert (worker["state"], worker["turns"][0]["code"]) == ("idle_ready", "cancelled")
        assert "stopped" in worker["turns"][0]["detail"]


async def test_a_worker_that_does_not_end_is_closed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jupyter_pernix.serverext.workers._STOP_SECONDS", 0.1)
    release = anyio.Event()

    async def child(turn: Turn) -> None:
        with anyio.CancelScope(shield=True):
            await release.wait()

    async with serve(carry=delegating(child)) as server:
        session, turn = await run(server)
        spawned = (await server.wait(session, lambda event: event["type"] == "worker.spawned"))[-1]
        await server.wait(spawned["worker_id"], lambda event: event["type"] == "turn.started")
        await server.post(f"/sessions/{session}/turns/{turn}/cancel", status=202)
        await server.wait_idle(session)
        worker = await server.get(f"/sessions/{spawned['worker_id']}")
        assert (worker["state"], worker["turns"][0]["code"]) == ("idle_ready", "cancelled")
        release.set()
        await anyio.wait_all_tasks_blocked()
        assert illegalities(await server.log(spawned["worker_id"])) == []


async def test_a_stopped_server_leaves_neither_parent_nor_worker_open(serve: Serve) -> None:
    async def child(turn: Turn) -> None:
        call = await turn.request()
        await turn.host.ask(call_id=call, question="May I?", detail="", choices=CHOICES)

    async with serve(carry=delegating(child)) as server:
        session, _ = await run(server)
        spawned = (await server.wait(session, lambda event: event["type"] == "worker.spawned"))[-1]
        await server.wait(spawned["worker_id"], lambda event: event.get("after") == "awaiting_user")
    async with serve(carry=delegating(child)) as server:
        for each in (session, spawned["worker_id"]):
            view = await server.get(f"/sessions/{each}")
            assert (view["state"], view["turns"][0]["code"]) == ("idle_ready", "interrupted")
        assert await server.get("/approvals") == []
        assert of_type(await server.get("/events", session=session), "worker.reported")[0]["code"] == "interrupted"
