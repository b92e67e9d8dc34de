"""A server that is killed in the middle of a hook: the hook ends with it, and its call is not carried out, then or later."""

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from support.lab import Lab
from support.model_server import ModelServer
from support.watch import wait_finished

from jupyter_pernix.headless import WITHOUT_PAGES

from .undoing import write

pytestmark = [pytest.mark.server, pytest.mark.timeout(180)]


async def wait_until(fact: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not fact():  # noqa: ASYNC110 - a fact about another process
            await anyio.sleep(0.02)


def lives(pid_file: Path) -> bool:
    try:
        return Path(f"/proc/{int(pid_file.read_text())}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_hook_that_was_cut_off_by_the_end_of_its_server_has_allowed_nothing(tmp_path: Path) -> None:
    home, root, pid = tmp_path / "home", tmp_path / "root", tmp_path / "pid"
    home.mkdir()
    root.mkdir()
    tool, arguments = write("new.txt", "new\n")
    with ModelServer(program="builtin:echo") as model:
        model.ctl("reset", {})
        turns = [{"tool_calls": [{"name": tool, "arguments": arguments}]}, {"text": "Done."}]
        model.ctl("script", {"turns": turns, "advance": "assistant_messages", "on_end": "last"})
        lab = Lab(home=home, root=root, endpoint=model.url, arguments=WITHOUT_PAGES, settings="scout = false\n")
        own = Path(lab.environ["JUPYTER_CONFIG_DIR"]) / "pernix" / "hooks.json"
        line = f"echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 600"
        hooks = {"PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": line}]}]}
        own.write_text(json.dumps({"hooks": hooks}))
        own.chmod(0o600)
        with lab:
            client = lab.client()
            session = client.create_session(mode="auto")["session_id"]
            turn_id = client.submit(session, "Go on", origin="api", can_ask=True)["turn_id"]
            await wait_until(pid.exists)
            lab.kill()
            await wait_until(lambda: not lives(pid))
            client = lab.start()
            finished = wait_finished(client, session, turn_id)
            assert finished["code"] == "interrupted"
            [item] = [item for item in client.session(session)["turns"][0]["items"] if item.get("tool") == "write_file"]
            assert (item["status"], item["hooks"], item.get("verdict")) == ("cancelled", [], None)
            assert not (root / "new.txt").exists()

            own.write_text(json.dumps({"hooks": {}}))
            turn_id = client.submit(session, "Go on", origin="api", can_ask=True)["turn_id"]
            assert wait_finished(client, session, turn_id)["code"] == "answered"
            assert not (root / "new.txt").exists()
