"""Rules that the user has given: whether they cover what a judge found, and which may be offered.

A rule never makes a call harmless: it stands for a person's yes to an ``ask``. An ``ask_always`` is asked whatever the rules are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .judgement import Judgement
from .paths import canonical, inside
from .rule_forms import normal, valid_deny, valid_rule

__all__ = ["RuleSet", "covered", "offer", "paths_denied", "tool_denied", "valid_deny", "valid_rule"]


@dataclass(frozen=True)
class RuleSet:
    """``broken``: why rules of the user could not be read. Then ``allow`` is empty, ``deny`` may lack rules, and so nothing may be done
    unasked that is not known to be only reading."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    broken: str = ""

    def covers(self, judgement: Judgement, *, session: Iterable[str] = (), home: str = "") -> bool:
        """Together with rules that hold for the session only. The deny rules are the judge's to know."""
        return not self.broken and covered(judgement, (*self.allow, *session), home=home)


def covered(judgement: Judgement, allowed: Iterable[str], *, home: str = "") -> bool:
    """Whether each rule that an ``ask`` needs is among ``allowed``; those that can be no rule are ignored. ``home`` as in ``valid_rule``."""
    if judgement.ruling != "ask" or not judgement.rules:
        return False
    given = {normal(rule) for rule in allowed}
    return all(_covered(normal(rule), given, home) for rule in judgement.rules)


def _covered(needed: str, given: set[str], home: str) -> bool:
    if needed in given and not valid_rule(needed, home=home):
        return True
    kind, _, path = needed.partition(":")
    if kind not in ("dir", "file") or valid_rule(needed, home=home):
        return False
    folders = (rule for rule in given if rule.startswith("dir:") and inside(path, rule.removeprefix("dir:")))
    return any(not valid_rule(rule, home=home) for rule in folders)


def offer(judgement: Judgement, judge_again: Callable[[], Judgement], *, home: str = "") -> tuple[str, ...]:
    """The rules that may be offered for "always": those of an ``ask``, if with them the same call, judged again, would not be asked."""
    # what is written stands behind what writes it, as in the line
    rules = tuple(sorted(dict.fromkeys(judgement.rules), key=lambda rule: rule == ">"))
    if judgement.ruling != "ask" or not covered(judgement, rules, home=home):
        return ()
    return rules if covered(judge_again(), rules, home=home) else ()


def tool_denied(name: str, deny: Iterable[str]) -> str:
    """The deny rule that forbids every call of the tool ``name``, "" if none does: ``tool:NAME``, or ``CONNECTOR.*`` for a connector's."""
    for rule in deny:
        given = rule.removeprefix("tool:")
        if (given == name and rule != given) or (given.endswith(".*") and name.startswith(given[:-1])):
            return rule
    return ""


def paths_denied(judgement: Judgement, deny: Iterable[str], *, root: str, home: str = "") -> str:
    """The deny rule about paths that forbids what ``judgement`` is known to read or write, "" if none does. ``write:`` and ``read:``
    take a path as the user wrote it: absolute, from ``~``, or in the space at ``root``; what is below it is meant as well."""
    for rule in deny:
        kind, colon, path = rule.partition(":")
        touched = {"write": judgement.writes, "read": judgement.reads}.get(kind, (*judgement.reads, *judgement.writes))
        if colon and kind in ("read", "write", "dir", "file"):
            meant = canonical(_from_home(path.strip(), home), folder=root)
            if any(inside(one, meant) for one in touched):
                return rule
    return ""


def _from_home(path: str, home: str) -> str:
    mine = home or str(Path.home())
    return mine + path[1:] if path == "~" or path.startswith("~/") else path
