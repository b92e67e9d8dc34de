"""The provisioner by itself, as a kernelspec names it: around the folder in which the kernel is started, over sockets."""

import importlib
import tomllib
from pathlib import Path

import anyio
import pytest
from jupyter_client.manager import AsyncKernelManager

from jupyter_pernix.kernel.sandbox.provisioner import SandboxProvisioner

from .conftest import World


@pytest.mark.kernel
async def test_a_kernel_manager_that_knows_of_no_wall_starts_a_kernel_behind_one(world: World, tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "numbers.txt").write_text("42")
    manager = AsyncKernelManager(kernel_name="python3")
    manager.provisioner = SandboxProvisioner(
        parent=manager, kernel_id="k", kernel_spec=manager.kernel_spec, readable=[str(data)], processes=100
    )
    with anyio.fail_after(90):
        await manager.start_kernel(cwd=str(world.space))
        room = Path(manager.connection_file).parent
        client = manager.client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=60)
            code = (
                f"import os; open('made.txt', 'w').write(open('{data}/numbers.txt').read())\n"
                f"open('seen.txt', 'w').write(str([os.path.exists({str(world.secret_files['outside'])!r}), os.getpid()]))"
            )
            reply = await client.execute_interactive(code, timeout=60)
            assert reply["content"]["status"] == "ok", reply
        finally:
            client.stop_channels()
            await manager.shutdown_kernel(now=True)
    assert manager.transport == "ipc"
    assert (world.space / "made.txt").read_text() == "42"
    assert (world.space / "seen.txt").read_text() == "[False, 2]"
    assert not room.exists()


def test_it_is_declared_under_its_name():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
    module, _, name = project["entry-points"]["jupyter_client.kernel_provisioners"]["pernix-sandbox"].partition(":")
    assert getattr(importlib.import_module(module), name) is SandboxProvisioner
