"""Sessions and turns over HTTP, with turns that are told instead of thought."""

import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import nbformat
import pytest

from jupyter_pernix.errors import StoreError
from jupyter_pernix.events import Event, Stored
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import SessionId
from jupyter_pernix.records import TerminalCode

from .carrying import Told, Turn, echo, forever
from .conftest import Serve
from .served import JSON, Served

pytestmark = pytest.mark.server


def of_type(events: list[JSON], type_: str) -> list[JSON]:
    return [event for event in events if event["type"] == type_]


async def started(server: Served, session: str, turn: str) -> None:
    await server.wait(session, lambda event: event["type"] == "turn.started" and event["turn_id"] == turn)


async def finished(server: Served, session: str, turn: str) -> JSON:
    """The end of this turn, once the session has gone on."""
    events = await server.wait(session, lambda event: event["type"] == "turn.finished" and event["turn_id"] == turn)
    return events[-1]


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


async def test_the_run_notebook_is_there_when_the_session_is_idle(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        await server.submit(session, "Was ist hier los? Ünïcode!")
        await server.wait_idle(session)
        (summary,) = await server.get("/sessions")
        path = server.root / summary["record_path"]
        assert path.parent == server.root / "pernix-runs"
        assert path.name.endswith("-was-ist-hier-los-unicode.ipynb")
        notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        nbformat.validate(notebook)
        assert "echo: Was ist hier los?" in "".join(cell["source"] for cell in notebook["cells"])


async def test_two_sessions_with_one_title_have_two_notebooks(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        for _ in range(2):
            session = await server.new_session(title="Same")
            await server.submit(session, "hello")
            await server.wait_idle(session)
        names = sorted(path.name for path in (server.root / "pernix-runs").iterdir())
        assert [name[10:] for name in names] == ["-same-2.ipynb", "-same.ipynb"]


async def test_a_notebook_that_cannot_be_written_is_a_problem_and_not_the_end(serve: Serve, root: Path) -> None:
    (root / "pernix-runs").write_text("a file where the folder should be")
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        await server.submit(session, "hello")
        events = await server.wait_idle(session)
        (problem,) = of_type(events, "problem.noticed")
        assert "could not be written" in problem["text"]
        assert of_type(events, "turn.finished")[0]["code"] == "answered"


async def test_a_record_that_has_no_folder_any_more_is_said_in_the_turn_that_ended(
    serve: Serve, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (root / "space").mkdir()
    second = anyio.Event()

    async def remove_then_echo(turn: Turn) -> None:
        await second.wait()
        if (root / "space").is_dir():
            (root / "space").rmdir()
        await echo(turn)

    async with serve(carry=Told(remove_then_echo)) as server:
        session = await server.new_session(space_root="space")
        first = await server.submit(session, "one")
        await server.submit(session, "two")
        second.set()
        events = await server.wait(session, lambda event: event["type"] == "problem.noticed")
        assert "could not be written" in events[-1]["text"]
        assert events[-1]["turn_id"] == first
        assert [record for record in caplog.records if record.exc_info] == []


async def test_a_second_message_waits_for_the_first_turn(serve: Serve) -> None:
    release = anyio.Event()

    async def wait_then_echo(turn: Turn) -> None:
        await release.wait()
        await echo(turn)

    async with serve(carry=Told(wait_then_echo)) as server:
        session = await server.new_session()
        first, second = await server.submit(session, "one"), await server.submit(session, "two")
        await started(server, session, first)
        assert [turn.get("started_at") is None for turn in (await server.get(f"/sessions/{session}"))["turns"]] == [
            False,
            True,
        ]
        release.set()
        await finished(server, session, second)
        log = SessionFold.of(SessionId(session), await server.log(session))
        assert [turn.code for turn in log.view.turns] == [TerminalCode.ANSWERED] * 2


async def test_a_running_turn_is_stopped(serve: Serve) -> None:
    async with serve(carry=Told(forever)) as server:
        session = await server.new_session()
        turn = await server.submit(session, "go")
        await started(server, session, turn)
        await server.post(f"/sessions/{session}/turns/{turn}/cancel", status=202)
        events = await server.wait_idle(session)
        assert [event["reason"] for event in of_type(events, "session.state_changed")] == [
            "turn_started",
            "cancel_asked",
            "turn_ending",
            "turn_ended",
        ]
        assert of_type(events, "turn.finished")[0]["code"] == "cancelled"
        again = await server.http.post(f"/sessions/{session}/turns/{turn}/cancel")
        assert (again.status_code, again.json()["message"]) == (409, "the turn has ended")


async def test_a_turn_that_is_stopped_at_once_ends_as_cancelled(serve: Serve) -> None:
    async with serve(carry=Told(forever)) as server:
        session = await server.new_session()
        for _ in range(5):
            turn = await server.submit(session, "go")
            await server.post(f"/sessions/{session}/turns/{turn}/cancel", status=202)
            assert (await finished(server, session, turn))["code"] == "cancelled"


async def test_sessions_that_are_named_at_the_same_time_have_each_their_notebook(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        sessions = [await server.new_session() for _ in range(8)]
        async with anyio.create_task_group() as group:
            for session in sessions:
                group.start_soon(server.submit, session, "the same words")
        paths = [summary["record_path"] for summary in await server.get("/sessions")]
        assert len(set(paths)) == len(sessions)


async def test_a_waiting_turn_is_withdrawn_and_the_running_one_goes_on(serve: Serve) -> None:
    async with serve(carry=Told(forever)) as server:
        session = await server.new_session()
        running, waiting = await server.submit(session, "one"), await server.submit(session, "two")
        await started(server, session, running)
        await server.post(f"/sessions/{session}/turns/{waiting}/cancel", status=202)
        end = await finished(server, session, waiting)
        assert (end["code"], end["detail"]) == ("cancelled", "withdrawn before it began")
        assert (await server.get(f"/sessions/{session}"))["state"] == "processing"


async def test_a_carrying_that_breaks_ends_its_turn_and_leaves_the_session_usable(serve: Serve) -> None:
    async def carry(host, turn_id, log) -> None:  # type: ignore[no-untyped-def]
        turn = Turn(host, turn_id, log)
        await turn.start()
        if len(log) < 5:
            await turn.begin(await turn.request())
            raise ValueError("boom")
        await turn.finish()

    async with serve(carry=carry) as server:
        session = await server.new_session()
        await server.submit(session, "one")
        events = await server.wait_idle(session)
        (call,), (end,) = of_type(events, "tool_call.finished"), of_type(events, "turn.finished")
        assert (call["status"], "may have had its effect" in call["result"]) == ("unknown", True)
        assert end["code"] == "internal_error"
        assert "boom" in end["detail"]
        assert (await finished(server, session, await server.submit(session, "two")))["code"] == "answered"


async def test_a_turn_whose_end_could_not_be_stored_ends_as_soon_as_it_can(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_pernix.serverext.live_turn._CLOSE_AGAIN_SECONDS", 0.02)
    release = anyio.Event()

    async def refused(events: Sequence[Event]) -> list[Stored]:
        raise StoreError("the disk is full", hint="make room on the disk")

    async def story(turn: Turn) -> None:
        await release.wait()

    async with serve(carry=Told(story)) as server:
        session = await server.new_session()
        turn = await server.submit(session, "one")
        await started(server, session, turn)
        store = (await server.extension.runtime()).store
        with monkeypatch.context() as broken:
            broken.setattr(store, "append", refused)
            release.set()
            answer = await server.http.post("/sessions", json={})
            assert (answer.status_code, answer.json()["hint"]) == (503, "make room on the disk")
        await server.wait_idle(session)
        assert (await finished(server, session, turn))["code"] == "internal_error"
        assert (await finished(server, session, await server.submit(session, "two")))["code"] == "answered"


async def test_a_stopped_server_says_interrupted_and_the_session_can_be_resumed(serve: Serve) -> None:
    async with serve(carry=Told(forever)) as server:
        session = await server.new_session(title="x")
        running, _ = await server.submit(session, "one"), await server.submit(session, "two")
        await started(server, session, running)
    async with serve(carry=Told(echo)) as server:
        view = await server.get(f"/sessions/{session}")
        assert view["state"] == "idle_ready"
        assert [(turn["code"], "server was stopped" in turn["detail"]) for turn in view["turns"]] == [
            ("interrupted", True),
            ("interrupted", True),
        ]
        accepted = await server.post(f"/sessions/{session}/resume", status=202)
        assert (await finished(server, session, accepted["turn_id"]))["code"] == "answered"
        refused = await server.http.post(f"/sessions/{session}/resume")
        assert (refused.status_code, "nothing to go on with" in refused.json()["message"]) == (409, True)


async def test_what_is_patched_changes_and_what_is_absent_stays(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session(title="Old", mode="ask")
        response = await server.http.patch(
            f"/sessions/{session}", json={"title": "New", "mode": "auto", "endpoint": "tour"}
        )
        assert response.status_code == 200
        summary = response.json()
        assert {key: summary[key] for key in ("title", "mode", "endpoint", "archived")} == {
            "title": "New",
            "mode": "auto",
            "endpoint": "tour",
            "archived": False,
        }
        assert [event["type"] for event in await server.get("/events", session=session)] == [
            "session.created",
            "session.renamed",
            "session.configured",
        ]


async def test_a_new_mode_holds_in_the_middle_of_a_turn(serve: Serve) -> None:
    changed = anyio.Event()

    async def say_modes(turn: Turn) -> None:
        await turn.say(turn.host.mode)
        await changed.wait()
        await turn.say(turn.host.mode)

    async with serve(carry=Told(say_modes)) as server:
        session = await server.new_session(mode="ask")
        await server.submit(session, "go")
        await server.wait(session, lambda event: event.get("text") == "ask")
        await server.http.patch(f"/sessions/{session}", json={"mode": "auto"})
        changed.set()
        events = await server.wait_idle(session)
        assert [event["text"] for event in of_type(events, "message.completed")] == ["ask", "auto"]


async def test_archived_sessions_are_listed_apart_and_take_no_messages(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        kept, archived = await server.new_session(title="a"), await server.new_session(title="b")
        await server.http.patch(f"/sessions/{archived}", json={"archived": True})
        listed = {
            which: [one["session_id"] for one in await server.get("/sessions", **params)]
            for which, params in {"open": {}, "archived": {"archived": "true"}, "all": {"archived": "all"}}.items()
        }
        assert listed == {"open": [kept], "archived": [archived], "all": [archived, kept]}
        response = await server.http.post(f"/sessions/{archived}/turns", json={"text": "hello"})
        assert (response.status_code, "archived" in response.json()["message"]) == (409, True)
        await server.http.patch(f"/sessions/{archived}", json={"archived": False})
        assert await server.submit(archived, "hello")


async def test_a_session_can_be_archived_as_soon_as_it_is_idle(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        await server.submit(session, "go")
        await server.wait_idle(session)
        assert (await server.http.patch(f"/sessions/{session}", json={"archived": True})).status_code == 200


async def test_a_busy_session_is_not_archived(serve: Serve) -> None:
    async with serve(carry=Told(forever)) as server:
        session = await server.new_session()
        await server.submit(session, "go")
        response = await server.http.patch(f"/sessions/{session}", json={"archived": True, "title": "no"})
        assert response.status_code == 409
        assert (await server.get("/sessions"))[0]["title"] == "go"


async def test_a_space_is_a_folder_below_the_root_whatever_it_is_called(serve: Serve, root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "link").symlink_to(root / "a")
    async with serve(carry=Told(echo)) as server:
        for given, space in {"": "", ".": "", "a/b": "a/b", "/a": "a", "link/b": "a/b", "a/../a": "a"}.items():
            summary = await server.post("/sessions", {"space_root": given}, status=201)
            assert summary["space_root"] == space
            assert summary["record_path"].startswith(f"{space}/pernix-runs/".lstrip("/"))


@pytest.mark.parametrize("linked", ["space", "space/pernix-runs"])
async def test_a_folder_that_became_a_way_out_is_neither_worked_nor_written_in(
    serve: Serve, root: Path, tmp_path: Path, linked: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "space").mkdir()

    async def look(turn: Turn) -> None:
        await turn.say(str(turn.host.space))

    async with serve(carry=Told(look)) as server:
        session = await server.new_session(space_root="space")
        if linked == "space":
            (root / "space").rmdir()
        (root / linked).symlink_to(outside)
        await server.submit(session, "one")
        events = await server.wait_idle(session)
    assert any(
        "leads out of the server's root by a link" in event["text"] for event in of_type(events, "problem.noticed")
    )
    assert str(outside) not in json.dumps(events)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("given", ["..", "a/../..", "out", "missing", "file.txt", "a\0b", "x" * 5000, "loop"])
async def test_a_space_elsewhere_is_refused_with_the_place_of_the_fault(serve: Serve, root: Path, given: str) -> None:
    (root / "a").mkdir()
    (root / "out").symlink_to(root.parent)
    (root / "loop").symlink_to(root / "loop")
    (root / "file.txt").write_text("")
    async with serve(carry=Told(echo)) as server:
        response = await server.http.post("/sessions", json={"space_root": given})
        assert (response.status_code, response.json()["place"]) == (400, "$.space_root")
        assert await server.get("/sessions") == []
