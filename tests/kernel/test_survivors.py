"""Processes that outlive their kernel are named, and left alone."""

import os
import signal
import sys

import pytest

from jupyter_pernix.kernel.executor import FRESH

from .conftest import Cells

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="processes are found by /proc, which Linux alone has"
    ),
]

SERVER = (
    "import subprocess, sys\n"
    "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(40)'], start_new_session=True)\n"
    "print(p.pid)"
)


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


async def test_a_server_that_outlives_a_kernel_that_died_is_named_in_what_follows(python: Cells):
    told: list[str] = []

    async def on_restart(text: str) -> None:
        told.append(text)

    python.executor.on_restart = on_restart
    pid = int((await python(SERVER)).text)
    await python("import os; os._exit(3)")
    after = await python("1")
    end(pid)
    assert after.result.detail.startswith(
        f"{FRESH} The one before: it exited with code 3. Processes that earlier code started"
    )
    assert f"{pid} (" in after.result.detail
    assert len(told) == 1
    assert f"{pid} (" in told[0]


async def test_what_ends_with_its_kernel_is_not_named(python: Cells):
    await python("import subprocess; p = subprocess.Popen(['sleep', '60'])")
    await python.executor.aclose()
    assert python.executor.survivors == []
