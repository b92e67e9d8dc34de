"""The one authority: every tool call is decided here, before any effect.

Order: what a deny rule forbids or nobody may touch is refused; then the mode refuses; then what is asked each time is asked, whatever is
allowed; then a rule that the user has given, for the session or for good, turns a question into a yes, and nothing else does.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ...records import ApprovalChoice, Mode, Ruling, Verdict
from .intent import Intent, Targets
from .judgement import EFFECTS_IN_WORDS, RUN_CODE, Judgement
from .judging import Judge, Judged, Unjudgeable, bounded
from .modes import refusal, verdict
from .plain import one_line, visible
from .rules import RuleSet, offer

__all__ = ["Decision", "Gate", "Intent", "Question", "Targets", "decide", "question"]

ONCE: tuple[ApprovalChoice, ...] = ("allow_once", "reject_once")
FOR_SESSION: tuple[ApprovalChoice, ...] = ("allow_once", "allow_session", "reject_once")
FOR_GOOD: tuple[ApprovalChoice, ...] = ("allow_once", "allow_session", "allow_always", "reject_once")

NOBODY = "Not done: this needs the user's approval and nobody is there to give it{why}. Go on without it, or finish and say so."
NO_RULES = RuleSet()
_LONGEST_DETAIL = 20_000


@dataclass(frozen=True, kw_only=True)
class Decision:
    """``rule`` names what decided; ``targets`` are canonical; ``sentence`` is for the model when it is refused, else "". ``why``: for a
    person. ``offers``: rules that would have allowed an ``ask``, and may be remembered. ``opened``: paths outside of the space that the
    call may use."""

    verdict: Verdict
    rule: str
    targets: tuple[str, ...] = ()
    sentence: str = ""
    ruling: Ruling = "auto"
    why: str = ""
    effects: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a person is asked; the text is frozen here and nothing in it can hide."""

    question: str
    detail: str
    choices: tuple[ApprovalChoice, ...] = ONCE
    why: str = ""
    rules: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What is allowed now. ``granted``: rules that hold for this session. ``sandboxed``: what the call starts is behind the wall;
    ``network``: which lets the network through."""

    mode: Mode
    judge: Judge
    rules: RuleSet = NO_RULES
    granted: frozenset[str] = frozenset()
    can_ask: bool = True
    sandboxed: bool = False
    network: bool = False


def decide(intent: Intent, gate: Gate) -> Decision:
    """What may happen with ``intent`` now."""
    if verdict(gate.mode, intent.action) == "refuse" and intent.action != "shell":
        return Decision(
            verdict="refuse",
            rule=f"mode:{gate.mode}:{intent.action}",
            sentence=refusal(gate.mode, intent.action),
            ruling="denied",
        )
    try:
        judged = gate.judge.judge(intent)
    except Unjudgeable as exc:
        return Decision(verdict="refuse", rule=exc.rule, sentence=str(exc), ruling="denied", why=str(exc))
    except (OSError, ValueError, RecursionError) as exc:
        sentence = f"Not done: what this would touch could not be looked at ({one_line(str(exc), 200)}). Try again, or name it otherwise."
        return Decision(verdict="refuse", rule="not_judged", sentence=sentence, ruling="denied", why=sentence)
    return _of(intent, judged, gate)


def _of(intent: Intent, judged: Judged, gate: Gate) -> Decision:
    found = judged.judgement

    def made(verdict: Verdict, rule: str, sentence: str = "", offers: tuple[str, ...] = ()) -> Decision:
        return Decision(
            verdict=verdict,
            rule=rule,
            targets=judged.targets,
            sentence=sentence,
            ruling=found.ruling,
            why=visible(found.why),
            effects=tuple(EFFECTS_IN_WORDS[effect] for effect in found.effects),
            offers=offers,
            opened=judged.opened,
        )

    if found.ruling == "denied":
        return made("refuse", "denied", f"Not done: {found.why}. No approval can change that.")
    only_reads = intent.action == "shell" and found.ruling == "auto"
    action = "read" if only_reads else intent.action
    by_mode = verdict(gate.mode, action)
    rule = f"mode:{gate.mode}:{action}"
    if by_mode == "refuse":
        return made("refuse", rule, refusal(gate.mode, action))
    if gate.rules.broken and action != "none":
        rule, by_mode = "rules_unreadable", "ask"
        found_rule = ""
    elif not _asks(intent, found, by_mode, gate):
        return made("allow", rule)
    else:
        found_rule = _allowing(found, gate)
    if found_rule:
        return made("allow", found_rule)
    if found.ruling == "ask_always":
        rule = "asked_each_time"
    if not gate.can_ask:
        return made("refuse", "nobody_to_ask", NOBODY.format(why=f" ({one_line(found.why, 200)})" if found.why else ""))
    return made("ask", rule, offers=() if gate.rules.broken else _offers(intent, judged, gate))


def _asks(intent: Intent, found: Judgement, by_mode: Verdict, gate: Gate) -> bool:
    """Whether it is a question at all, before any rule is looked at."""
    if found.ruling == "auto":
        return by_mode != "allow" and intent.action != "shell"
    if by_mode == "allow" and gate.sandboxed and bounded(found, network=gate.network):
        return False
    plain = not found.grave and (found.ruling == "ask" or gate.mode == "auto")
    return not (by_mode == "allow" and plain)


def _allowing(found: Judgement, gate: Gate) -> str:
    """The rule that allows what was found, as it is told; "" if none does."""
    home = gate.judge.home
    if gate.rules.covers(found, home=home):
        return f"saved:{' + '.join(found.rules)}"
    if gate.rules.covers(found, session=gate.granted, home=home):
        return f"session:{' + '.join(found.rules)}"
    return ""


def _offers(intent: Intent, judged: Judged, gate: Gate) -> tuple[str, ...]:
    def again() -> Judgement:
        return gate.judge.judge(intent).judgement

    return offer(judged.judgement, again, home=gate.judge.home)


def question(intent: Intent, decision: Decision | None = None) -> Question:
    """The question about ``intent``. What is longer than a person could read is cut, and says so."""
    targets = intent.targets
    detail = targets.shown or targets.command or targets.code or "\n".join((*targets.writes, *targets.deletes))
    if decision is not None and decision.opened:
        detail = "\n".join(filter(None, (detail if targets.shown else "", *decision.opened)))
    if len(detail) > _LONGEST_DETAIL:
        rest = len(detail) - _LONGEST_DETAIL
        detail = detail[:_LONGEST_DETAIL] + f"\n[… {rest:,} more characters are not shown]"
    asked = visible(intent.question) or _ASKS.get(intent.action, f"Allow this: {visible(intent.title)}?")
    if decision is None:
        return Question(question=asked, detail=visible(detail))
    return Question(
        question=asked,
        detail=visible(detail),
        choices=_choices(decision.offers),
        why=decision.why,
        rules=decision.offers,
        effects=decision.effects,
    )


def _choices(offers: Iterable[str]) -> tuple[ApprovalChoice, ...]:
    rules = tuple(offers)
    if not rules:
        return ONCE
    return FOR_SESSION if RUN_CODE in rules else FOR_GOOD


_ASKS = {
    "execute": "Run this code in the session's kernel?",
    "shell": "Run this shell command?",
    "read": "Read this?",
    "write": "Change these files?",
    "delete": "Delete these files?",
}
