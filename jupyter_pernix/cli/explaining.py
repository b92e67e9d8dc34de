"""``jupyter pernix permissions explain``: what would be decided about a command line, a cell or a tool, and why; nothing is run."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

from ..agent.policy.judgement import Judgement, Ruling
from ..agent.policy.rules import RuleSet, covered, offer, tool_denied, valid_deny
from ..livetext import neutral
from ..records import Mode
from .connection import UsageError
from .saved_rules import saved_rules
from .screen import paint

_KEYS = {"cmd", "cell", "tool", "lang", "rules", "deny"}
_CONNECTOR = "connector:"
_IN_WORDS: dict[Ruling, tuple[str, str]] = {
    "auto": ("runs unasked", "green"),
    "ask": ("is asked", "yellow"),
    "ask_always": ("is asked each time", "yellow"),
    "denied": ("is refused", "red"),
}


class BadLine(Exception):
    """A line that asks for nothing that can be explained."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the lines would run, and what holds there besides what a line says itself."""

    root: str
    home: str
    mode: Mode
    saved: RuleSet


@dataclass(frozen=True, kw_only=True)
class Explained:
    """``rules``: what "always" would save, of what is asked. ``magic_shell`` and ``effects``: of a cell only."""

    verdict: Ruling
    why: str
    rules: tuple[str, ...] = ()
    cell: bool = False
    magic_shell: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"verdict": self.verdict, "rule": list(self.rules) or None, "why": self.why}
        if self.cell:
            said |= {"magic_shell": list(self.magic_shell), "obvious_effects": list(self.effects)}
        return said


