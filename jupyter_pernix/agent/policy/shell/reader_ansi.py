"""What stands between ``$'`` and ``'``, decoded as bash does."""

_SIMPLE = {
    "a": b"\a", "b": b"\b", "e": b"\x1b", "E": b"\x1b", "f": b"\f", "n": b"\n", "r": b"\r", "t": b"\t", "v": b"\v",
    "\\": b"\\", "'": b"'", '"': b'"', "?": b"?",
}  # fmt: skip
_HEX = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")


class Undecodable(ValueError):
    """The text has a meaning that depends on the machine, or none; the message says which part."""


def decode(text: str) -> str:
    """The value of ``$'text'``.

    :raises Undecodable: if it holds NUL, a control escape, letters that depend on the locale, or bytes that are no text
    """
    out = bytearray()
    at = 0
    while at < len(text):
        stop = text.find("\\", at)
        if stop < 0:
            out += text[at:].encode("utf-8", "surrogatepass")
            break
        out += text[at:stop].encode("utf-8", "surrogatepass")
        value, at = _escape(text, stop + 1)
        out += value
    if 0 in out:
        raise Undecodable("it holds a NUL character")
    try:
        return out.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise Undecodable("its bytes are no text") from exc


def _escape(text: str, at: int) -> tuple[bytes, int]:
    """The bytes of the escape whose letter is at ``at``, and what comes after it."""
    letter = text[at]
    if letter in _SIMPLE:
        return _SIMPLE[letter], at + 1
    if letter in _OCTAL:
        end = _end(text, at, _OCTAL, 3)
        return bytes([int(text[at:end], 8) & 0xFF]), end
    if letter == "x":
        if text[at + 1 : at + 2] == "{":
            raise Undecodable("`\\x{` means different things to different shells")
        end = _end(text, at + 1, _HEX, 2)
        return (bytes([int(text[at + 1 : end], 16)]), end) if end > at + 1 else (b"\\x", at + 1)
    if letter in "uU":
        end = _end(text, at + 1, _HEX, 4 if letter == "u" else 8)
        if end == at + 1:
            return b"\\" + letter.encode(), at + 1
        code = int(text[at + 1 : end], 16)
        if code > 0x7F:
            raise Undecodable(f"`\\{letter}{text[at + 1 : end]}` depends on the locale")
        return bytes([code]), end
    if letter == "c":
        raise Undecodable("`\\c` makes a control character")
    return b"\\" + letter.encode("utf-8", "surrogatepass"), at + 1


def _end(text: str, at: int, digits: frozenset[str], most: int) -> int:
    end = at
    while end < len(text) and end - at < most and text[end] in digits:
        end += 1
    return end
