"""The audit of a real server with a real agent: what it holds, what it never holds, and what is said about it."""

import json
from pathlib import Path
from typing import Any

import pytest
from faults.registry import fault
from traitlets.config import Config

from jupyter_pernix.audit import Head, check, day_files, lines_of

from ..conftest import Serve
from ..served import TOKEN, Served
from ..undoing import at_desk, shell, write

pytestmark = pytest.mark.server

PASSWORD = "velvet-otter-sings"
"""No shape gives it away."""
KEY = "sk-canary-0123456789abcdef0123456789abcdef"


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [line.fields for line in lines_of(day_files(tmp_path / "data" / "audit"))]


async def known(server: Served) -> Head:
    told = await server.get("/audit")
    assert told["problem"] == ""
    return Head(n=told["n"], hash=told["hash"], day=told["day"])


@fault("audit-leak")
async def test_a_turn_with_secrets_is_in_the_audit_and_they_are_not(serve: Serve, root: Path, tmp_path: Path) -> None:
    async with at_desk(serve, root) as desk:
        await desk.turn(
            write("conf/settings.py", f"PASSWORD = '{PASSWORD}'\nKEY = '{KEY}'\n"),
            shell(f"mysql -p{PASSWORD} shop || echo {KEY}"),
            ("no_such_tool_" + PASSWORD, {"key": KEY}),
        )
        head = await known(desk.server)
    files = day_files(tmp_path / "data" / "audit")
    assert check(files, known=head, exact=False).faults == []
    text = b"".join(path.read_bytes() for path in files).decode()
    assert [one for one in (PASSWORD, PASSWORD[::-1], KEY, KEY[10:], TOKEN, "Go on", "PASSWORD") if one in text] == []
    found = lines(tmp_path)
    kinds = {line["kind"] for line in found}
    assert kinds >= {
        "session.created",
        "turn.submitted",
        "turn.started",
        "tool_call.requested",
        "policy.decided",
        "tool_call.started",
        "tool_call.finished",
        "file.changed",
        "turn.finished",
    }
    (changed,) = (line for line in found if line["kind"] == "file.changed")
    assert (changed["path"], len(changed["after"])) == ("conf/settings.py", 64)


async def test_who_allowed_what_is_in_the_audit(serve: Serve, root: Path, tmp_path: Path) -> None:
    async with at_desk(serve, root) as desk:
        await desk.server.http.patch(f"/sessions/{desk.session}", json={"mode": "edit"})
        await desk.turn(shell("touch made.txt"))
    found = {line["kind"]: line for line in lines(tmp_path)}
    assert found["session.configured"]["mode"] == "edit"
    decided, resolved = found["policy.decided"], found["approval.resolved"]
    assert (decided["verdict"], decided["mode"], decided["action"]) == ("ask", "edit", "shell")
    assert (resolved["choice"], resolved["call"]) == ("allow_once", decided["call"])
    assert resolved["by"]


async def test_the_doctor_says_that_it_is_sound_and_what_was_done_to_it(
    serve: Serve, root: Path, tmp_path: Path
) -> None:
    async def audit(server: Served) -> dict[str, Any]:
        (found,) = (one for one in await server.get("/doctor") if one["name"] == "audit")
        return found

    async with at_desk(serve, root) as desk:
        await desk.turn()
        assert (await audit(desk.server))["status"] == "ok"
        (path,) = day_files(tmp_path / "data" / "audit")
        path.write_bytes(path.read_bytes().replace(b'"mode":"auto"', b'"mode":"edit"'))
        found = await audit(desk.server)
        assert (found["status"], "was changed" in found["detail"]) == ("problem", True)
        assert "audit verify" in found["hint"]


async def test_without_it_the_doctor_says_so(serve: Serve, root: Path, tmp_path: Path) -> None:
    config = Config({"PernixApp": {"overrides": {"audit": False}}})
    async with serve(config=config) as server:
        await server.new_session()
        (found,) = (one for one in await server.get("/doctor") if one["name"] == "audit")
        assert (found["status"], found["detail"]) == ("warning", "off, by the setting `audit`")
        assert (await server.get("/audit"))["on"] is False
    assert not (tmp_path / "data" / "audit").exists()


async def test_queries_of_a_user_do_not_reach_the_audits_own_tables(serve: Serve) -> None:
    async with serve() as server:
        for table in ("audit_state", "audit_marks"):
            refused = await server.http.post("/sql", json={"query": f"SELECT * FROM {table}"})
            assert refused.status_code == 400, refused.text
            assert json.loads(refused.text)["message"]


async def test_rules_and_endpoints_that_are_changed_beside_sessions_are_in_the_audit(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve() as server:
        session = await server.new_session()
        rule = {"rule": "cargo test", "session_id": session}
        await server.post("/permissions", rule, status=201)
        await server.post("/permissions", {"rule": f"exact:login {PASSWORD}", "session_id": session}, status=201)
        response = await server.http.request("DELETE", "/permissions", json=rule)
        assert response.status_code == 200, response.text
        await server.post(
            "/endpoints", {"name": "lab", "base_url": "http://127.0.0.1:9/v1", "api_key": KEY}, status=201
        )
        await server.http.delete("/endpoints/lab")
        await server.new_session()
        assert check(day_files(tmp_path / "data" / "audit"), known=await known(server)).faults == []
    found = lines(tmp_path)
    assert [line["kind"] for line in found] == [
        "audit.opened",
        "session.created",
        "rule.saved",
        "rule.saved",
        "rule.removed",
        "endpoint.added",
        "endpoint.removed",
        "session.created",
    ]
    saved = found[2]
    assert (saved["rule"], saved["session"], saved["deny"], bool(saved["by"])) == ("cargo test", session, False, True)
    assert not any(secret in json.dumps(found) for secret in (PASSWORD, KEY))
