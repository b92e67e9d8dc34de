"""Outputs of code → the pictures among them that a model can be shown. Pure."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from ...records import JSON, Picture

MOST_PICTURES = 4
"""Of one result."""
LONGEST_PICTURE = 1_000_000
"""Characters of base64."""
LONGEST_PICTURES = 2_000_000
"""Of one result together."""

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def pictures_of(outputs: Sequence[JSON]) -> tuple[Picture, ...]:
    """The last ``MOST_PICTURES`` usable pictures of nbformat outputs, fewer if they are large, in their order, one of each output. An
    endpoint refuses a whole request for one broken picture, so each is checked: whole base64 of a format that models take, and not too
    long."""
    found: list[Picture] = []
    room = LONGEST_PICTURES
    for picture in _usable(reversed(outputs)):
        room -= len(picture.data)
        if room < 0 or len(found) == MOST_PICTURES:
            break
        found.insert(0, picture)
    return tuple(found)


def pictures_note(outputs: Sequence[JSON]) -> str:
    """A line about pictures that are not among ``pictures_of``, "" if there are none; it is true for a model that does not see too."""
    every = sum(1 for output in outputs if _has_picture(output))
    left_out = every - len(pictures_of(outputs))
    if not left_out:
        return ""
    return f"({left_out} of {every} pictures are shown to the user alone: too many, too large, or of a form that models do not take.)"


def _usable(outputs: Iterable[JSON]) -> Iterator[Picture]:
    for output in outputs:
        for mime, value in _bundle(output).items():
            picture = _picture(value) if mime.startswith("image/") else None
            if picture is not None:
                yield picture
                break


def _has_picture(output: JSON) -> bool:
    return any(mime.startswith("image/") for mime in _bundle(output))


def _bundle(output: JSON) -> JSON:
    data = output.get("data")
    return cast(JSON, data) if isinstance(data, dict) else {}


def _picture(value: object) -> Picture | None:
    text = "".join(map(str, cast(list[object], value))) if isinstance(value, list) else str(value)
    if not text or len(text) > LONGEST_PICTURE + LONGEST_PICTURE // 50:
        return None
    text = "".join(text.split())
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    mime = _mime_of(content)
    return None if not mime or len(text) > LONGEST_PICTURE else Picture(mime=mime, data=text)


def _mime_of(content: bytes) -> str:
    """By its first bytes, whatever it was called; "" for what no model takes."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for signature, mime in _SIGNATURES if content.startswith(signature)), "")
