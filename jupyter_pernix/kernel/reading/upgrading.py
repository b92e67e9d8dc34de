"""Formats 1 to 3 → the shape of format 4; what is still odd then is for ``cells`` to mend. Pure."""

from collections.abc import Iterator
from typing import Any, cast

from ...records import JSON
from .notes import Notes
from .plain import joined

_MIMES = {
    "text": "text/plain",
    "html": "text/html",
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "latex": "text/latex",
    "json": "application/json",
    "javascript": "application/javascript",
}


def upgrade(notebook: JSON, major: int, notes: Notes) -> tuple[list[Any], JSON]:
    """The cells and the metadata of a notebook of format ``major``, which is below 4, as format 4 has them."""
    notes.add(
        "old_format",
        f"This is the old format {major}: it is read as format 4. The file stays as it is until it is saved.",
        repair=False,
    )
    found = notebook.get("metadata")
    metadata = dict(cast(JSON, found)) if isinstance(found, dict) else {}
    metadata["orig_nbformat"] = major
    if metadata.get("name"):
        metadata.setdefault("title", metadata["name"])
    metadata.pop("name", None)
    language = ""
    cells: list[Any] = []
    for cell in _cells(notebook, notes):
        if not isinstance(cell, dict):
            cells.append(cell)
            continue
        known = cast(JSON, cell)
        language = language or str(known.get("language") or "")
        cells.append(_cell(known))
    if language and "language_info" not in metadata:
        metadata["language_info"] = {"name": language}
    return cells, metadata


def _cells(notebook: JSON, notes: Notes) -> Iterator[Any]:
    sheets: Any = notebook.get("worksheets")
    if not isinstance(sheets, list):
        yield from cast(list[Any], notebook.get("cells") or [])
        return
    if len(cast(list[Any], sheets)) > 1:
        count = len(cast(list[Any], sheets))
        notes.add("worksheets", f"It has {count} worksheets: their cells follow one another.", repair=False)
    for sheet in cast(list[Any], sheets):
        inside: Any = cast(JSON, sheet).get("cells") if isinstance(sheet, dict) else None
        yield from cast(list[Any], inside) if isinstance(inside, list) else []


def _cell(cell: JSON) -> JSON:
    metadata: JSON = dict(cell["metadata"]) if isinstance(cell.get("metadata"), dict) else {}
    kind = cell.get("cell_type")
    if kind == "code":
        if isinstance(cell.get("collapsed"), bool):
            metadata.setdefault("collapsed", cell["collapsed"])
        source = next((cell[key] for key in ("input", "code", "source") if key in cell), "")
        outputs: Any = cell.get("outputs")
        return {
            "cell_type": "code",
            "execution_count": cell.get("prompt_number", cell.get("execution_count")),
            "metadata": metadata,
            "source": source,
            "outputs": [_output(output) for output in cast(list[Any], outputs)] if isinstance(outputs, list) else [],
        }
    source = cell.get("source", cell.get("text", ""))
    if kind == "heading":
        level = cell.get("level")
        marks = "#" * (min(max(level, 1), 6) if isinstance(level, int) else 1)
        return {"cell_type": "markdown", "metadata": metadata, "source": f"{marks} {joined(source).strip()}"}
    renamed = {"text": "markdown", "html": "markdown", "plaintext": "raw", "raw": "raw", "markdown": "markdown"}
    return {"cell_type": renamed.get(str(kind), kind), "metadata": metadata, "source": source}


def _output(output: Any) -> Any:
    if not isinstance(output, dict):
        return output
    known = cast(JSON, output)
    kind = known.get("output_type")
    if kind == "stream":
        return {"output_type": "stream", "name": known.get("stream", "stdout"), "text": known.get("text", "")}
    if kind in ("pyerr", "error"):
        fields = {key: known.get(key, [] if key == "traceback" else "") for key in ("ename", "evalue", "traceback")}
        return {"output_type": "error", **fields}
    if kind not in ("pyout", "display_data", "execute_result"):
        return known
    data: JSON = {_MIMES[key]: value for key, value in known.items() if key in _MIMES}
    data |= {key: value for key, value in known.items() if "/" in key}
    if isinstance(data.get("application/json"), str | list):
        data["application/json"] = joined(data["application/json"])
    metadata: JSON = known["metadata"] if isinstance(known.get("metadata"), dict) else {}
    made: JSON = {"output_type": "display_data", "data": data, "metadata": metadata}
    if kind != "display_data":
        made |= {"output_type": "execute_result", "execution_count": known.get("prompt_number")}
    return made
