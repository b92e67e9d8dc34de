"""A cell as IPython reads it: its own syntax becomes calls, everything else stays. Pure text to pure text, without IPython.

``%x`` becomes ``get_ipython().run_line_magic(…)``, ``!x`` ``get_ipython().system(…)``, and so on, exactly as in the kernel, so that whoever
reads on has Python only.
"""

import re
import tokenize
from collections.abc import Iterator
from textwrap import dedent
from tokenize import TokenInfo

_CLASSIC = re.compile(r"\s*>>>[ \t]?")
_CLASSIC_MORE = re.compile(r"\s*\.\.\.[ \t]?")
_IPYTHON = re.compile(r"((\[nav\]|\[ins\])? )?In \[\d+\]: |\s*\.{3,}: ?")
_TRIPLE = re.compile(r"(?<!\\)(\"\"\"|''')")
_PREFIX = re.compile(r"(?i)[rubf]*")
_HELP = re.compile(r"(%{0,2}(?!\d)[\w*]+(?:\.(?!\d)[\w*]+|\[-?[0-9]+\])*)(\?\??)$")
_ESCAPES = frozenset("!?%,;/")
_MAYBE = re.compile(r"(?m)^[^\S\n]*[!?%,;/]|=\s*\\?\s*[%!]|\?[ \t]*(?:#.*)?$|\\\n")
_GOES_ON = (
    "unterminated string literal",
    "invalid non-printable character",
    "after line continuation character",
    "invalid decimal literal",
    "in binary literal",
    "in octal literal",
    "invalid binary literal",
    "invalid octal literal",
    "invalid hexadecimal literal",
    "expected EOF",
)
_TRIPLES = 400
"""Triple quotes in one line that are told apart."""


class Unreadable(Exception):
    """It would take too long to read."""


def transform(cell: str) -> str:
    """
    :raises SyntaxError: if it is not indented as Python wants it; IPython does not run it either
    :raises Unreadable: if IPython's own reading cannot be followed in time
    """
    lines = (cell if cell.endswith("\n") else cell + "\n").splitlines(keepends=True)
    lines = dedent("".join(_without_empty(lines))).splitlines(keepends=True)
    lines = _without_ipython_prompts(_without_classic_prompts(lines))
    lines = _cell_magic(lines)
    if not _MAYBE.search("".join(lines)):
        return "".join(lines)
    start: int | None = 0
    given_up: set[str] = set()
    for _ in range(500):
        lines, start = _one_step(lines, start, given_up)
        if start is None:
            return "".join(lines)
    raise Unreadable("too much of IPython's own syntax")


def _without_empty(lines: list[str]) -> list[str]:
    start = next((at for at, line in enumerate(lines) if line and not line.isspace()), 0)
    return lines[start:]


def _cell_magic(lines: list[str]) -> list[str]:
    if not lines or not lines[0].startswith("%%") or re.match(r"%%\w+\?", lines[0]):
        return lines
    name, _, rest = lines[0][2:].rstrip().partition(" ")
    return [f"get_ipython().run_cell_magic({name!r}, {rest!r}, {''.join(lines[1:])!r})\n"]


# ---- prompts ----------------------------------------------------------------------------------------------------------------


def _without_ipython_prompts(lines: list[str]) -> list[str]:
    if lines and (_IPYTHON.match(lines[0]) or (len(lines) > 1 and _IPYTHON.match(lines[1]))):
        return [_IPYTHON.sub("", line, count=1) if _IPYTHON.match(line) else line for line in lines]
    return lines


def _without_classic_prompts(lines: list[str]) -> list[str]:
    kept = _inside_strings(lines)
    if not any(_CLASSIC.match(line) for line, inside in zip(lines, kept, strict=True) if not inside):
        return lines
    stripped = [line if inside else _unprompted(line) for line, inside in zip(lines, kept, strict=True)]
    found: list[str] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and kept[end] == kept[start]:
            end += 1
        part = stripped[start:end]
        if not kept[start] and part != lines[start:end]:
            part = dedent("".join(part)).splitlines(keepends=True)
        found += part
        start = end
    return found


