"""The tool calls of a turn, one by one: checked, guarded, decided, asked about, carried out, answered. Every step is stored before
the next one happens, and every call that was requested gets exactly one result, whatever comes between.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..config import Deadlines
from ..errors import ToolError, ToolRetry
from ..events import MessageCompleted, PolicyDecided, ToolCallFinished, ToolCallRequested, ToolCallStarted
from ..ids import StepId, TurnId, new_call_id
from ..ports import Clock, TurnHost
from ..records import CallStatus
from .budget import Exceeded, Spending
from .context import FINISH, plain_json
from .excerpt import excerpt
from .guards import Repeats, call_key
from .journal import Journal
from .model.parts import ModelCall
from .policy.broker import Decision, Intent, decide, question
from .policy.plain import one_line
from .policy.scope import Scope
from .steps import Step
from .tools.base import RESULT_LIMIT, Bound, Tool, ToolContext, ToolResult
from .tools.registry import tool_named
from .wellformed import wellformed, wellformed_json

log = logging.getLogger(__name__)

NOT_BEGUN = "Not done: {reason} before this call was carried out."
BROKEN_OFF = "Stopped: {reason} while this call ran. It may have had a part of its effect."
_LONGEST_RESULT = RESULT_LIMIT + 4_000

AFTER_ANSWER = "Not done: the turn was finished before this call."


@dataclass(kw_only=True)
class OpenCall:
    """A call that has no result yet. ``bound`` is ``None`` if it cannot be carried out; ``fault`` then says why."""

    requested: ToolCallRequested
    bound: Bound | None
    fault: str
    text: str
    key: str
    started: float | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """``answer``: the turn is answered. ``exceeded``: its budget is. Neither: it goes on."""

    answer: str | None = None
    exceeded: Exceeded | None = None


class Calls:
    """The calls of one turn."""

    def __init__(
        self,
        *,
        host: TurnHost,
        turn_id: TurnId,
        journal: Journal,
        tools: Mapping[str, Tool[Any]],
        spending: Spending,
        deadlines: Deadlines,
        clock: Clock,
    ) -> None:
        self._host = host
        self._turn_id = turn_id
        self._journal = journal
        self._tools = tools
        self._spending = spending
        self._deadlines = deadlines
        self._clock = clock
        self._scope = Scope(host.space)
        self._open: list[OpenCall] = []
        self.repeats = Repeats()

    # ---- taking a reply ---------------------------------------------------------------------------------------------

    def take(self, step: Step) -> list[ToolCallRequested]:
        """The calls of a reply, as they are to be stored; from now on they are open."""
        wire_ids = set(self._journal.transcript.wire_ids)
        for call in step.reply.calls:
            opened = self._opened(call, step, wire_ids)
            wire_ids.add(opened.requested.wire_id)
            self._open.append(opened)
        return [call.requested for call in self._open]

    def _opened(self, call: ModelCall, step: Step, wire_ids: set[str]) -> OpenCall:
        call_id = new_call_id()
        arguments = wellformed_json(call.arguments or {})
        raw = wellformed(call.raw) if call.arguments is not None else ""
        bound, fault = self._bound(call, arguments)
        known = self._tools.get(call.name)
        requested = ToolCallRequested(
            session_id=self._host.session_id,
            turn_id=self._turn_id,
            step_id=step.step_id,
            call_id=call_id,
            # some endpoints give every call the same id, or none
            wire_id=call.wire_id if call.wire_id and call.wire_id not in wire_ids else call_id,
            tool=wellformed(call.name),
            kind="other" if known is None else known.kind,
            title=one_line(call.name, 80) if bound is None else bound.intent.title,
            arguments=arguments,
            raw="" if raw == plain_json(arguments) else raw,
        )
        key = call_key(call.name, arguments if call.arguments is not None else {"raw": call.raw})
        return OpenCall(
            requested=requested,
            bound=bound,
            fault=fault,
            text=step.reply.text,
            key=key if bound is None else bound.key,
        )

    def _bound(self, call: ModelCall, arguments: dict[str, Any]) -> tuple[Bound | None, str]:
        try:
            tool = tool_named(call.name, self._tools)
            if call.arguments is None:
                raise ToolRetry(f"Not done: the arguments of {call.name} could not be read: {call.fault}")
            return tool.bind(arguments), ""
        except ToolRetry as exc:
            return None, str(exc)

    # ---- carrying out -----------------------------------------------------------------------------------------------

    async def carry_out(self) -> Outcome:
        """Carry out the open calls in their order, until one of them answers the turn or the budget ends it."""
        failed = ""
        while self._open:
            call = self._open[0]
            exceeded = self._spending.next_call(self._clock.monotonic())
            if exceeded is not None:
                await self._drop_open(f"Not done: {exceeded.detail}")
                return Outcome(exceeded=exceeded)
            result = await self._one(call, failed_before=failed)
            if result.answer is not None:
                await self._drop_open(AFTER_ANSWER)
                return Outcome(answer=result.answer)
            if result.failed:
                failed = call.requested.tool
        return Outcome()

    async def _one(self, call: OpenCall, *, failed_before: str) -> ToolResult:
        result = await self._result(call, failed_before=failed_before)
        answered = self._answer_event(call, result)
        await self._finish(call, "failed" if result.failed else "completed", result, *answered)
        self.repeats.ended(failed=result.failed)
        return result

    async def _result(self, call: OpenCall, *, failed_before: str) -> ToolResult:
        guarded = self.repeats.sees(call.key)
        if guarded:
            return ToolResult(text=guarded, failed=True)
        if call.bound is None:
            return ToolResult(text=call.fault, failed=True)
        if call.requested.tool == FINISH and failed_before:
            text = f"Not done: {failed_before} in the same reply failed. Read its result, then go on or finish."
            return ToolResult(text=text, failed=True)
        refused = await self._refused(call, call.bound.intent)
        if refused:
            return ToolResult(text=refused, failed=True)
        return await self._run(call, call.bound)

    async def _run(self, call: OpenCall, bound: Bound) -> ToolResult:
        requested = call.requested
        call.started = self._clock.monotonic()
        await self._journal.add(
            ToolCallStarted(session_id=self._host.session_id, turn_id=self._turn_id, call_id=requested.call_id)
        )
        context = ToolContext(
            host=self._host,
            turn_id=self._turn_id,
            call_id=requested.call_id,
            scope=self._scope,
            ledger=self._journal.ledger,
            deadlines=self._deadlines,
            clock=self._clock,
            store=self._journal.add,
            seconds_left=self._spending.left(call.started),
        )
        try:
            result = await bound.carry_out(context)
            # each tool cuts what it knows how to cut; this is the wall behind them
            return replace(result, text=excerpt(result.text, limit=_LONGEST_RESULT).text)
        except ToolError as exc:
            return ToolResult(text=str(exc), failed=True)
        except Exception as exc:
            # the edge of a tool: whatever is wrong in one call is a result, the turn goes on
            log.exception("tool %s failed", requested.tool)
            return ToolResult(
                text=f"Failed by an error inside of {requested.tool}: {type(exc).__name__}: {exc}", failed=True
            )

    # ---- permission -------------------------------------------------------------------------------------------------

    async def _refused(self, call: OpenCall, intent: Intent) -> str:
        """Why the call must not be carried out, for the model; "" if it may. What was decided is in the log."""
        decision = self._decide(intent)
        await self._decided(call, intent, decision)
        if decision.verdict == "refuse":
            return decision.sentence
        if decision.verdict == "allow":
            return ""
        return await self._asked(call, intent, decision)

    async def _asked(self, call: OpenCall, intent: Intent, decision: Decision) -> str:
        asked = question(intent)
        since = self._clock.monotonic()
        answer = await self._host.ask(
            call_id=call.requested.call_id,
            question=asked.question,
            detail=asked.detail,
            choices=list(asked.choices),
        )
        self._spending.waited(self._clock.monotonic() - since)
        if answer.choice in ("reject_once", "reject_always"):
            self.repeats.declined(call.key)
            said = (
                f" The user says: {answer.text}" if answer.text.strip() else " Do something else, or finish and say so."
            )
            return f"Not done: the user declined this.{said}"
        if answer.choice == "allow_session":
            self._journal.ledger.granted.add(intent.action)
        now = self._decide(intent)
        if now.verdict == "refuse" or now.targets != decision.targets:
            # between question and answer the mode, or a link on the way, was changed: the yes was for something else
            await self._decided(call, intent, now)
            return now.sentence or "Not done: what this call would touch has changed since the user was asked."
        return ""

    def _decide(self, intent: Intent) -> Decision:
        return decide(
            intent,
            mode=self._host.mode,
            scope=self._scope,
            granted=self._journal.ledger.granted,
            can_ask=self._host.can_ask,
        )

    async def _decided(self, call: OpenCall, intent: Intent, decision: Decision) -> None:
        await self._journal.add(
            PolicyDecided(
                session_id=self._host.session_id,
                turn_id=self._turn_id,
                call_id=call.requested.call_id,
                action=intent.action,
                verdict=decision.verdict,
                rule=decision.rule,
                mode=self._host.mode,
                targets=list(decision.targets),
            )
        )

    # ---- results ----------------------------------------------------------------------------------------------------

    def _answer_event(self, call: OpenCall, result: ToolResult) -> list[MessageCompleted]:
        if result.answer is None or result.answer.strip() == call.text.strip():
            return []
        step_id: StepId = call.requested.step_id
        return [
            MessageCompleted(
                session_id=self._host.session_id,
                turn_id=self._turn_id,
                step_id=step_id,
                text=wellformed(result.answer),
            )
        ]

    async def _finish(self, call: OpenCall, status: CallStatus, result: ToolResult, *more: MessageCompleted) -> None:
        now = self._clock.monotonic()
        await self._journal.add(
            ToolCallFinished(
                session_id=self._host.session_id,
                turn_id=self._turn_id,
                call_id=call.requested.call_id,
                status=status,
                result=wellformed(result.text),
                duration=0.0 if call.started is None else now - call.started,
                side_file=result.side_file,
                seen=result.seen,
            ),
            *more,
        )
        self._open.remove(call)

    async def _drop_open(self, sentence: str) -> None:
        for call in list(self._open):
            await self._finish(call, "cancelled", ToolResult(text=sentence))

    async def close(self, reason: str) -> None:
        """Give every call that has no result yet one that says why it has none; ``reason`` as in "the user stopped the turn"."""
        for call in list(self._open):
            text = (NOT_BEGUN if call.started is None else BROKEN_OFF).format(reason=reason)
            await self._finish(call, "cancelled", ToolResult(text=text))
