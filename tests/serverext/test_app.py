"""The extension in its server: start, stop, and what it says when it cannot serve."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from traitlets.config import Config

import jupyter_pernix
from jupyter_pernix.errors import StoreError
from jupyter_pernix.serverext import app as app_module
from jupyter_pernix.serverext.app import PernixApp
from jupyter_pernix.serverext.store import EventStore

from .carrying import Told, echo, forever
from .conftest import Serve
from .served import TOKEN

pytestmark = pytest.mark.server


async def test_the_server_file_says_where_the_server_is_to_its_user_alone(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "data" / "server.json"
    async with serve(carry=Told(echo)) as server:
        await server.get("/")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert json.loads(path.read_text()) == {
            "url": server.app.connection_url,
            "token": TOKEN,
            "pid": os.getpid(),
            "root_dir": str(server.root),
        }
    assert not path.exists()


async def test_the_store_is_in_a_folder_of_its_user_alone(serve: Serve, tmp_path: Path) -> None:
    async with serve():
        assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


async def test_a_second_server_on_one_store_says_who_holds_it_and_stays_passive(
    serve: Serve, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    holder = Path(__file__).parent / "store" / "appending.py"
    store = tmp_path / "data" / "pernix.duckdb"
    environ = os.environ | {"PYTHONPATH": str(Path(jupyter_pernix.__file__).parents[1])}
    async with await anyio.open_process([sys.executable, str(holder), str(store)], env=environ, stderr=None) as process:
        assert process.stdout is not None
        await process.stdout.receive()
        async with serve(carry=Told(echo)) as server:
            for path in ("/", "/sessions", "/events", "/stream", "/doctor"):
                response = await server.http.get(path)
                assert response.status_code == 503
                assert f"process {process.pid} has it open" in response.json()["message"]
            assert (await server.http.get("/openapi.json")).status_code == 200
            assert not (tmp_path / "data" / "server.json").exists()
        process.kill()
    assert "jupyter_pernix does not serve" in capfd.readouterr().err


async def test_a_wrong_setting_is_named_and_nothing_is_served(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('endpiont = "x"\n')
    async with serve(carry=Told(echo), config=Config({"PernixApp": {"settings_file": str(file)}})) as server:
        response = await server.http.get("/sessions")
        assert response.status_code == 503
        assert "did you mean 'endpoint'" in response.json()["message"]


async def test_a_request_before_the_start_waits_for_it(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    extension = PernixApp()
    monkeypatch.setattr(app_module, "READY_SECONDS", 0.01)
    with pytest.raises(StoreError, match="has not started yet"):
        await extension.runtime()


async def test_stopping_without_a_start_does_nothing() -> None:
    await PernixApp().stop_extension()


async def test_a_stopped_extension_says_so(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        await server.extension.stop_extension()
        response = await server.http.get("/sessions")
        assert (response.status_code, response.json()["message"]) == (503, "jupyter_pernix is stopped")


async def test_a_turn_counts_as_activity_of_the_server(serve: Serve) -> None:
    async with serve(carry=Told(forever)) as server:
        assert server.extension.current_activity() is None
        session = await server.new_session()
        await server.submit(session, "go")
        assert server.extension.current_activity() == 1


async def test_the_store_is_closed_when_the_server_has_stopped(serve: Serve, tmp_path: Path) -> None:
    async with serve(carry=Told(echo)) as server:
        await server.new_session()
    store = await EventStore.open(tmp_path / "data" / "pernix.duckdb")
    assert store.last_seq == 1
    await store.aclose()


def test_loading_the_extension_loads_nothing_heavy() -> None:
    code = """
import sys, jupyter_server.serverapp
before = set(sys.modules)
import jupyter_pernix
jupyter_pernix._jupyter_server_extension_points()
heavy = {"duckdb", "httpx", "openai", "nbformat", "nbclient", "IPython", "jupyterlab", "xllamacpp"}
print(sorted(heavy & {name.partition(".")[0] for name in set(sys.modules) - before}))
"""
    environ = os.environ | {"PYTHONPATH": str(Path(jupyter_pernix.__file__).parents[1])}
    result = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
