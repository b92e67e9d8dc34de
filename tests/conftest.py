"""What every test gets: nothing here touches the user's own Jupyter, IPython or pernix files."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_core.utils import ensure_event_loop
from support.isolation import isolated_environ
from support.model_server import ModelServer

# A runner that was itself started in the background ignores these, and every process that a test starts would inherit that.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_loop_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """The blocking calls of jupyter_client and nbclient make an event loop and leave it open."""
    yield
    if request.node.get_closest_marker("kernel") is not None:
        ensure_event_loop().close()
        asyncio.set_event_loop(None)


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
