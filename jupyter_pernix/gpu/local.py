"""The embedded model: a GGUF file served on loopback by llama.cpp (``xllamacpp``) in a process of its own, with a key of its own.

Nothing runs here between the calls: the state of the server is asked of its process and of its ``/health``.
"""

import contextlib
import importlib.util
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self

import anyio
import anyio.to_thread

from ..errors import Conflict, EndpointFailed, ModelError, NotFound
from ..records import LocalModel, LocalStart, LocalStatus
from .caches import Candidate, find_gguf, usual_folders
from .gguf import BrokenGguf, read_head

LOAD_WITHIN = 600.0
STOP_WITHIN = 5.0
INSTALL_HINT = 'pip install "jupyter_pernix[local]"'
_FAULT_WORDS = ("error", "fail", "unable", "not within", "invalid", "out of memory", "traceback", "no module")


def is_installed() -> bool:
    """Whether the extra ``[local]`` is there; imports nothing."""
    return importlib.util.find_spec("xllamacpp") is not None


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class LocalServer:
    """One GGUF file being served. ``async with`` starts and stops it."""

    def __init__(self, path: Path, *, context_length: int = 8192, threads: int | None = None) -> None:
        self.path = path
        self.context_length = context_length
        self.threads = threads or _cores()
        self.alias = path.name.removesuffix(".gguf")
        self.key = secrets.token_urlsafe(24)
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._started = 0.0
        self._ready = False

    def __repr__(self) -> str:
        return f"<LocalServer {self.alias!r} {self.state}>"

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def state(self) -> Literal["available", "loading", "ready", "failed"]:
        """As last seen; ``wait_ready`` and ``refresh`` look again."""
        if self._process is None:
            return "available"
        if self._process.poll() is not None:
            return "failed"
        return "ready" if self._ready else "loading"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.stop()

    async def start(self) -> None:
        """Start the process; returns at once, while it loads.

        :raises ModelError: if the extra is missing, or the file is no whole GGUF file
        """
        if self._process is not None:
            return
        if not is_installed():
            raise EndpointFailed("the embedded model needs the package xllamacpp", kind="protocol", hint=INSTALL_HINT)
        await anyio.to_thread.run_sync(_check, self.path)
        self.port = _free_port()
        self._log = tempfile.TemporaryFile(prefix="pernix-local-")  # noqa: SIM115 -- closed by stop()
        self._started, self._ready = time.monotonic(), False
        # Not in a worker thread: the child is killed with the *thread* that started it.
        self._process = _spawn(self._log)
        orders = {
            "path": str(self.path.resolve()),
            "alias": self.alias,
            "port": self.port,
            "key": self.key,
            "context_length": self.context_length,
            "threads": self.threads,
            "parent": os.getpid(),
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(orders).encode() + b"\n")
        self._process.stdin.flush()

    async def refresh(self) -> Literal["available", "loading", "ready", "failed"]:
        """The state now; asks ``/health`` while the file is being loaded."""
        if self.state == "loading":
            self._ready = await self._is_healthy()
        return self.state

    async def _is_healthy(self) -> bool:
        import httpx  # spares the extension's import

        try:
            async with httpx.AsyncClient(trust_env=False, verify=False, timeout=2.0) as client:
                response = await client.get(f"http://127.0.0.1:{self.port}/health")
        except httpx.HTTPError:
            return False
        return response.status_code == 200  # 503 while it loads

    async def wait_ready(self, *, within: float = LOAD_WITHIN) -> None:
        """Return once it answers.

        :raises ModelError: with the end of its log, if it failed or takes too long
        """
        with anyio.move_on_after(within):
            while (state := await self.refresh()) == "loading":  # noqa: ASYNC110 -- another process's progress
                await anyio.sleep(0.1)
            if state == "ready":
                return
        raise self.failure()

    def failure(self) -> ModelError:
        """Why it does not run, from its log."""
        code = self._process.poll() if self._process else None
        log = self.log_tail()
        if "No module named 'xllamacpp'" in log:
            return EndpointFailed("the embedded model needs the package xllamacpp", kind="protocol", hint=INSTALL_HINT)
        how = "did not get ready in time" if code is None else _died(code)
        told = "" if code is not None and code < 0 else "; ".join(_telling_lines(log))
        hint = "use a smaller model or a shorter context" if code in (-9, 137) or "memory" in told else ""
        return EndpointFailed(
            f"the server of {self.path.name} {how}{': ' if told else ''}{told}", kind="server", hint=hint
        )

    def log_tail(self, limit: int = 8000) -> str:
        """The last characters that the process wrote."""
        if self._log is None:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), limit, max(0, size - limit)).decode("utf-8", "replace")

    async def stop(self) -> None:
        """End the process: asked first, killed after five seconds. May be called twice."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        _signal_group(process, signal.SIGTERM)
        with anyio.move_on_after(STOP_WITHIN):
            while process.poll() is None:  # noqa: ASYNC110 -- another process's end
                await anyio.sleep(0.02)
        if process.poll() is None:
            _signal_group(process, signal.SIGKILL)
            await anyio.to_thread.run_sync(process.wait)
        self._ready = False
        if self._log is not None:
            self._log.close()
            self._log = None

    def record(self) -> LocalModel:
        """This server as the panel shows it."""
        size = self.path.stat().st_size if self.path.exists() else 0
        detail = ""
        if self.state == "failed":
            failure = self.failure()
            detail = f"{failure}. {failure.hint}" if failure.hint else str(failure)
        elif self.state == "loading":
            detail = f"loading for {time.monotonic() - self._started:.0f} s"
        base_url = self.base_url if self.state in ("loading", "ready") else ""
        return LocalModel(path=str(self.path), size_bytes=size, state=self.state, detail=detail, base_url=base_url)


def _expanded(path: str) -> Path:
    return Path(path).expanduser()


def _spawn(log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", f"{__package__}.local_child"],  # -P: nothing is imported from the current folder
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=_child_environ(),
    )


def _check(path: Path) -> None:
    try:
        read_head(path)
    except FileNotFoundError as exc:
        raise NotFound("model file", str(path)) from exc
    except BrokenGguf as exc:
        raise EndpointFailed(
            f"{path.name} cannot be served: {exc}", kind="protocol", hint="download the file again"
        ) from exc
    except OSError as exc:
        raise EndpointFailed(f"{path.name} cannot be read: {exc.strerror or exc}", kind="protocol") from exc


def _child_environ() -> dict[str, str]:
    """Without the keys of endpoints, which are no business of the child; idle threads wait instead of spinning."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    return {
        **kept,
        "OMP_WAIT_POLICY": "passive",
        "GOMP_SPINCOUNT": "0",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _died(code: int) -> str:
    if code in (-9, 137):
        return "was killed, most likely because memory ran out"
    if code < 0:
        return f"died of signal {signal.Signals(-code).name}"
    return f"ended with code {code}"


