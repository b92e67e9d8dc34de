"""Foreign text made fit to be shown in a question: what could hide or reorder it becomes visible."""

import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str) -> str:
    """``text`` with control, direction, zero-width and unassigned characters written as escapes; tabs and line feeds stay."""
    return "".join(character if _shows(character) else _escape(character) for character in text)


def one_line(text: str, limit: int) -> str:
    """``visible`` text on one line of at most ``limit`` characters, marked with ``…`` if cut."""
    flat = " ".join(visible(text[: 4 * limit]).split())
    return flat if len(flat) <= limit and len(text) <= 4 * limit else flat[: limit - 1] + "…"


def _shows(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in _HIDDEN


def _escape(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