def _unprompted(line: str) -> str:
    for prompt in (_CLASSIC, _CLASSIC_MORE):
        found = prompt.match(line)
        if found:
            return line[found.end() :]
    return line


def _inside_strings(lines: list[str]) -> list[bool]:
    """Which lines belong to a triple-quoted text that did not start after a prompt: what looks like a prompt there is text."""
    mask: list[bool] = []
    quote: str | None = None
    keeps = prompted = False
    for line in lines:
        mask.append(quote is not None and keeps)
        if line.count('"""') + line.count("'''") > _TRIPLES:
            raise Unreadable("too many quotes")
        for found in _TRIPLE.finditer(line):
            if quote is None:
                quote = found[1]
                before = line[: found.start()]
                bare = _CLASSIC_MORE.sub(
                    "", _CLASSIC.sub("", before, count=1) if _CLASSIC.match(before) else before, count=1
                )
                bare = bare if _CLASSIC.match(before) or _CLASSIC_MORE.match(before) else before
                keeps = not (bare != before and prompted) and _PREFIX.fullmatch(bare.strip()) is not None
                mask[-1] = keeps
            elif quote == found[1]:
                quote, keeps = None, False
        prompted = prompted or _CLASSIC.match(line) is not None
    return mask


# ---- tokens -----------------------------------------------------------------------------------------------------------------


def _tokens(lines: list[str]) -> Iterator[TokenInfo]:
    last: TokenInfo | None = None
    try:
        for last in tokenize.generate_tokens(iter(lines).__next__):
            yield last
    except tokenize.TokenError as exc:
        # the end of the cell within brackets or a text is no error here
        if any(one in str(exc.args[0]) for one in _GOES_ON):
            at = (last.start[0], last.end[1]) if last is not None else (1, 0)
            yield TokenInfo(tokenize.ERRORTOKEN, "", at, at, last.line if last is not None else "")


def _logical_lines(lines: list[str]) -> Iterator[list[TokenInfo]]:
    line: list[TokenInfo] = []
    depth = 0
    for token in _tokens(lines):
        line.append(token)
        if token.type == tokenize.NEWLINE or (token.type == tokenize.NL and depth <= 0):
            yield line
            line = []
        elif token.type == tokenize.OP and token.string in "([{":
            depth += 1
        elif token.type == tokenize.OP and token.string in ")]}":
            depth = max(0, depth - 1)
    if line:
        yield line


def _assignment(line: list[TokenInfo]) -> int | None:
    depth = 0
    for at, token in enumerate(line):
        if token.string == "=" and depth == 0:
            return at
        if token.string in ("(", "[", "{"):
            depth += 1
        elif token.string in (")", "]", "}"):
            depth = max(0, depth - 1)
    return None


def _first(line: list[TokenInfo]) -> int:
    at = 0
    while at < len(line) and line[at].type in (tokenize.INDENT, tokenize.DEDENT):
        at += 1
    return at


_Place = tuple[int, int]
_Candidate = tuple[_Place, int, str, int]
"""Where, its rank among what is at the same place, what it is, and the line where a question ends."""


def _one_step(lines: list[str], start: int, given_up: set[str]) -> tuple[list[str], int | None]:
    """The lines with the first piece of IPython's syntax replaced, and the line from which to look on; ``None``: there is none.
    Whatever stands above ``start`` was looked at before. ``given_up``: kinds of which one could not be replaced; IPython then never
    comes to those that follow it."""
    try:
        for line in _logical_lines(lines[start:]):
            candidates = sorted(_candidates(line), key=lambda one: (one[0], one[1]))
            for (row, column), _, kind, end in candidates:
                if kind in given_up:
                    continue
                replaced = _REPLACE[kind](lines, (start + row - 1, column), start + end - 1)
                if replaced is not None:
                    return replaced, start + line[0].start[0] - 1
                given_up.add(kind)
    except IndentationError:
        if start:  # what is above may be what this is indented to
            return _one_step(lines, 0, given_up)
        raise
    return lines, None


