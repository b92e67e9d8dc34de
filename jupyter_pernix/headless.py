"""A Jupyter server of our own, without a browser, for a command or a kernel that finds none running.

Whoever starts one stops it. Standard library only.
"""

import os
import subprocess
import sys
import tempfile
import time
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType

from . import client as _client
from .client import Client
from .errors import RequestFailed, ServerAway, ServerError

assignments: ContextVar[tuple[str, ...]] = ContextVar("assignments", default=())
"""Settings, as ``KEY=VALUE``, that a command gives to a server that it starts."""

_START_DEADLINE = 60.0
_STOP_DEADLINE = 10.0
_IDLE_SECONDS = 1800
"""A server whose starter was killed goes away by itself after this long without kernels and requests."""


_PAGES = ("jupyterlab", "notebook", "notebook_shim", "jupyter_lsp", "jupyter_server_terminals")
WITHOUT_PAGES = (
    "--ServerApp.jpserver_extensions=jupyter_pernix=True",
    *(f"--ServerApp.jpserver_extensions={name}=False" for name in _PAGES),
)
"""Arguments of a server that has our extension and none for pages in a browser; the start takes half as long."""


class Headless:
    """One server process that serves ``root``. A context manager: entering gives a ``Client``, leaving stops the server, unless
    others are busy with it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None
        self._client: Client | None = None

    def __enter__(self) -> Client:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_unless_busy()

    def start(self) -> Client:
        """Returns once the API answers.

        :raises ServerAway: if it does not start, with the last lines of its log
        :raises RequestFailed: if it starts but cannot serve, e.g. because its store is held by another server
        """
        handle, name = tempfile.mkstemp(prefix="pernix-server-", suffix=".log")
        self._log = Path(name)
        with os.fdopen(handle, "wb") as log:
            self._process = subprocess.Popen(
                _command(self.root),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A Ctrl-C at the terminal is for the command, which cancels its turn over this server.
                start_new_session=True,
                env=_environment(),
            )
        try:
            return self._wait_ready(self._process)
        except BaseException:
            self.stop()
            raise

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> Client:
        deadline = time.monotonic() + _START_DEADLINE
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise ServerAway(
                    f"a Jupyter server could not be started (exit code {process.returncode})", hint=self._last_lines()
                )
            address = _client.parent_address(process.pid)
            if address is not None:
                found = Client(address)
                try:
                    found.info()
                except ServerAway:
                    pass  # it has written its file and does not listen yet
                else:
                    self._client = found
                    return found
            time.sleep(0.1)
        raise ServerAway(f"a Jupyter server did not start within {_START_DEADLINE:.0f} s", hint=self._last_lines())

    def _last_lines(self) -> str:
        text = self._log.read_text(encoding="utf-8", errors="replace") if self._log else ""
        # Jupyter prints its address with the token in it.
        return "\n".join([line for line in text.splitlines() if "token" not in line][-12:])

    def stop_unless_busy(self, *, patience: float | None = None) -> bool:
        """As ``stop``; but while others' turns run here, e.g. of a second command that found this server, it is left to them and ends
        by itself when it has long been idle. True if it was stopped."""
        try:
            busy = self._client is not None and int(self._client.info()["busy"]) > 0
        except (ServerError, KeyError):
            busy = False
        if busy:
            self._process = None
        self.stop(patience=patience)
        return not busy

    def stop(self, *, patience: float | None = None) -> None:
        """End the server; its kernels end with it. One that is slow is killed, unless ``patience`` is given: then it is left to
        end by itself after that many seconds. May be called twice."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_DEADLINE if patience is None else patience)
            except subprocess.TimeoutExpired:
                if patience is None:
                    process.kill()
                    process.wait()
        if self._log is not None:
            self._log.unlink(missing_ok=True)
            self._log = None


def _command(root: Path) -> list[str]:
    # No token is given: Jupyter makes one and keeps it in its 0600 runtime file, where neither ps nor a kernel's environment shows it.
    command = [
        sys.executable,
        "-P",  # nothing is imported from the current folder, which may be one that somebody else has made
        "-m",
        "jupyter_server",
        "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0",
        f"--ServerApp.root_dir={root}",
        *WITHOUT_PAGES,
        *(f"--PernixApp.assignments={each}" for each in assignments.get()),
        f"--ServerApp.shutdown_no_activity_timeout={_IDLE_SECONDS}",
        # A server with kernels never counts as idle.
        f"--MappingKernelManager.cull_idle_timeout={_IDLE_SECONDS}",
        "--MappingKernelManager.cull_interval=60",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return command


def _environment() -> dict[str, str]:
    """Ours without what a surrounding kernel or server put there."""
    ours = ("JPY_", "JUPYTER_TOKEN", "MPLBACKEND")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def connect(root: Path) -> tuple[Client, Headless | None]:
    """The server that is there, or one started for ``root``; the caller stops it.

    :raises ServerError: if there is none and none can be started
    """
    found = _client.find()
    if found is not None:
        return found, None
    server = Headless(root)
    try:
        return server.start(), server
    except RequestFailed:
        # Two may start at once: the store belongs to the first, which by now is ready to be asked.
        found = _client.find()
        if found is None:
            raise
        return found, None
