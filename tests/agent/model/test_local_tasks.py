"""A real small model, driven by schema-constrained actions, solves a task with the product's tools and system text."""

import os
import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import pytest

GGUF = os.environ.get("PERNIX_TEST_GGUF", "")
ROOT = Path(__file__).parents[3]


@pytest.mark.model
@pytest.mark.timeout(900)
@pytest.mark.skipif(not GGUF, reason="PERNIX_TEST_GGUF names no GGUF file")
async def test_a_small_model_counts_rows_and_adds_up_a_column() -> None:
    command = [sys.executable, "benchmarks/local_model.py", GGUF, "--only", "How many rows has data.csv, and"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = await anyio.to_thread.run_sync(
        lambda: subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=880)
    )
    assert "1 of 1 solved" in done.stdout, done.stdout + done.stderr