def _candidates(line: list[TokenInfo]) -> Iterator[_Candidate]:
    sign = _assignment(line)
    if sign is not None and len(line) > sign + 1:
        after = line[sign + 1]
        if after.string == "%" and len(line) > sign + 2 and line[sign + 2].type == tokenize.NAME:
            yield after.start, 10, "magic=", 0
        bang = _bang(line, sign + 1)
        if bang is not None and not line[sign].line.strip().startswith("="):
            yield bang.start, 11, "system=", 0
    at = _first(line)
    if at < len(line) and line[at].string in _ESCAPES:
        yield line[at].start, 12, "escape", 0
    if len(line) > 2 and line[-2].string == "?":
        yield line[min(at, len(line) - 1)].start, 5, "help", line[-2].start[0]


def _bang(line: list[TokenInfo], at: int) -> TokenInfo | None:
    """The ``!`` right after an assignment's sign; older Pythons call it, and blanks before it, errors."""
    while at < len(line) and line[at].type == tokenize.ERRORTOKEN and line[at].string.isspace():
        at += 1
    return line[at] if at < len(line) and line[at].string == "!" else None


# ---- replacing --------------------------------------------------------------------------------------------------------------


def _continued(lines: list[str], start: _Place) -> tuple[str, int]:
    """The text from ``start`` to the end of its continued line, as one line, and that line's number."""
    end = start[0]
    while end < len(lines) and lines[end].endswith("\\\n"):
        end += 1
    parts = [lines[start[0]][start[1] :], *lines[start[0] + 1 : end + 1]]
    return " ".join([*(part.rstrip()[:-1] for part in parts[:-1]), parts[-1].rstrip()]), end


def _assigned_magic(lines: list[str], start: _Place, _end: int) -> list[str] | None:
    text, end = _continued(lines, start)
    name, _, rest = text[1:].partition(" ")
    return _put(lines, start, f"get_ipython().run_line_magic({name!r}, {rest!r})", end)


def _assigned_system(lines: list[str], start: _Place, _: int) -> list[str] | None:
    text, end = _continued(lines, start)
    return _put(lines, start, f"get_ipython().getoutput({text[1:]!r})", end)


def _escaped(lines: list[str], start: _Place, _: int) -> list[str] | None:
    text, end = _continued(lines, start)
    double = text[:2] in ("!!", "??")
    call = _call(text[:2] if double else text[:1], text[2:] if double else text[1:])
    return None if call is None else _put(lines, start, call, end)


def _call(escape: str, content: str) -> str | None:
    name, _, rest = content.partition(" ")
    match escape:
        case "!":
            return f"get_ipython().system({content!r})"
        case "!!":
            return f"get_ipython().getoutput({content!r})"
        case "%":
            return f"get_ipython().run_line_magic({name!r}, {rest!r})"
        case "?" | "??":
            return _help_call(content, escape) if content else "get_ipython().show_usage()"
        case ",":
            words = '", "'.join(rest.split())
            return f'{name}("{words}")'
        case ";":
            return f'{name}("{rest}")'
        case _:
            return f"{name}({', '.join(rest.split())})" if name else None


def _help_call(target: str, escape: str) -> str:
    method = "pinfo2" if escape == "??" else "psearch" if "*" in target else "pinfo"
    return f"get_ipython().run_line_magic({method!r}, {target!r})"


def _help(lines: list[str], start: _Place, end: int) -> list[str] | None:
    piece = "".join(lines[start[0] : end + 1])
    found = _HELP.search(piece[start[1] :])
    if found is None:
        return None
    return _put(lines, start, _help_call(found[1], found[2]), end)


def _put(lines: list[str], start: _Place, call: str, end: int) -> list[str]:
    return [*lines[: start[0]], lines[start[0]][: start[1]] + call + "\n", *lines[end + 1 :]]


_REPLACE = {"magic=": _assigned_magic, "system=": _assigned_system, "escape": _escaped, "help": _help}
