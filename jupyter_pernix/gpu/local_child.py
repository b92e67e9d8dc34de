"""The process of the embedded model: ``python -m jupyter_pernix.gpu.local_child``. Reads its orders as one line of JSON from its
standard input, serves one GGUF file on loopback, and ends when that input ends: it never outlives the process that started it.
"""

import ctypes
import importlib
import json
import os
import signal
import sys
import threading
from typing import Any

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Where the system can, be killed with the parent. The pipe alone is not enough: llama.cpp holds the interpreter's lock while it loads."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def end_with_input() -> None:
    """Waits for the end of standard input, then ends the process at once."""
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)


def end_now(*_: object) -> None:
    """Without the clean-up of llama.cpp, which waits for the answer being written."""
    os._exit(0)


def llama() -> Any:
    """The optional dependency ``[local]``, which has no types."""
    return importlib.import_module("xllamacpp")


def parameters(orders: dict[str, Any]) -> Any:
    """The orders as llama.cpp's own parameters."""
    made = llama().CommonParams()
    made.model.path = orders["path"]
    made.model_alias = {orders["alias"]}
    made.hostnames = ["127.0.0.1"]
    made.port = orders["port"]
    made.api_keys = [orders["key"]]
    made.n_ctx = orders["context_length"]
    made.n_parallel = 1
    made.cpuparams.n_threads = made.cpuparams_batch.n_threads = orders["threads"]
    made.use_jinja = True
    made.ui = False
    made.endpoint_slots = False
    made.cache_ram_mib = 1024
    return made


def main() -> None:
    orders = json.loads(sys.stdin.buffer.readline())
    die_with_parent(orders["parent"])
    threading.Thread(target=end_with_input, daemon=True).start()
    try:
        server = llama().Server(parameters(orders))
    except RuntimeError as exc:
        print(exc, file=sys.stderr, flush=True)  # noqa: T201 -- the parent reads this log
        os._exit(1)
    signal.signal(signal.SIGTERM, end_now)
    threading.Event().wait()
    del server


if __name__ == "__main__":
    main()
