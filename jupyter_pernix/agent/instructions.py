"""Files with standing instructions: AGENTS.md of the space, and the user's own SOUL.md, RULES.md and SESSIONS.md. Read at each turn.

What they say at a session's first turn stands in its system part; whatever changes later is told in the next of the user's messages
and stored as ``instructions.read``, so that the beginning of the model's input never changes.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ToolError
from ..events import InstructionsRead, Stored
from ..ids import SessionId, TurnId
from .policy.opening import read_if_there
from .policy.scope import Scope

SPACE_FILE = "AGENTS.md"
USER_FILES = ("SOUL.md", "RULES.md", "SESSIONS.md")
LONGEST = 16_000
"""Characters of one file that the model is told."""
_SHORTEST = 2_000
_LARGEST = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """One file as it is now. ``text`` is bounded, and "" if the file says nothing or could not be used; ``fault`` then says why."""

    name: str
    digest: str = ""
    text: str = ""
    fault: str = ""


def read_now(space: Path, folder: Path | None, context_length: int | None = None) -> list[Instructions]:
    """All files that there are, in the order in which they are told, each cut to a sixth of the model's context, or to ``LONGEST``.
    ``folder``: the user's own. Blocks; never raises: what cannot be read is told as a ``fault``."""
    longest = LONGEST if context_length is None else min(LONGEST, max(_SHORTEST, context_length * 6 // 10))
    found = [_read(folder, name, longest) for name in USER_FILES] if folder is not None else []
    found.append(_read(space, SPACE_FILE, longest))
    return [one for one in found if one.text or one.fault]


def _read(folder: Path, name: str, longest: int) -> Instructions:
    try:
        raw = read_if_there(Scope(folder).locate(name), limit=_LARGEST)
    except ToolError as exc:
        return Instructions(name=name, fault=str(exc).removeprefix("Not done: "))
    except OSError as exc:
        return Instructions(name=name, fault=f"{exc.strerror or exc}")
    if raw is None:
        return Instructions(name=name)
    if b"\0" in raw:
        return Instructions(name=name, fault="it is not text")
    text = raw.decode("utf-8-sig", errors="replace").strip()
    if len(text) > longest:
        text = text[:longest] + f"\n[… the rest of {name} is cut]"
    return Instructions(name=name, digest=hashlib.sha256(raw).hexdigest() if text else "", text=text)


def told_already(log: Iterable[Stored]) -> dict[str, InstructionsRead]:
    """The last thing that the model was told of each file."""
    return {stored.event.name: stored.event for stored in log if isinstance(stored.event, InstructionsRead)}


def changes(
    found: Iterable[Instructions],
    told: Mapping[str, InstructionsRead],
    *,
    system: str,
    session_id: SessionId,
    turn_id: TurnId,
) -> list[InstructionsRead]:
    """What is to be stored: files that the model knows in another state, or not at all. ``system``: the session's system part."""
    now = {one.name: one for one in found if one.text}
    events: list[InstructionsRead] = []
    for name in (*USER_FILES, SPACE_FILE):
        one, last = now.get(name), told.get(name)
        known = "" if last is None else last.digest
        if one is None:
            if known:
                events.append(InstructionsRead(session_id=session_id, turn_id=turn_id, name=name, digest="", text=""))
        elif one.digest != known:
            stands = last is None and one.text in system
            text = "" if stands else one.text
            events.append(
                InstructionsRead(session_id=session_id, turn_id=turn_id, name=name, digest=one.digest, text=text)
            )
    return events
