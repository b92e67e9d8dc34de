"""The odd and broken notebooks, and what the reader says about each."""

import json
from pathlib import Path
from typing import Any

from jupyter_pernix.kernel.reading import Reading, read_file

ROOT = Path(__file__).parents[2] / "cases" / "notebooks"
MANIFEST: list[dict[str, Any]] = json.loads((ROOT / "manifest.json").read_text(encoding="utf-8"))
OUTCOMES = {"opens": "opened", "opens_with_warning": "opened", "repairs_with_warning": "repaired", "refuses": "refused"}


def reading_of(name: str) -> Reading:
    return read_file(ROOT / name)


def cells_of(reading: Reading) -> list[dict[str, Any]]:
    assert reading.notebook is not None
    return reading.notebook["cells"]


def sources_of(reading: Reading) -> list[str]:
    return [cell["source"] for cell in cells_of(reading)]


def outputs_of(reading: Reading, cell: int = 0) -> list[dict[str, Any]]:
    return cells_of(reading)[cell]["outputs"]


def metadata_of(reading: Reading) -> dict[str, Any]:
    assert reading.notebook is not None
    return reading.notebook["metadata"]


def said(reading: Reading) -> str:
    return "\n".join(reading.sentences)
