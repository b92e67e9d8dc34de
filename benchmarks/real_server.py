"""A real Jupyter server with the extension, for a benchmark, in a process of its own."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOKEN = "benchmark"
START_SECONDS = 120
_USED = ("jupyter_pernix", "burst_extension")
_OTHERS = ("jupyter_lsp", "jupyter_server_terminals", "jupyterlab", "notebook_shim")
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, kw_only=True)
class Server:
    """``url`` is the server's own, without a slash at its end."""

    url: str
    pid: int
    headers: dict[str, str]
    log: Path

    @property
    def api(self) -> str:
        return f"{self.url}/pernix/api"

    def request(self, method: str, url: str, body: Any = None) -> Any:
        """The answer's JSON."""
        data = None if method == "GET" else json.dumps({} if body is None else body).encode()
        headers = self.headers | {"Content-Type": "application/json"}
        request = urllib.request.Request(url, method=method, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=300) as response:
            return json.loads(response.read() or b"null")


@contextmanager
def real_server(folder: Path, *, settings: str = "", stalls: bool = False) -> Iterator[Server]:
    """With ``burst_extension`` beside the product's own. ``settings``: the text of its config.toml. ``stalls``: note what holds the
    event loop."""
    config = folder / "config" / "pernix"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(settings)
    root = folder / "root"
    root.mkdir()
    environ = os.environ | {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    environ |= {"PYTHONPATH": str(HERE), "BENCHMARK_STALLS": "1" if stalls else "", "NO_PROXY": "127.0.0.1"}
    command = [
        sys.executable,
        "-m",
        "jupyter_server",
        "--no-browser",
        "--allow-root",
        "--ServerApp.port=0",
        f"--ServerApp.root_dir={root}",
        *(f"--ServerApp.jpserver_extensions={one}={one in _USED}" for one in (*_USED, *_OTHERS)),
        "--ServerApp.log_level=WARN",
        f"--IdentityProvider.token={TOKEN}",
    ]
    log = folder / "server.log"
    with log.open("wb") as output, subprocess.Popen(command, env=environ, stdout=output, stderr=output) as process:
        try:
            url = _wait_for(process, log, folder / "runtime" / f"jpserver-{process.pid}.json")
            yield Server(url=url, pid=process.pid, headers={"Authorization": f"token {TOKEN}"}, log=log)
        finally:
            process.terminate()


def _wait_for(process: subprocess.Popen[bytes], log: Path, server_file: Path) -> str:
    begun = time.perf_counter()
    while process.poll() is None and time.perf_counter() - begun < START_SECONDS:
        try:
            url: str = json.loads(server_file.read_text())["url"].rstrip("/")
            request = urllib.request.Request(f"{url}/pernix/api/", headers={"Authorization": f"token {TOKEN}"})
            with urllib.request.urlopen(request, timeout=10):
                return url
        except urllib.error.HTTPError as exc:
            raise SystemExit(f"the server does not serve: {exc} {exc.read()!r}") from exc
        except (OSError, ValueError, urllib.error.URLError):
            time.sleep(0.05)
    raise SystemExit(f"the server did not start:\n{log.read_text()[-3000:]}")


def rss_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_seconds(pid: int | str) -> float:
    """Of user and system, all threads; or of one, named by its path below ``/proc``."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
