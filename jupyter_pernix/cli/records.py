"""Run notebooks on the command line: which session one belongs to, and a new session that goes on from one of another machine."""

import json
from pathlib import Path
from typing import NamedTuple

from ..client import Client
from ..errors import RequestFailed
from ..livetext import neutral
from .connection import UsageError


class Record(NamedTuple):
    """A run notebook. ``path`` is absolute."""

    path: Path
    session_id: str


def record_of(given: str) -> Record | None:
    """The run notebook that ``given`` is the path of; ``None``: it is an id.

    :raises UsageError: if it is a path, but not that of a run notebook
    """
    path = Path(given)
    if not given.endswith(".ipynb") and not path.is_file():
        return None
    # Imported here: other commands do not read notebooks.
    from ..kernel.reading import read_notebook
    from ..kernel.story import record_head

    try:
        reading = read_notebook(path.read_bytes(), name=path.name)
    except OSError as exc:
        raise UsageError(f"{given!r} cannot be read: {exc.strerror or exc}") from exc
    if reading.notebook is None:
        raise UsageError(f"{path.name}: {' '.join(reading.sentences)}")
    head = record_head(reading.notebook)
    if head is None:
        raise UsageError(f"{path.name} is a notebook, but not the record of a session: it has no metadata of one")
    return Record(path=path.resolve(), session_id=head.session_id)


def known_here(client: Client, record: Record) -> bool:
    """The server has the record's session."""
    return any(session["session_id"] == record.session_id for session in client.sessions("all", workers=True))


def begin_from(client: Client, record: Record, *, as_json: bool) -> int:
    """Make a session that goes on from ``record``, which this server does not know.

    :raises UsageError: if the file is not where the server can read it
    """
    root = Path(client.info().get("server_root") or client.address.root).expanduser().resolve()
    if not record.path.is_relative_to(root):
        raise UsageError(f"{record.path} is not under {root}, the folder of the Jupyter server: copy it there first")
    try:
        created = client.import_record(record.path.relative_to(root).as_posix())
    except RequestFailed as exc:
        if exc.status in (400, 409):
            raise UsageError(str(exc)) from exc
        raise
    if as_json:
        print(json.dumps(created))
        return 0
    print(
        f"Session {record.session_id} is not on this server: {neutral(record.path.name)} was made elsewhere.\n"
        f"The new session {created['session_id']} goes on from it: its first turn tells the model what was asked, done and "
        "answered there. None of that code was run again.\n"
        f'Go on with: jupyter pernix run --session {created["session_id"]} "…"'
    )
    return 0
