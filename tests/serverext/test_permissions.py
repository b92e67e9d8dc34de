"""Saved rules over HTTP: the same files as the command line's, with who has written what."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from jupyter_core.paths import jupyter_config_dir
from traitlets.config import Config

from jupyter_pernix.agent.policy.rules import RuleSet
from jupyter_pernix.agent.policy.rules_file import FOLDER, RulesFile
from jupyter_pernix.records import ApprovalChoice

from .carrying import Told, Turn
from .conftest import Serve
from .served import JSON, Served

pytestmark = pytest.mark.server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of saved rules."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    return Path(jupyter_config_dir()) / "pernix" / FOLDER


def anything(folder: Path) -> bool:
    return folder.exists()


def written(path: Path, text: str) -> None:
    """As if by hand."""
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text(text)
    path.chmod(0o600)


async def sent(server: Served, method: str, **body: Any) -> tuple[int, JSON]:
    response = await server.http.request(method, "/permissions", json=body)
    return response.status_code, response.json()


def rules(listed: list[JSON]) -> list[tuple[str, bool]]:
    return [(one["rule"], one["everywhere"]) for one in listed]


async def test_rules_are_saved_shown_and_forgotten(serve: Serve, root: Path, folder: Path) -> None:
    (root / "space").mkdir()
    async with serve() as server:
        session = await server.new_session(space_root="space")
        nothing = await server.get("/permissions", session_id=session)
        assert nothing == {
            "space": str(root / "space"),
            "allow": [],
            "deny": [],
            "session": [],
            "broken": "",
            "waiting": [],
            "consents": [],
        }
        status, shown = await sent(server, "POST", session_id=session, rule="cargo  test")
        assert (status, rules(shown["allow"])) == (201, [("cargo test", False)])
        assert (await sent(server, "POST", session_id=session, rule="git push", deny=True, everywhere=True))[0] == 201
        assert (await sent(server, "POST", rule="pytest", everywhere=True))[0] == 201
        shown = await server.get("/permissions", session_id=session)
        assert rules(shown["allow"]) == [("pytest", True), ("cargo test", False)]
        assert rules(shown["deny"]) == [("git push", True)]
        assert all(one["by"] and one["added_at"] and not one["fault"] for one in shown["allow"])
        everywhere = await server.get("/permissions")
        assert (everywhere["space"], rules(everywhere["allow"])) == ("", [("pytest", True)])
        saved = await anyio.to_thread.run_sync(RulesFile(folder, root / "space").read)
        assert saved == RuleSet(allow=("pytest", "cargo test"), deny=("git push",))
        status, shown = await sent(server, "DELETE", session_id=session, rule="cargo test")
        assert (status, rules(shown["allow"])) == (200, [("pytest", True)])
        status, problem = await sent(server, "DELETE", session_id=session, rule="cargo test")
        assert (status, problem["message"]) == (404, "there is no rule 'cargo test'")


async def test_who_saved_a_rule_is_kept_with_it(serve: Serve, folder: Path) -> None:
    async with serve() as server:
        me = (await server.http.get(f"{server.url.removesuffix('/pernix/api')}/api/me")).json()["identity"]
        _, shown = await sent(server, "POST", rule="pytest", everywhere=True)
        assert shown["allow"][0]["by"] == me["name"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"rule": "rm", "everywhere": True}, "$.rule"),
        ({"rule": "", "everywhere": True}, "$.rule"),
        ({"rule": "rm *", "deny": True, "everywhere": True}, "$.rule"),
        ({"rule": "make"}, "$.session_id"),
        ({"everywhere": True}, "$"),
        ({"rule": "make", "everywhere": True, "by": "somebody else"}, "$"),
    ],
)
async def test_what_cannot_be_saved_is_said_so(serve: Serve, folder: Path, body: JSON, place: str) -> None:
    async with serve() as server:
        status, problem = await sent(server, "POST", **body)
        assert (status, problem["place"]) == (400, place)
        assert not anything(folder)


async def test_a_session_that_is_not_there_has_no_rules(serve: Serve, folder: Path) -> None:
    async with serve() as server:
        assert (await server.http.get("/permissions", params={"session_id": "nobody"})).status_code == 404
        assert (await sent(server, "POST", session_id="nobody", rule="make"))[0] == 404


async def test_a_file_that_cannot_be_read_is_told_and_left_alone(serve: Serve, folder: Path) -> None:
    async with serve() as server:
        written(folder / "everywhere.json", '{"allow": [')
        session = await server.new_session()
        assert "everywhere.json" in (await server.get("/permissions", session_id=session))["broken"]
        status, problem = await sent(server, "POST", rule="make", everywhere=True)
        assert status == 409
        assert "was not saved" in problem["message"]
        assert (folder / "everywhere.json").read_text() == '{"allow": ['


async def ask(turn: Turn) -> None:
    call = await turn.request()
    choices: list[ApprovalChoice] = ["allow_once", "allow_session", "reject_once"]
    rules = ["cargo test", ">"]
    answer = await turn.host.ask(
        call_id=call, question="Run it?", detail="cargo test > x", choices=choices, rules=rules
    )
    await turn.say(answer.choice)


async def test_what_is_allowed_for_a_session_is_shown_and_not_saved(serve: Serve, folder: Path) -> None:
    async with serve(carry=Told(ask)) as server:
        session = await server.new_session()
        await server.submit(session, "go")
        events = await server.wait(session, lambda event: event.get("after") == "awaiting_user")
        (question,) = [event for event in events if event["type"] == "approval.requested"]
        body = json.dumps({"choice": "allow_session"})
        await server.http.post(f"/approvals/{question['approval_id']}", content=body)
        await server.wait_idle(session)
        shown = await server.get("/permissions", session_id=session)
        assert (shown["session"], shown["allow"]) == (["cargo test", ">"], [])
        assert not anything(folder)


async def test_deny_rules_of_the_settings_are_shown_and_stay_there(serve: Serve, folder: Path) -> None:
    settings = Config({"PernixApp": {"overrides": {"permissions": {"deny": ["git push"]}}}})
    async with serve(config=settings) as server:
        session = await server.new_session()
        (rule,) = (await server.get("/permissions", session_id=session))["deny"]
        assert (rule["rule"], rule["everywhere"], rule["by"]) == ("git push", True, "settings")
        assert (await sent(server, "DELETE", rule="git push", deny=True, everywhere=True))[0] == 404


def asks(space: Path, command: str) -> None:
    """The folder asks for a hook."""
    (space / ".pernix").mkdir(parents=True, exist_ok=True)
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}
    (space / ".pernix" / "hooks.json").write_text(json.dumps({"hooks": hooks}))


async def test_a_command_of_the_folder_waits_for_a_yes_to_what_it_is_now(
    serve: Serve, root: Path, folder: Path
) -> None:
    asks(root / "space", "touch ran")
    async with serve() as server:
        session = await server.new_session(space_root="space")
        [one] = (await server.get("/permissions", session_id=session))["waiting"]
        space = str(root / "space")
        assert one == {
            "origin": ".pernix/hooks.json",
            "command": "touch ran",
            "environ": {"CLAUDE_PROJECT_DIR": space, "PERNIX_SPACE": space},
            "scripts": [],
            "digest": one["digest"],
        }
        assert (await server.get("/permissions"))["waiting"] == []

        async def change(method: str, digest: str) -> tuple[int, JSON]:
            body = {"digest": digest, "session_id": session}
            response = await server.http.request(method, "/permissions/consents", json=body)
            return response.status_code, response.json()

        assert (await change("POST", "0" * 64))[0] == 404
        asks(root / "space", "touch ran2")
        status, problem = await change("POST", one["digest"])
        assert (status, problem["message"].startswith("there is no command that waits")) == (404, True)
        assert not anything(folder)
        [now] = (await server.get("/permissions", session_id=session))["waiting"]
        status, shown = await change("POST", now["digest"])
        assert (status, shown["waiting"]) == (201, [])
        [given] = shown["consents"]
        assert (given["command"], given["digest"], bool(given["by"])) == ("touch ran2", now["digest"], True)
        status, shown = await change("DELETE", now["digest"])
        assert (status, shown["consents"], len(shown["waiting"])) == (200, [], 1)
        assert (await change("DELETE", now["digest"]))[0] == 404
        body = {"digest": now["digest"], "session_id": "ses_nothing"}
        assert (await server.http.request("POST", "/permissions/consents", json=body)).status_code == 404
