"""Notebooks for the tests of this folder."""

import json
from pathlib import Path
from typing import Any

from jupyter_pernix.records import JSON, CellSnapshot


def code(cell_id: str, source: str, *outputs: JSON, count: int | None = None) -> CellSnapshot:
    return CellSnapshot(cell_id=cell_id, cell_type="code", source=source, outputs=list(outputs), execution_count=count)


def words(cell_id: str, source: str) -> CellSnapshot:
    return CellSnapshot(cell_id=cell_id, cell_type="markdown", source=source)


def as_json(cell: CellSnapshot) -> JSON:
    made: JSON = {
        "id": cell.cell_id,
        "cell_type": cell.cell_type,
        "metadata": {},
        "source": cell.source.splitlines(True),
    }
    if cell.cell_type == "code":
        made |= {"outputs": cell.outputs, "execution_count": cell.execution_count}
    return made


def write(path: Path, *cells: CellSnapshot, kernel: str = "python3") -> None:
    metadata: JSON = {"kernelspec": {"name": kernel, "display_name": "Python 3", "language": "python"}}
    body = {"cells": [as_json(cell) for cell in cells], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def sources(path: Path) -> dict[str, str]:
    """Cell id → source, in order."""
    loaded: Any = json.loads(path.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in loaded["cells"]}
