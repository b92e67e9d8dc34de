"""What runs *inside* a Python kernel to look at its variables. The text of this file is sent there; it imports the standard library
alone and leaves nothing behind.

The rule: no code of the user's runs. A value may be of any class, and every method, property, descriptor and metaclass of it may
raise, hang or have an effect. So a value is asked nothing unless its very type is known, by identity, as one of Python's or of a
library that the user has imported; of subclasses of Python's own types the base type is asked (``list.__len__(value)``). Types are
told apart by ``is``, never by ``==``, ``in``, ``isinstance`` or a dictionary: a metaclass may define how it is compared and hashed.
Nothing is computed: what a lazy frame would have to be run for is not told. All work is bounded by counts, not by the data.
"""

# pyright: basic, reportMissingModuleSource=false
# Strict has nothing to say where every value is of any class.

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import itertools
import pathlib
import re
import sys
import types
import uuid
from typing import Any, Callable, Iterator  # noqa: UP035 - this also runs in kernels with an older Python

HIDDEN = "<hidden>"

LONGEST_NAME = 100
_LONGEST_TEXT = 200
_SEARCHED = 4_000
"""Characters at the start of a text in which a secret is looked for; more than are ever shown."""
_MOST_ITEMS = 6
DEEPEST = 2

_type_fields: dict[str, Any] = {**vars(type)}
_module_of: Callable[[type], Any] = _type_fields["__module__"].__get__
_qualname_of: Callable[[type], Any] = _type_fields["__qualname__"].__get__
mro_of: Callable[[type], Any] = _type_fields["__mro__"].__get__
_module_dict: Callable[[Any], Any] = vars(types.ModuleType)["__dict__"].__get__

# ---- secrets --------------------------------------------------------------------------------------------------------------

_SECRET_TEXT = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|\bsk-[\w-]{12,}|\b[sprk]k_(?:live|test)_\w{8,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}"
    r"|\bglpat-[\w-]{12,}|\bhf_[A-Za-z0-9]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bAIza[\w-]{24,}|\bxox[abeprs]-[\w-]{8,}|\bgsk_\w{16,}"
    r"|\bnpm_\w{24,}|\bpypi-[\w-]{24,}|\beyJ[\w-]{8,}\.[\w-]{4,}|(?i:\bbearer)\s+[\w.~+/=-]{12,}"
    r"|\b[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/:@]{0,200}:[^\s/@]{1,200}@"
    r"|(?i:password|passwd|pwd|secret|token|api[_-]?key|accountkey)['\"]?\s{0,3}[=:]\s{0,3}['\"]?[^\s'\"]{4,}"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_STRONG = (
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "apikey",
    "token",
)
_STRONG += ("bearer", "cookie", "cookies", "jwt", "dsn", "authorization")
_KEYS = (
    "api",
    "access",
    "private",
    "secret",
    "account",
    "ssh",
    "encryption",
    "signing",
    "master",
    "service",
    "client",
    "auth",
)
_STRONG_ENDS = ("password", "passwd", "secret", "apikey", "token", "passphrase")
_WEAK = ("key", "auth", "pat", "salt", "pin", "pass", "pw")


def secret_name(name: str) -> str:
    """``"strong"``: what is called so is a secret whatever it is; ``"weak"``: it is if it is a text without spaces; ``""`` else."""
    words = [word.lower() for word in _WORDS.findall(name[:LONGEST_NAME])]
    pairs = zip(words, words[1:])  # noqa: B905, RUF007 - newer than some kernels
    if any(word in _STRONG or word.endswith(_STRONG_ENDS) for word in words) or any(
        first in _KEYS and second in ("key", "keys") for first, second in pairs
    ):
        return "strong"
    return "weak" if any(word in _WEAK for word in words) else ""


def secret_text(text: str) -> bool:
    return _SECRET_TEXT.search(text[:_SEARCHED]) is not None


def hides(name: str, value: Any) -> bool:
    """Whether a value is not shown because of what it is called."""
    how = secret_name(name)
    base = base_of(value)
    if how == "strong":
        return base is not None and base is not bool and base is not float
    if how != "weak" or (base is not str and base is not bytes):
        return False
    head = _head(value, base, _LONGEST_TEXT)
    return len(head) >= 8 and not head.split()[1:]


# ---- Python's own types ---------------------------------------------------------------------------------------------------

_BASES = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, collections.deque, range)
SIZED = (str, bytes, bytearray, list, tuple, dict, set, frozenset, collections.deque, range)
_PLAIN = (datetime.date, datetime.timedelta, decimal.Decimal, fractions.Fraction, uuid.UUID, type(pathlib.Path()))


def base_of(value: Any) -> Any:
    """Which of Python's own types it is of or derives from; ``None`` if of none."""
    return next((base for kind in mro_of(type(value)) for base in _BASES if kind is base), None)


