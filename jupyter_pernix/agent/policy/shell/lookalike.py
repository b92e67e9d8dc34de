"""Characters that make a line look other than it is: a person who is asked would not see what runs, so such a line is never let through."""

import re
import unicodedata

LONGEST_BLANK_RUN = 60
"""Blanks in a row; what stands behind more of them is pushed out of sight."""

LONGEST_EMPTY_RUN = 10
"""Line ends in a row."""

_ONLY_ASCII = re.compile(r"[\t\n\x20-\x7e]*\Z")
_PUSHED = re.compile(rf"[ \t]{{{LONGEST_BLANK_RUN},}}|(?:[ \t]*\n){{{LONGEST_EMPTY_RUN},}}")
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_OPERATORS = frozenset(
    "\u2010\u2011\u2012\u2212\u2044\u2215\u2216\u29f5\u29f8\u29f9\ua789\u02d0\u05c3\u2236\u01c0\u2223\u02c8\u2039\u203a\u037e\u201a"
)
"""Drawn as ``-``, ``/``, ``\\``, ``:``, ``|``, ``'``, ``<``, ``>``, ``;`` and ``,`` and none of them."""

_LOOKS_LATIN = (
    "CYRILLIC",
    "GREEK",
    "ARMENIAN",
    "CHEROKEE",
    "COPTIC",
    "LISU",
    "DESERET",
    "GEORGIAN",
    "LATIN SMALL LETTER DOTLESS",
    "LATIN LETTER SMALL CAPITAL",
)
_LETTERS = re.compile(r"[^\W\d_]+")


def hidden(text: str) -> str:
    """Why ``text`` may look other than it is, as a sentence's end; "" if it shows what it holds."""
    if _ONLY_ASCII.match(text):
        return "a long run of blanks or empty lines hides what follows" if _PUSHED.search(text) else ""
    for character in dict.fromkeys(text):
        fault = _fault(character)
        if fault:
            return fault
    for word in _LETTERS.findall(text):
        if not word.isascii() and _mixes(word):
            return f"{_code(word)} holds letters that only look like others"
    return "a long run of blanks or empty lines hides what follows" if _PUSHED.search(text) else ""


def _fault(character: str) -> str:
    if character in "\t\n" or "\x20" <= character <= "\x7e":
        return ""
    if character == "\r":
        return "a carriage return hides where a line ends"
    category = unicodedata.category(character)
    if category in _HIDDEN or character in _BLANK_LETTERS or _selects(character):
        return f"it holds a character that cannot be seen ({_code(character)})"
    if category == "Zs":
        return f"it holds a blank that is none for the shell ({_code(character)})"
    plain = unicodedata.normalize("NFKC", character)
    if character in _OPERATORS or (len(plain) == 1 and plain.isascii()):
        return f"it holds a character that only looks like another ({_code(character)})"
    return ""


def _selects(character: str) -> bool:
    """Variation selectors change the look of what is before them, and are nothing themselves."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _mixes(word: str) -> bool:
    """Latin letters beside letters of a script that has the same shapes; a word of one script is an ordinary word."""
    latin = other = False
    for letter in word:
        name = unicodedata.name(letter, "")
        if name.startswith(_LOOKS_LATIN):
            other = True
        elif letter.isascii() or name.startswith("LATIN"):
            latin = True
    return other and latin


def _code(text: str) -> str:
    return " ".join(f"U+{ord(character):04X}" for character in text[:3])
