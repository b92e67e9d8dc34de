"""Whether a call may be carried out: decided by the one authority, and asked where a person has to say so."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import anyio.to_thread

from ..errors import KernelError, PernixError
from ..events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    PolicyDecided,
    ProblemNoticed,
    Stored,
    ToolCallRequested,
)
from ..ids import ApprovalId, CallId, TurnId
from ..ports import Clock, TurnHost
from ..records import ApprovalAnswer, ApprovalChoice
from .budget import Spending
from .guards import Guards
from .journal import Journal
from .policy.broker import NOBODY, Decision, Gate, Intent, Question, decide, question
from .policy.hooks import Hooks
from .policy.judging import Judge
from .policy.modes import verdict
from .policy.plain import one_line
from .policy.rules import RuleSet
from .policy.rules_file import RulesFile, of_settings
from .policy.scope import Scope
from .tools.environment import cleaned

_AGAIN: tuple[ApprovalChoice, ...] = ("allow_once", "reject_once")
_MAY_BE_DONE = (
    "Not done: this may already have been done, in a program that ended while it ran, and nobody is there to say whether to do it "
    "again. Look at what is there, then do what is missing."
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What an earlier program decided and asked about a call; ``answer`` ``None``: nobody has answered yet."""

    decided: PolicyDecided
    question: ApprovalRequested
    answer: ApprovalAnswer | None = None


def asked_before(log: Iterable[Stored]) -> dict[CallId, Asked]:
    """The calls that a person was asked about."""
    decided: dict[CallId, PolicyDecided] = {}
    found: dict[CallId, Asked] = {}
    for stored in log:
        event = stored.event
        match event:
            case PolicyDecided():
                decided[event.call_id] = event
            case ApprovalRequested() if event.call_id in decided:
                found[event.call_id] = Asked(decided=decided[event.call_id], question=event)
            case ApprovalResolved() if event.call_id in found:
                answer = ApprovalAnswer(choice=event.choice, text=event.text, rules=list(event.rules))
                found[event.call_id] = replace(found[event.call_id], answer=answer)
            case _:
                pass
    return found


@dataclass(frozen=True, kw_only=True)
class Ruled:
    """``refused``: why the call must not be carried out, for the model; "" if it may. ``events``: what was decided and is not stored yet:
    it must be before anything is done. ``opened``: paths outside of the space that the call may use."""

    refused: str = ""
    events: Sequence[Event] = ()
    opened: tuple[str, ...] = ()


