"""What every test gets: nothing here touches the user's own Jupyter, IPython or pernix files."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.isolation import isolated_environ
from support.model_server import ModelServer


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that this test's Jupyter configuration, data and runtime files lie in."""
    home = tmp_path_factory.mktemp("home")
    environ = isolated_environ(home)
    for name in set(os.environ) - set(environ):
        monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture
def modelserver() -> Iterator[ModelServer]:
    """A scripted OpenAI-compatible server on loopback that echoes until told otherwise: ``ctl("script", {"turns": […]})``."""
    with ModelServer(program="builtin:echo") as server:
        yield server
