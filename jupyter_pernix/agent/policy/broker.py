"""The one authority: every tool call is decided here, before any effect, by mode, scope and what the user has allowed.

Order: the scope refuses first, then the mode; a permission that the user gave turns a question into a yes, and nothing else.
"""

import hashlib
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from ...errors import ToolError
from ...records import ApprovalChoice, Mode, Verdict
from ..commands import scripts, scripts_of_code
from .modes import refusal, verdict
from .opening import read_bytes
from .plain import visible
from .scope import OutOfScope, Scope

CHOICES: tuple[ApprovalChoice, ...] = ("allow_once", "allow_session", "reject_once")

_LONGEST_DETAIL = 20_000
_LARGEST_SCRIPT = 5_000_000


@dataclass(frozen=True, kw_only=True)
class Targets:
    """What a call would touch, as the model wrote it. ``cells``: cells of notebooks, each with what it is now: a yes is for that.
    ``shown``: what a person is shown of it instead."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    command: str = ""
    code: str = ""
    cells: tuple[str, ...] = ()
    shown: str = ""


@dataclass(frozen=True, kw_only=True)
class Intent:
    """One call as the broker sees it. ``title`` is a line for a person. ``question`` "": what is usual for the action."""

    action: str
    title: str
    targets: Targets = field(default_factory=Targets)
    question: str = ""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """``rule`` names what decided; ``targets`` are canonical; ``sentence`` is for the model when it is refused, else ""."""

    verdict: Verdict
    rule: str
    targets: tuple[str, ...] = ()
    sentence: str = ""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a person is asked; the text is frozen here and nothing in it can hide."""

    question: str
    detail: str
    choices: tuple[ApprovalChoice, ...] = CHOICES


def decide(
    intent: Intent, *, mode: Mode, scope: Scope, granted: AbstractSet[str] = frozenset(), can_ask: bool = True
) -> Decision:
    """What may happen with ``intent`` now. ``granted``: actions that the user has allowed for the whole session."""
    try:
        targets = _canonical(intent, scope)
    except _Protected as exc:
        return Decision(verdict="refuse", rule=f"protected:{exc.folder}", sentence=str(exc))
    except OutOfScope as exc:
        return Decision(verdict="refuse", rule="scope", sentence=str(exc))
    by_mode = verdict(mode, intent.action)
    rule = f"mode:{mode}:{intent.action}"
    if by_mode == "refuse":
        return Decision(verdict="refuse", rule=rule, targets=targets, sentence=refusal(mode, intent.action))
    if by_mode == "ask" and intent.action in granted:
        return Decision(verdict="allow", rule=f"session:{intent.action}", targets=targets)
    if by_mode == "ask" and not can_ask:
        sentence = "Not done: this needs the user's approval and nobody is there to give it. Go on without it, or finish and say so."
        return Decision(verdict="refuse", rule="nobody_to_ask", targets=targets, sentence=sentence)
    return Decision(verdict=by_mode, rule=rule, targets=targets)


def question(intent: Intent) -> Question:
    """The question about ``intent``. What is longer than a person could read is cut, and says so."""
    targets = intent.targets
    detail = targets.shown or targets.command or targets.code or "\n".join(targets.writes)
    if len(detail) > _LONGEST_DETAIL:
        rest = len(detail) - _LONGEST_DETAIL
        detail = detail[:_LONGEST_DETAIL] + f"\n[… {rest:,} more characters are not shown]"
    asked = visible(intent.question) or _ASKS.get(intent.action, f"Allow this: {visible(intent.title)}?")
    return Question(question=asked, detail=visible(detail))


_ASKS = {
    "execute": "Run this code in the session's kernel?",
    "shell": "Run this shell command?",
    "write": "Change these files?",
}


class _Protected(Exception):
    def __init__(self, name: str, folder: str) -> None:
        self.folder = folder
        super().__init__(f"Not done: {name!r} is in {folder!r}, which is not yours to change.")


def _canonical(intent: Intent, scope: Scope) -> tuple[str, ...]:
    """The real paths of an intent, then its command line.

    :raises OutOfScope: if one is outside
    :raises _Protected: if one that would be written is protected
    """
    targets = intent.targets
    found = [str(scope.locate(given).path) for given in targets.reads]
    for given in targets.writes:
        located = scope.locate(given)
        if located.protected is not None:
            raise _Protected(located.name, located.protected)
        found.append(str(located.path))
    if targets.command:
        found.append(targets.command)
    if intent.action == "execute":
        found.append("kernel")
    found += targets.cells
    found += _scripts((*scripts(targets.command), *scripts_of_code(targets.code)), scope)
    return tuple(found)


def _scripts(names: Iterable[str], scope: Scope) -> list[str]:
    """The space's own files that would be run, each with the digest of its content: a yes is for what they are now."""
    found: list[str] = []
    for name in names:
        try:
            located = scope.locate(name)
            content = read_bytes(located, limit=_LARGEST_SCRIPT)
        except ToolError:
            continue
        found.append(f"{located.path} sha256:{hashlib.sha256(content).hexdigest()}")
    return found
