"""The embedded model's process. Tests marked ``model`` serve the GGUF file that ``PERNIX_TEST_GGUF`` names."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import anyio
import httpx
import pytest

from jupyter_pernix.errors import Conflict, EndpointFailed, NotFound
from jupyter_pernix.gpu import local
from jupyter_pernix.gpu.local import LocalModels, LocalServer
from jupyter_pernix.records import LocalStart

GGUF = os.environ.get("PERNIX_TEST_GGUF", "")
needs_model = pytest.mark.skipif(not GGUF, reason="PERNIX_TEST_GGUF names no GGUF file")


async def test_missing_extra_is_named_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "is_installed", lambda: False)
    with pytest.raises(EndpointFailed) as caught:
        await LocalServer(tmp_path / "m.gguf").start()
    assert caught.value.hint == 'pip install "jupyter_pernix[local]"'
    status = await LocalModels([tmp_path]).status()
    assert (status.installed, status.hint) == (False, 'pip install "jupyter_pernix[local]"')


async def test_broken_and_missing_files_start_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "is_installed", lambda: True)
    broken = tmp_path / "m.gguf"
    broken.write_bytes(b"hello")
    server = LocalServer(broken)
    with pytest.raises(EndpointFailed, match=r"m\.gguf cannot be served: it does not begin as a GGUF file"):
        await server.start()
    assert server.state == "available"
    with pytest.raises(NotFound):
        await LocalServer(tmp_path / "none.gguf").start()


async def test_files_found_are_listed_and_broken_ones_say_why(tmp_path: Path) -> None:
    (tmp_path / "good.gguf").write_bytes(b"GGUF" + bytes(2000))
    (tmp_path / "bad.gguf").write_bytes(b"")
    models = (await LocalModels([tmp_path]).status()).models
    assert [(Path(one.path).name, one.state, one.detail) for one in models][:2] == [
        ("bad.gguf", "failed", "the file is empty"),
        ("good.gguf", "available", ""),
    ]


async def test_a_file_that_llama_cpp_refuses_fails_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xllamacpp", reason="the extra [local] is not installed")
    monkeypatch.setattr(local, "_check", lambda path: None)
    broken = tmp_path / "m.gguf"
    broken.write_bytes(b"hello")
    async with LocalServer(broken) as server:
        with pytest.raises(EndpointFailed, match="invalid magic characters"), anyio.fail_after(60):
            await server.wait_ready()
        assert server.record().state == "failed"
        assert "invalid magic" in server.record().detail
    assert server.state == "available"


@pytest.mark.model
@needs_model
async def test_served_model_wants_its_key_and_goes_when_it_is_stopped() -> None:
    models = LocalModels()
    server = await models.start(LocalStart(path=GGUF, context_length=2048))
    assert await models.start(LocalStart(path=GGUF, context_length=2048)) is server
    with pytest.raises(Conflict):
        await models.start(LocalStart(path=GGUF, context_length=4096))
    with anyio.fail_after(100):
        await server.wait_ready()
    (first, *_) = (await models.status()).models
    assert (first.path, first.state, first.base_url) == (GGUF, "ready", server.base_url)
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{server.base_url}/models")).status_code == 401
        allowed = await client.get(f"{server.base_url}/models", headers={"authorization": f"Bearer {server.key}"})
        assert allowed.json()["data"][0]["id"] == server.alias
        await models.stop()
        with pytest.raises(httpx.ConnectError):
            await client.get(f"{server.base_url}/models")


PARENT = """
import os, sys, anyio
from pathlib import Path
from jupyter_pernix.gpu.local import LocalServer
async def main():
    server = LocalServer(Path(sys.argv[1]), context_length=512)
    await server.start()
    if sys.argv[2] == "ready":
        await server.wait_ready()
    print(server._process.pid, flush=True)
    await anyio.sleep_forever()
anyio.run(main)
"""


@pytest.mark.model
@needs_model
@pytest.mark.parametrize("when", ["loading", "ready"])
async def test_killed_parent_takes_the_model_with_it(when: str) -> None:
    parent = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", textwrap.dedent(PARENT), GGUF, when],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(local.__file__).parents[2])},
    )
    assert parent.stdout
    child = int(await anyio.to_thread.run_sync(parent.stdout.readline))
    parent.kill()
    parent.communicate()
    with anyio.fail_after(20):
        while is_running(child):
            await anyio.lowlevel.checkpoint()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
