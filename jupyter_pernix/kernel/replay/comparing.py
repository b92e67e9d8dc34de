"""What a cell put out before and what it puts out now: the same, or where they part. Pure."""

import difflib
import json
from typing import Any, cast

from ...records import JSON
from .normal import normal_text
from .pictures import picture_digest, picture_size

_IGNORED = ("application/vnd.jupyter.widget-view+json", "application/vnd.holoviews_")
"""Types whose values are identities of objects in the kernel."""
_CONTEXT = 2
_LONGEST = 200
"""Lines of one difference."""


def compare_outputs(before: list[JSON], after: list[JSON]) -> list[str]:
    """The lines of a diff of what is seen, without what differs in every run; empty when they are the same."""
    one, two = seen(before), seen(after)
    if one == two:
        return []
    lines = list(difflib.unified_diff(one, two, "recorded", "now", lineterm="", n=_CONTEXT))
    if len(lines) > _LONGEST:
        lines = [*lines[:_LONGEST], f"[… {len(lines) - _LONGEST} more lines]"]
    return lines


def seen(outputs: list[JSON]) -> list[str]:
    """Outputs as lines that can be compared. Streams of one name that follow one another are one; stdout and stderr, which reach a
    notebook in no fixed order, are compared apart."""
    lines: list[str] = []
    for output in _joined(outputs):
        lines += _lines(output)
    return lines


def _joined(outputs: list[JSON]) -> list[JSON]:
    streams: dict[str, str] = {}
    others: list[JSON] = []
    for output in outputs:
        if output["output_type"] == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + cast(str, output["text"])
        else:
            others.append(output)
    told = [{"output_type": "stream", "name": name, "text": streams[name]} for name in sorted(streams, reverse=True)]
    return [*told, *others]


def _lines(output: JSON) -> list[str]:
    kind = output["output_type"]
    if kind == "stream":
        text = normal_text(output["text"])
        return [f"[{output['name']}]", *text.split("\n")] if text else []
    if kind == "error":
        # the traceback is told by the same words, through files and lines that may move
        return [f"[error] {output['ename']}: {normal_text(output['evalue'])}"]
    data = cast(JSON, output["data"])
    lines: list[str] = []
    for mime in sorted(data):
        if not mime.startswith(_IGNORED):
            lines += _value(mime, data[mime], data)
    return lines


def _value(mime: str, value: Any, data: JSON) -> list[str]:
    if mime.startswith("image/") and isinstance(value, str):
        size = picture_size(value) if mime == "image/png" else ""
        return [f"[{mime}{' ' + size if size else ''}] {picture_digest(mime, value)[:16]}"]
    if mime == "text/plain" and any(other.startswith("image/") for other in data):
        # "<Figure size 640x480 with 1 Axes>" and the like say less than the picture
        return []
    if isinstance(value, str):
        return [f"[{mime}]", *normal_text(value).split("\n")]
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, default=str)
    return [f"[{mime}]", *normal_text(text).split("\n")]
