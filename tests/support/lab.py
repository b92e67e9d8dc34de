"""A real Jupyter server in a process of its own, with our extension, a scripted model as its endpoint and a copy of the examples."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal
from urllib.parse import urlsplit

import psutil

from jupyter_pernix.client import Address, Client
from jupyter_pernix.errors import ServerError

from .isolation import isolated_environ

EXAMPLES = Path(__file__).parents[2] / "examples"
_NOT_FOR_USERS = shutil.ignore_patterns(
    "turns.json", "__pycache__", ".pytest_cache", "pernix-runs", ".ipynb_checkpoints"
)
_NO_NEWS = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": False}
_START_DEADLINE = 60.0


def copy_examples(root: Path) -> Path:
    shutil.copytree(EXAMPLES, root, ignore=_NOT_FOR_USERS)
    return root


class Lab:
    """``home`` holds all that the server writes outside its ``root``; starting again finds the same store, at the same address.
    ``settings``: more of its settings file, TOML; plain keys before tables."""

    def __init__(
        self,
        *,
        home: Path,
        root: Path,
        endpoint: str = "",
        mode: str = "edit",
        app: Literal["jupyterlab", "jupyter_server"] = "jupyter_server",
        arguments: Sequence[str] = (),
        settings: str = "",
    ) -> None:
        self.root = root
        self.environ = isolated_environ(home)
        self.token = secrets.token_hex(16)
        self.log = home / "server.log"
        self.url = ""
        self.waited = self.worked = 0.0
        """Seconds, and CPU seconds of the server, from its listening to the first answer of our API: the store was opened in them."""
        self._app, self._arguments = app, arguments
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        config = Path(self.environ["JUPYTER_CONFIG_DIR"])
        _write(
            config / "lab/user-settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings",
            json.dumps(_NO_NEWS),
        )
        if endpoint:
            general = f'endpoint = "scripted"\nmode = "{mode}"\n'
            scripted = f'[endpoints.scripted]\nbase_url = "{endpoint}"\nmodel = "scripted-1"\nprotocol = "tools"\n'
            _write(config / "pernix/config.toml", general + settings + scripted)

    def __enter__(self) -> "Lab":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> Client:
        """Returns when the API answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    self._app,
                    "--no-browser",
                    "--ServerApp.ip=127.0.0.1",
                    f"--ServerApp.port={self._port}",
                    f"--ServerApp.root_dir={self.root}",
                    f"--IdentityProvider.token={self.token}",
                    *(["--allow-root"] if os.geteuid() == 0 else []),
                    *self._arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environ,
                start_new_session=True,
            )
        return self._wait_ready(self._process)

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> Client:
        runtime = Path(self.environ["JUPYTER_RUNTIME_DIR"]) / f"jpserver-{process.pid}.json"
        deadline = time.monotonic() + _START_DEADLINE
        listening = None
        while time.monotonic() < deadline and process.poll() is None:
            try:
                self.url = str(json.loads(runtime.read_text(encoding="utf-8"))["url"])
                self._port = urlsplit(self.url).port or 0
                listening = listening or (time.monotonic(), cpu_seconds(process.pid))
                client = self.client()
                client.info()
            except (OSError, ValueError, ServerError):
                time.sleep(0.02)
            else:
                self.waited = time.monotonic() - listening[0]
                self.worked = cpu_seconds(process.pid) - listening[1]
                return client
        self.stop()
        raise AssertionError(f"the server did not start:\n{self.log_text()[-4000:]}")

    def client(self) -> Client:
        """A client of its own connection; each thread needs one."""
        return Client(Address(self.url, self.token, self.pid, str(self.root)))

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """As Ctrl-C does; its kernels end with it."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self) -> None:
        """``kill -9`` of the server itself; its kernels notice and end on their own."""
        process, self._process = self._process, None
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def cpu_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
