"""Which notebook this kernel belongs to, as far as it was told."""

import os
import sys
from pathlib import Path
from typing import Any

from ...client import Client


def server_root(client: Client) -> Path:
    return Path(client.info().get("server_root") or client.address.root).expanduser().resolve()


def notebook_path(client: Client) -> str:
    """Relative to the server's root; "" when it is not known, or lies elsewhere. A notebook that was renamed is known by its old name."""
    named = os.environ.get("JPY_SESSION_NAME") or str(_variables().get("__vsc_ipynb_file__", ""))
    if not named.endswith(".ipynb"):
        return ""
    root = server_root(client)
    path = (root / named.lstrip("/")) if not Path(named).is_file() else Path(named)
    path = path.resolve()
    return path.relative_to(root).as_posix() if path.is_file() and path.is_relative_to(root) else ""


def space_root(client: Client) -> str:
    """This kernel's folder, relative to the server's root; the root itself when it lies elsewhere."""
    root, here = server_root(client), Path.cwd().resolve()
    return here.relative_to(root).as_posix() if here != root and here.is_relative_to(root) else ""


def own_kernel_id() -> str:
    """The id by which the server knows this kernel; "" outside of one."""
    ipykernel = sys.modules.get("ipykernel.kernelapp")
    application: Any = ipykernel.IPKernelApp if ipykernel is not None else None
    if application is None or not application.initialized():
        return ""
    return Path(application.instance().connection_file).stem.removeprefix("kernel-")


def _variables() -> dict[str, Any]:
    main = sys.modules.get("__main__")
    return vars(main) if main is not None else {}
