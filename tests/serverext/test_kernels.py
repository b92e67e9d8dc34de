"""A session's kernel: in its folder, without the server's keys, shown as running, and gone when it should be."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from traitlets.config import Config

from jupyter_pernix.errors import KernelMissing
from jupyter_pernix.ids import new_execution_id
from jupyter_pernix.records import OutputOp

from .carrying import Told, Turn
from .conftest import Serve
from .served import JSON, TOKEN, Served

pytestmark = [pytest.mark.server, pytest.mark.kernel]


async def run(turn: Turn) -> None:
    """Runs the user's message as code and says what it printed."""
    code = next(getattr(one.event, "text", "") for one in reversed(turn.log) if hasattr(one.event, "text"))
    printed: list[str] = []

    async def keep(op: OutputOp) -> None:
        printed.append(op.text or str((op.output or {}).get("text", "")))

    try:
        executor = await turn.host.executor()
    except KernelMissing as exc:
        await turn.say(str(exc))
        return
    await executor.execute(code, execution_id=new_execution_id(), on_output=keep)
    await turn.say("".join(printed).strip())


async def said(server: Served, session: str, code: str) -> str:
    turn = await server.submit(session, code)
    events = await server.wait(session, lambda event: event["type"] == "turn.finished" and event["turn_id"] == turn)
    return [event["text"] for event in events if event["type"] == "message.completed"][-1]


async def running_kernels(server: Served) -> int:
    return len(server.app.kernel_manager.list_kernel_ids())


async def test_a_sessions_kernel_lives_from_its_first_use_until_the_session_is_archived(
    serve: Serve, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "space").mkdir()
    for name in ("JUPYTER_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("MY_MODEL_KEY", "secret")
    monkeypatch.setenv("COPY_OF_THE_TOKEN", f"token={TOKEN}")
    settings = root.parent / "config.toml"
    settings.write_text('[endpoints.mine]\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "MY_MODEL_KEY"\n')
    config = Config({"PernixApp": {"settings_file": str(settings)}})
    async with serve(carry=Told(run), config=config) as server:
        session = await server.new_session(space_root="space")
        assert await running_kernels(server) == 0
        assert await said(server, session, "import os; print(os.getcwd())") == str(root / "space")
        assert await running_kernels(server) == 1
        printed = await said(server, session, "print(dict(os.environ), open('/proc/self/environ').read())")
        assert [one for one in ("secret", TOKEN, "COPY_OF_THE_TOKEN", "'agg'") if one in printed] == []
        assert "PATH" in printed
        await server.wait_idle(session, after=(await server.get("/"))["last_seq"] - 1)
        assert (await server.http.patch(f"/sessions/{session}", json={"archived": True})).status_code == 200
        with anyio.fail_after(20):
            while await running_kernels(server):  # noqa: ASYNC110 -- the kernel manager tells nobody
                await anyio.sleep(0.05)


async def test_another_kernel_name_takes_a_new_kernel_and_an_unknown_one_is_refused(serve: Serve) -> None:
    async with serve(carry=Told(run)) as server:
        session = await server.new_session()
        assert await said(server, session, "x = 1; print(x)") == "1"
        refused = await server.http.patch(f"/sessions/{session}", json={"kernel_name": "no such"})
        assert (refused.status_code, "installed: " in refused.json()["message"]) == (400, True)
        await server.http.patch(f"/sessions/{session}", json={"kernel_name": "python3"})
        assert await said(server, session, "print('x' in globals())") == "False"
        assert await running_kernels(server) == 1


async def test_a_kernel_that_was_shut_down_elsewhere_is_started_again(serve: Serve) -> None:
    async with serve(carry=Told(run)) as server:
        session = await server.new_session()
        assert await said(server, session, "x = 1; print(x)") == "1"
        manager: Any = server.app.kernel_manager
        await manager.shutdown_all(now=True)
        assert await said(server, session, "print('x' in globals())") == "False"


def restarts(events: list[JSON]) -> list[JSON]:
    return [event for event in events if event["type"] == "kernel.restarted"]


async def test_a_kernel_that_dies_is_told_once_in_the_turn_and_at_once_between_turns(serve: Serve) -> None:
    async with serve(carry=Told(run)) as server:
        session = await server.new_session()
        turn = await server.submit(session, "x = 1; import os; os._exit(7)")
        await server.wait_idle(session)
        assert await said(server, session, "print('x' in globals())") == "False"
        (first,) = restarts(await server.get("/events", session=session))
        assert (first["turn_id"], first["kernel_name"]) == (turn, "python3")
        assert first["text"].startswith("The kernel died: it exited with code 7. All variables and imports")
        pid = int(await said(server, session, "import os; print(os.getpid())"))
        seen = await server.wait_idle(session, after=(await server.get("/"))["last_seq"] - 1)
        os.kill(pid, signal.SIGKILL)
        later = await server.wait(session, lambda event: event["type"] == "kernel.restarted", after=seen[-1]["seq"])
        (second,) = restarts(later)
        assert second["turn_id"] is None
        view = await server.get(f"/sessions/{session}")
        assert [item["text"] for item in view["turns"][-1]["items"] if item.get("kind") == "kernel"] == [second["text"]]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="found by /proc, which Linux alone has")
async def test_what_outlives_a_sessions_kernel_is_told(serve: Serve) -> None:
    code = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\nprint(p.pid)"
    )
    async with serve(carry=Told(run)) as server:
        session = await server.new_session()
        pid = int(await said(server, session, code))
        seen = await server.wait_idle(session)
        assert (await server.http.patch(f"/sessions/{session}", json={"archived": True})).status_code == 200
        told = await server.wait(session, lambda event: event["type"] == "problem.noticed", after=seen[-1]["seq"])
        os.kill(pid, signal.SIGKILL)
        assert f"still run: {pid} (" in told[-1]["text"]
