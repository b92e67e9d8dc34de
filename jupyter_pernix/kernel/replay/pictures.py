"""Pictures compared by what they show, not by their bytes. Pure; standard library only."""

import base64
import hashlib
import re
import struct
import zlib

_PNG = b"\x89PNG\r\n\x1a\n"
_SHOWN = {b"IHDR", b"PLTE", b"IDAT", b"tRNS"}
"""Chunks that decide what is seen; the others hold the program's version, the time, the resolution."""
_MOST = 200_000_000
_SVG_IDS = re.compile(r"\b(id|xlink:href|href|clip-path|url)(=\"|\()#?[\w.:-]+")
_SVG_METADATA = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->|<dc:date>.*?</dc:date>", re.DOTALL)
_SVG_URL = re.compile(r"url\(#[\w.:-]+\)")


def picture_digest(mime: str, data: str) -> str:
    """Equal for pictures that look alike; of one that cannot be read, of its bytes."""
    if mime == "image/svg+xml":
        return _sha(_plain_svg(data).encode("utf-8", "surrogatepass"))
    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
    except ValueError:  # also for letters beyond ASCII
        return _sha(data.encode("utf-8", "surrogatepass"))
    return _png_digest(raw) if raw.startswith(_PNG) else _sha(raw)


def picture_size(data: str) -> str:
    """Width and height of a PNG in words, "" for others."""
    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
    except ValueError:  # also for letters beyond ASCII
        return ""
    if not raw.startswith(_PNG) or len(raw) < 24:
        return ""
    width, height = struct.unpack(">II", raw[16:24])
    return f"{width} × {height}"


def _png_digest(raw: bytes) -> str:
    digest = hashlib.sha256()
    pixels = zlib.decompressobj()
    try:
        for kind, body in _chunks(raw):
            if kind == b"IDAT":
                # decompressed: programs pack the same pixels differently
                digest.update(pixels.decompress(body, _MOST))
            elif kind in _SHOWN:
                digest.update(kind + body)
    except (zlib.error, struct.error):
        return _sha(raw)
    return digest.hexdigest()


def _chunks(raw: bytes) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    at = len(_PNG)
    while at + 8 <= len(raw):
        length, kind = struct.unpack(">I4s", raw[at : at + 8])
        found.append((kind, raw[at + 8 : at + 8 + length]))
        at += 12 + length
    return found


def _plain_svg(text: str) -> str:
    text = _SVG_METADATA.sub("", text)
    return _SVG_IDS.sub(r"\1\2#", _SVG_URL.sub("url(#)", text))


def _sha(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