def add_action(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser(
        "explain",
        help="why was I asked? Says what is decided about a command line, and runs nothing",
        description="Says what would be decided about command lines, and why; nothing is run. With --json and no LINE it reads one JSON "
        'object a line, {"cmd": "…"} or {"cell": "…", "lang": "python"}, each with optional "rules" and "deny", and answers each '
        "with one. The exit code is 2 if a line could not be understood.",
    )
    parser.add_argument("lines", nargs="*", metavar="LINE", help="a command line, quoted as one word")
    parser.add_argument("--root", default=".", metavar="DIR", help="the space (default: this folder)")
    parser.add_argument("--home", default="", metavar="DIR", help="the home folder (default: yours)")
    parser.add_argument("--mode", choices=get_args(Mode), default="edit", help="default: edit")
    parser.add_argument("--saved", action="store_true", help="count the rules that you have saved as well")
    parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON object a line")
    parser.set_defaults(command=explain_command)


def explain_command(options: argparse.Namespace) -> int:
    place = _place(options)
    if options.as_json:
        return _answer_json(options.lines, place)
    if not options.lines:
        raise UsageError("explain needs a LINE, or --json and lines on the standard input")
    for line in options.lines:
        print(_in_words(line, explain({"cmd": line}, place)))
    return 0


def _place(options: argparse.Namespace) -> Place:
    """:raises UsageError: if the root is not a folder"""
    root, home = os.path.realpath(options.root), os.path.realpath(options.home or Path.home())
    if not Path(root).is_dir():
        raise UsageError(f"{options.root!r} is not a folder")
    saved = saved_rules(Path(root), home=home).read() if options.saved else RuleSet()
    return Place(root=root, home=home, mode=options.mode, saved=saved)


def _answer_json(lines: list[str], place: Place) -> int:
    code = 0
    given: Iterator[Any] = ({"cmd": line} for line in lines) if lines else _read()
    for one in given:
        try:
            if isinstance(one, BadLine):
                raise one
            said = explain(one, place).as_json()
        except BadLine as exc:
            said, code = {"error": str(exc)}, 2
        print(json.dumps(said), flush=True)
    return code


def _read() -> Iterator[Any]:
    """What stands on each line of the standard input; blank ones are passed over."""
    for line in sys.stdin.buffer:
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as exc:
                yield BadLine(f"the line is not JSON: {exc}")


def explain(asked: Any, place: Place) -> Explained:
    """What would be decided about one line of the standard input.

    :raises BadLine: if it cannot be understood
    """
    what, text = _what(asked)
    rules = (*place.saved.allow, *_strings(asked, "rules"))
    deny = (*place.saved.deny, *_strings(asked, "deny"))
    bad = next((f"{rule!r} can be no deny rule: {fault}" for rule in deny if (fault := valid_deny(rule))), "")
    if bad:
        raise BadLine(bad)
    if what == "tool":
        return _tool(text, deny)
    if what == "cell":
        return _cell(text, asked, place, rules, deny)
    return decided(_judged_line(text, place, deny), "shell", place, rules, lambda: _judged_line(text, place, deny))


def _what(asked: Any) -> tuple[str, str]:
    if not isinstance(asked, dict):
        raise BadLine("the line is not a JSON object")
    given = cast(dict[str, Any], asked)
    unknown = sorted(given.keys() - _KEYS)
    if unknown:
        raise BadLine(f"unknown: {', '.join(unknown)}; there is {', '.join(sorted(_KEYS))}")
    kinds = [kind for kind in ("cmd", "cell", "tool") if kind in given]
    if len(kinds) != 1 or not isinstance(given[kinds[0]], str):
        raise BadLine('one of "cmd", "cell" and "tool" is needed, with a text')
    kind, text = kinds[0], str(given[kinds[0]])
    if kind == "cmd" and text.startswith(_CONNECTOR):
        return "tool", text.removeprefix(_CONNECTOR)
    return kind, text


def _strings(asked: dict[str, Any], key: str) -> tuple[str, ...]:
    """A text, or a list of them."""
    given = asked.get(key) or []
    listed: list[Any] = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise BadLine(f'"{key}" is not a list of texts')
    return tuple(listed)


def _tool(name: str, deny: tuple[str, ...]) -> Explained:
    rule = tool_denied(name, deny)
    if rule:
        return Explained(verdict="denied", why=f"the deny rule {rule!r} forbids it")
    return Explained(verdict="ask", why="what a tool does is known when it is called", rules=(f"tool:{name}",))


def _cell(code: str, asked: dict[str, Any], place: Place, rules: tuple[str, ...], deny: tuple[str, ...]) -> Explained:
    # Imported here: the judge of cells reads Python, which listing rules need not load.
    from ..agent.policy.cells import judge_cell

    language = asked.get("lang", "python")
    if not isinstance(language, str):
        raise BadLine('"lang" is not a text')

    def judged():
        return judge_cell(code, language=language, root=place.root, home=place.home, deny=deny)

    seen = judged()
    said = decided(seen.judgement, "execute", place, rules, lambda: judged().judgement)
    return replace(said, cell=True, magic_shell=tuple(seen.magic_shell), effects=tuple(seen.obvious_effects))


def _judged_line(line: str, place: Place, deny: tuple[str, ...]) -> Judgement:
    # Imported here: it knows many programs, which listing rules need not load.
    from ..agent.policy.shell import judge_line

    return judge_line(line, root=place.root, home=place.home, deny=deny)


def decided(
    found: Judgement, action: str, place: Place, rules: tuple[str, ...], again: Callable[[], Judgement]
) -> Explained:
    """What the mode and the rules make of what a judge has found."""
    if found.ruling == "denied":
        return Explained(verdict="denied", why=found.why)
    reads_only = found.ruling == "auto" and action == "shell"
    if place.mode in ("plan", "ask") and not reads_only:
        return Explained(verdict="denied", why=f"in mode {place.mode} only reading is allowed; {found.why}")
    if found.ruling == "auto":
        return Explained(verdict="auto", why=found.why)
    if place.saved.broken:
        return Explained(verdict=found.ruling, why=f"{found.why}; saved rules do not count: {place.saved.broken}")
    if covered(found, rules, home=place.home):
        return Explained(verdict="auto", why=f"allowed by {', '.join(found.rules)}")
    if place.mode == "auto" and not found.grave:
        return Explained(verdict="auto", why=f"mode auto allows it; {found.why}")
    return Explained(verdict=found.ruling, why=found.why, rules=offer(found, again, home=place.home))


def _in_words(line: str, said: Explained) -> str:
    words, colour = _IN_WORDS[said.verdict]
    lines = [neutral(line), f"  {paint(words, colour, sys.stdout)}: {neutral(said.why)}"]
    if said.rules:
        lines.append(f'  "always" would save: {neutral(", ".join(said.rules))}')
    elif said.verdict in ("ask", "ask_always"):
        lines.append('  "always" is not offered')
    return "\n".join(lines)
