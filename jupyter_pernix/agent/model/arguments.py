"""The arguments of a call, read from what a model wrote. Repaired only where one reading is certain.

Refused, never guessed: NaN and infinities, a key that stands twice, quotes that were not escaped, text that is cut off. A call
whose arguments cannot be read is answered with the fault and never run with ``{}``.
"""

import ast
import io
import itertools
import json
import math
import re
import tokenize
import warnings
from collections.abc import Callable
from typing import Any, cast

import msgspec

from ...records import JSON

_encode = msgspec.json.Encoder().encode


class Unreadable(ValueError):
    """The text is not arguments; ``str()`` is a sentence for the model."""


class _Refused(Unreadable):
    """Readable, but must not be used: no repair is tried."""


def read_objects(text: str) -> list[JSON]:
    """The objects that stand in ``text`` one after another; empty text is one call without arguments.

    An empty object before another one, and an exact repetition, are what some servers add: they count once.

    :raises Unreadable: if there is no certain reading
    """
    text = _without_fence(text.strip())
    if text in ("", "null"):
        return [{}]
    found = _read(text)
    kept: list[JSON] = []
    for item in found:
        if kept and kept[-1] == {}:
            kept.pop()
        if not kept or item not in (kept[-1], {}):
            kept.append(item)
    return kept


def is_object(text: str) -> bool:
    """Whether ``text`` is exactly one JSON object that can go back into the history as it stands."""
    try:
        value, end = _decoder.raw_decode(text)
    except ValueError:
        return False
    return isinstance(value, dict) and end == len(text)


def _read(text: str) -> list[JSON]:
    try:
        return _json_objects(text)
    except _Refused:
        raise
    except ValueError as exc:
        first = exc
    repairs: tuple[Callable[[str], list[JSON]], ...] = (_json_in_string, _mended, _python_literal)
    for repair in repairs:
        try:
            return repair(text)
        except _Refused:
            raise
        except ValueError:
            continue
    raise Unreadable(_sentence(text, first))


def _sentence(text: str, fault: ValueError) -> str:
    if isinstance(fault, json.JSONDecodeError):
        near = text[max(0, fault.pos - 40) : fault.pos + 40]
        return f"the arguments are not valid JSON: {fault.msg} at character {fault.pos}, near {near!r}"
    return f"the arguments are not valid JSON: {fault}"


# ---- strict JSON --------------------------------------------------------------------------------------------------------


def _pairs(pairs: list[tuple[str, Any]]) -> JSON:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise _Refused(f"the key {twice!r} stands twice in the arguments")
    return made


def _constant(name: str) -> Any:
    raise _Refused(f"{name} is not a JSON value")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Refused(f"{text} is too large a number")
    return value


# strict=False takes raw line breaks and tabs in strings, which have one meaning only.
_decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float, strict=False)


def _checked(value: Any) -> JSON:
    if not isinstance(value, dict):
        raise Unreadable("the arguments must be a JSON object")
    try:
        _encode(value)
    except UnicodeEncodeError as exc:
        raise _Refused("the arguments hold half a surrogate pair") from exc
    return cast(JSON, value)


def _json_objects(text: str) -> list[JSON]:
    found: list[JSON] = []
    at = 0
    while at < len(text):
        try:
            value, end = _decoder.raw_decode(text, at)
        except RecursionError as exc:
            raise _Refused("the arguments are nested too deeply") from exc
        found.append(_checked(value))
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
    return found


# ---- repairs ------------------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"\A```[\w.+-]*[ \t]*\n(.*?)\n?[ \t]*```\Z", re.DOTALL)


def _without_fence(text: str) -> str:
    fenced = _FENCE.match(text)
    return fenced[1].strip() if fenced else text


def _json_in_string(text: str) -> list[JSON]:
    inner = _decoder.decode(text)
    if not isinstance(inner, str):
        raise Unreadable("not a string")
    return _json_objects(inner.strip())


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_BETWEEN = re.compile(r"\\[nrt]")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


def _mended(text: str) -> list[JSON]:
    """Escapes that JSON does not know, written-out line breaks between values, commas before a closing bracket."""
    pieces: list[str] = []
    at = 0
    # A string is kept apart so that nothing between values is mistaken for its inside, and the other way round.
    strings: list[str] = []
    for match in _STRING.finditer(text):
        pieces += [text[at : match.start()], f'"{len(strings)}"']
        strings.append(_mended_string(match[0]))
        at = match.end()
    pieces.append(text[at:])
    between = _TRAILING_COMMA.sub(r"\1", _BETWEEN.sub(" ", "".join(pieces)))
    return _json_objects(_STRING.sub(lambda mark: strings[int(mark[0][1:-1])], between))


def _mended_string(literal: str) -> str:
    escapes = [match[1] for match in _ESCAPE.finditer(literal)]
    unknown = [escape for escape in escapes if escape[0] not in '"\\/bfnrtu' or escape == "u"]
    if not unknown:
        return literal
    if any(escape[0] in "bfnrtu" for escape in escapes if escape not in unknown):
        # In "C:\new\data" or "\bword\d" the known escape may be meant as letters too.
        raise _Refused(
            f"write \\\\{unknown[0]} for a backslash before {unknown[0]!r}: a single one is not valid in JSON"
        )
    return _ESCAPE.sub(lambda match: match[0] if match[1] not in unknown else "\\\\" + match[1], literal)


def _python_literal(text: str) -> list[JSON]:
    tokens = list(_tokens(text))
    if any(one == two == tokenize.STRING for one, two in itertools.pairwise(tokens)):
        raise Unreadable("two strings side by side")  # Python joins them: quotes that were not escaped look like that
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an escape that Python does not know is a SyntaxWarning
        try:
            tree = ast.parse(text, mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError, Warning) as exc:
            raise Unreadable(str(exc)) from exc
    return [_checked(_plain(tree.body))]


def _tokens(text: str) -> list[int]:
    try:
        return [
            token.type
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT)
        ]
    except (tokenize.TokenError, SyntaxError) as exc:
        raise Unreadable(str(exc)) from exc


_WORDS = {"true": True, "false": False, "null": None}


def _plain(node: ast.expr) -> Any:
    match node:
        case ast.Dict(keys=keys, values=values):
            names = [_plain(key) if key is not None else None for key in keys]
            if not all(isinstance(name, str) for name in names):
                raise Unreadable("a key that is not a string")
            return _pairs([(cast(str, name), _plain(value)) for name, value in zip(names, values, strict=True)])
        case ast.List(elts=items):
            return [_plain(item) for item in items]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Constant(value=str() | bool() | int() | None as value):
            return value
        case ast.Constant(value=float() as value):
            return _float(repr(value))
        case ast.Name(id="true" | "false" | "null" as word):
            return _WORDS[word]
        case _:
            raise Unreadable("not a plain value")
