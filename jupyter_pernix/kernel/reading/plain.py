"""What a part of a file means: texts in one piece, nothing that UTF-8 or msgspec cannot hold. Pure."""

from typing import Any, cast

from ...records import JSON
from ..bundles import scrub, scrub_json

KEYS = {
    "code": ("id", "cell_type", "metadata", "source", "outputs", "execution_count"),
    "markdown": ("id", "cell_type", "metadata", "source", "attachments"),
    "raw": ("id", "cell_type", "metadata", "source", "attachments"),
}
"""What nbformat 4.5 lets a cell have."""


def is_json_mime(mime: str) -> bool:
    """Whether nbformat lets the value be any JSON."""
    return mime == "application/json" or (mime.startswith("application/") and mime.endswith("+json"))


def joined(text: Any) -> str:
    """A text, or a list of lines, in one piece."""
    if isinstance(text, str):
        return text
    if isinstance(text, list):
        return "".join(item if isinstance(item, str) else str(item) for item in cast(list[Any], text))
    return "" if text is None else str(text)


def plain_cell(cell: JSON) -> JSON:
    """A mended cell as it is handed out."""
    made: JSON = {}
    for key, value in cell.items():
        if key == "source":
            made[key] = scrub(joined(value))
        elif key == "outputs":
            made[key] = [plain_output(output) for output in value]
        elif key == "attachments":
            made[key] = {scrub(name): plain_bundle(bundle) for name, bundle in value.items()}
        else:
            made[key] = scrub_json(value)
    return made


def plain_output(output: JSON) -> JSON:
    made: JSON = {}
    for key, value in output.items():
        if key == "text":
            made[key] = scrub(joined(value))
        elif key == "data":
            made[key] = plain_bundle(value)
        else:
            made[key] = scrub_json(value)
    return made


def plain_bundle(bundle: JSON) -> JSON:
    return {
        scrub(mime): scrub_json(value) if is_json_mime(mime) else scrub(joined(value)) for mime, value in bundle.items()
    }
