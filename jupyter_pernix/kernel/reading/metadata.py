"""A notebook's own metadata, mended. Pure."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from ...records import JSON
from .notes import Notes

WIDGETS_MIME = "application/vnd.jupyter.widget-state+json"


def mend_metadata(found: Any, notes: Notes, *, display_names: Mapping[str, str]) -> JSON:
    """``display_names``: what installed kernels are called, for a kernelspec that does not say."""
    if not isinstance(found, dict):
        what = "is missing" if found is None else "is a list" if isinstance(found, list) else "is no object"
        notes.add("metadata", f"The notebook's metadata {what}: {{}} is assumed.")
        return {}
    made = dict(cast(JSON, found))
    if "kernelspec" in made:
        _kernelspec(made, notes, display_names)
    _language(made, notes)
    _widgets(made, notes)
    for key, right in _RIGHT.items():
        if key in made and not right(made[key]):
            notes.add(f"metadata_{key}", f"The metadata {key!r} has a value that is not allowed: it is left out.")
            del made[key]
    return made


_RIGHT: dict[str, Callable[[Any], bool]] = {
    "title": lambda value: isinstance(value, str),
    "authors": lambda value: isinstance(value, list),
    "orig_nbformat": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 1,
}


def _kernelspec(metadata: JSON, notes: Notes, display_names: Mapping[str, str]) -> None:
    spec: Any = metadata["kernelspec"]
    if not isinstance(spec, dict) or not isinstance(cast(JSON, spec).get("name"), str) or not cast(JSON, spec)["name"]:
        what = "null" if spec is None else "empty" if not spec else "without a name"
        notes.add("kernelspec", f"The kernelspec is {what}: it is treated as missing.")
        del metadata["kernelspec"]
        return
    known = cast(JSON, spec)
    if not isinstance(known.get("display_name"), str):
        name: str = known["name"]
        shown = display_names.get(name, name)
        notes.add("display_name", f"The kernelspec {name!r} has no display name: {shown!r} is taken.")
        metadata["kernelspec"] = {**known, "display_name": shown}


def _language(metadata: JSON, notes: Notes) -> None:
    if "language_info" not in metadata:
        return
    info: Any = metadata["language_info"]
    if not isinstance(info, dict) or not isinstance(cast(JSON, info).get("name"), str):
        notes.add("language_info", "The language_info has no name: it is treated as missing.")
        del metadata["language_info"]
        return
    known = cast(JSON, info)
    wrong = [key for key in ("file_extension", "mimetype", "pygments_lexer") if not isinstance(known.get(key, ""), str)]
    if not isinstance(known.get("codemirror_mode", ""), str | dict):
        wrong.append("codemirror_mode")
    if wrong:
        notes.add(
            "language_fields", f"The language_info has values that are not allowed ({', '.join(wrong)}): left out."
        )
        metadata["language_info"] = {key: value for key, value in known.items() if key not in wrong}
    spec: Any = metadata.get("kernelspec")
    language: Any = cast(JSON, spec).get("language") if isinstance(spec, dict) else None
    if isinstance(language, str) and language and language.lower() != str(known["name"]).lower():
        notes.add(
            "language_mismatch",
            f"The kernelspec says {language!r}, the language_info {known['name']!r}: the kernelspec counts.",
            repair=False,
        )


def _widgets(metadata: JSON, notes: Notes) -> None:
    if "widgets" not in metadata:
        return
    widgets: Any = metadata["widgets"]
    state: Any = cast(JSON, widgets).get(WIDGETS_MIME) if isinstance(widgets, dict) else None
    if isinstance(state, dict) and isinstance(cast(JSON, state).get("state"), dict):
        return
    notes.add("widgets", "The saved widget state is in a form that is not known (of an old ipywidgets): it is ignored.")
    del metadata["widgets"]


def parameter_cells(cells: list[JSON], notes: Notes) -> None:
    tagged = [index + 1 for index, cell in enumerate(cells) if "parameters" in cell["metadata"].get("tags", [])]
    if len(tagged) > 1:
        notes.add(
            "parameters_twice",
            f"Cells {', '.join(map(str, tagged))} are tagged 'parameters': the first of them counts.",
            repair=False,
        )
