"""The title of a session: made of its first message, and written by the background role after its first answered turn; nobody waits for
that, and it never replaces a title that the user gave."""

from collections.abc import Sequence

from ..events import Event, SessionCreated, SessionRenamed, Stored, TurnFinished
from ..records import TerminalCode
from . import naming
from .session_log import SessionLog
from .session_record import SessionRecord
from .surroundings import Title


def first_title(log: SessionLog, record: SessionRecord, text: str) -> list[Event]:
    """The title that a message gives to a session without one; before the first message the record's name goes with it."""
    summary = log.summary
    if summary.title:
        return []
    title = naming.title_from(text)
    path = summary.record_path if summary.turns else record.free_path(summary.space_root, title)
    return [SessionRenamed(session_id=log.session_id, title=title, record_path=path, by="host")]


async def give_title(log: SessionLog, title_for: Title) -> None:
    stored = await log.around.store.events(log.session_id)
    if log.summary.parent is not None or not _wants_title(stored):
        return
    told, title = await title_for(log.session_id, stored)
    events: list[Event] = list(told)
    line = naming.title_from(title or "")
    # The user may have named it in the meantime.
    if line and _made_by_host(await log.around.store.events(log.session_id)):
        events.append(SessionRenamed(session_id=log.session_id, title=line, by="model"))
    await log.append(*events)


def _wants_title(stored: Sequence[Stored]) -> bool:
    """It has its first answer, and a title that is only the beginning of the user's message."""
    answered = sum(isinstance(each.event, TurnFinished) and each.event.code is TerminalCode.ANSWERED for each in stored)
    return answered == 1 and _made_by_host(stored)


def _made_by_host(stored: Sequence[Stored]) -> bool:
    by = ""
    for each in stored:
        if isinstance(each.event, SessionCreated):
            by = "user" if each.event.title else ""
        elif isinstance(each.event, SessionRenamed):
            by = each.event.by
    return by == "host"
