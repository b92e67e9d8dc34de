"""``jupyter pernix permissions explain``."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ..agent.policy.rules import RuleSet
from ..records import Mode
from .connection import UsageError
from .saved_rules import deny_of_settings, saved_rules

if TYPE_CHECKING:
    from .explaining import Place


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
    parser.add_argument(
        "--saved",
        action=argparse.BooleanOptionalAction,
        help="count the rules that you have saved, and those of the settings (default: yes, but not with --json)",
    )
    parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON object a line")
    parser.set_defaults(command=explain_command)


def explain_command(options: argparse.Namespace) -> int:
    # Imported here, and below: the judges know many programs, which the other commands need not load.
    from .explaining import explain, in_words

    place = _place(options)
    if options.as_json:
        return _answer_json(options.lines, place)
    if not options.lines:
        raise UsageError("explain needs a LINE, or --json and lines on the standard input")
    for line in options.lines:
        print(in_words(line, explain({"cmd": line}, place)))
    return 0


def _place(options: argparse.Namespace) -> "Place":
    """:raises UsageError: if the root is not a folder"""
    from .explaining import Place

    root, home = os.path.realpath(options.root), os.path.realpath(options.home or Path.home())
    if not Path(root).is_dir():
        raise UsageError(f"{options.root!r} is not a folder")
    saved = RuleSet()
    if not options.as_json if options.saved is None else options.saved:
        saved = saved_rules(Path(root), home=home).read()
        saved = replace(saved, deny=(*deny_of_settings(Path(root)), *saved.deny))
    return Place(root=root, home=home, mode=options.mode, saved=saved)


def _answer_json(lines: list[str], place: "Place") -> int:
    from .explaining import BadLine, explain

    code = 0
    given: Iterator[Any] = ({"cmd": line} for line in lines) if lines else _read()
    for one in given:
        try:
            if isinstance(one, ValueError):
                raise BadLine(f"the line is not JSON: {one}")
            said = explain(one, place).as_json()
        except BadLine as exc:
            said, code = {"error": str(exc)}, 2
        print(json.dumps(said), flush=True)
    return code


def _read() -> Iterator[Any]:
    """What stands on each line of the standard input, or the fault of one that is not JSON; blank ones are passed over."""
    for line in sys.stdin.buffer:
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as exc:
                yield exc
            except RecursionError:
                yield ValueError("it is nested too deeply")
