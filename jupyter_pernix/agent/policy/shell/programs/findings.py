"""The few kinds of finding that the judges of programs make, and the judging of a command that another one runs."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from ...judgement import ORDER, Effect
from ..parts import EXACT, Call, Finding, Word

DEEPEST = 6
"""How many commands within commands are taken apart."""

_ABSOLUTE_IN_OPTION = re.compile(r"^-{1,2}[A-Za-z0-9][A-Za-z0-9_.-]*?=?(?P<path>(?:/|~|\.\.(?=/|$)).*)$", re.DOTALL)


def only_reads(name: str, *, reads: Iterable[str] = ()) -> Finding:
    return Finding(ruling="auto", why=f"{name} only reads here", reads=tuple(reads))


def asks(
    why: str,
    rule: str = EXACT,
    *,
    effects: tuple[Effect, ...] = ("runs_process",),
    grave: bool = False,
    reads: Iterable[str] = (),
    writes: Iterable[str] = (),
) -> Finding:
    return Finding(
        ruling="ask", why=why, rule=rule, effects=effects, grave=grave, reads=tuple(reads), writes=tuple(writes)
    )


def always(
    why: str,
    *effects: Effect,
    grave: bool = False,
    reads: Iterable[str] = (),
    writes: Iterable[str] = (),
    runs: tuple[Word, ...] = (),
    runs_text: str | None = None,
    runs_python: str | None = None,
) -> Finding:
    """Asked every time; what it may run besides is still named, so that a deny rule sees it."""
    return Finding(
        ruling="ask_always",
        why=why,
        effects=effects or ("runs_process",),
        grave=grave,
        reads=tuple(reads),
        writes=tuple(writes),
        runs=runs,
        runs_text=runs_text,
        runs_python=runs_python,
    )


@dataclass(frozen=True, kw_only=True)
class Inner(Call):
    """A command that another one runs. ``depth``: how many stand around it."""

    depth: int = 1


def depth_of(call: Call) -> int:
    return call.depth if isinstance(call, Inner) else 0


def inner(call: Call, words: tuple[Word, ...]) -> Inner | None:
    """The call of ``words`` in the place of ``call``; ``None`` if there is none, or too many stand around it."""
    if not words or depth_of(call) >= DEEPEST:
        return None
    name = (words[0].text or "").rpartition("/")[2]
    return Inner(name=name, words=words, folder=call.folder, root=call.root, home=call.home, depth=depth_of(call) + 1)


def strictest_of(outer: Finding, other: Finding) -> Finding:
    """Both together: the ruling and the reason of the stricter one, what either does; ``outer`` keeps what it runs."""
    strict = other if ORDER.index(other.ruling) > ORDER.index(outer.ruling) else outer
    return replace(
        outer,
        ruling=strict.ruling,
        why=strict.why,
        rule=strict.rule if strict.ruling == "ask" else "",
        effects=tuple(dict.fromkeys(outer.effects + other.effects)),
        grave=outer.grave or other.grave,
        reads=tuple(dict.fromkeys(outer.reads + other.reads)),
        writes=tuple(dict.fromkeys(outer.writes + other.writes)),
        unknown_operands=outer.unknown_operands or other.unknown_operands,
    )


def plain_words(texts: Iterable[str]) -> tuple[Word, ...]:
    return tuple(Word(text=text, raw=text) for text in texts)


def path_words(args: Iterable[str]) -> tuple[str, ...]:
    """Those of ``args`` that can name a path, also within an option (``--root=/x``, ``-I/x``): what a program does with them is not
    known, so that they are judged as read."""
    found: list[str] = []
    for arg in args:
        if "://" in arg.split("=", 1)[-1][:12]:
            continue
        if not arg.startswith("-"):
            path = arg.partition("=")[2] if "=" in arg else arg
            if "/" in path or path.startswith((".", "~")):
                found.append(path)
        elif (match := _ABSOLUTE_IN_OPTION.match(arg)) is not None:
            found.append(match["path"])
        elif "=" in arg and "/" in (path := arg.partition("=")[2]):
            found.append(path)
    return tuple(found)


def as_folder(path: str) -> str:
    """An absolute ``path`` that a program goes through, written as the folder it most likely is: its name has no ending."""
    return path if not path.startswith("/") or "." in path.rpartition("/")[2] else path.rstrip("/") + "/"


JudgeCall = Callable[[Call], Finding]
