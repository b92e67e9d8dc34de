"""Secrets on real parts: server, kernel, shell, store and a model over HTTP. Planted in the environment, in files and in a key."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.lab import Lab
from support.model_server import ModelServer

pytestmark = [pytest.mark.server, pytest.mark.kernel, pytest.mark.timeout(180)]

ISSUED = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
IN_ENVIRONMENT = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYQz81XyKm3a"
IN_DOTENV = "p&ss<w>/4711"
SECRETS = (ISSUED, IN_ENVIRONMENT, IN_DOTENV)
HELD = json.dumps(IN_DOTENV)[1:-1]

PRINTS = "import os\nv = os.environ['WEATHER_SECRET_KEY']\nprint(v, 'and', {'k': v})\nv"
IN_PIECES = "import os\nfor c in os.environ['WEATHER_SECRET_KEY']:\n    print(c, end='', flush=True)\nprint()"
FAILS = "pw = open('.env').read().split('=')[1].strip()\nprint(pw)\nraise ValueError('bad ' + pw)"
LONG = "import os\nfor i in range(30000): print(i, 'x' * 60)\nprint(os.environ['WEATHER_SECRET_KEY'])\nfor i in range(30000): print(i)"
SHELL = "seq 1 60000; cat .env config.py; seq 1 60000"


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": tool, "arguments": arguments}]}


TURNS = [
    *(call("run_code", code=code) for code in (PRINTS, IN_PIECES, FAILS, LONG)),
    call("read_file", path="config.py"),
    call("run_shell", command=SHELL),
    {"text": "I have seen what there is."},
]


@pytest.fixture(scope="module")
def environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("WEATHER_SECRET_KEY", IN_ENVIRONMENT)
        yield


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[dict[str, str]]:
    """What each place holds after the turn, by its name."""
    root, home = tmp_path_factory.mktemp("work") / "root", tmp_path_factory.mktemp("home")
    root.mkdir()
    (root / ".env").write_text(f"DB_PASSWORD={IN_DOTENV}\n")
    (root / "config.py").write_text(f"TOKEN = '{ISSUED}'\n")
    with ModelServer(keep_bodies=True) as model, Lab(home=home, root=root, endpoint=model.url) as lab:
        model.ctl("script", {"conv": None, "turns": TURNS, "advance": "counter", "on_end": "last"})
        client = lab.client()
        session_id = str(client.create_session(mode="auto", endpoint="scripted")["session_id"])
        turn_id = client.submit(session_id, "Look around", origin="api", can_ask=True)["turn_id"]
        for message in client.events(0, session_id):
            if message.data.get("type") == "approval.requested":
                client.answer(message.data["approval_id"], "allow_once")
            if message.data.get("reason") == "turn_ended" and message.data["turn_id"] == turn_id:
                break
        found = {
            "log": json.dumps(list(client.past_events(session_id)), ensure_ascii=False),
            "session": json.dumps(client.session(session_id), ensure_ascii=False),
            "model": json.dumps(model.ctl("requests", bodies=1), ensure_ascii=False),
        }
    held = [path for path in (*home.rglob("*"), *(root / "pernix-runs").rglob("*")) if path.is_file()]
    found["disk"] = "\n".join(path.read_bytes().decode("utf-8", "replace") for path in held)
    yield found


@pytest.mark.parametrize("place", ["log", "session", "model", "disk"])
def test_no_place_holds_a_secret(places: dict[str, str], place: str):
    assert [secret for secret in (*SECRETS, HELD) if secret in places[place]] == []
    assert "••••(" in places[place] or "\\u2022\\u2022" in places[place]


def test_all_was_carried_out(places: dict[str, str]):
    session = json.loads(places["session"])
    items = session["turns"][0]["items"]
    assert [(item["tool"], item["status"]) for item in items if item["type"] == "call"] == [
        ("run_code", "completed"),
        ("run_code", "completed"),
        ("run_code", "failed"),
        ("run_code", "completed"),
        ("read_file", "completed"),
        ("run_shell", "completed"),
    ]
