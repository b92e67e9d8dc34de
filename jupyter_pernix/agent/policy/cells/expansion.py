"""Command lines into which IPython puts values of Python before the shell gets them."""

import re
from string import Formatter

from .found import Found

_LONGEST = 4_000
_DOLLAR = re.compile(r"(.*?)\$(\$?[\w.]+)(?=([^']*'[^']*')*[^']*$)")


def expanded(text: str) -> tuple[str, bool, bool]:
    """What of ``text`` is left for the shell, whether values of Python stand in it, and whether the program itself is one."""
    try:
        fields = list(Formatter().parse(text))
    except ValueError:
        return text, False, False
    if any(name is not None and not _is_expression(name) for _, name, _, _ in fields):
        return text, False, False  # then IPython leaves all of it as it is
    found: list[str] = []
    unknown = False
    for literal, name, spec, conversion in fields:
        piece, has = _dollars(literal)
        found.append(piece)
        unknown = unknown or has or name is not None
        if name is not None:
            found.append("{" + name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}")
    line = "".join(found)
    first = line.split(None, 1)[0] if line.split() else ""
    return line, unknown, unknown and ("{" in first or ("$" in first and "$" + first.lstrip("$") in text))


def _is_expression(name: str) -> bool:
    try:
        compile(name.strip(), "<field>", "eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def _dollars(text: str) -> tuple[str, bool]:
    if "$" not in text:
        return text, False
    if text.count("$") > 50 or len(text) > _LONGEST:
        return text, True
    found: list[str] = []
    at, unknown = 0, False
    for match in _DOLLAR.finditer(text):
        found.append(match[1] + match[2] if match[2].startswith("$") else match[1] + "$" + match[2])
        unknown = unknown or not match[2].startswith("$")
        at = match.end()
    return "".join(found) + text[at:], unknown


def system_line(text: str, found: Found) -> None:
    """What ``!`` runs."""
    line, unknown, program = expanded(text)
    found.line(line)
    if program:
        found.see("opaque", why="which program it starts is a value that cannot be known before it runs", grave=True)
    elif unknown:
        found.see("opaque", why="values that cannot be known before it runs stand in a command line")
