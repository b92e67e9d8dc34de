"""Outputs as they stand in files → outputs that nbformat 4 accepts, with what was mended noted. Pure."""

from typing import Any, cast

from ...records import JSON
from .notes import Notes
from .plain import is_json_mime

_KEYS = {
    "stream": ("output_type", "name", "text"),
    "display_data": ("output_type", "data", "metadata"),
    "execute_result": ("output_type", "data", "metadata", "execution_count"),
    "error": ("output_type", "ename", "evalue", "traceback"),
}
_RENAMED = {"pyout": "execute_result", "pyerr": "error", "update_display_data": "display_data"}
_JPEG, _PNG = "image/jpeg", "image/png"


def mend_outputs(outputs: Any, notes: Notes, cell: int) -> list[JSON]:
    if outputs is None:
        notes.add("no_outputs", "the outputs are missing: an empty list is assumed.", cell=cell)
        return []
    if not isinstance(outputs, list):
        notes.add("outputs_no_list", "the outputs are no list: they are left out.", cell=cell)
        return []
    mended = [mend_output(output, notes, cell) for output in cast(list[Any], outputs)]
    return [output for output in mended if output is not None]


def mend_output(output: Any, notes: Notes, cell: int) -> JSON | None:
    """``None``: it cannot be shown."""
    if not isinstance(output, dict):
        what = "null" if output is None else "a bare text" if isinstance(output, str) else "no object"
        notes.add(f"bad_output:{what}", f"an output is {what}, not an output: it is left out.", cell=cell)
        return None
    known = cast(JSON, output)
    kind = known.get("output_type")
    if isinstance(kind, str) and kind in _RENAMED and (kind != "update_display_data" or "data" in known):
        notes.add("old_output", f"an output is of the kind {kind!r}: it is read as {_RENAMED[kind]!r}.", cell=cell)
        known, kind = {**known, "output_type": _RENAMED[kind]}, _RENAMED[kind]
    if not isinstance(kind, str) or kind not in _KEYS:
        said = repr(kind)[:40]
        notes.add("unknown_output", f"an output is of a kind that is not known ({said}): it is left out.", cell=cell)
        return None
    match kind:
        case "stream":
            made = _stream(known, notes, cell)
        case "error":
            made = _error(known, notes, cell)
        case _:
            made = _data(known, notes, cell)
    extra = [key for key in made if key not in _KEYS[kind]]
    if "transient" in extra:
        notes.add("transient", "an output carries 'transient', which belongs to a message: it is left out.", cell=cell)
    named = ", ".join(repr(key[:40]) for key in extra if key != "transient")
    if named:
        notes.add("extra_output_keys", f"an output has keys that do not belong there ({named}): left out.", cell=cell)
    return {key: value for key, value in made.items() if key not in extra} if extra else made


def _stream(output: JSON, notes: Notes, cell: int) -> JSON:
    made = dict(output)
    if not isinstance(made.get("name"), str):
        notes.add("stream_name", "a stream has no name: stdout is assumed.", cell=cell)
        made["name"] = "stdout"
    if not _is_text(made.get("text")):
        notes.add("stream_text", "a stream's text is missing or no text: it is read as far as it goes.", cell=cell)
        made["text"] = _as_text(made.get("text"))
    return made


def _error(output: JSON, notes: Notes, cell: int) -> JSON:
    made = dict(output)
    for key in ("ename", "evalue"):
        if not isinstance(made.get(key), str):
            notes.add(
                "error_fields", "an error lacks its name, its text or its traceback: empty is assumed.", cell=cell
            )
            made[key] = _as_text(made.get(key))
    traceback = made.get("traceback")
    if not (isinstance(traceback, list) and all(isinstance(line, str) for line in cast(list[Any], traceback))):
        notes.add("error_fields", "an error lacks its name, its text or its traceback: empty is assumed.", cell=cell)
        lines = cast(list[Any], traceback) if isinstance(traceback, list) else _as_text(traceback).splitlines()
        made["traceback"] = [_as_text(line) for line in lines]
    return made


def _data(output: JSON, notes: Notes, cell: int) -> JSON:
    made = dict(output)
    if made["output_type"] == "execute_result":
        if "execution_count" not in made and "prompt_number" in made:
            made["execution_count"] = made.pop("prompt_number")
        count = made.get("execution_count")
        if not is_count(count) or "execution_count" not in made:
            notes.add("result_count", "a result has no execution count: null is assumed.", cell=cell)
            made["execution_count"] = None
    if not isinstance(made.get("metadata"), dict):
        notes.add("output_metadata", "an output has no metadata: {} is assumed.", cell=cell)
        made["metadata"] = {}
    if not isinstance(made.get("data"), dict):
        notes.add("output_data", "an output has no data: it is read as empty.", cell=cell)
        made["data"] = {}
    made["data"] = mend_bundle(cast(JSON, made["data"]), notes, cell)
    return made


def mend_bundle(bundle: JSON, notes: Notes, cell: int) -> JSON:
    """A mime bundle whose values are texts, lists of lines, or JSON where that is allowed."""
    if all(is_json_mime(mime) or _is_text(value) for mime, value in bundle.items()):
        return bundle
    notes.add(
        "mime_value", "an output holds something that is no text where a text belongs: it is read as one.", cell=cell
    )
    return {mime: value if is_json_mime(mime) or _is_text(value) else _as_text(value) for mime, value in bundle.items()}


def is_count(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _is_text(value: Any) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, list) and all(isinstance(line, str) for line in cast(list[Any], value))


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "".join(_as_text(item) for item in cast(list[Any], value))
    return str(value)
