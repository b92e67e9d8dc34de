"""The bytes of a notebook file → its cells, as the tolerant reader finds them; loaded when the first file is read."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...errors import NotebookRefused
from ...records import JSON
from .nbcells import joined


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """``notebook`` is nbformat 4.5, to be changed in place; it holds what was mended as it was read."""

    notebook: JSON

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

    def mark(self, *, trusted: bool) -> None:
        """Mark its cells as a page has them whose outputs are shown as they are, or not."""
        for cell in self.cells:
            if cell["cell_type"] == "code":
                cell["metadata"]["trusted"] = trusted

    def add_widgets(self, models: Mapping[str, JSON]) -> None:
        """Keep the state of these models with the notebook, beside that of others which it has."""
        # Imported here: the start of the server does not need it.
        from ...kernel.widgetstate import as_metadata, models_in

        metadata = self.notebook.setdefault("metadata", {})
        metadata["widgets"] = as_metadata({**models_in(metadata), **models})


def load(content: bytes, *, name: str) -> Loaded:
    """Blocks.

    :raises NotebookRefused: if it is no notebook, with the reason
    """
    # Imported here: the start of the server does not need it.
    from ...kernel.reading import read_notebook

    reading = read_notebook(content, name=name)
    if reading.notebook is None:
        raise NotebookRefused(f"the notebook {name!r} cannot be read: {' '.join(reading.sentences)}".rstrip("."))
    loaded = Loaded(notebook=reading.notebook | {"nbformat_minor": 5})
    if reading.origin is not None and not reading.origin.own_ids:
        name_cells(loaded.cells)
    return loaded


def strictly(content: bytes) -> Any:
    """The notebook as nbformat reads it, which is what is signed; ``None`` if that refuses it. Blocks."""
    # Imported here: the start of the server does not need it.
    import nbformat

    try:
        return nbformat.reads(content.decode(), as_version=4, capture_validation_error={})
    except Exception:  # whatever odd data makes nbformat fail: what only the tolerant reader reads was never signed
        return None


def name_cells(cells: list[JSON]) -> None:
    """Give each cell an id that is made of its content, so that reading again gives the same, and a cell that was changed meanwhile is
    not found by it. Of equal cells, each is told by its number among how many."""
    keys = [f"{cell.get('cell_type')}\n{joined(cell.get('source'))}" for cell in cells]
    totals, seen = Counter(keys), Counter[str]()
    for cell, key in zip(cells, keys, strict=True):
        seen[key] += 1
        which = f"{seen[key]}/{totals[key]}\n{key}".encode("utf-8", "surrogatepass")
        cell["id"] = hashlib.sha256(which).hexdigest()[:12]
