"""What became of a change of a file during which the program ended: told from the file's content now and the content that was known.

A file is replaced at once, so it is either as it was or as it was to be; anything else is somebody else's doing, and then nothing
is said.
"""

import msgspec

from ...errors import ToolError
from ...records import JSON, FileChange
from ..policy.opening import read_if_there
from ..policy.scope import Located, OutOfScope
from .base import ReconcileContext, ToolResult
from .textfile import TextFile, decode, digest, unified_diff

_LARGEST = 50_000_000
_MOST_PLACES = 50

NOT_CARRIED_OUT = "Was not carried out: the program ended before it. {name!r} is as it was before."
CARRIED_OUT = "Was carried out: the program ended right after it. {name!r} is as this call was to leave it."
CHANGED_SINCE = "Was carried out: the program ended right after it. {name!r} has been changed by somebody since."


class _Given(msgspec.Struct, kw_only=True):
    """The arguments of either tool, as far as they matter here."""

    path: str
    content: str = ""
    old_text: str = ""
    new_text: str = ""


def written(arguments: JSON, context: ReconcileContext) -> ToolResult | None:
    """What became of a ``write_file`` (blocking)."""
    found = _found(arguments, context)
    if found is None:
        return None
    given, located, known, now = found
    recorded = _recorded(located, now, context)
    if recorded is not None:
        return recorded
    if now is not None and _same_text(now, given.content):
        return _carried_out(located, known, now, before=None)
    unchanged = known is None if now is None else known == digest(now)
    return _not_carried_out(located, now) if unchanged else None


def edited(arguments: JSON, context: ReconcileContext) -> ToolResult | None:
    """What became of an ``edit_file`` (blocking)."""
    found = _found(arguments, context)
    if found is None:
        return None
    given, located, known, now = found
    recorded = _recorded(located, now, context)
    if recorded is not None:
        return recorded
    if now is None or known is None:
        return None
    if digest(now) == known:
        return _not_carried_out(located, now)
    before = _undone(now, given, known)
    return None if before is None else _carried_out(located, known, now, before=before)


def _found(arguments: JSON, context: ReconcileContext) -> tuple[_Given, Located, str | None, bytes | None] | None:
    try:
        given = msgspec.convert(arguments, _Given, strict=False)
        located = context.scope.locate(given.path)
        now = read_if_there(located, limit=_LARGEST)
    except (msgspec.ValidationError, OutOfScope, ToolError, OSError):
        return None
    return given, located, context.ledger.seen.get(located.name), now


def _recorded(located: Located, now: bytes | None, context: ReconcileContext) -> ToolResult | None:
    """The program ended between the record of the change and the result of the call."""
    change = next((one for one in context.changes if one.path == located.name), None)
    if change is None:
        return None
    present = None if now is None else digest(now)
    if present is not None and present == change.after:
        return ToolResult(text=CARRIED_OUT.format(name=located.name), seen={located.name: present})
    return ToolResult(text=CHANGED_SINCE.format(name=located.name))


def _text(content: bytes, located_name: str) -> TextFile | None:
    try:
        return decode(content, name=located_name)
    except ToolError:
        return None


def _same_text(now: bytes, wanted: str) -> bool:
    if now == wanted.encode():
        return True
    file = _text(now, "")
    return file is not None and file.text.replace("\r\n", "\n") == wanted.replace("\r\n", "\n")


def _undone(now: bytes, given: _Given, known: str) -> bytes | None:
    """The content with this edit taken back, if that is the one that was known: only then was it this edit."""
    file = _text(now, given.path)
    old, new = given.old_text.replace("\r\n", "\n"), given.new_text.replace("\r\n", "\n")
    if file is None or not new:
        return None
    for ending in ("\n", "\r\n"):
        wanted = new.replace("\n", ending)
        place = -1
        for _ in range(_MOST_PLACES):
            place = file.text.find(wanted, place + 1)
            if place < 0:
                break
            for before_ending in ("\n", "\r\n"):
                before = file.text[:place] + old.replace("\n", before_ending) + file.text[place + len(wanted) :]
                try:
                    content = file.encode(before)
                except ToolError:
                    continue
                if digest(content) == known:
                    return content
    return None


def _not_carried_out(located: Located, now: bytes | None) -> ToolResult:
    seen = {} if now is None else {located.name: digest(now)}
    return ToolResult(text=NOT_CARRIED_OUT.format(name=located.name), failed=True, seen=seen)


def _carried_out(located: Located, known: str | None, now: bytes, *, before: bytes | None) -> ToolResult:
    after = digest(now)
    diff, added, removed = "", 0, 0
    file = _text(now, located.name)
    if file is not None and (before is not None or known is None):
        old = "" if before is None else decode(before, name=located.name).text
        diff, added, removed = unified_diff(old, file.text, name=located.name)
    change = FileChange(
        path=located.name, before=known, after=after, added_lines=added, removed_lines=removed, diff=diff
    )
    return ToolResult(
        text=CARRIED_OUT.format(name=located.name),
        seen={located.name: after},
        changes=() if known == after else (change,),
    )
