"""What the extension adds to a server's start: CPU seconds of its import, and the time until it serves. ``python benchmarks/server_start.py``"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

REPEATS = 3

_IMPORT = """
import resource
import jupyter_server.serverapp, jupyter_server.extension.application
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
before = cpu()
import jupyter_pernix
jupyter_pernix._jupyter_server_extension_points()
print(cpu() - before)
"""


def import_cost() -> float:
    times = [
        float(subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True).stdout)
        for _ in range(REPEATS)
    ]
    return statistics.median(times)


def start_seconds(folder: Path, *, enabled: bool, path: str) -> float:
    """From the launch of the process to the first good answer at ``path``."""
    environ = os.environ | {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    command = [
        sys.executable,
        "-m",
        "jupyter_server",
        "--no-browser",
        "--allow-root",
        "--ServerApp.port=0",
        f"--ServerApp.root_dir={folder}",
        f"--ServerApp.jpserver_extensions=jupyter_pernix={enabled}",
        "--IdentityProvider.token=benchmark",
    ]
    begun = time.perf_counter()
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while time.perf_counter() - begun < 60:
                if answers(folder / "runtime" / f"jpserver-{process.pid}.json", path):
                    return time.perf_counter() - begun
                time.sleep(0.01)
        finally:
            process.terminate()
    raise SystemExit("the server did not start within 60 s")


def answers(server_file: Path, path: str) -> bool:
    try:
        url = json.loads(server_file.read_text())["url"]
        request = urllib.request.Request(url + path, headers={"Authorization": "token benchmark"})
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status == 200
    except (OSError, ValueError, urllib.error.URLError):
        return False


def main() -> None:
    print(f"import of the extension: {import_cost():.3f} s of CPU (median of {REPEATS})")
    for words, enabled, path in (
        ("server without the extension", False, "api/status"),
        ("server with it, serving anything", True, "api/status"),
        ("server with it, serving the API", True, "pernix/api/"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            times = [start_seconds(Path(folder), enabled=enabled, path=path) for _ in range(REPEATS)]
        print(f"{words}: {statistics.median(times):.2f} s (median of {REPEATS})")


if __name__ == "__main__":
    main()
