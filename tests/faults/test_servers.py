"""A real server: its clients come and go, its questions and its turns stay."""

import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults.registry import fault
from support.lab import Lab
from support.model_server import ModelServer
from support.watch import wait_event, wait_finished

from jupyter_pernix.errors import PernixError
from jupyter_pernix.headless import WITHOUT_PAGES

pytestmark = [pytest.mark.server, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo", keep_bodies=True) as server:
        yield server


@pytest.fixture(scope="module")
def lab(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home, root = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("root")
    with Lab(home=home, root=root, endpoint=model.url, arguments=WITHOUT_PAGES) as server:
        yield server


def play(model: ModelServer, *turns: dict[str, Any]) -> None:
    model.ctl("reset", {})
    model.ctl("script", {"turns": list(turns), "advance": "assistant_messages", "on_end": "last"})


def shell(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "run_shell", "arguments": {"command": command}}]}


@fault("client-abort-on-drop")
def test_a_client_that_goes_away_stops_nothing(lab: Lab, model: ModelServer) -> None:
    play(model, shell("touch begun; while [ ! -e go ]; do sleep 0.05; done; echo ended"), {"text": "Done."})
    client = lab.client()
    session_id = client.create_session(mode="auto")["session_id"]
    turn_id = client.submit(session_id, "Wait for it", origin="api", can_ask=False)["turn_id"]
    stream = client.events(0, session_id)
    for message in stream:
        if message.kind == "pernix" and message.data["type"] == "tool_call.started":
            break
    stream.close()  # type: ignore[attr-defined]
    (lab.root / "go").touch()
    finished = wait_finished(lab.client(), session_id, turn_id)

    assert finished["code"] == "answered"
    results = [event["result"] for event in client.past_events(session_id) if event["type"] == "tool_call.finished"]
    assert results == ["exit code 0\nended"]


@fault("reconnect-lost-events")
def test_a_client_that_comes_back_gets_what_it_missed_once(lab: Lab, model: ModelServer) -> None:
    play(model, shell("echo one"), shell("echo two"), {"text": "Done."})
    client = lab.client()
    session_id = client.create_session(mode="auto")["session_id"]
    turn_id = client.submit(session_id, "Say both", origin="api", can_ask=False)["turn_id"]
    wait_finished(client, session_id, turn_id)
    whole = [event["seq"] for event in client.past_events(session_id)]

    for kept in (1, len(whole) // 2, len(whole) - 1):
        seen = whole[:kept]
        for message in client.events(seen[-1], session_id):
            if message.kind == "pernix" and "seq" in message.data:
                seen.append(message.data["seq"])
            if seen[-1] == whole[-1]:
                break
        assert seen == whole


@fault("pending-lost-reload", "stale-approval")
def test_a_question_waits_for_whoever_comes_and_is_answered_once(lab: Lab, model: ModelServer) -> None:
    play(model, shell("echo asked >> asked"), {"text": "Done."})
    client = lab.client()
    session_id = client.create_session(mode="edit")["session_id"]
    turn_id = client.submit(session_id, "Do it", origin="panel", can_ask=True)["turn_id"]
    asked = wait_event(client, session_id, "approval.requested")["approval_id"]
    (again,) = lab.client().approvals(session_id)
    assert (again["approval_id"], client.session(session_id)["state"]) == (asked, "awaiting_user")

    lab.client().answer(asked, "allow_once")
    wait_finished(client, session_id, turn_id)
    with pytest.raises(PernixError):
        client.answer(asked, "allow_once")
    assert (lab.root / "asked").read_text() == "asked\n"


@fault("stale-approval")
def test_a_late_yes_to_a_question_of_a_stopped_turn_runs_nothing(lab: Lab, model: ModelServer) -> None:
    play(model, shell("touch late"), {"text": "Done."})
    client = lab.client()
    session_id = client.create_session(mode="edit")["session_id"]
    turn_id = client.submit(session_id, "Do it", origin="panel", can_ask=True)["turn_id"]
    asked = wait_event(client, session_id, "approval.requested")["approval_id"]
    client.stop(session_id)
    wait_finished(client, session_id, turn_id)

    with pytest.raises(PernixError):
        client.answer(asked, "allow_once")
    with pytest.raises(PernixError):
        client.answer("app_unknown", "allow_once")
    assert not (lab.root / "late").exists()


@fault("type-ahead")
def test_what_was_typed_before_the_question_does_not_answer_it(lab: Lab, model: ModelServer) -> None:
    play(model, {**shell("touch ahead"), "first_token_ms": 1500}, {"text": "Made."})
    control, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyter_pernix.cli", "run", "Make a file", "--mode", "edit"],
        cwd=lab.root,
        env=lab.environ | {"TERM": "xterm"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    os.write(control, b"y\ny\n")
    _read_until(control, "instead: ")
    client = lab.client()
    session_id = next(one["session_id"] for one in client.sessions() if one["state"] == "awaiting_user")
    assert select.select([control], [], [], 1.5)[0] == []
    assert len(client.approvals(session_id)) == 1

    os.write(control, b"n\n")
    _read_until(control, "Made.")
    process.wait(60)
    os.close(control)
    assert not (lab.root / "ahead").exists()


def _read_until(control: int, mark: str) -> None:
    seen = b""
    while mark.encode() not in seen:
        try:
            chunk = os.read(control, 4096)
        except OSError:
            chunk = b""
        assert chunk, seen.decode(errors="replace")
        seen += chunk


@fault("repo-git-config")
def test_opening_a_folder_with_a_hostile_git_config_runs_nothing(lab: Lab, model: ModelServer) -> None:
    play(model, {"tool_calls": [{"name": "list_files", "arguments": {}}]}, {"text": "Nothing."})
    space = lab.root / "repo"
    (space / ".git").mkdir(parents=True)
    mark = lab.root / "touched"
    (space / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (space / ".git" / "config").write_text(f"[core]\n\tfsmonitor = touch {mark}\n\tpager = touch {mark}\n")
    client = lab.client()
    session_id = client.create_session(mode="auto", space_root="repo")["session_id"]
    wait_finished(client, session_id, client.submit(session_id, "Look", origin="api", can_ask=False)["turn_id"])
    assert not mark.exists()


@fault("unattended-ask")
def test_a_run_with_nobody_there_ends_and_says_what_it_did_not_do(lab: Lab, model: ModelServer) -> None:
    play(model, shell("touch unattended"), {"text": "I removed the folder."})
    client = lab.client()
    session_id = client.create_session(mode="edit")["session_id"]
    turn_id = client.submit(session_id, "Remove the folder build", origin="api", can_ask=False)["turn_id"]
    wait_finished(client, session_id, turn_id)
    (corrections,) = [
        event["corrections"] for event in client.past_events(session_id) if event["type"] == "message.completed"
    ]
    assert corrections == [
        "Nothing was changed in this turn: “Run: touch unattended” needs an approval, and nobody was there to give it."
    ]
    assert not (Path(lab.root) / "unattended").exists()
