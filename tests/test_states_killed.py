"""The end of a real server, killed or asked to stop, while a session is in each of its ten states; and the next start."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.lab import Lab
from support.model_server import ModelServer
from support.states import LEADS, reach, slow_to_finish
from support.watch import wait_finished

from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.client import Client
from jupyter_pernix.events import Stored, decode_stored
from jupyter_pernix.headless import WITHOUT_PAGES
from jupyter_pernix.records import JSON

pytestmark = [pytest.mark.server, pytest.mark.kernel, pytest.mark.timeout(150)]

STATES = Path(__file__).parent / "support" / "states.py"
KEPT = {"paused", "awaiting_user"}
BACKGROUND = "--PernixApp.assignments=roles.background.endpoint=scripted"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program=f"{STATES}:decide") as server:
        yield server


def stored(client: Client, session_id: str) -> list[Stored]:
    return [decode_stored(json.dumps(event)) for event in client.past_events(session_id)]


def went_on(client: Client, session_id: str, state: str) -> JSON:
    """The end of the turn with which the user goes on."""
    if state == "awaiting_user":
        (question,) = client.approvals(session_id)
        (turn,) = client.session(session_id)["turns"]
        client.answer(question["approval_id"], "allow_once")
    elif state == "paused":
        turn = client.resume(session_id)
    else:
        turn = client.submit(session_id, "Say hello", origin="api", can_ask=True)
    return wait_finished(client, session_id, turn["turn_id"])


@pytest.mark.parametrize("end", ["killed", "stopped"])
@pytest.mark.parametrize("state", LEADS)
def test_the_next_start_is_legal_and_the_user_goes_on(model: ModelServer, tmp_path: Path, state: str, end: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with Lab(home=tmp_path / "home", root=root, endpoint=model.url, arguments=[*WITHOUT_PAGES, BACKGROUND]) as lab:
        if state == "finalizing":
            lab.stop()
            (tmp_path / "slow").mkdir()
            (tmp_path / "slow" / "sitecustomize.py").write_text(slow_to_finish())
            lab.environ["PYTHONPATH"] = str(tmp_path / "slow")
            lab.start()
        client = lab.client()
        mode = "edit" if state == "awaiting_user" else "auto"
        session_id = str(client.create_session(mode=mode, title="Held")["session_id"])
        LEADS[state](client, session_id)
        told = list(client.past_events(session_id))
        question = client.approvals(session_id)
        if end == "killed":
            lab.kill()
        else:
            lab.stop()
        lab.environ.pop("PYTHONPATH", None)

        client = lab.start()
        assert list(client.past_events(session_id))[: len(told)] == told, "what was told is there"
        assert illegalities(stored(client, session_id)) == []
        view = client.session(session_id)
        assert view["state"] == (state if state in KEPT else "idle_ready")
        assert client.approvals(session_id) == question
        for worker in client.sessions("all", parent=session_id):
            assert illegalities(stored(client, worker["session_id"])) == []
        codes = [turn["code"] for turn in view["turns"]]
        assert codes[-1] in ending(state, end)
        assert went_on(client, session_id, state)["code"] == "answered"
        reach(client, session_id, "idle_ready", after=int(view["last_seq"]))
        assert illegalities(stored(client, session_id)) == []
        assert (root / "asked.txt").exists() == (state == "awaiting_user")


def ending(state: str, end: str) -> set[str | None]:
    """How the turn may have ended that was in this state."""
    match state:
        case "paused" | "awaiting_user":
            return {None}
        case "idle_ready" | "compacting" | "finalizing":
            return {"answered"}
        case "cancelling":
            return {"cancelled", "interrupted"} if end == "stopped" else {"cancelled"}
        case _:
            return {"interrupted"}
