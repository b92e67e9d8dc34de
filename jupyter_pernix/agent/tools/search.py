"""``list_files`` and ``search_files``: bounded in number and in time, without the folders that nobody means."""

import json
import os
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path as FilePath
from typing import Annotated, Any, cast

import anyio.to_thread
from msgspec import Meta

from ...errors import ToolFailed, ToolRetry
from ..policy.broker import Targets
from ..policy.places import SECRET_PATTERNS, is_secret_name
from ..policy.scope import Located
from .base import Arguments, Tool, ToolContext, ToolResult
from .environment import cleaned
from .grep import LARGEST
from .ignored import IGNORED
from .process import Output, run_process

_MOST_FILES = 400
_MOST_HITS = 100
_LONGEST_LINE = 150
_SEARCH_SECONDS = 20.0
_WALK = 200_000

Folder = Annotated[str, Meta(description="Folder relative to the space's folder.")]


class ListFiles(Arguments, frozen=True):
    path: Folder = "."
    pattern: Annotated[str, Meta(description="Only names or paths that match, e.g. *.py")] = ""


class SearchFiles(Arguments, frozen=True):
    pattern: Annotated[str, Meta(description="Python regular expression, matched within lines.")]
    path: Folder = "."


async def _list(context: ToolContext, args: ListFiles) -> ToolResult:
    located = context.scope.locate(args.path)
    return ToolResult(text=await anyio.to_thread.run_sync(_listing, located, args.pattern))


def _listing(located: Located, pattern: str) -> str:
    if not located.path.is_dir():
        there = "is a file; read_file shows it" if located.path.is_file() else "does not exist"
        raise ToolRetry(f"The folder {located.name!r} {there}.")
    lines: list[str] = []
    for count, line in enumerate(_walk(located, pattern)):
        if len(lines) == _MOST_FILES:
            return "\n".join([*lines, f"[… more than {_MOST_FILES} files; give a folder or a pattern]"])
        if count == _WALK:
            return "\n".join([*lines, f"[… only the first {_WALK:,} files were looked at; give a folder]"])
        if line:
            lines.append(line)
    matching = f" that match {pattern!r}" if pattern else ""
    return "\n".join(lines) or f"No files{matching} in {located.name!r}."


def _walk(located: Located, pattern: str) -> Iterator[str]:
    """One line a file, "" for one that does not match; links are named, not followed."""
    for folder, folders, names in os.walk(located.path):
        folders[:] = sorted(name for name in folders if name not in IGNORED)
        links = [name for name in folders if FilePath(folder, name).is_symlink()]
        for name in sorted([*names, *links]):
            path = FilePath(folder, name)
            shown = str(path) if located.outside else path.relative_to(located.root).as_posix()
            matches = not pattern or fnmatch(name, pattern) or fnmatch(shown, pattern)
            yield _line(path, shown) if matches else ""


def _line(path: FilePath, shown: str) -> str:
    if path.is_symlink():
        return f"{shown} -> {os.readlink(path)}"  # noqa: PTH115 - as it is written, not as a Path would tidy it
    try:
        return f"{shown} ({path.stat().st_size:,} bytes)"
    except OSError:
        return shown


async def _search(context: ToolContext, args: SearchFiles) -> ToolResult:
    located = context.scope.locate(args.path)
    try:
        re.compile(args.pattern)
    except (re.error, OverflowError) as exc:
        raise ToolRetry(
            f"Not done: {args.pattern!r} is not a regular expression: {exc}. Escape special characters by \\."
        ) from exc
    exists = await anyio.to_thread.run_sync(located.path.exists)
    if not exists:
        raise ToolRetry(f"There is no file or folder {located.name!r}.")
    asked = {
        "root": "" if located.outside else str(located.root),
        "path": str(located.path),
        "pattern": args.pattern,
        "ignored": json.dumps(sorted(IGNORED)),
        "secret": [] if is_secret_name(located.parts) else list(SECRET_PATTERNS),
        "hits": _MOST_HITS,
        "line": _LONGEST_LINE,
    }
    deadline = context.deadline(_SEARCH_SECONDS)
    # the most hits fit in memory, so nothing is ever spilled to this file
    output = Output(spill=context.host.side_file(f"{context.call_id}.txt")[0], masker=context.host.masker)
    ended = await run_process(
        [sys.executable, "-I", "-S", str(FilePath(__file__).with_name("grep.py")), json.dumps(asked)],
        cwd=located.root,
        env=cleaned(os.environ),
        mark=context.call_id,
        deadline=deadline,
        output=output,
    )
    if ended.exit_code not in (0, None):
        raise ToolFailed(f"The search failed: {output.text()[-500:]}")
    return ToolResult(
        text=_hits(output.text(), args.pattern, located.name, late=ended.exit_code is None, deadline=deadline)
    )


def _hits(text: str, pattern: str, where: str, *, late: bool, deadline: float) -> str:
    lines: list[str] = []
    files, more, large, secret = 0, False, 0, 0
    for line in text.splitlines():
        try:
            value: Any = json.loads(line)
        except json.JSONDecodeError:
            continue  # the last line of a search that was ended
        if isinstance(value, list):
            path, number, found = cast(list[object], value)
            lines.append(f"{path}:{number}: {found}")
        else:
            files, more, large, secret = value["files"], value["more"], value["large"], value["secret"]
    if late:
        lines.append(f"[the search was ended after {deadline:g} s; give a folder or a simpler pattern]")
    elif more:
        lines.append(f"[… more than {_MOST_HITS} lines match; give a folder or a narrower pattern]")
    found = "\n".join(lines) or f"No line matches {pattern!r} in {files} files of {where!r}."
    if large:
        found += f"\n[{large} files of more than {LARGEST:,} bytes were not searched; use run_code for them]"
    if secret:
        found += f"\n[{secret} files that look like they hold secrets were not searched]"
    return found


LIST = Tool(
    name="list_files",
    description="List the files of a folder and of the folders in it, with sizes.",
    kind="search",
    action="read",
    arguments=ListFiles,
    title=lambda args: f"List {args.path}" + (f" ({args.pattern})" if args.pattern else ""),
    targets=lambda args: Targets(reads=(args.path,)),
    carry_out=_list,
)

SEARCH = Tool(
    name="search_files",
    description="Find the lines of files that match a regular expression. Gives file:line: text.",
    kind="search",
    action="read",
    arguments=SearchFiles,
    title=lambda args: f"Search {args.pattern} in {args.path}",
    targets=lambda args: Targets(reads=(args.path,)),
    carry_out=_search,
)