def is_one(kind: type, kinds: Any) -> bool:
    return any(kind is one for one in kinds)


def exact(text: Any) -> str:
    """A text of the type ``str`` that can be sent, whatever it was."""
    if not is_one(str, mro_of(type(text))):
        return "?"
    return str.__str__(text).encode("utf-8", "replace").decode("utf-8")


def type_name(value: Any) -> str:
    """``list``, ``pandas.DataFrame``, ``Own``: with the package that it comes from, none for Python's and for the notebook's own."""
    kind: type = type(value)
    module, name = exact(_module_of(kind)), exact(_qualname_of(kind))
    package = module.partition(".")[0]
    return (name if package in ("builtins", "__main__", "?") else f"{package}.{name}")[:LONGEST_NAME]


def _head(value: Any, base: Any, most: int) -> str:
    part = base.__getitem__(value, slice(0, most))
    return part if base is str else bytes(part).decode("latin-1")


def _number(value: Any, base: Any) -> str:
    if base is int and int.bit_length(value) > 1000:
        return f"<int of {int.bit_length(value):,} bits>"
    return base.__repr__(value)


def text_of(value: Any, depth: int = 0) -> str:
    """A short text of any value, without secrets."""
    if value is None:
        return "None"
    base = base_of(value)
    if base is bool or base is int or base is float or base is complex:
        return _number(value, base)
    if base is str or base is bytes or base is bytearray:
        return _quoted(value, base)
    if base is not None and base is not range:
        return _items(value, base, depth)
    if base is range or is_one(type(value), _PLAIN):
        return str(value)[:_LONGEST_TEXT]
    if type(value) is datetime.datetime:
        zone = value.tzinfo
        return (
            value.isoformat()
            if zone is None or type(zone) is datetime.timezone
            else value.replace(tzinfo=None).isoformat()
        )
    return _scalar(value) or f"<{type_name(value)}>"


def _quoted(value: Any, base: Any) -> str:
    head = _head(value, base, _SEARCHED)
    if secret_text(head):
        return HIDDEN
    shown = exact(head[:_LONGEST_TEXT])
    text = repr(shown) if base is str else f"b{shown!r}"
    return text if base.__len__(value) <= _LONGEST_TEXT else f"{text}…"


def _items(value: Any, base: Any, depth: int) -> str:
    opening, closing = {"dict": "{}", "set": "{}", "frozenset": "{}", "tuple": "()"}.get(base.__name__, "[]")
    length = base.__len__(value)
    if depth >= DEEPEST:
        return f"{opening}{'…' if length else ''}{closing}"
    more = ", …" if length > _MOST_ITEMS else ""
    try:
        return f"{opening}{', '.join(_each(value, base, depth + 1))}{more}{closing}"
    except RuntimeError:  # running code changes it
        return f"{opening}…{closing}"


def _each(value: Any, base: Any, depth: int) -> Iterator[str]:
    if base is not dict:
        for one in itertools.islice(base.__iter__(value), _MOST_ITEMS):
            yield text_of(one, depth)
        return
    for key, one in itertools.islice(iter(dict.items(value)), _MOST_ITEMS):
        hidden = type(key) is str and hides(key, one)
        yield f"{text_of(key, depth)}: {HIDDEN if hidden else text_of(one, depth)}"


# ---- libraries ------------------------------------------------------------------------------------------------------------


def library(name: str, attribute: str) -> Any:
    """A class of an imported library, ``None`` if there is no such; found without asking the module."""
    module = sys.modules.get(name)
    if module is None or not is_one(types.ModuleType, mro_of(type(module))):
        return None
    found: Any = dict.get(_module_dict(module), attribute)
    ours = is_one(type, mro_of(type(found))) and exact(_module_of(found)).partition(".")[0] == name.partition(".")[0]
    return found if ours else None


def is_of(value: Any, module: str, *names: str) -> bool:
    return any(type(value) is library(module, name) for name in names)


def has_base(value: Any, module: str, name: str) -> bool:
    base = library(module, name)
    return base is not None and is_one(base, mro_of(type(value)))


def _scalar(value: Any) -> str:
    """A number of numpy's, a time of pandas's; "" for anything else."""
    if has_base(value, "numpy", "generic"):
        generic = library("numpy", "generic")
        if is_one(library("numpy", "datetime64"), mro_of(type(value))):
            return str(library("numpy", "datetime64").__str__(value))
        plain = generic.item(value)
        return f"<{type_name(value)}>" if plain is value or base_of(plain) is None else text_of(plain, DEEPEST)
    if is_of(value, "pandas", "Timestamp", "Timedelta") or is_of(value, "pandas._libs.missing", "NAType"):
        known = getattr(value, "tzinfo", None)
        return str(value) if known is None or type(known) is datetime.timezone else f"<{type_name(value)}>"
    return "NaT" if is_of(value, "pandas._libs.tslibs.nattype", "NaTType") else ""
