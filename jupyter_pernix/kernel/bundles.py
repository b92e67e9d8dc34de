"""One output made safe to store: text that UTF-8 can hold, JSON without NaN, nothing larger than its cap, valid nbformat 4.

What is too large is replaced by a note; the whole of it goes to the given ``keep``, which says where it can be found.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from ..records import JSON

Keep = Callable[[str, str], str]
"""``keep(suffix, text)``: put the whole text aside; returns where a reader finds it, or "" if it is lost."""


@dataclass(frozen=True, kw_only=True)
class Caps:
    """Characters, unless said otherwise. ``stream`` and ``outputs`` count per execution, the rest per output."""

    stream: int = 400_000
    tail: int = 20_000
    """Of what a stream exceeds its cap by, how much of the end is shown."""
    outputs: int = 500
    """Number of outputs of one execution."""
    tail_outputs: int = 20
    total: int = 20_000_000
    """All rich data of one execution."""
    text: int = 100_000
    html: int = 5_000_000
    image: int = 5_000_000
    json: int = 2_000_000
    name: int = 200
    evalue: int = 10_000
    traceback: int = 50_000
    spill: int = 64_000_000
    """What one execution may put aside in a side file."""


def scrub(text: str) -> str:
    """Lone surrogates become visible escapes; everything else stays."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def scrub_json(value: object) -> Any:
    """A JSON value of the same shape: scrubbed text, string keys, ``null`` for NaN and infinities, text for what JSON lacks."""
    if isinstance(value, str):
        return value if value.isascii() else scrub(value)
    if isinstance(value, dict):
        return {_key(key): scrub_json(item) for key, item in cast(dict[object, object], value).items()}
    if isinstance(value, list | tuple):
        return [scrub_json(item) for item in cast(list[object], value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return scrub(str(value))


def _key(key: object) -> str:
    return key if isinstance(key, str) and key.isascii() else scrub(str(key))


def shorten(text: str, limit: int) -> str:
    """At most about ``limit`` characters: the beginning and the end, and between them how much was left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[-tail:]}"


def shorten_traceback(lines: list[str], limit: int) -> list[str]:
    """The first and last frames that fit ``limit`` characters, with a line between that says how many are missing."""
    lines = [shorten(line, limit // 4) for line in lines]
    if sum(map(len, lines)) <= limit:
        return lines
    head: list[str] = []
    tail: list[str] = []
    room = limit
    for turn in range(len(lines)):
        line = lines[len(head)] if turn % 2 == 0 else lines[-1 - len(tail)]
        room -= len(line)
        if room < 0:
            break
        (head if turn % 2 == 0 else tail).append(line)
    return [*head, f"[… {len(lines) - len(head) - len(tail)} frames left out …]", *reversed(tail)]


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(str(line) for line in cast(list[object], value))
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_json(mime: str) -> bool:
    # as nbformat has it; of any other type the value is a text
    return mime == "application/json" or (mime.startswith("application/") and mime.endswith("+json"))


def _cap(mime: str, caps: Caps) -> int:
    if _is_json(mime):
        return caps.json
    if mime in ("text/html", "image/svg+xml") or mime.startswith("application/"):
        return caps.html
    return caps.image if mime.startswith(("image/", "video/", "audio/")) else caps.text


def _surely_fits(clean: object, limit: int) -> bool:
    """Whether it is shorter than ``limit`` characters, found out without the text itself: that has at most twice these bytes."""
    return not isinstance(clean, str) and 2 * len(msgspec.json.encode(clean)) <= limit


def clean_bundle(raw: object, *, caps: Caps, keep: Keep | None = None) -> JSON:
    """A mime bundle that nbformat accepts and that is not too large."""
    data: JSON = {}
    notes: list[str] = []
    for key, value in cast(dict[object, object], raw).items() if isinstance(raw, dict) else ():
        mime = scrub(str(key))
        clean = scrub_json(value) if _is_json(mime) else scrub(_as_text(value))
        limit = _cap(mime, caps)
        if _surely_fits(clean, limit):
            data[mime] = clean
            continue
        text = clean if isinstance(clean, str) else json.dumps(clean, ensure_ascii=False)
        if len(text) <= limit:
            data[mime] = clean
            continue
        where = keep(mime, text) if keep else ""
        if mime in ("text/plain", "text/markdown", "text/latex"):
            data[mime] = shorten(text, limit)
            notes += [f"[the whole {mime} is in {where}]"] if where else []
        else:
            notes.append(f"[{mime} of {len(text):,} characters left out{'; it is in ' + where if where else ''}]")
    if notes:
        data["text/plain"] = "\n".join([*([data["text/plain"]] if data.get("text/plain") else []), *notes])
    return data


def clean_output(raw: JSON, *, caps: Caps, keep: Keep | None = None) -> JSON:
    """A valid nbformat 4 output with the content of ``raw``; what is no output at all becomes a text that shows it."""
    kind = raw.get("output_type")
    if kind == "stream":
        name = "stderr" if raw.get("name") == "stderr" else "stdout"
        return {"output_type": "stream", "name": name, "text": scrub(_as_text(raw.get("text", "")))}
    if kind == "error":
        traceback = raw.get("traceback")
        lines = cast(list[object], traceback) if isinstance(traceback, list) else []
        return {
            "output_type": "error",
            "ename": shorten(scrub(str(raw.get("ename", ""))), caps.name),
            "evalue": shorten(scrub(str(raw.get("evalue", ""))), caps.evalue),
            "traceback": shorten_traceback([scrub(str(line)) for line in lines], caps.traceback),
        }
    if kind in ("display_data", "execute_result"):
        metadata = scrub_json(raw.get("metadata"))
        output: JSON = {
            "output_type": kind,
            "data": clean_bundle(raw.get("data"), caps=caps, keep=keep),
            "metadata": metadata if isinstance(metadata, dict) else {},
        }
        if kind == "execute_result":
            count = raw.get("execution_count")
            is_count = isinstance(count, int) and not isinstance(count, bool) and count >= 0
            output["execution_count"] = count if is_count else None
        return output
    shown = shorten(json.dumps(scrub_json(raw), ensure_ascii=False), caps.text)
    return {"output_type": "display_data", "data": {"text/plain": shown}, "metadata": {}}


def size(output: JSON) -> int:
    """Characters of an output's data, roughly."""
    data = cast(JSON, output.get("data", {}))
    return sum(len(value) if isinstance(value, str) else len(json.dumps(value)) for value in data.values())
