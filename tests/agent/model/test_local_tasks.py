"""A real small model, held to actions, solves tasks in whole sessions of a real server, with real kernels and files."""

import os
import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import pytest

GGUF = os.environ.get("PERNIX_TEST_GGUF", "")
ROOT = Path(__file__).parents[3]
TASKS = r"17\*23|sum of the column|hello world"


@pytest.mark.model
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not GGUF, reason="PERNIX_TEST_GGUF names no GGUF file")
async def test_a_small_model_computes_adds_up_a_column_and_writes_a_file() -> None:
    command = [sys.executable, "benchmarks/local_model.py", GGUF, "--all", "--verbose", "--only", TASKS]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = await anyio.to_thread.run_sync(
        lambda: subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=1180)
    )
    assert "3 of 3 solved, 3 of 3 with valid actions only" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
