"""Reads one cell, whatever its language, and code within code."""

import re

from .foreign import known, read_foreign
from .found import Found, TooMuch
from .magics import bare_magic
from .python import read_python
from .transform import Unreadable, transform

LONGEST = 24_000
"""Characters of a cell that are read; a longer one is judged as unreadable."""

_DEEPEST = 5
_PYTHON = frozenset(("python", "python3", "ipython", "python2", "py", "xpython", "sage"))
_HEAVY = re.compile(
    r"system|popen|subprocess|exec|spawn|remove|unlink|rmtree|rmdir|kill|requests|urlopen|socket|httpx|eval|ctypes|environ|pickle|shutil|"
    r"^\s*!|^\s*%%?\w|__import__|importlib|getattr",
    re.IGNORECASE | re.MULTILINE,
)


def read_cell(code: str, found: Found, *, language: str, automagic: bool) -> None:
    """
    :raises TooMuch: if there is more than can be looked at
    """
    if len(code) > LONGEST:
        raise TooMuch
    name = language.strip().lower()
    if name in _PYTHON:
        _read(code, found, ipython=True, automagic=automagic, depth=0)
    elif known(name):
        read_foreign(code, name, found)
    else:
        found.see_mildly("opaque")


def _read(code: str, found: Found, *, ipython: bool, automagic: bool, depth: int) -> None:
    if depth > _DEEPEST:
        raise TooMuch

    def again(inner: str, with_ipython: bool) -> None:
        # the kernel of the user may have automagic on, and whatever is run by IPython itself is under it
        _read(inner, found, ipython=with_ipython, automagic=with_ipython and depth >= 0, depth=depth + 1)

    text = code
    try:
        text = _as_python(code, automagic=automagic) if ipython else code
        read_python(text, found, again)
    except SyntaxError:
        _unparsed(text, found)
    except Unreadable as exc:
        found.see("opaque", why=f"it cannot be read: {exc}", grave=True)


def _as_python(code: str, *, automagic: bool) -> str:
    text = transform(code)
    if automagic and len(text.splitlines()) == 1:
        bare = bare_magic(text.rstrip("\n"))
        if bare is not None:
            return f"get_ipython().run_line_magic({bare[0]!r}, {bare[1]!r})\n"
    return text


def _unparsed(text: str, found: Found) -> None:
    """No Python of ours. A kernel with a newer Python may run it all the same, so what stands in it counts for gravity."""
    heavy = _HEAVY.search(text.replace("get_ipython().", ""))
    found.see("syntax_error", why="this is no Python that can be read here", grave=heavy is not None)
