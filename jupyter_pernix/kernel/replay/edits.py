"""Changes of files that a run notebook records: taken back in a copy of the folder, where that can be done exactly, and applied again."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from ...masking import MARK
from ...records import JSON
from ..export.parts import TOOL_CALL
from ..notebook_file import replace_file

_CUT = "characters left out"
"""Stands where a record has shortened a long text."""


@dataclass(frozen=True, kw_only=True)
class FileEdit:
    """One recorded call that changed a file, or tried to. ``before`` and ``after``: sha256 of the file, ``None``: it did not exist, or
    that is not known (``digests`` false)."""

    tool: str
    title: str
    arguments: JSON
    status: str
    before: str | None = None
    after: str | None = None
    digests: bool = False


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What became of an edit; ``detail`` says why it was not ``applied``."""

    status: Literal["applied", "skipped", "failed"]
    detail: str = ""


def recorded_edits(cell: JSON) -> FileEdit | None:
    """The change of a file that a cell of a run notebook tells of; ``None``: it tells of none."""
    for output in cast(list[JSON], cell.get("outputs") or []):
        call: Any = cast(JSON, output.get("data") or {}).get(TOOL_CALL)
        if not isinstance(call, dict):
            continue
        known = cast(JSON, call)
        if known.get("kind") in ("edit", "delete", "move") and not known.get("cells"):
            arguments: Any = known.get("arguments")
            return FileEdit(
                tool=str(known.get("tool") or ""),
                title=str(known.get("title") or ""),
                arguments=cast(JSON, arguments) if isinstance(arguments, dict) else {},
                status=str(known.get("status") or ""),
                **_digests(known.get("files")),
            )
    return None


def _digests(files: Any) -> JSON:
    """Of a call that changed one file."""
    changes = cast(list[Any], files) if isinstance(files, list) else []
    if len(changes) != 1 or not isinstance(changes[0], dict):
        return {}
    change = cast(JSON, changes[0])
    before, after = change.get("before"), change.get("after")
    right = all(value is None or isinstance(value, str) for value in (before, after))
    return {"before": before, "after": after, "digests": True} if right else {}


def take_back(edits: Iterable[FileEdit], folder: Path) -> list[FileEdit]:
    """Bring the files below ``folder`` back to what they were before ``edits``, in the order in which these were made (blocking).
    Returns those that could not be taken back; a file is changed only when its digest says that it is the one."""
    left: list[FileEdit] = []
    for edit in reversed([edit for edit in edits if edit.status == "completed"]):
        path = _inside(folder, edit.arguments.get("path"))
        try:
            taken = path is not None and edit.digests and _taken_back(edit, path)
        except (OSError, UnicodeError):
            taken = False
        if not taken:
            left.insert(0, edit)
    return left


def _taken_back(edit: FileEdit, path: Path) -> bool:
    now = path.read_bytes() if path.is_file() else None
    if _digest(now) != edit.after or now is None:
        return False
    if edit.before is None:
        path.unlink()
        return True
    old, new = edit.arguments.get("old_text"), edit.arguments.get("new_text")
    if not isinstance(old, str) or not isinstance(new, str) or not new:
        return False
    text = now.decode()
    # the new text may stand elsewhere too; the digest tells which place it was
    places = [at for at in range(len(text)) if text.startswith(new, at)] if text.count(new) < 50 else []
    for at in places:
        earlier = (text[:at] + old + text[at + len(new) :]).encode()
        if _digest(earlier) == edit.before:
            replace_file(path, earlier)
            return True
    return False


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def apply_edit(edit: FileEdit, folder: Path) -> Applied:
    """Change the file below ``folder`` as the call did (blocking). What cannot be done exactly is not done. ``detail`` of one that was
    applied: the file is not what it was then."""
    if edit.status != "completed":
        return Applied(status="skipped", detail=f"the call had not been completed ({edit.status or 'unknown'})")
    if edit.tool not in ("write_file", "edit_file"):
        return Applied(status="skipped", detail=f"{edit.tool or 'this tool'} cannot be repeated from the record")
    texts = [value for value in edit.arguments.values() if isinstance(value, str)]
    if any(_CUT in text for text in texts):
        return Applied(status="skipped", detail="the record holds only a part of the text")
    if any(MARK in text for text in texts):
        return Applied(status="skipped", detail="the record holds the text without a secret that stood in it")
    path = _inside(folder, edit.arguments.get("path"))
    if path is None:
        return Applied(status="skipped", detail="its path is not below the folder")
    try:
        if edit.digests and edit.after is not None and path.is_file() and _digest(path.read_bytes()) == edit.after:
            return Applied(status="skipped", detail="the file is so already")
        applied = _write(path, edit.arguments) if edit.tool == "write_file" else _replace(path, edit.arguments)
        if applied.status == "applied" and edit.digests and _digest(path.read_bytes()) != edit.after:
            return Applied(status="applied", detail="the file is not what it was then")
        return applied
    except (OSError, UnicodeError) as exc:
        return Applied(status="failed", detail=str(exc))


def _inside(folder: Path, given: Any) -> Path | None:
    if not isinstance(given, str) or not given or "\0" in given:
        return None
    root = folder.resolve()
    path = (root / given).resolve()
    return path if path.is_relative_to(root) and path != root else None


def _write(path: Path, arguments: JSON) -> Applied:
    content: Any = arguments.get("content")
    if not isinstance(content, str):
        return Applied(status="skipped", detail="the record does not hold the text")
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content.encode())
    return Applied(status="applied")


def _replace(path: Path, arguments: JSON) -> Applied:
    old, new = arguments.get("old_text"), arguments.get("new_text")
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return Applied(status="skipped", detail="the record does not hold the texts")
    text = path.read_bytes().decode()
    count = text.count(old)
    if count != 1:
        found = "is not in the file" if count == 0 else f"is {count} times in the file"
        return Applied(status="failed", detail=f"the text that was replaced {found}")
    replace_file(path, text.replace(old, new).encode())
    return Applied(status="applied")
