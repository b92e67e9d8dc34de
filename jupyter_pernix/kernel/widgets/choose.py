"""Which server and which session a widget shows."""

import os
from pathlib import Path
from typing import Any

from ... import client as _client
from ...client import JSON, Client
from ...errors import NotFound, RequestFailed, ServerAway


def connected() -> Client:
    """:raises ServerAway: if no server with our extension runs"""
    found = _client.find()
    if found is None:
        raise ServerAway(
            "no Jupyter server with jupyter_pernix is running",
            hint="open this notebook in JupyterLab, or begin a session with %%pernix",
        )
    return found


def session_id(client: Client, given: str | None) -> str:
    """The whole id for an id or the beginning of one. ``None``: the last session of this kernel's ``%%pernix`` cells, else the one that
    was last at work for this notebook, else the newest of all.

    :raises NotFound: if there is none, or the beginning fits several
    """
    if given is None:
        return _magics_session() or _last(client)
    try:
        return str(client.session(given)["session_id"])
    except RequestFailed as exc:
        if exc.status not in (400, 404):
            raise
    everyone = client.sessions("all", workers=True)
    fitting = [each for each in everyone if given and str(each["session_id"]).startswith(given)]
    if len(fitting) == 1:
        return str(fitting[0]["session_id"])
    if fitting:
        some = ", ".join(str(each["session_id"]) for each in fitting[:4])
        raise NotFound("single session", f"{given} (it could be {some})")
    raise NotFound("session", given)


def _last(client: Client) -> str:
    sessions = client.sessions()
    here = _notebook(client)
    mine = [each for each in sessions if here and here in (each.get("notebook"), each.get("record_path"))]
    found = mine or sessions
    if not found:
        raise NotFound("session", "yet; ask something in the panel or in a %%pernix cell")
    return str(max(found, key=_age)["session_id"])


def _age(session: JSON) -> str:
    return str(session["updated_at"])


def _notebook(client: Client) -> str:
    """The path of this kernel's notebook, relative to the server's root; "" when it has none."""
    name = os.environ.get("JPY_SESSION_NAME", "")
    if not name:
        return ""
    root = Path(str(client.info().get("server_root") or client.address.root)).expanduser().resolve()
    path = (root / name).resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else ""


def _magics_session() -> str:
    # Imported here: IPython is there when there is a kernel.
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    magics = None if shell is None else shell.magics_manager.registry.get("PernixMagics")
    return str(getattr(magics, "session_id", "") or "")
