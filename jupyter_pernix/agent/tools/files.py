"""``read_file``, ``write_file``, ``edit_file``. A file may be changed only in the state in which the model knows it: by a read or a
change of its own in this session. Content is compared, never times.
"""

from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Annotated

import anyio.to_thread
from msgspec import Meta

from ...errors import ToolRetry
from ...events import FileChanged
from ...masking import MARK, has_mark
from ...records import JSON, FileChange
from ..excerpt import excerpt
from ..foreign import meant
from ..guards import UNCHANGED
from ..policy.broker import Targets
from ..policy.opening import read_bytes, read_if_there, write_bytes
from ..policy.scope import Located
from . import reconcile
from .base import RESULT_LIMIT, Arguments, ReconcileContext, Tool, ToolContext, ToolResult
from .notebookview import notebook_text
from .textfile import (
    TextFile,
    applied_already,
    decode,
    digest,
    line_count,
    lines_from,
    lines_of,
    numbered,
    place_of,
    replace_once,
    unified_diff,
    window,
)

_LARGEST = 50_000_000
_LONGEST_LINE = 1000
_AROUND = 20

Path = Annotated[str, Meta(description="Path relative to the space's folder.")]


class ReadFile(Arguments, frozen=True):
    path: Path
    start_line: Annotated[int, Meta(ge=1, description="First line, from 1.")] = 1
    end_line: Annotated[int, Meta(ge=0, description="Last line; 0 reads on as far as fits.")] = 0


class WriteFile(Arguments, frozen=True):
    path: Path
    content: Annotated[str, Meta(description="The whole content of the file.")]


class EditFile(Arguments, frozen=True):
    path: Path
    old_text: Annotated[str, Meta(description="Text of the file to replace, exactly; it must occur once.")]
    new_text: Annotated[str, Meta(description="What stands there afterwards.")]


# ---- read ---------------------------------------------------------------------------------------------------------------


async def _read(context: ToolContext, args: ReadFile) -> ToolResult:
    return await anyio.to_thread.run_sync(_shown, context.scope.locate(args.path), args)


def _shown(located: Located, args: ReadFile) -> ToolResult:
    content = read_bytes(located, limit=_LARGEST)
    if _is_notebook(located):
        text = notebook_text(content, name=located.name)
        about = f"{located.name}: a notebook; outputs are shortened, numbers are lines of this view"
    else:
        text = decode(content, name=located.name).text
        about = located.name
    shown = _lines(about, text, first=args.start_line, last=args.end_line)
    return ToolResult(text=shown, seen={located.name: digest(content)})


def _lines(about: str, text: str, *, first: int, last: int) -> str:
    """The asked lines, as many of them as a result may have."""
    count = line_count(text)
    if not count:
        return f"{about}: the file is empty."
    if first > count:
        raise ToolRetry(f"{about} has {count} lines; there is no line {first}.")
    if last and last < first:
        raise ToolRetry(f"end_line {last} is before start_line {first}.")
    end = min(last or count, count)
    lines = islice(lines_from(text, first), min(end - first + 1, RESULT_LIMIT))
    shown = _fitting([_shortened(line) for line in lines], RESULT_LIMIT)
    stop = first + len(shown) - 1
    rest = f" Read on from line {stop + 1}." if stop < end else ""
    return f"{about}: lines {first}-{stop} of {count}.{rest}\n{numbered(shown, first)}".rstrip("\n")


def _shortened(line: str) -> str:
    body = line.rstrip("\r\n")
    return body if len(body) <= _LONGEST_LINE else f"{body[:_LONGEST_LINE]}[… {len(body) - _LONGEST_LINE:,} more]"


# ---- change -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Change:
    """What is to be written. ``before`` ``None``: there is no such file yet. ``said`` and
    ``around`` tell the model what it is and how the place looks then."""

    located: Located
    before: bytes | None
    after: bytes
    record: FileChange
    said: str
    around: str = ""


def _is_notebook(located: Located) -> bool:
    return located.name.casefold().endswith(".ipynb")


def _refuse_notebook(located: Located) -> None:
    if _is_notebook(located):
        raise ToolRetry(
            f"Not done: {located.name!r} is a notebook; changing its file as text would break it or lose what is open in the browser. "
            "Change its cells with edit_notebook; inserting a cell where there is no notebook creates it."
        )


