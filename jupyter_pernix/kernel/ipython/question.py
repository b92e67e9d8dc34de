"""From the text of a ``%%pernix`` cell to what is sent: ``{name}`` becomes a value, and what ``In[n]``, ``Out[n]``, ``Err[n]`` and
``@name`` stand for is added below the text.

A pair of braces is a value only if what is in it is a name, an attribute or an item of one (``{df}``, ``{df.shape}``, ``{rows[0]}``,
``{d['a'].b}``) and can be had; all other braces stay as they are, as those of JSON, of dicts and of f-strings. ``{{name}}`` is
written ``{name}``. Nothing is called. What looks like a secret is never sent, and every value is cut to a bounded text.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..inspecting import hides, secret_name, secret_text
from ..inspecting_values import Looking
from ..markdown import code_block

VALUE = 4_000
"""Characters of one value that is put into the text."""
ATTACHED = 12_000
"""Characters of one text that is added below."""

_NAME = r"[^\W\d]\w*"
_ITEM = r"""\[\s*(?:-?\d{1,18}|'[^'\\\n]*'|"[^"\\\n]*")\s*\]"""
_PATH = rf"{_NAME}(?:\s*\.\s*{_NAME}|{_ITEM})*"
_BRACES = re.compile(rf"\{{\{{(?P<kept>\s*{_PATH}\s*)\}}\}}|\{{\s*(?P<path>{_PATH})\s*\}}")
_REFERENCE = re.compile(r"(?<![\w.])(In|Out|Err)\[(\d{1,6})\]")
_MENTION = re.compile(rf"(?<![\w@.`])@({_NAME})")


@dataclass(frozen=True)
class Question:
    """``text`` goes to the agent; ``notes`` are for the user: what is not as it may have been meant."""

    text: str
    notes: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Kept:
    """What the kernel still knows of earlier cells: by number, their sources, values, and errors as text."""

    sources: Callable[[int], str | None]
    values: Mapping[int, Any]
    errors: Mapping[int, str]


def ask(written: str, names: Mapping[str, Any], kept: Kept) -> Question:
    """What is sent for ``written``."""
    notes: list[str] = []
    text = _BRACES.sub(lambda match: _filled(match, names, notes), written)
    added = [*_referred(written, kept, notes), *_mentioned(written, names)]
    whole = "\n\n".join([text, *dict.fromkeys(added)])
    # what UTF-8 cannot hold becomes a visible escape: no request could carry it
    return Question(whole.encode("utf-8", "backslashreplace").decode(), list(dict.fromkeys(notes)))


# ---- {…} --------------------------------------------------------------------------------------------------------------------


def _filled(match: re.Match[str], names: Mapping[str, Any], notes: list[str]) -> str:
    if match["kept"] is not None:
        return "{" + match["kept"] + "}"
    path = match["path"]
    try:
        value = _value(path, names)
    except LookupError:
        return match.group()
    except Exception as exc:  # a property of the user's own may raise anything
        notes.append(f"{{{path}}} is sent as it is written: {type(exc).__name__}")
        return match.group()
    text = shown(path, value)
    if text is None:
        notes.append(f"{{{path}}} looks like a secret and is not sent")
        return f"<{path}: not shown, it looks like a secret>"
    return text


def _value(path: str, names: Mapping[str, Any]) -> Any:
    """:raises LookupError: if there is nothing of that name"""
    return _found(ast.parse(path, mode="eval").body, names)


def _found(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            return names[name]
        case ast.Attribute(value=inner, attr=name):
            try:
                return getattr(_found(inner, names), name)
            except AttributeError as exc:
                raise LookupError(name) from exc
        case ast.Subscript(value=inner, slice=item):
            try:
                return _found(inner, names)[ast.literal_eval(item)]
            except TypeError as exc:
                raise LookupError(ast.unparse(item)) from exc
        case _:
            raise LookupError(ast.unparse(node))


def shown(path: str, value: Any) -> str | None:
    """A bounded text of a value; ``None`` if it looks like a secret. A text is itself, a frame its columns and first rows."""
    if any(secret_name(name) == "strong" or hides(name, value) for name in re.findall(_NAME, path)) and not callable(
        value
    ):
        return None
    if isinstance(value, str):
        text = str.__str__(value)
        return None if secret_text(text) else _cut(text, VALUE)
    told = Looking(detail=True).variable(path, value)
    if told.get("hidden"):
        return None
    preview = str(told.get("preview", ""))
    head = _described(told)
    if head:
        return _cut(f"{head}\n{preview}".rstrip(), VALUE)
    text = preview or _own_text(value)
    return None if secret_text(text) else _cut(text, VALUE)


def _described(told: Mapping[str, Any]) -> str:
    """Of what has rows, columns or axes: type, shape and schema."""
    shape, columns = told.get("shape"), told.get("columns") or []
    if not shape and not columns:
        return ""
    size = " × ".join(str(each) for each in shape or [])
    more = f", and {told['more_columns']} more" if told.get("more_columns") else ""
    schema = ", ".join(f"{column['name']} {column['dtype']}" for column in columns)
    return " ".join(
        word
        for word in (str(told["type"]), size, str(told.get("dtype", "")), f"({schema}{more})" if schema else "")
        if word
    )


def _own_text(value: Any) -> str:
    """What the value's own class says; the user has asked for it by name."""
    try:
        return repr(value)
    except (Exception, SystemExit) as exc:  # whatever the class does
        return f"<{type(value).__name__}, whose text cannot be had: {type(exc).__name__}>"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters in all)"


# ---- In[n], Out[n], Err[n], @name -------------------------------------------------------------------------------------------


def _referred(written: str, kept: Kept, notes: list[str]) -> Iterator[str]:
    for kind, digits in _REFERENCE.findall(written):
        name, number = f"{kind}[{digits}]", int(digits)
        if kind == "In":
            source = kept.sources(number)
            text = None if source is None else code_block(_cut(source, ATTACHED), "python")
        elif kind == "Err":
            error = kept.errors.get(number)
            text = None if error is None else code_block(_cut(error, ATTACHED))
        elif number not in kept.values:
            text = None
        else:
            value = shown(name, kept.values[number])
            if value is None:
                notes.append(f"{name} looks like a secret and is not sent")
                continue
            text = code_block(value)
        if text is None:
            notes.append(f"{name} is not there (any more); only its name is sent")
        else:
            yield f"{name}:\n{text}"


def _mentioned(written: str, names: Mapping[str, Any]) -> Iterator[str]:
    for name in _MENTION.findall(written):
        if name in names:
            text = shown(name, names[name])
            yield f"@{name}: not shown, it looks like a secret" if text is None else f"@{name}:\n{code_block(text)}"
