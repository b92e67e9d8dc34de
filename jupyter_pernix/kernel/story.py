"""A run notebook told as text, for a model that goes on where it ended. Pure.

It gets a notebook as ``reading`` gives it, from anywhere: what is not as ``record`` writes it is passed over.
"""

from typing import Any, NamedTuple, cast

from ..records import JSON
from .bundles import shorten
from .export.parts import pernix_kind, plain, shown

_WHOLE = 40_000
"""Characters of the story; the older half is cut harder than the end."""
_CODE, _OUTPUT, _RESULT, _WORDS = 3_000, 1_500, 1_500, 6_000


class RecordHead(NamedTuple):
    """What a run notebook says about itself. ``notebook``: what its session was attached to."""

    session_id: str
    title: str
    space_root: str
    notebook: str
    turns: int


def record_head(notebook: JSON) -> RecordHead | None:
    """``None``: it is no run notebook."""
    ours: Any = notebook["metadata"].get("pernix")
    if not isinstance(ours, dict):
        return None
    known = cast(JSON, ours)
    session_id, turns = known.get("session_id"), known.get("turns")
    if not isinstance(session_id, str) or not session_id or not isinstance(turns, list):
        return None
    words = {key: str(known.get(key) or "") for key in ("title", "space_root", "notebook")}
    return RecordHead(session_id=session_id, turns=len(cast(list[Any], turns)), **words)


def told(notebook: JSON, *, path: str) -> str:
    """What was asked, done and answered, in order. ``path`` names the record."""
    head = record_head(notebook)
    made = f", made by session {head.session_id}" if head is not None else ""
    parts = [part for cell in cast(list[JSON], notebook["cells"]) if (part := _part(cell))]
    return "\n\n".join(
        [
            f"(This session goes on from a record, {path}{made}. None of its code was run again here: its variables are gone, and files "
            "may be different or missing. Look before you rely on them. This is what was asked, done and answered there:)",
            shorten("\n\n".join(parts), _WHOLE),
            "(End of the record.)",
        ]
    )


def _part(cell: JSON) -> str:
    source = cast(str, cell["source"])
    match pernix_kind(cell):
        case "prompt":
            return f"[user] {shorten(source.partition(chr(10))[2].strip() or source, _WORDS)}"
        case "answer":
            return f"[you] {shorten(source, _WORDS)}"
        case "code":
            outputs = "\n".join(_text(output) for output in cell.get("outputs", [])).strip()
            return f"[you ran]\n{shorten(source, _CODE)}\n[output]\n{shorten(outputs, _OUTPUT) or '(nothing)'}"
        case "tool":
            return f"[you called] {shorten(_told_by_tool(cell), _RESULT)}"
        case "end" | "problem" | "notice" | "input":
            return f"[host] {shorten(source, _RESULT)}"
        case _:
            return ""


def _told_by_tool(cell: JSON) -> str:
    outputs = cast(list[JSON], cell.get("outputs") or [])
    return _text(outputs[0]) if outputs else cast(str, cell["source"])


def _text(output: JSON) -> str:
    data = cast(JSON, output.get("data") or {})
    if isinstance(data.get("text/plain"), str):
        return plain(data["text/plain"])
    part = shown(output, rich=False)
    return f"[{part.mime}]" if part.form in ("image", "svg", "html") else part.text
