"""``jupyter pernix run --notebook`` against a real server: the cells of the notebook, in its kernel, from the command line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.lab import Lab
from support.model_server import ModelServer

from jupyter_pernix.headless import WITHOUT_PAGES

pytestmark = [pytest.mark.server, pytest.mark.kernel, pytest.mark.timeout(180)]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


def test_cells_of_a_notebook_are_run_from_the_command_line(model: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "root").mkdir()
    cell = {"id": "one", "cell_type": "code", "source": "6 * 7", "metadata": {}, "outputs": [], "execution_count": None}
    path = tmp_path / "root" / "a.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    turns = [
        {"tool_calls": [{"name": "read_notebook", "arguments": {}}]},
        {"tool_calls": [{"name": "run_cells", "arguments": {"cell_ids": ["one"]}}]},
        {"text": "It is 42."},
    ]
    model.ctl("reset", {})
    model.ctl("script", {"turns": turns, "advance": "assistant_messages", "on_end": "last"})
    with Lab(home=tmp_path / "home", root=tmp_path / "root", endpoint=model.url, arguments=WITHOUT_PAGES) as lab:
        done = subprocess.run(
            [sys.executable, "-m", "jupyter_pernix.cli", "run", "Run it", "--mode", "auto", "--notebook", "a.ipynb"],
            cwd=lab.root,
            env=lab.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stdout) == (0, "It is 42.\n"), done.stderr
    written = json.loads(path.read_text())["cells"][0]
    assert (written["execution_count"], written["outputs"][0]["data"]["text/plain"]) == (1, ["42"])
