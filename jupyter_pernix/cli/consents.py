"""``jupyter pernix permissions consents``: what a folder's configuration asks to start, and your yes to it. Needs no server."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from ..livetext import neutral
from .connection import UsageError
from .screen import paint

if TYPE_CHECKING:
    from ..agent.policy.consents import Consent, Consents, Startable

_SHORT = 16
_SHORTEST = 8


class _HasDigest(Protocol):
    @property
    def digest(self) -> str: ...


One = TypeVar("One", bound=_HasDigest)


def add_action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]",
    by: str,
) -> None:
    parser = actions.add_parser(
        "consents",
        help="what the folder's own configuration asks to start, and your yes to it",
        description="Commands that files of a folder ask to start, such as hooks. None is started before you say yes to exactly it; "
        "whatever of it changes, it waits for a new yes.",
    )
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--give", metavar="DIGEST", help="let the command with this digest be started")
    change.add_argument("--take", metavar="DIGEST", help="take that back")
    parser.add_argument("--space", metavar="DIR", default=argparse.SUPPRESS, help="the space (default: this folder)")
    parser.add_argument("--json", action="store_true", dest="as_json", default=argparse.SUPPRESS, help="as JSON")
    parser.set_defaults(command=consents_command, by=by)


def consents_command(options: argparse.Namespace) -> int:
    # Imported here: the other commands do not read command lines.
    from ..agent.policy.hooks_config import waiting_of
    from .saved_rules import saved_consents

    space = Path(getattr(options, "space", "."))
    if not space.is_dir():
        raise UsageError(f"{str(space)!r} is not a folder")
    consents = saved_consents(space)

    def waiting() -> "tuple[Startable, ...]":
        return waiting_of(consents, Path(consents.space), home=str(Path.home()))

    if options.give:
        consents.give(_meant(options.give, waiting(), "nothing waits with the digest"), by=options.by)
    elif options.take:
        consents.take(_meant(options.take, consents.read()[0], "there is no consent with the digest").digest)
    return _said(options, consents, waiting)


def _meant(digest: str, among: Iterable[One], nothing: str) -> One:
    """:raises UsageError: if there is not exactly one"""
    if len(digest) < _SHORTEST:
        raise UsageError(f"a digest has at least {_SHORTEST} characters; given: {digest!r}")
    found = [one for one in among if one.digest.startswith(digest)]
    if len(found) != 1:
        raise UsageError(f"{nothing} {digest!r}" if not found else f"{digest!r} could be any of {len(found)}")
    return found[0]


def _said(options: argparse.Namespace, consents: "Consents", waiting: "Callable[[], tuple[Startable, ...]]") -> int:
    given, broken = consents.read()
    waits = waiting()
    if getattr(options, "as_json", False):
        body = {
            "space": consents.space,
            "waiting": [
                {
                    "origin": one.origin,
                    "command": one.command,
                    "environ": dict(one.environ),
                    "scripts": one.scripts,
                    "digest": one.digest,
                }
                for one in waits
            ],
            "consents": given,
            "broken": broken,
        }
        print(msgspec.json.encode(body).decode())
    elif not (options.give or options.take):
        _print_waiting(waits)
        _print_given(given)
    if broken:
        print(f"jupyter pernix: no consent counts: {neutral(broken)}", file=sys.stderr)
    return 1 if broken else 0


def _print_waiting(waits: "Iterable[Startable]") -> None:
    print(paint("wait for your yes; nothing of it is started", "bold", sys.stdout))
    lines: list[str] = []
    for one in waits:
        lines.append(f"  {one.digest[:_SHORT]}  {neutral(one.origin)}")
        lines += [f"    {neutral(line)}" for line in one.command.splitlines()]
        lines += [f"    runs {neutral(name)}" for name in one.scripts]
        lines += [f"    with {neutral(f'{name}={value}')}" for name, value in one.environ]
    print("\n".join(lines) or "  nothing")


def _print_given(given: "Iterable[Consent]") -> None:
    print(paint("may be started", "bold", sys.stdout))
    lines = [
        f"  {one.digest[:_SHORT]}  {neutral(one.origin)}  {neutral(one.by)} {one.given_at[:10]}\n    {neutral(one.command)}"
        for one in given
    ]
    print("\n".join(lines) or "  nothing")
