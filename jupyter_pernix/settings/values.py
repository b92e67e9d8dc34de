"""One value of a setting: what it may be, said in words, and text made into it."""

import json
import math
import os
import types
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import msgspec

NONE_WORDS = frozenset({"none", "null"})
"""How "no limit" is written where there is no word for nothing, as in TOML."""

_SHOWN = 60


def is_optional(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind)


def plain_kind(kind: Any) -> Any:
    """Without ``| None``."""
    if not is_optional(kind):
        return kind
    (only,) = [arg for arg in get_args(kind) if arg is not type(None)]
    return only


def base_kind(kind: Any) -> Any:
    """Without ``| None`` and without bounds."""
    kind = plain_kind(kind)
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def accepted(value: Any, kind: Any, *, text: bool) -> Any:
    """``value`` as the setting has it. ``text``: it comes from where everything is text, and is read as what is expected.

    :raises ValueError: if it is not what is expected; the message says what is, and what was given
    """
    if is_optional(kind) and (value is None or (isinstance(value, str) and value.lower() in NONE_WORDS)):
        return None
    try:
        given = _from_text(value, base_kind(kind)) if text and isinstance(value, str) else value
        result = msgspec.convert(given, plain_kind(kind), strict=True)
    except ValueError:  # msgspec's ValidationError is one
        raise ValueError(f"must be {expectation(kind)}; given: {shown(value)}") from None
    if isinstance(result, float) and not math.isfinite(result):
        raise ValueError(f"must be {expectation(kind)}; given: {shown(value)}")
    return result


def _from_text(text: str, kind: Any) -> Any:
    if kind in (bool, int, float):
        return msgspec.convert(text.strip(), kind, strict=False)
    if get_origin(kind) is list:
        return json.loads(text) if text.lstrip().startswith("[") else [part for part in text.split(os.pathsep) if part]
    if kind is Any:
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def expectation(kind: Any) -> str:
    """What a value has to be, as it stands after "must be"."""
    words = _words(plain_kind(kind))
    return f'{words}, or "none"' if is_optional(kind) else words


_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Any: "a value that JSON has",
}


def _words(kind: Any) -> str:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _bounded(args[0], cast(msgspec.Meta, args[1]))
    if origin is Literal:
        return "one of " + ", ".join(repr(word) for word in args)
    if origin is list:
        return "a list of texts"
    return _WORDS.get(kind, "a table")


def _bounded(kind: Any, meta: msgspec.Meta) -> str:
    if meta.description:
        return meta.description
    words = _words(kind)
    if meta.ge is not None and meta.le is not None:
        return f"{words} from {meta.ge} to {meta.le}"
    if meta.gt is not None:
        return f"{words} above {meta.gt}"
    return f"{words} from {meta.ge} up"


def shown(value: Any) -> str:
    """What was given, short, with its kind where the value alone could mislead."""
    if isinstance(value, dict):
        return "a table"
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    if len(text) > _SHOWN:
        text = text[: _SHOWN - 1] + "…"
    return repr(text) if isinstance(value, str) else text


def as_json(value: Any) -> Any:
    """A value of a free table, if JSON has it.

    :raises ValueError: if not, e.g. a date or infinity
    """
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        raise ValueError(f"must be {_WORDS[Any]}; given: {shown(value)}") from None
