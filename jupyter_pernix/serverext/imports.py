"""Sessions that begin from the record of another one, which was made on this or another machine."""

import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio.to_thread
import msgspec

from ..errors import Conflict, InvalidInput
from ..events import Event, TurnContextAdded
from ..ids import SessionId, TurnId
from ..records import ContextItem, RecordImport, SessionCreate, SessionSummary
from .side_files import SideFiles

if TYPE_CHECKING:
    from .sessions import Sessions

log = logging.getLogger(__name__)

_NAME = "first-context.json"
_LARGEST = 200_000_000
"""Bytes of a record that is read."""


class _Record(NamedTuple):
    """``folder``: to work in, relative to the server's root."""

    session_id: SessionId
    title: str
    item: ContextItem
    kernel_name: str
    folder: str


async def import_record(
    sessions: "Sessions", wanted: RecordImport, kernel_names: Callable[[], Awaitable[set[str]]]
) -> SessionSummary:
    """A new session, told with its first turn what the record says. The record itself stays as it is.

    :raises InvalidInput: if there is no such file below the server's root, or it is no run notebook
    :raises Conflict: if the session of the record is known here
    """
    around = sessions.around
    path = _inside(around.root, wanted.path)
    record = await anyio.to_thread.run_sync(_read, path, around.root, around.settings.records_dir)
    if around.store.summary(record.session_id) is not None:
        raise Conflict(f"session {record.session_id}, which this record belongs to, is here: go on with it instead")
    known = await kernel_names()
    created = await sessions.create(
        SessionCreate(
            title=record.title[:200],
            space_root=record.folder,
            kernel_name=record.kernel_name if record.kernel_name in known else "",
            origin="api",
        )
    )
    file, _ = around.side_files.new(created.session_id, _NAME)
    await anyio.to_thread.run_sync(file.write_bytes, msgspec.json.encode(record.item))
    return created


def first_context(side_files: SideFiles, session_id: SessionId, turn_id: TurnId) -> list[Event]:
    """What the session's first turn begins with (blocking, short): what the record says that the session was begun from."""
    try:
        item = msgspec.json.decode(side_files.path(session_id, _NAME).read_bytes(), type=ContextItem)
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError) as exc:
        # the user's message goes its way all the same
        log.warning("session %s: what it was begun from cannot be read: %s", session_id, exc)
        return []
    return [TurnContextAdded(session_id=session_id, turn_id=turn_id, item=item)]


def _inside(root: Path, given: str) -> Path:
    if "\0" in given or len(given) > 4096:
        raise InvalidInput("$.path", "this is not the path of a file")
    try:
        path = (root / given.lstrip("/")).resolve(strict=True)
    except (OSError, RuntimeError) as exc:
        reason = os.strerror(exc.errno) if isinstance(exc, OSError) and exc.errno else "its links lead in a circle"
        raise InvalidInput("$.path", f"{given[:200]!r} cannot be read: {reason}") from exc
    if not path.is_relative_to(root) or not path.is_file():
        raise InvalidInput("$.path", f"{given[:200]!r} is not a file below the server's root")
    if path.stat().st_size > _LARGEST:
        raise InvalidInput("$.path", f"{given[:200]!r} is larger than {_LARGEST // 1_000_000} MB")
    return path


def _read(path: Path, root: Path, records_dir: str) -> _Record:
    """:raises InvalidInput: if it is no record"""
    # Imported here: the start of the server does not need it.
    from ..kernel.reading import read_notebook
    from ..kernel.story import record_head, told

    reading = read_notebook(path.read_bytes(), name=path.name)
    if reading.notebook is None:
        raise InvalidInput("$.path", " ".join(reading.sentences))
    head = record_head(reading.notebook)
    if head is None:
        raise InvalidInput(
            "$.path", f"{path.name!r} is a notebook, but not the record of a session: it has no metadata of one"
        )
    relative = path.relative_to(root).as_posix()
    folder = path.parent
    if folder.name == Path(records_dir).name and folder != root:
        folder = folder.parent
    space = folder.relative_to(root).as_posix()
    kernel = str((reading.notebook["metadata"].get("kernelspec") or {}).get("name") or "")
    return _Record(
        session_id=SessionId(head.session_id),
        title=head.title,
        item=ContextItem(kind="notebook", name=relative, text=told(reading.notebook, path=relative)),
        kernel_name=kernel,
        folder="" if space == "." else space,
    )
