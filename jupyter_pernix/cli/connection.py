"""Which server a command talks to, and which folder it means there."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import client as _client
from .. import headless
from ..client import Client


class UsageError(Exception):
    """The command line asks for something that cannot be; exit code 2."""


@contextmanager
def connected(root: Path | None = None, *, needs_root: bool = False) -> Iterator[tuple[Client, str]]:
    """A client, and the path of ``root`` relative to the server's root. A server that had to be started is stopped at the end.

    :raises UsageError: if ``needs_root`` and ``root`` is not a folder that the running server can work in
    """
    folder = (root or Path()).resolve()
    if not folder.is_dir():
        raise UsageError(f"{str(root)!r} is not a folder")
    found = _client.find()
    if found is not None:
        yield found, _relative(found, folder) if needs_root else ""
        return
    print(f"starting a Jupyter server for {folder}", file=sys.stderr)
    client, server = headless.connect(folder)
    try:
        yield client, _relative(client, folder) if needs_root else ""
    except BaseException:
        if server is not None:
            server.stop()
        raise
    if server is not None and not server.stop_unless_busy():
        print("the server that was started goes on: another command is busy with it", file=sys.stderr)


def _relative(client: Client, folder: Path) -> str:
    root = Path(client.info().get("server_root") or client.address.root).expanduser().resolve()
    if folder == root:
        return ""
    if not folder.is_relative_to(root):
        raise UsageError(
            f"{folder} is not under {root}, the folder of the Jupyter server that is running (process {client.address.pid}). "
            f"One server at a time keeps the sessions: choose a --space under {root}, or stop that server first."
        )
    return folder.relative_to(root).as_posix()
