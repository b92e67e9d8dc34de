"""Sessions in the sandbox: kernel and commands of a real server behind one wall, and what is told where there can be none."""

import os
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.model_server import ModelServer

from jupyter_pernix.kernel.sandbox import look_again, why_not
from jupyter_pernix.serverext.session_kernel import NOT_FOR_NOTEBOOKS

from .conftest import Serve
from .served import JSON
from .undoing import Desk, configured, shell

pytestmark = [pytest.mark.server, pytest.mark.kernel]


@pytest.fixture
def works() -> None:
    if why_not():
        pytest.skip(why_not())


@asynccontextmanager
async def desk(serve: Serve, root: Path, **fields: Any) -> AsyncGenerator[Desk]:
    with ModelServer(program="builtin:echo") as model:
        async with serve(config=configured(root, model)) as server:
            yield Desk(server=server, model=model, session=await server.new_session(mode="auto", **fields))


def working_in(folder: Path) -> list[str]:
    """Processes whose working folder this is."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found.append(entry.name)
        except OSError:
            continue
    return found


def rooms(folder: str) -> list[Path]:
    return list(Path(folder).glob("pernix-*"))


def code(text: str) -> tuple[str, dict[str, Any]]:
    return "run_code", {"code": text}


async def results(desk: Desk) -> list[str]:
    return [result["result"] for result in await desk.results()]


async def told(desk: Desk, tag: str) -> list[str]:
    return [event["text"] for event in await desk.events(tag)]


async def patched(desk: Desk, **fields: Any) -> JSON:
    response = await desk.server.http.patch(f"/sessions/{desk.session}", json=fields)
    assert response.status_code == 200, response.text
    return response.json()


async def test_kernel_and_commands_have_one_wall_and_one_temporary_folder(
    works: None, serve: Serve, root: Path
) -> None:
    """They see each other's files, and nothing of the server."""
    outside = root.parent / "outside.txt"
    outside.write_text("hidden-thing")
    async with desk(serve, root, sandbox=True) as at:
        data = root.parent / "data"
        await at.turn(
            code("open('/tmp/shared.txt', 'w').write('from the kernel'); open('made.txt', 'w').write('x')"),
            shell("cat /tmp/shared.txt; ls; echo from the shell > made2.txt"),
            code(f"print(open({str(outside)!r}).read())"),
            shell(f"cat {outside} {data}/server.json /proc/{os.getpid()}/environ; echo x > {outside}"),
        )
        first, second, third, fourth = await results(at)
        assert "from the kernel" in second and "made.txt" in second, (first, second)
        assert fourth.count("No such file") == 3 and "hidden-thing" not in third + fourth
        assert "FileNotFoundError" in third
    assert (root / "made2.txt").read_text() == "from the shell\n"
    assert outside.read_text() == "hidden-thing"


async def test_a_session_that_goes_into_the_sandbox_begins_anew_there(works: None, serve: Serve, root: Path) -> None:
    async with desk(serve, root) as at:
        await at.turn(code("x = 1"))
        assert (await patched(at, sandbox=True))["sandbox"] is True
        await at.turn(code("import os; print('x' in globals(), os.environ.get('PERNIX_SANDBOX'))"))
        assert "False 1" in (await results(at))[-1]
        assert ["in the sandbox now" in text and "gone" in text for text in await told(at, "kernel.restarted")] == [
            True
        ]
        await patched(at, title="another")
        await at.turn(code("y = 1"))
        assert len(await told(at, "kernel.restarted")) == 1
        await patched(at, network=True)
        await at.turn(code("print('y' in globals())"))
        assert "False" in (await results(at))[-1]
        assert "lets the network through" in (await told(at, "kernel.restarted"))[-1]


async def test_commands_end_with_their_call_and_leave_nothing(works: None, serve: Serve, root: Path) -> None:
    async with desk(serve, root, sandbox=True) as at:
        await at.turn(("run_shell", {"command": "setsid sleep 600 & sleep 600", "timeout_seconds": 2}))
        assert "timeout" in (await results(at))[-1]
        assert working_in(root) == []


async def test_where_it_cannot_work_nothing_runs_and_the_reason_is_told(
    serve: Serve, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Never silently without the sandbox."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "git", "touch"):
        found = shutil.which(name)
        if found:
            (programs / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))
    look_again()
    try:
        async with desk(serve, root, sandbox=True) as at:
            status = (await at.server.get("/"))["sandbox"]
            assert (status["works"], "not installed" in status["why"]) == (False, True)
            await at.turn(shell("touch ran.txt"), code("open('ran.txt', 'w')"))
            for result in await results(at):
                assert "bubblewrap is not installed" in result
            assert not (at.server.root / "ran.txt").exists()
            (line,) = [one for one in await at.server.get("/doctor") if one["name"] == "sandbox"]
            assert (line["status"], "not installed" in line["hint"]) == ("warning", True)
    finally:
        look_again()


async def test_it_is_told_that_it_works(works: None, serve: Serve) -> None:
    async with serve() as server:
        assert (await server.get("/"))["sandbox"]["works"] is True
        (line,) = [one for one in await server.get("/doctor") if one["name"] == "sandbox"]
        assert line["status"] == "ok"


async def test_nothing_is_left_of_it_when_the_server_stops(
    works: None, serve: Serve, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as folder:  # short: the paths of sockets are
        monkeypatch.setattr(tempfile, "tempdir", folder)
        async with desk(serve, root, sandbox=True) as at:
            await at.turn(shell("echo x > /tmp/x"), code("1"))
            assert len(rooms(folder)) == 2
        assert rooms(folder) == []
    assert working_in(root) == []


async def test_a_notebooks_kernel_is_told_not_to_be_in_it(works: None, serve: Serve, root: Path) -> None:
    (root / "n.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    async with desk(serve, root, sandbox=True) as at:
        await at.server.post(f"/sessions/{at.session}/notebook", {"path": "n.ipynb"}, status=200)
        await at.turn(code("1"))
        assert (await told(at, "problem.noticed")).count(NOT_FOR_NOTEBOOKS) == 1
