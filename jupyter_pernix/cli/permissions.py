"""``jupyter pernix permissions``: the rules that you have saved, and why you were asked. Needs no server."""

import argparse
import sys
from pathlib import Path

import msgspec

from ..agent.policy.rules_file import Listed, RulesFile, of_settings
from ..errors import InvalidInput
from ..livetext import neutral
from . import consents, permissions_explain
from .connection import UsageError
from .saved_rules import deny_of_settings, saved_rules
from .screen import paint

BY = "command line"


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "permissions",
        help="show or change what may be done unasked, and what never; say why you were asked",
        description="The rules that are saved for a space, and those for all spaces. They are read by the server whenever they change.",
    )
    _add_place(parser)
    parser.set_defaults(command=list_command)
    actions = parser.add_subparsers(metavar="ACTION")
    _add_place(actions.add_parser("list", help="the rules that hold")).set_defaults(command=list_command)
    for name, command, text in (
        ("add", add_command, "allow without asking, e.g. add cargo test"),
        ("deny", deny_command, "refuse whatever else is allowed, e.g. deny git push"),
        ("remove", remove_command, "forget a rule, of either kind"),
    ):
        one = _add_place(actions.add_parser(name, help=text))
        one.add_argument(
            "rule", nargs="+", metavar="WORD", help="the words of the rule; one with special characters in quotes"
        )
        one.set_defaults(command=command)
    permissions_explain.add_action(actions)
    consents.add_action(actions, BY)


def _add_place(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--space", metavar="DIR", default=argparse.SUPPRESS, help="the space (default: this folder)")
    place.add_argument("--everywhere", action="store_true", default=argparse.SUPPRESS, help="for all spaces")
    parser.add_argument("--json", action="store_true", dest="as_json", default=argparse.SUPPRESS, help="as JSON")
    return parser


def list_command(options: argparse.Namespace) -> int:
    rules = _rules(options)
    broken = rules.read().broken
    if getattr(options, "as_json", False):
        _print_json(rules, _listed(rules), broken)
    else:
        _print_all(rules, _listed(rules))
    if broken:
        print(f"jupyter pernix: saved rules do not count, and more is asked: {neutral(broken)}", file=sys.stderr)
    return 1 if broken else 0


def add_command(options: argparse.Namespace) -> int:
    return _add(options, deny=False)


def deny_command(options: argparse.Namespace) -> int:
    return _add(options, deny=True)


def _add(options: argparse.Namespace, *, deny: bool) -> int:
    rules = _rules(options)
    try:
        rules.add(" ".join(options.rule), deny=deny, by=BY, everywhere=_everywhere(options))
    except InvalidInput as exc:
        raise UsageError(exc.reason) from exc
    return _said(options, rules)


def remove_command(options: argparse.Namespace) -> int:
    rules, rule = _rules(options), " ".join(options.rule)
    gone = [rules.remove(rule, deny=deny, everywhere=_everywhere(options)) for deny in (False, True)]
    if not any(gone):
        raise UsageError(f"there is no rule {rule!r} {_whose(rules)}")
    return _said(options, rules)


def _said(options: argparse.Namespace, rules: RulesFile) -> int:
    return list_command(options) if getattr(options, "as_json", False) else 0


def _everywhere(options: argparse.Namespace) -> bool:
    return getattr(options, "everywhere", False)


def _rules(options: argparse.Namespace) -> RulesFile:
    """:raises UsageError: if the space is not a folder"""
    if _everywhere(options):
        return saved_rules(None)
    space = Path(getattr(options, "space", "."))
    if not space.is_dir():
        raise UsageError(f"{str(space)!r} is not a folder")
    return saved_rules(space)


def _whose(rules: RulesFile) -> str:
    return f"for {rules.space}" if rules.space else "for all spaces"


def _listed(rules: RulesFile) -> list[Listed]:
    return [*of_settings(deny_of_settings(Path(rules.space))), *rules.listed()]


def _print_json(rules: RulesFile, listed: list[Listed], broken: str) -> None:
    body = {
        "space": rules.space,
        "allow": [one for one in listed if not one.deny],
        "deny": [one for one in listed if one.deny],
        "broken": broken,
    }
    print(msgspec.json.encode(body).decode())


def _print_all(rules: RulesFile, listed: list[Listed]) -> None:
    for everywhere, head in ((True, "for all spaces"), (False, f"for {rules.space}")):
        if everywhere or rules.space:
            print(paint(neutral(head), "bold", sys.stdout))
            here = [one for one in listed if one.everywhere is everywhere]
            print("\n".join(_line(one) for one in here) or "  nothing")


def _line(one: Listed) -> str:
    kind = "deny" if one.deny else "allow"
    where_from = ", ".join(part for part in (one.by, one.added_at[:10]) if part)
    text = neutral(f"  {kind:<5}  {one.rule:<40}  {where_from}").rstrip()
    return (
        f"{text}\n         {paint(f'has no effect: {neutral(one.fault)}', 'yellow', sys.stdout)}" if one.fault else text
    )