def _refuse_mark(located: Located, before: str, new: str, *, old: str = "") -> None:
    """What is not shown to the model must not be replaced by what it is shown instead.

    :raises ToolRetry: if a mark that stands for a secret would get into the file, or is looked for in it
    """
    if has_mark(old) and old not in before:
        raise ToolRetry(
            f"Not done: {MARK}(…) in old_text stands for a secret of {located.name!r} that is not shown to you; the file has the secret "
            "itself there. Replace the lines around it, or only the part of the line that you were shown."
        )
    if has_mark(new) and new.count(f"{MARK}(") > (old if old else before).count(f"{MARK}("):
        raise ToolRetry(
            f"Not done: {MARK}(…) stands for a secret that is not shown to you; written into {located.name!r} it would take the "
            "secret's place. Change only the text around it with edit_file, or have the value read from the environment."
        )


def _stale(located: Located, content: bytes, known: str | None, *, wanted: str = "") -> ToolResult | None:
    """A refusal that carries the file's present text, or of a long file the text around ``wanted``, if the model does not know
    the file as it is; else ``None``."""
    now = digest(content)
    if known == now:
        return None
    why = "has not been read in this session" if known is None else "has changed since it was read"
    text = decode(content, name=located.name).text
    whole = excerpt(text, limit=RESULT_LIMIT // 2) if len(text) <= RESULT_LIMIT else None
    if whole is not None and whole.whole:
        shown = numbered(lines_of(whole.text), 1).rstrip("\n")
        said = "Its content now, so that you can make the change"
    else:
        place = place_of(text, wanted) if wanted else None
        if place is None:
            return ToolResult(text=f"Not done: {located.name!r} {why}. Read it, then make the change.", failed=True)
        first = max(1, place - _AROUND)
        lines = islice(lines_from(text, first), 2 * _AROUND + wanted.count("\n") + 1)
        shown = numbered(_fitting([_shortened(line) for line in lines], RESULT_LIMIT // 2), first).rstrip("\n")
        said = f"Its content now around line {place} of {line_count(text)}, so that you can make the change"
    return ToolResult(text=f"Not done: {located.name!r} {why}. {said}:\n{shown}", failed=True, seen={located.name: now})


def _fitting(lines: list[str], limit: int) -> list[str]:
    """The first lines, as many as ``limit`` characters hold; at least one."""
    sizes = accumulate(len(line) + 8 for line in lines)
    return lines[: max(1, sum(size <= limit for size in sizes))]


def _changed(located: Located, before: bytes | None, after: bytes, *, old: str, new: str) -> _Change:
    diff, added, removed = unified_diff(old, new, name=located.name)
    record = FileChange(
        path=located.name,
        before=None if before is None else digest(before),
        after=digest(after),
        added_lines=added,
        removed_lines=removed,
        diff=diff,
    )
    return _Change(located=located, before=before, after=after, record=record, said=f"+{added} -{removed} lines")


async def _put(context: ToolContext, change: _Change) -> None:
    await context.keep(change.located, change.before)
    # once begun the write is carried through and recorded: a stop in between would leave a change that nobody knows of
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(_replace, change)
        await context.store(
            FileChanged(
                session_id=context.host.session_id,
                turn_id=context.turn_id,
                call_id=context.call_id,
                change=change.record,
            )
        )


def _replace(change: _Change) -> None:
    if read_if_there(change.located, limit=_LARGEST) != change.before:
        raise ToolRetry(
            f"Not done: {change.located.name!r} was changed by somebody else at this very moment. Read it again."
        )
    write_bytes(change.located, change.after)


async def _write(context: ToolContext, args: WriteFile) -> ToolResult:
    located = context.scope.locate(args.path)
    _refuse_notebook(located)
    change = await anyio.to_thread.run_sync(_written, located, context.ledger.seen.get(located.name), args.content)
    if isinstance(change, ToolResult):
        return change
    await _put(context, change)
    verb = "Created" if change.before is None else "Wrote"
    return ToolResult(text=f"{verb} {located.name} ({change.said}, {len(change.after):,} bytes).")


def _written(located: Located, known: str | None, content: str) -> _Change | ToolResult:
    before = read_if_there(located, limit=_LARGEST)
    if before is None:
        _refuse_mark(located, "", content)
        return _changed(located, None, content.encode(), old="", new=content)
    stale = _stale(located, before, known)
    if stale is not None:
        return stale
    file = decode(before, name=located.name)
    _refuse_mark(located, file.text, content)
    text = content.replace("\n", "\r\n") if file.ending == "\r\n" and "\r" not in content else content
    after = _encoded(file, text)
    if after == before:
        return ToolResult(text=f"{located.name} has exactly this content already; {UNCHANGED}.")
    return _changed(located, before, after, old=file.text, new=text)


def _encoded(file: TextFile, text: str) -> bytes:
    """In the file's own encoding; in UTF-8 if that lacks a character, since the whole text is new anyway."""
    try:
        return file.encode(text)
    except ToolRetry:
        return text.encode()


async def _edit(context: ToolContext, args: EditFile) -> ToolResult:
    located = context.scope.locate(args.path)
    _refuse_notebook(located)
    change = await anyio.to_thread.run_sync(_edited, located, context.ledger.seen.get(located.name), args)
    if isinstance(change, ToolResult):
        return change
    await _put(context, change)
    return ToolResult(text=f"Edited {located.name} ({change.said}).\n{change.around}")


def _edited(located: Located, known: str | None, args: EditFile) -> _Change | ToolResult:
    before = read_bytes(located, limit=_LARGEST)
    stale = _stale(located, before, known, wanted=args.old_text)
    if stale is not None:
        return stale
    file = decode(before, name=located.name)
    args = _as_meant(file, args)
    _refuse_mark(located, file.text, args.new_text, old=args.old_text)
    line = applied_already(file, args.old_text, args.new_text)
    if line is not None:
        return ToolResult(
            text=(
                f"This is already applied: {located.name} has new_text at line {line}, and old_text nowhere else; {UNCHANGED}. "
                "If you mean another place, give more of the text around it."
            )
        )
    text = replace_once(file, args.old_text, args.new_text)
    change = _changed(located, before, file.encode(text), old=file.text, new=text)
    return replace(change, around=_around(file.text, text))


def _as_meant(file: TextFile, args: EditFile) -> EditFile:
    """What the model copied from what it was shown, as the file has it."""
    old = meant(args.old_text)
    if old == args.old_text or args.old_text in file.text:
        return args
    return EditFile(path=args.path, old_text=old, new_text=meant(args.new_text))


def _around(before: str, after: str) -> str:
    """The changed lines with two around them, as they are now."""
    where = window(before, after, context=2)
    return excerpt(numbered(where.new, where.first), limit=3000).text.rstrip("\n")


async def _reconcile_write(arguments: JSON, context: ReconcileContext) -> ToolResult | None:
    return await anyio.to_thread.run_sync(reconcile.written, arguments, context)


async def _reconcile_edit(arguments: JSON, context: ReconcileContext) -> ToolResult | None:
    return await anyio.to_thread.run_sync(reconcile.edited, arguments, context)


READ = Tool(
    name="read_file",
    description="Read a text file, or a notebook as text. Lines come with their numbers.",
    kind="read",
    action="read",
    arguments=ReadFile,
    title=lambda args: f"Read {args.path}",
    targets=lambda args: Targets(reads=(args.path,)),
    carry_out=_read,
)

WRITE = Tool(
    name="write_file",
    description="Write a whole text file; folders are made. An existing file must have been read before.",
    kind="edit",
    action="write",
    arguments=WriteFile,
    title=lambda args: f"Write {args.path}",
    targets=lambda args: Targets(writes=(args.path,)),
    carry_out=_write,
    text_field="content",
    reconcile=_reconcile_write,
)

EDIT = Tool(
    name="edit_file",
    description="Replace one piece of text in a file that you have read. old_text must occur exactly once.",
    kind="edit",
    action="write",
    arguments=EditFile,
    title=lambda args: f"Edit {args.path}",
    targets=lambda args: Targets(writes=(args.path,)),
    carry_out=_edit,
    text_field="new_text",
    reconcile=_reconcile_edit,
)
