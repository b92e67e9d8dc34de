"""What would be decided about a command line, a cell or a tool, and why; nothing is run. For ``jupyter pernix permissions explain``."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from ..agent.policy.broker import Decision, Gate, Intent, Targets, decide
from ..agent.policy.cells import judge_cell
from ..agent.policy.judgement import RUN_CODE, Ruling
from ..agent.policy.judging import Judge
from ..agent.policy.rules import RuleSet, tool_denied, valid_deny
from ..agent.policy.scope import Scope
from ..livetext import neutral
from ..records import Mode
from .screen import paint

_KEYS = {"cmd", "cell", "tool", "lang", "automagic", "rules", "deny", "id"}
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
    """``rules``: what "always" would save, of what is asked. ``magic_shell`` and ``effects``: of a cell only. ``ignored``: what was asked
    in words that are not known here."""

    verdict: Ruling
    why: str
    rules: tuple[str, ...] = ()
    cell: bool = False
    magic_shell: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"verdict": self.verdict, "rule": list(self.rules) or None, "why": self.why}
        if self.cell:
            said |= {"magic_shell": list(self.magic_shell), "obvious_effects": list(self.effects)}
        return said | ({"ignored": list(self.ignored)} if self.ignored else {})


def explain(asked: Any, place: Place) -> Explained:
    """What would be decided about one line of the standard input.

    :raises BadLine: if it cannot be understood
    """
    what, text = _what(asked)
    said = _explained(what, text, asked, place)
    return replace(said, ignored=tuple(sorted(asked.keys() - _KEYS)))


def _explained(what: str, text: str, asked: dict[str, Any], place: Place) -> Explained:
    rules = (*place.saved.allow, *_strings(asked, "rules"))
    deny = (*place.saved.deny, *_strings(asked, "deny"))
    bad = next((f"{rule!r} can be no deny rule: {fault}" for rule in deny if (fault := valid_deny(rule))), "")
    if bad:
        raise BadLine(bad)
    if what == "tool":
        return _tool(text, deny)
    gate = _gate(place, rules, deny)
    if what == "cmd":
        return _decided(Intent(action="shell", title="", targets=Targets(command=text)), gate)
    language, automagic = asked.get("lang", "python"), asked.get("automagic", True)
    if not isinstance(language, str) or not isinstance(automagic, bool):
        raise BadLine('"lang" is not a text, or "automagic" is neither true nor false')
    judge = replace(gate.judge, language=language, automagic=automagic)
    return _cell(text, replace(gate, judge=judge))


def _what(asked: Any) -> tuple[str, str]:
    if not isinstance(asked, dict):
        raise BadLine("the line is not a JSON object")
    given = cast(dict[str, Any], asked)
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


def _gate(place: Place, rules: tuple[str, ...], deny: tuple[str, ...]) -> Gate:
    judge = Judge(scope=Scope(Path(place.root)), home=place.home, deny=deny)
    return Gate(mode=place.mode, judge=judge, rules=RuleSet(allow=rules, deny=deny, broken=place.saved.broken))


def _cell(code: str, gate: Gate) -> Explained:
    judge = gate.judge
    root = str(judge.scope.root)
    seen = judge_cell(
        code, language=judge.language, root=root, home=judge.home, automagic=judge.automagic, deny=judge.deny
    )
    said = _decided(Intent(action="execute", title="", targets=Targets(code=code)), gate)
    return replace(said, cell=True, magic_shell=tuple(seen.magic_shell), effects=tuple(seen.obvious_effects))


def _decided(intent: Intent, gate: Gate) -> Explained:
    found = decide(intent, gate)
    why = found.why or found.sentence
    if found.verdict == "refuse":
        by_mode = found.rule.startswith("mode:")
        return Explained(
            verdict="denied", why=f"in mode {gate.mode} only reading is allowed; {why}" if by_mode else why
        )
    if found.verdict == "allow":
        return Explained(verdict="auto", why=_why_allowed(found, why, gate.mode))
    if gate.rules.broken:
        why = f"saved rules cannot be read, so everything is asked: {gate.rules.broken}"
    # leave to run code is given for a session, not for good
    rules = () if RUN_CODE in found.offers else found.offers
    return Explained(verdict="ask_always" if found.ruling == "ask_always" else "ask", why=why, rules=rules)


def _why_allowed(found: Decision, why: str, mode: Mode) -> str:
    kind, _, rules = found.rule.partition(":")
    if kind in ("saved", "session"):
        return f"allowed by {rules}; {why}"
    return why if found.ruling == "auto" else f"mode {mode} allows it; {why}"


def in_words(line: str, said: Explained) -> str:
    """For a person."""
    words, colour = _IN_WORDS[said.verdict]
    lines = [neutral(line), f"  {paint(words, colour, sys.stdout)}: {neutral(said.why)}"]
    if said.rules:
        lines.append(f'  "always" would save: {neutral(", ".join(said.rules))}')
    elif said.verdict in ("ask", "ask_always"):
        lines.append('  "always" is not offered')
    return "\n".join(lines)
