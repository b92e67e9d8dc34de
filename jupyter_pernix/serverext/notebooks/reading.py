"""The text of a notebook file → its cells, as far as they can be told; loaded when the first file is read."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Any, cast

from ...errors import NotebookRefused
from ...records import JSON
from .nbcells import joined


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """``notebook`` is nbformat's own kind of dict, format 4.5, to be changed in place."""

    notebook: Any

    @property
    def cells(self) -> list[JSON]:
        return cast(list[JSON], self.notebook["cells"])

    @property
    def language(self) -> str:
        """ "" when the file does not say."""
        metadata: Any = self.notebook.get("metadata", {})
        info, spec = metadata.get("language_info") or {}, metadata.get("kernelspec") or {}
        return str(info.get("name") or spec.get("language") or "").lower()

    @property
    def kernel_name(self) -> str:
        """The kernelspec that the file names, or ""."""
        spec: Any = self.notebook.get("metadata", {}).get("kernelspec") or {}
        return str(spec.get("name") or "")


def load(text: str, *, name: str) -> Loaded:
    """:raises NotebookRefused: if it is no notebook, with the reason"""
    # Imported here: the start of the server does not need it.
    import nbformat

    faults: dict[str, Any] = {}
    try:
        notebook: Any = nbformat.reads(text, as_version=4, capture_validation_error=faults)
    except Exception as exc:  # nbformat lets through whatever odd data makes fail
        raise NotebookRefused(f"the notebook {name!r} is damaged: {exc}") from exc
    name_cells(cast(list[JSON], notebook["cells"]))
    notebook["nbformat_minor"] = max(5, int(notebook.get("nbformat_minor", 5)))
    return Loaded(notebook=notebook)


def name_cells(cells: list[JSON]) -> None:
    """Give each cell without an id one that is made of its content, so that reading again gives the same, and a cell that was changed
    meanwhile is not found by it. Of equal cells, each is told by its number among how many."""
    nameless = [cell for cell in cells if not cell.get("id")]
    keys = [f"{cell.get('cell_type')}\n{joined(cell.get('source'))}" for cell in nameless]
    totals, seen = Counter(keys), Counter[str]()
    for cell, key in zip(nameless, keys, strict=True):
        seen[key] += 1
        which = f"{seen[key]}/{totals[key]}\n{key}".encode("utf-8", "surrogatepass")
        cell["id"] = hashlib.sha256(which).hexdigest()[:8]
