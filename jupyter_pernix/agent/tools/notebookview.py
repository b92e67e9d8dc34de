"""A notebook as text for the model: sources in full, outputs as one line each, and of a cell with many outputs the first and the
last. Pure."""

import json
from typing import Any, cast

from ...errors import ToolFailed

_MOST_OUTPUTS = 8


def notebook_text(content: bytes, *, name: str) -> str:
    """:raises ToolFailed: if it is not a notebook, with the place of the fault"""
    try:
        loaded: Any = json.loads(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError) as exc:
        raise ToolFailed(f"{name!r} is a damaged notebook: {exc}. It was not changed.") from exc
    cells: Any = cast(dict[str, Any], loaded).get("cells") if isinstance(loaded, dict) else None
    if not isinstance(cells, list):
        raise ToolFailed(f"{name!r} is not a notebook of format 4: it has no list of cells. It was not changed.")
    return "".join(_cell_text(number, cell) for number, cell in enumerate(cast(list[Any], cells)))


def _cell_text(number: int, cell: Any) -> str:
    if not isinstance(cell, dict):
        return f"--- cell {number}: damaged\n"
    known = cast(dict[str, Any], cell)
    identity = f" id={known['id']}" if "id" in known else ""
    source = _joined(known.get("source"))
    outputs = _outputs(known.get("outputs"))
    return f"--- cell {number}: {known.get('cell_type', 'unknown')}{identity}\n{source.rstrip()}\n{outputs}"


def _outputs(outputs: Any) -> str:
    if not isinstance(outputs, list):
        return "" if outputs is None else "[outputs: damaged]\n"
    every = cast(list[Any], outputs)
    if len(every) <= _MOST_OUTPUTS:
        return "".join(map(_output_line, every))
    half = _MOST_OUTPUTS // 2
    missing = f"[… {len(every) - 2 * half:,} more outputs]\n"
    return "".join([*map(_output_line, every[:half]), missing, *map(_output_line, every[-half:])])


def _output_line(output: Any) -> str:
    if not isinstance(output, dict):
        return "[output: damaged]\n"
    known = cast(dict[str, Any], output)
    kind = known.get("output_type")
    if kind == "error":
        return f"[output: {known.get('ename')}: {_start(str(known.get('evalue')))}]\n"
    if kind == "stream":
        return f"[output: {known.get('name')}: {_start(_joined(known.get('text')))}]\n"
    data = cast(dict[str, Any], known.get("data") or {})
    return f"[output: {', '.join(data)}: {_start(_joined(data.get('text/plain')))}]\n"


def _start(text: str) -> str:
    flat = " ".join(text[:2000].split())
    return flat if len(flat) <= 200 and len(text) <= 2000 else f"{flat[:200]}… ({len(text):,} characters)"


def _joined(text: Any) -> str:
    return "".join(map(str, cast(list[Any], text))) if isinstance(text, list) else str(text or "")
