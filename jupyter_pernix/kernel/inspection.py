"""Looks into a kernel: what is sent there, and what comes of the answer.

A Python kernel gets the texts of the ``inspecting`` modules in one expression, which runs them in a namespace of their own. Around
that, the kernel would tell its listeners that a cell has ended, which makes matplotlib show and close the figures of the cell that
still runs, and it would remember the question as the last cell; so the question is shielded.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

import msgspec

from ..errors import KernelError
from ..ports import Surroundings
from ..records import JSON, Variable

MOST = 200
"""Variables that are told of in short; the others are counted."""
MOST_NAMED = 20
_SECONDS = 1.0
_FUTURE = "from __future__ import annotations\n"
_NOT_SENT = re.compile(rf"^(?:{_FUTURE}|from \.\w+ import (?:\(.*?\)|[^\n(]*)\n)", re.MULTILINE | re.DOTALL)
_PARTS = ("inspecting.py", "inspecting_values.py", "inspecting_surroundings.py")

SHIELD = """\
(lambda: 0).__globals__['__builtins__'].__dict__['exec']('''
import sys, threading
def shield():
    module = sys.modules.get("IPython.core.interactiveshell")
    shell = module and module.InteractiveShell._instance
    events = shell and shell.events
    if not events:
        return
    inner, thread, kept = events.trigger, threading.get_ident(), (shell.last_execution_result, shell.last_execution_succeeded)
    def trigger(event, *args, **kwargs):
        if not kept or threading.get_ident() != thread:
            return inner(event, *args, **kwargs)
        if event == "post_execute":
            shell.last_execution_result, shell.last_execution_succeeded = kept.pop()
            if events.__dict__.get("trigger") is trigger:
                events.__dict__.pop("trigger")
    kept = [kept]
    events.trigger = trigger
shield()
''', {})"""
"""Code to be run silently before the expression: whoever waits for the end of a cell is not told of this one's, in this thread."""

_RUN = "(lambda: 0).__globals__['__builtins__'].__dict__['exec']"


class _Surroundings(msgspec.Struct, frozen=True):
    version: str
    interpreter: str
    cwd: str
    packages: dict[str, str]


@cache
def _script() -> str:
    folder = files("jupyter_pernix.kernel")
    texts = [_NOT_SENT.sub("", folder.joinpath(name).read_text(encoding="utf-8")) for name in _PARTS]
    return "\n".join([_FUTURE, *texts])


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """How kernels of one language are asked. ``before`` is run silently before the expressions."""

    variables: Callable[[Sequence[str] | None], str]
    surroundings: Callable[[], str]
    before: str


def is_known(language: str) -> bool:
    return language.lower() == "python"


def of(language: str) -> Inspection:
    """:raises KernelError: if kernels of this language cannot be looked into"""
    if not is_known(language):
        raise KernelError(f"variables of a kernel for {language} cannot be looked at; run code that shows them")
    return Inspection(variables=variables_expression, surroundings=surroundings_expression, before=SHIELD)


def variables_expression(names: Sequence[str] | None) -> str:
    """A Python expression whose value is what ``inspecting_values.look`` answers."""
    most = MOST if names is None else MOST_NAMED
    wanted = None if names is None else list(names)
    return _expression(f"told = look(namespace, initial, {wanted!r}, {most}, {_SECONDS})")


def surroundings_expression() -> str:
    """A Python expression whose value is what ``inspecting_surroundings.surroundings`` answers."""
    return _expression("told = surroundings()")


_START = """
def initial_names():
    module = sys.modules.get("IPython.core.interactiveshell")
    shell = module and module.InteractiveShell._instance
    return shell.user_ns_hidden if shell else {}
initial = initial_names()
"""


def _expression(call: str) -> str:
    """In the lambda, ``n`` is the namespace that the script runs in; ``__globals__`` of a function here is the user's."""
    source = f"{_script()}\n{_START}\n{call}\n"
    space = "{'__name__': 'pernix', 'namespace': (lambda: 0).__globals__}"
    return f"(lambda n: ({_RUN}({source!r}, n), n['told'])[1])({space})"


def read_variables(answer: JSON) -> tuple[int, list[Variable]]:
    """Their number, and those that were told of.

    :raises KernelError: if this is no such answer
    """
    try:
        total = msgspec.convert(answer.get("total"), int)
        return total, [_variable(told) for told in cast(list[Any], answer["variables"])]
    except (KeyError, TypeError, msgspec.ValidationError) as exc:
        raise KernelError("the kernel told its variables in a way that cannot be read") from exc


def read_surroundings(answer: JSON, *, language: str, kernel_name: str) -> Surroundings:
    """:raises KernelError: if this is no answer to ``surroundings_expression``"""
    try:
        told = msgspec.convert(answer, _Surroundings)
    except msgspec.ValidationError as exc:
        raise KernelError("the kernel told its surroundings in a way that cannot be read") from exc
    return Surroundings(kernel_name, language, told.version, told.interpreter, told.cwd, told.packages)


def _variable(told: JSON) -> Variable:
    return msgspec.convert(told, Variable)