class Permission:
    """For the calls of one turn. ``asked``: those that an earlier program asked about, when the turn goes on in this one. ``deny``: rules of
    the settings."""

    def __init__(
        self,
        *,
        host: TurnHost,
        turn_id: TurnId,
        journal: Journal,
        scope: Scope,
        guards: Guards,
        spending: Spending,
        clock: Clock,
        asked: Mapping[CallId, Asked],
        hooks: Hooks,
        deny: Sequence[str] = (),
    ) -> None:
        self._host = host
        self._turn_id = turn_id
        self._journal = journal
        self._scope = scope
        self._guards = guards
        self._spending = spending
        self._clock = clock
        self._asked = asked
        self.hooks = hooks
        settings = of_settings(deny)
        self._deny = tuple(one.rule for one in settings if not one.fault)
        self._faulty = next(
            (f"the settings have the deny rule {one.rule[:80]!r}: {one.fault}" for one in settings if one.fault), ""
        )
        self._home = str(host.home)
        folder = host.permissions_folder
        # a space may hold them, under whatever name
        self._guarded = tuple(os.path.realpath(one.parent) for one in (folder, host.kept_folder) if one is not None)
        self._saved = None if folder is None else RulesFile(folder, scope.root, home=self._home)
        self._open = {call_id: one.question for call_id, one in asked.items() if one.answer is None}

    async def ruled(self, call: ToolCallRequested, intent: Intent, key: str) -> Ruled:
        """Whether the call may be carried out; a person is asked if need be."""
        before = self._asked.get(call.call_id)
        if before is not None:
            answer = before.answer or await self._ask(call, _as_before(before.question))
            return await self._after(call, intent, key, tuple(before.decided.targets), answer)
        decision, again = await self._decide(intent), self._guards.needs_asking(key)
        if again and decision.verdict == "allow":
            decision = self._again(decision)
        decision = await self._hooked(call, decision)
        decided = self._decided(call, intent, decision)
        if decision.verdict != "ask":
            return Ruled(refused=decision.sentence, events=[decided], opened=decision.opened)
        self._journal.defer(decided)
        await self._journal.settle()
        asked = question(intent, decision)
        if again:
            asked = replace(asked, question=again, detail=asked.detail or intent.title, choices=_AGAIN, rules=())
        return await self._after(call, intent, key, decision.targets, await self._ask(call, asked))

    async def _hooked(self, call: ToolCallRequested, decision: Decision) -> Decision:
        """``decision``, or a stricter one."""
        if decision.verdict == "refuse":
            return decision
        said = await self.hooks.before(call)
        match said.decision:
            case "allow":
                return decision
            case "ask":
                stricter = replace(decision, verdict="ask", rule="hook", why=f"a hook asks: {said.reason}", offers=())
                if self._host.can_ask:
                    return stricter
                sentence = NOBODY.format(why=f" ({one_line(stricter.why, 200)})")
                return replace(stricter, verdict="refuse", rule="nobody_to_ask", sentence=sentence)
            case "deny":
                sentence, why = f"Not done: a hook denies this: {said.reason}", f"a hook denies this: {said.reason}"
            case "failed":
                sentence = f"Not done: a hook about this failed, which counts as a no: {said.reason}"
                why = f"a hook failed: {said.reason}"
        return replace(decision, verdict="refuse", rule="hook", sentence=sentence, why=why, offers=())

    def _again(self, decision: Decision) -> Decision:
        if self._host.can_ask:
            return replace(decision, verdict="ask", rule="may_be_done")
        return replace(decision, verdict="refuse", rule="may_be_done", sentence=_MAY_BE_DONE)

    def unasked(self) -> list[Event]:
        """What closes the questions of an earlier program that have not been asked again, because the turn ended before."""
        open_, self._open = self._open, {}
        return [
            ApprovalResolved(
                session_id=self._host.session_id,
                turn_id=one.turn_id,
                call_id=one.call_id,
                approval_id=one.approval_id,
                choice="reject_once",
                text="",
                by="host",
            )
            for one in open_.values()
            if one.turn_id == self._turn_id
        ]

    async def _ask(self, call: ToolCallRequested, asked: Question) -> ApprovalAnswer:
        since = self._clock.monotonic()
        self._open.pop(call.call_id, None)
        answer = await self._host.ask(
            call_id=call.call_id,
            question=asked.question,
            detail=asked.detail,
            choices=list(asked.choices),
            why=asked.why,
            rules=asked.rules,
            effects=asked.effects,
        )
        self._spending.waited(self._clock.monotonic() - since)
        granted = _granted(answer, asked.rules)
        self._journal.witness(
            ApprovalResolved(
                session_id=self._host.session_id,
                turn_id=self._turn_id,
                call_id=call.call_id,
                approval_id=ApprovalId(""),
                choice=answer.choice,
                text=answer.text,
                by="user",
                rules=granted,
            )
        )
        if answer.choice == "allow_always":
            await self._save(granted)
        return answer

    async def _save(self, rules: Sequence[str]) -> None:
        """What cannot be saved holds for the session, and the user is told."""
        saved = self._saved
        try:
            if saved is None:
                raise PernixError("there is no folder for them")
            for rule in rules:
                await anyio.to_thread.run_sync(lambda rule=rule: saved.add(rule, by="approval"))
        except PernixError as exc:
            self._journal.defer(
                ProblemNoticed(
                    session_id=self._host.session_id,
                    turn_id=self._turn_id,
                    text=f"The rules could not be saved: {exc}. They hold for this session.",
                    hint="Mend the file, or add them again with `jupyter pernix permissions add`.",
                )
            )

    async def _after(
        self, call: ToolCallRequested, intent: Intent, key: str, targets: tuple[str, ...], answer: ApprovalAnswer
    ) -> Ruled:
        if answer.choice in ("reject_once", "reject_always"):
            self._guards.declined(key)
            self._journal.ledger.declined(self._turn_id, call.call_id)
            said = (
                f" The user says: {answer.text}" if answer.text.strip() else " Do something else, or finish and say so."
            )
            return Ruled(refused=f"Not done: the user declined this.{said}")
        now = await self._decide(intent)
        if now.verdict == "refuse" or now.targets != targets:
            # between question and answer the mode, or a link on the way, was changed: the yes was for something else
            sentence = now.sentence or "Not done: what this call would touch has changed since the user was asked."
            return Ruled(refused=sentence, events=[self._decided(call, intent, now)])
        return Ruled(opened=now.opened)

    async def _decide(self, intent: Intent) -> Decision:
        rules = RuleSet() if self._saved is None else await anyio.to_thread.run_sync(self._saved.read)
        language, own = await self._kernel(intent)
        faulty = self._faulty or (await self.hooks.found()).broken
        if faulty:
            rules = replace(rules, allow=(), broken=rules.broken or faulty)
        gate = Gate(
            mode=self._host.mode,
            judge=Judge(
                scope=self._scope,
                home=self._home,
                deny=(*self._deny, *rules.deny),
                language=language,
                guarded=self._guarded,
                environ=cleaned(os.environ),
            ),
            rules=rules,
            granted=frozenset(self._journal.ledger.granted),
            can_ask=self._host.can_ask,
            sandboxed=self._host.sandbox and (intent.action == "shell" or (intent.action == "execute" and own)),
            network=self._host.network,
        )
        return decide(intent, gate)

    async def _kernel(self, intent: Intent) -> tuple[str, bool]:
        """The language of the kernel that would run the code, and whether it is the session's own."""
        has_code = bool(intent.targets.code or intent.targets.codes)
        if not has_code or verdict(self._host.mode, intent.action) == "refuse":
            return "python", False
        try:
            executor = await self._host.executor()
        except KernelError:
            # the call will say so
            return "python", False
        return executor.language, executor.place == "own"

    def _decided(self, call: ToolCallRequested, intent: Intent, decision: Decision) -> PolicyDecided:
        return PolicyDecided(
            session_id=self._host.session_id,
            turn_id=self._turn_id,
            call_id=call.call_id,
            action=intent.action,
            verdict=decision.verdict,
            rule=decision.rule,
            mode=self._host.mode,
            targets=list(decision.targets),
            ruling=decision.ruling,
            why=decision.why,
            effects=list(decision.effects),
        )


def _granted(answer: ApprovalAnswer, offered: Sequence[str]) -> list[str]:
    if answer.choice not in ("allow_session", "allow_always"):
        return []
    return list(offered) if answer.rules is None else [rule for rule in offered if rule in answer.rules]


def _as_before(asked: ApprovalRequested) -> Question:
    return Question(
        question=asked.question,
        detail=asked.detail,
        choices=tuple(asked.choices),
        why=asked.why,
        rules=tuple(asked.rules),
        effects=tuple(asked.effects),
    )
