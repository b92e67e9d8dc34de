"""Whether a call may be carried out: decided by the one authority, and asked where a person has to say so."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..events import ApprovalRequested, ApprovalResolved, Event, PolicyDecided, Stored, ToolCallRequested
from ..ids import ApprovalId, CallId, TurnId
from ..ports import Clock, TurnHost
from ..records import ApprovalAnswer, ApprovalChoice
from .budget import Spending
from .guards import Guards
from .journal import Journal
from .policy.broker import Decision, Intent, Question, decide, question
from .policy.scope import Scope

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
                answer = ApprovalAnswer(choice=event.choice, text=event.text)
                found[event.call_id] = replace(found[event.call_id], answer=answer)
            case _:
                pass
    return found


class Permission:
    """For the calls of one turn. ``asked``: those that an earlier program asked about, when the turn goes on in this one."""

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
    ) -> None:
        self._host = host
        self._turn_id = turn_id
        self._journal = journal
        self._scope = scope
        self._guards = guards
        self._spending = spending
        self._clock = clock
        self._asked = asked
        self._open = {call_id: one.question for call_id, one in asked.items() if one.answer is None}

    async def refused(self, call: ToolCallRequested, intent: Intent, key: str) -> tuple[str, list[Event]]:
        """Why the call must not be carried out, for the model; "" if it may. And what was decided and is not stored yet: it must be
        before anything is done."""
        before = self._asked.get(call.call_id)
        if before is not None:
            answer = before.answer or await self._ask(call, _as_before(before.question))
            return self._after(call, intent, key, tuple(before.decided.targets), answer)
        decision, again = self._decide(intent), self._guards.needs_asking(key)
        if again and decision.verdict == "allow":
            decision = self._again(decision)
        decided = self._decided(call, intent, decision)
        if decision.verdict != "ask":
            return decision.sentence, [decided]
        self._journal.defer(decided)
        await self._journal.settle()
        asked = question(intent)
        if again:
            asked = Question(question=again, detail=asked.detail or intent.title, choices=_AGAIN)
        return self._after(call, intent, key, decision.targets, await self._ask(call, asked))

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
            call_id=call.call_id, question=asked.question, detail=asked.detail, choices=list(asked.choices)
        )
        self._spending.waited(self._clock.monotonic() - since)
        self._journal.witness(
            ApprovalResolved(
                session_id=self._host.session_id,
                turn_id=self._turn_id,
                call_id=call.call_id,
                approval_id=ApprovalId(""),
                choice=answer.choice,
                text=answer.text,
                by="user",
            )
        )
        return answer

    def _after(
        self, call: ToolCallRequested, intent: Intent, key: str, targets: tuple[str, ...], answer: ApprovalAnswer
    ) -> tuple[str, list[Event]]:
        if answer.choice in ("reject_once", "reject_always"):
            self._guards.declined(key)
            self._journal.ledger.declined(self._turn_id, call.call_id)
            said = (
                f" The user says: {answer.text}" if answer.text.strip() else " Do something else, or finish and say so."
            )
            return f"Not done: the user declined this.{said}", []
        now = self._decide(intent)
        if now.verdict == "refuse" or now.targets != targets:
            # between question and answer the mode, or a link on the way, was changed: the yes was for something else
            sentence = now.sentence or "Not done: what this call would touch has changed since the user was asked."
            return sentence, [self._decided(call, intent, now)]
        return "", []

    def _decide(self, intent: Intent) -> Decision:
        return decide(
            intent,
            mode=self._host.mode,
            scope=self._scope,
            granted=self._journal.ledger.granted,
            can_ask=self._host.can_ask,
        )

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
        )


def _as_before(asked: ApprovalRequested) -> Question:
    return Question(question=asked.question, detail=asked.detail, choices=tuple(asked.choices))
