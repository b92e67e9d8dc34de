"""Cells as they stand in files → cells that nbformat 4.5 accepts, with what was mended noted. Pure."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

from ...records import JSON
from .notes import Notes
from .outputs import is_count, mend_bundle, mend_outputs
from .plain import KEYS, joined

_VALID_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CONFLICT = re.compile(r"^(<{7}|>{7})( |$)", re.MULTILINE)


def mend_cell(cell: Any, notes: Notes, number: int) -> JSON | None:
    """``number`` counts from 1. The id is left as it is. ``None``: it is no cell at all."""
    if isinstance(cell, str):
        notes.add("bare_cell", "there is a bare text instead of a cell: it is read as a raw cell.", cell=number)
        cell = {"cell_type": "raw", "metadata": {}, "source": cell}
    if not isinstance(cell, dict):
        notes.add("bad_cell", "there is something that is no cell: it is left out.", cell=number)
        return None
    made = dict(cast(JSON, cell))
    _type(made, notes, number)
    if "source" not in made and "input" in made:
        notes.add(
            "old_input", "the source stands under 'input', as in older formats: it is read from there.", cell=number
        )
        made["source"] = made.pop("input")
    _source(made, notes, number)
    made["metadata"] = _metadata(made, notes, number)
    if made["cell_type"] == "code":
        _code(made, notes, number)
    elif "attachments" in made:
        _attachments(made, notes, number)
    extra = [key for key in made if key not in KEYS[made["cell_type"]]]
    if extra:
        named = ", ".join(repr(key[:40]) for key in extra[:5])
        notes.add(
            f"extra_keys:{named}", f"there are keys that do not belong in a cell ({named}): left out.", cell=number
        )
    return {key: value for key, value in made.items() if key not in extra}


def _type(cell: JSON, notes: Notes, number: int) -> None:
    kind = cell.get("cell_type")
    if kind in ("code", "markdown", "raw"):
        return
    if kind == "heading":
        level = cell.pop("level", 1)
        marks = "#" * (min(max(level, 1), 6) if isinstance(level, int) else 1)
        notes.add("heading", "a heading cell of an older format is read as Markdown.", cell=number)
        cell["cell_type"] = "markdown"
        cell["source"] = f"{marks} {joined(cell.get('source')).strip()}"
        return
    if kind in ("html", "plaintext") and "source" in cell:
        cell["cell_type"] = "markdown" if kind == "html" else "raw"
        notes.add("old_type", f"a cell of the type {kind!r} is read as {cell['cell_type']}.", cell=number)
        return
    if kind is None:
        found = "code" if "outputs" in cell or "execution_count" in cell else "raw"
        notes.add("no_type", f"the cell type is missing: {found} is assumed.", cell=number)
        cell["cell_type"] = found
        return
    said = repr(kind)[:40]
    notes.add(
        "unknown_type", f"the cell type {said} is not known: it is kept as a raw cell and never run.", cell=number
    )
    cell["cell_type"] = "raw"


def _source(cell: JSON, notes: Notes, number: int) -> None:
    source = cell.get("source")
    lines = cast(list[Any], source) if isinstance(source, list) else []
    if not isinstance(source, str) and not (isinstance(source, list) and all(isinstance(line, str) for line in lines)):
        notes.add("source", "the source is missing or no text: it is read as far as it goes.", cell=number)
        source = joined(source)
    cell["source"] = source
    whole = joined(source)
    if "<<<<<<<" in whole and _CONFLICT.search(whole):
        notes.add("conflict_in_source", "the source holds marks of a merge conflict.", cell=number, repair=False)


def _metadata(cell: JSON, notes: Notes, number: int) -> JSON:
    found = cell.get("metadata")
    if not isinstance(found, dict):
        what = "is missing" if found is None else "is a list" if isinstance(found, list) else "is no object"
        notes.add(f"cell_metadata:{what}", f"the metadata {what}: {{}} is assumed.", cell=number)
        return {}
    made = dict(cast(JSON, found))
    if "tags" in made:
        _tags(made, notes, number)
    wrong = [key for key, right in _RIGHT.items() if key in made and not right(made[key])]
    if cell["cell_type"] == "code":
        wrong += [key for key, right in _RIGHT_IN_CODE.items() if key in made and not right(made[key])]
    if cell["cell_type"] == "raw" and "format" in made and not isinstance(made["format"], str):
        wrong.append("format")
    for key in wrong:
        notes.add(
            f"cell_metadata_{key}",
            f"the metadata {key!r} has a value that is not allowed: it is left out.",
            cell=number,
        )
        del made[key]
    return made


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and re.search(r"^.+$", value) is not None


def _is_timing(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in cast(JSON, value).values())


_RIGHT: dict[str, Callable[[Any], bool]] = {"name": _is_name, "jupyter": lambda value: isinstance(value, dict)}
_RIGHT_IN_CODE: dict[str, Callable[[Any], bool]] = {
    "collapsed": lambda value: isinstance(value, bool),
    "scrolled": lambda value: isinstance(value, bool) or value == "auto",
    "execution": _is_timing,
}


def _tags(metadata: JSON, notes: Notes, number: int) -> None:
    tags = metadata["tags"]
    if isinstance(tags, str):
        notes.add("tags_text", f"the tags are a text, not a list: {tags[:40]!r} is taken as one tag.", cell=number)
        tags = [tags]
    listed = cast(list[Any], tags) if isinstance(tags, list) else []
    good: list[str] = []
    bad: list[str] = [] if isinstance(tags, list) else [repr(tags)[:40]]
    for tag in listed:
        if isinstance(tag, str) and tag and "," not in tag and "\n" not in tag and tag not in good:
            good.append(tag)
        else:
            bad.append(repr(tag)[:40])
    if bad:
        notes.add(f"tags:{bad}", f"tags are not allowed or there twice ({', '.join(bad[:5])}): left out.", cell=number)
    metadata["tags"] = good


def _code(cell: JSON, notes: Notes, number: int) -> None:
    cell["outputs"] = mend_outputs(cell.get("outputs"), notes, number)
    if "execution_count" not in cell:
        if "prompt_number" in cell:
            cell["execution_count"] = cell.pop("prompt_number")
        else:
            notes.add("no_count", "the execution count is missing: null is assumed.", cell=number)
            cell["execution_count"] = None
    count = cell["execution_count"]
    if not is_count(count):
        whole = (
            int(float(count)) if isinstance(count, float | str) and re.fullmatch(r"\d{1,9}(\.0)?", str(count)) else None
        )
        said = "null is assumed" if whole is None else f"{whole} is read"
        notes.add("count", f"the execution count is no whole number: {said}.", cell=number)
        cell["execution_count"] = whole


def _attachments(cell: JSON, notes: Notes, number: int) -> None:
    found = cell["attachments"]
    if isinstance(found, dict) and all(isinstance(bundle, dict) for bundle in cast(JSON, found).values()):
        cell["attachments"] = {name: mend_bundle(bundle, notes, number) for name, bundle in cast(JSON, found).items()}
        return
    notes.add("attachments", "the attachments are not as they should be: what is wrong is left out.", cell=number)
    known = cast(JSON, found) if isinstance(found, dict) else {}
    good = {
        name: mend_bundle(cast(JSON, each), notes, number) for name, each in known.items() if isinstance(each, dict)
    }
    cell["attachments"] = good


def give_ids(cells: list[JSON], notes: Notes, *, expected: bool) -> bool:
    """Each cell gets a valid id of its own, in place; the first of several with one id keeps it. The same cells get the same ids.
    ``expected``: the format has ids, so that a missing one is odd. Whether any cell had one."""
    own = any("id" in cell for cell in cells)
    taken = {cell["id"] for cell in cells if _is_id(cell.get("id"))}
    seen: set[str] = set()
    repeated: Counter[str] = Counter()
    for index, cell in enumerate(cells):
        given = cell.get("id")
        if isinstance(given, int | float) and not isinstance(given, bool) and _is_id(str(given)):
            given = str(given)
            notes.add("id_number", "the id is a number: it is read as a text.", cell=index + 1)
        if _is_id(given) and given not in seen:
            chosen = cast(str, given)
        else:
            if "id" in cell and _is_id(given):
                notes.add("id_twice", "an id stands there that another cell has: a new one is given.", cell=index + 1)
            elif "id" in cell:
                notes.add("id_invalid", "the id is not valid: a new one is given.", cell=index + 1)
            elif expected or own:
                notes.add("id_missing", "the id is missing: one is given.", cell=index + 1)
            chosen = _new_id(cell, repeated, taken, seen)
        seen.add(chosen)
        cell["id"] = chosen
    return own


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and _VALID_ID.fullmatch(value) is not None


def _new_id(cell: JSON, repeated: Counter[str], taken: set[str], seen: set[str]) -> str:
    """From what the cell says, so that it stays when cells are put before it."""
    said = f"{cell['cell_type']}\n{joined(cell['source'])}"
    base = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    while True:
        repeated[base] += 1
        count = repeated[base]
        chosen = base if count == 1 else f"{base}-{count}"
        if chosen not in taken and chosen not in seen:
            return chosen
