"""What both forms of a notebook have in common: which part of an output is shown. Pure."""

import base64
import re
from typing import Any, Literal, NamedTuple, cast

from ...records import JSON

Form = Literal["text", "error", "html", "markdown", "latex", "image", "svg", "json"]
_ORDER: tuple[tuple[str, Form], ...] = (
    ("image/png", "image"),
    ("image/jpeg", "image"),
    ("image/gif", "image"),
    ("image/webp", "image"),
    ("image/svg+xml", "svg"),
    ("text/html", "html"),
    ("text/markdown", "markdown"),
    ("text/latex", "latex"),
    ("text/plain", "text"),
    ("application/json", "json"),
)
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
OURS = "application/vnd.pernix."
TOOL_CALL = OURS + "tool-call+json"


class Shown(NamedTuple):
    """One output as it is shown. ``mime`` "": a stream or an error."""

    form: Form
    text: str
    mime: str = ""


def shown(output: JSON, *, rich: bool) -> Shown:
    """``rich`` false: text goes before HTML."""
    kind = output["output_type"]
    if kind == "stream":
        return Shown("text", plain(output["text"]))
    if kind == "error":
        lines = cast(list[str], output["traceback"]) or [f"{output['ename']}: {output['evalue']}"]
        return Shown("error", plain("\n".join(lines)))
    data = cast(JSON, output["data"])
    ours = any(mime.startswith(OURS) for mime in data)
    for mime, form in _ORDER:
        value: Any = data.get(mime)
        if value is None or (form == "html" and not rich and "text/plain" in data):
            continue
        if form == "image" and not is_base64(value):
            continue
        if ours and form == "html":
            continue
        return Shown(form, value if isinstance(value, str) else str(value), mime)
    return Shown("text", f"[{', '.join(sorted(data)) or 'nothing'}: to be seen in Jupyter]")


def is_base64(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(base64.b64decode("".join(value.split()), validate=True))
    except ValueError:  # also for letters beyond ASCII
        return False


def plain(text: str) -> str:
    """``text`` as a page shows it: without colours, with lines that were written over as they were at last."""
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))
    return _CONTROL.sub("\ufffd", text)


def pernix_kind(cell: JSON) -> str:
    """What a cell of a run notebook is; "" in other notebooks."""
    ours: Any = cell["metadata"].get("pernix")
    return str(cast(JSON, ours).get("kind", "")) if isinstance(ours, dict) else ""


def language_of(notebook: JSON) -> str:
    info = cast(JSON, notebook["metadata"].get("language_info") or {})
    spec = cast(JSON, notebook["metadata"].get("kernelspec") or {})
    name = str(info.get("name") or spec.get("language") or "")
    return name.lower() if re.fullmatch(r"[\w+#.-]{1,30}", name) else ""


def title_of(notebook: JSON) -> str:
    ours: Any = notebook["metadata"].get("pernix")
    given = cast(JSON, ours).get("title") if isinstance(ours, dict) else notebook["metadata"].get("title")
    return " ".join(str(given or "Notebook").split())[:200]