def _telling_lines(log: str, most: int = 3) -> Iterable[str]:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line.lower() for word in _FAULT_WORDS)]
    return list(dict.fromkeys(_bare(line) for line in telling or lines[-most:]))[:most]


def _bare(line: str) -> str:
    """A log line without its clock and level."""
    words = line.split(maxsplit=2)
    return words[2] if len(words) == 3 and words[0].count(".") >= 3 and len(words[1]) == 1 else line


class LocalModels:
    """What could be served, and the one that is."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = folders
        self.server: LocalServer | None = None

    async def status(self) -> LocalStatus:
        """Every model file found, with the one that is being served in its present state."""
        server = self.server
        if server is not None:
            await server.refresh()
        found = await anyio.to_thread.run_sync(find_gguf, [*self._folders, *usual_folders()])
        models = [] if server is None else [server.record()]
        models += [_record(one) for one in found if server is None or one.path.resolve() != server.path.resolve()]
        installed = is_installed()
        hint = "" if installed else INSTALL_HINT
        if installed and not models:
            hint = "no GGUF file was found; give the path of one, or set model_folders"
        return LocalStatus(installed=installed, hint=hint, models=models)

    async def start(self, order: LocalStart) -> LocalServer:
        """Begin to serve a file; one that is served already, in this way, goes on.

        :raises Conflict: if another file is being served
        :raises NotFound: if there is no such file
        :raises ModelError: if it cannot be served
        """
        path = _expanded(order.path)
        server = self.server
        if server is not None and server.state in ("loading", "ready"):
            if server.path == path and server.context_length == order.context_length:
                return server
            raise Conflict(f"{server.path.name} is being served; stop it first")
        await self.stop()
        server = LocalServer(path, context_length=order.context_length)
        await server.start()
        self.server = server
        return server

    async def stop(self) -> None:
        """Stop what is served; may be called when nothing is."""
        server, self.server = self.server, None
        if server is not None:
            await server.stop()


def _record(found: Candidate) -> LocalModel:
    state = "failed" if found.fault else "available"
    return LocalModel(path=str(found.path), size_bytes=found.size, state=state, detail=found.fault)
