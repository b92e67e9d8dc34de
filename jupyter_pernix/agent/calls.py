"""The tool calls of a turn, one by one: checked, guarded, decided, asked about, carried out, answered. Every step is stored before
the next one happens, and every call that was requested gets exactly one result, whatever comes between. Only calls that delegate
run side by side.
"""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio
import anyio.to_thread

from ..config import Deadlines
from ..errors import ToolError, ToolRetry
from ..events import (
    CellChanged,
    Event,
    FileChanged,
    MessageCompleted,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from ..ids import StepId, TurnId, new_call_id
from ..ports import Clock, TurnHost
from ..records import JSON, CallStatus
from .budget import Exceeded, Spending
from .changing import lines_of_change
from .context import FINISH, plain_json
from .excerpt import excerpt
from .guards import Guards, call_key
from .journal import Journal
from .model.parts import ModelCall
from .open_calls import OpenCall, Outcome
from .permission import Permission, Ruled
from .policy.modes import verdict
from .policy.plain import one_line
from .policy.scope import Scope
from .safety.keeping import Keeping
from .shares import Shares
from .steps import Step
from .toolbox import Toolbox
from .tools.base import RESULT_LIMIT, Bound, PrepareContext, ToolContext, ToolResult
from .tools.sidefile import keep
from .wellformed import is_json, wellformed, wellformed_json

log = logging.getLogger(__name__)

NOT_BEGUN = "Not done: {reason} before this call was carried out."
BROKEN_OFF = "Stopped: {reason} while this call ran. It may have had a part of its effect."
AFTER_ANSWER = "Not done: the turn was finished before this call."

_LONGEST_RESULT = RESULT_LIMIT + 4_000
_SHORTEST_LIMIT = 1_000
_SIDE_BY_SIDE = 3

_WIRE_ID = re.compile(r"[!-~]{1,1024}")

Correct = Callable[[str], list[str]]


class Calls:
    """The calls of one turn. ``room``: characters of the results of one reply that the model's context has room for, ``None`` if that is
    not known. ``correct``: what the host's record says against an answer."""

    def __init__(
        self,
        *,
        host: TurnHost,
        turn_id: TurnId,
        journal: Journal,
        toolbox: Toolbox,
        guards: Guards,
        spending: Spending,
        deadlines: Deadlines,
        clock: Clock,
        correct: Correct,
        desk: Shares,
        permission: Permission,
    ) -> None:
        self._host = host
        self._turn_id = turn_id
        self._journal = journal
        self._toolbox = toolbox
        self._spending = spending
        self._deadlines = deadlines
        self._clock = clock
        self._correct = correct
        self._desk = desk
        self._scope = Scope(host.space)
        self._open: list[OpenCall] = []
        self._failed = ""
        self._keeping = Keeping(host=host, turn_id=turn_id, journal=journal)
        self.guards = guards
        self.room: int | None = None
        self._permission = permission

    # ---- taking a reply ---------------------------------------------------------------------------------------------

    def take(self, step: Step) -> list[ToolCallRequested]:
        """The calls of a reply, as they are to be stored; from now on they are open."""
        wire_ids: set[str] = set()
        self._failed = ""
        if step.reply.calls:
            self.guards.replied()
        for call in step.reply.calls:
            opened = self._opened(call, step, wire_ids)
            wire_ids.add(opened.requested.wire_id)
            self._open.append(opened)
        return [call.requested for call in self._open]

    def reopen(self, requested: Sequence[ToolCallRequested], *, text: str, failed: str) -> None:
        """Take the calls of a reply that another program left without a result. ``failed``: a tool of that reply that has failed."""
        self._failed = failed
        for one in requested:
            fault = f"the arguments of {one.tool} could not be read" if one.raw and not one.arguments else ""
            bound, why = self._bound(one.tool, one.arguments, fault)
            key = call_key(one.tool, one.arguments) if bound is None else bound.key
            self._open.append(OpenCall(requested=one, bound=bound, fault=why, text=text, key=key))

    @property
    def waiting(self) -> bool:
        """Whether a call has no result yet."""
        return bool(self._open)

    def _opened(self, call: ModelCall, step: Step, wire_ids: set[str]) -> OpenCall:
        call_id = new_call_id()
        arguments = wellformed_json(call.arguments or {})
        raw = wellformed(call.raw) if call.arguments is not None else ""
        fault = "" if call.arguments is not None else f"the arguments of {call.name} could not be read: {call.fault}"
        bound, why = self._bound(call.name, arguments, fault)
        requested = ToolCallRequested(
            session_id=self._host.session_id,
            turn_id=self._turn_id,
            step_id=step.step_id,
            call_id=call_id,
            # some endpoints give every call the same id, or none, or one that others would refuse
            wire_id=call_id if self._is_taken(call.wire_id, wire_ids) else call.wire_id,
            tool=wellformed(call.name),
            kind=self._toolbox.kind(call.name, arguments),
            title=one_line(call.name, 80) if bound is None else bound.intent.title,
            arguments=arguments,
            raw="" if raw == plain_json(arguments) or not is_json(raw) else raw,
        )
        key = call_key(call.name, arguments if call.arguments is not None else {"raw": call.raw})
        return OpenCall(
            requested=requested,
            bound=bound,
            fault=why,
            text=step.reply.text,
            key=key if bound is None else bound.key,
        )

    def _is_taken(self, wire_id: str, wire_ids: set[str]) -> bool:
        usable = _WIRE_ID.fullmatch(wire_id)
        return not usable or wire_id in wire_ids or wire_id in self._journal.transcript.wire_ids

    def _bound(self, name: str, arguments: JSON, fault: str) -> tuple[Bound | None, str]:
        try:
            found = self._toolbox.find(name, arguments)
            if fault:
                raise ToolRetry(f"Not done: {fault}")
            return found.tool.bind(found.arguments), ""
        except ToolRetry as exc:
            return None, str(exc)

    # ---- carrying out -----------------------------------------------------------------------------------------------

    async def carry_out(self) -> Outcome:
        """Carry out the open calls in their order, until one of them answers the turn or the budget ends it."""
        while self._open:
            call = self._open[0]
            exceeded = await self._exceeded(call)
            if exceeded is not None:
                await self._drop_open(f"Not done: {exceeded.detail}")
                return Outcome(exceeded=exceeded)
            if call.delegates:
                await self._side_by_side()
                continue
            result = await self._one(call)
            if result.answer is not None:
                await self._drop_open(AFTER_ANSWER)
                return Outcome(answer=result.answer)
        return Outcome()

    async def _exceeded(self, call: OpenCall) -> Exceeded | None:
        exceeded = self._spending.next_call(self._clock.monotonic())
        if exceeded is not None or call.bound is None or not self._spending.limits_lines:
            return exceeded
        if call.bound.intent.action != "write" or self._host.mode in ("ask", "plan"):
            return None
        lines = await anyio.to_thread.run_sync(lines_of_change, self._scope, call.requested.arguments)
        return self._spending.next_change(lines)

    async def _one(self, call: OpenCall) -> ToolResult:
        requested = call.requested
        refused = self.guards.sees(call.key, requested.tool, requested.arguments)
        result = ToolResult(text=refused, failed=True) if refused else await self._result(call)
        self.guards.ended(call.key, result.text, failed=result.failed)
        if result.answer is not None:
            # the answer is held to the results of the calls before it
            await self._journal.settle()
        self._end(call, "failed" if result.failed else "completed", result, *self._answer_event(call, result))
        return result

    async def _result(self, call: OpenCall) -> ToolResult:
        if call.bound is None:
            return ToolResult(text=call.fault, failed=True)
        if call.requested.tool == FINISH and self._failed:
            text = f"Not done: {self._failed} in the same reply failed. Read its result, then go on or finish."
            return ToolResult(text=text, failed=True)
        bound = await self._prepared(call.bound)
        if isinstance(bound, ToolResult):
            return bound
        ruled = await self._permission.ruled(call.requested, bound.intent, call.key)
        if ruled.refused:
            self._journal.defer(*ruled.events)
            return ToolResult(text=ruled.refused, failed=True)
        return await self._run(call, bound, ruled)

    async def _prepared(self, bound: Bound) -> Bound | ToolResult:
        """What the call would do, looked at before it is decided; not for what the mode refuses anyway."""
        if verdict(self._host.mode, bound.intent.action) == "refuse" and bound.intent.action != "shell":
            return bound
        return await bound.prepared(PrepareContext(host=self._host, scope=self._scope, ledger=self._journal.ledger))

    async def _run(self, call: OpenCall, bound: Bound, ruled: Ruled) -> ToolResult:
        """Carry the call out; what was decided about it is stored together with its start, before any effect."""
        requested = call.requested
        call.started = self._clock.monotonic()
        await self._journal.add(
            *ruled.events,
            ToolCallStarted(session_id=self._host.session_id, turn_id=self._turn_id, call_id=requested.call_id),
        )
        context = ToolContext(
            host=self._host,
            turn_id=self._turn_id,
            call_id=requested.call_id,
            scope=self._scope.opening(ruled.opened, home=str(self._host.home)),
            ledger=self._journal.ledger,
            deadlines=self._deadlines,
            clock=self._clock,
            store=self._store,
            keep=self._keeping.file,
            seconds_left=self._spending.left(call.started),
        )
        result = await self._carried(bound, context, ruled)
        return await self._permission.hooks.after(requested, result)

    async def _carried(self, bound: Bound, context: ToolContext, ruled: Ruled) -> ToolResult:
        tool = bound.intent.tool
        try:
            async with self._keeping.around(context.call_id, bound.intent.action, ruled.events):
                return await self._bounded(await bound.carry_out(context), context)
        except ToolError as exc:
            return ToolResult(text=str(exc), failed=True)
        except Exception as exc:
            # the edge of a tool: whatever is wrong in one call is a result, the turn goes on
            log.exception("tool %s failed", tool)
            return ToolResult(text=f"Failed by an error inside of {tool}: {type(exc).__name__}: {exc}", failed=True)

    async def _bounded(self, result: ToolResult, context: ToolContext) -> ToolResult:
        """The result cut to what there is room for. Each tool cuts what it knows how to cut; this is the wall behind them."""
        limit = _LONGEST_RESULT
        if self.room is not None:
            limit = min(limit, max(_SHORTEST_LIMIT, self.room // max(1, len(self._open))))
        if len(result.text) <= limit:
            return result
        short = excerpt(result.text, limit=limit, longest_line=limit // 2)
        side_file = result.side_file or await keep(context, result.text)
        return replace(result, text=short.text, side_file=side_file)

    async def _store(self, *events: Event) -> None:
        await self._journal.add(*events)
        for event in events:
            if isinstance(event, FileChanged):
                self._spending.changed(event.change)
            elif isinstance(event, CellChanged):
                self._spending.changed(self._journal.ledger.changes[-1])

    # ---- workers ----------------------------------------------------------------------------------------------------

    async def _side_by_side(self) -> None:
        """Carry out the delegating calls that come next, at most three at a time; their results are stored in their order."""
        batch = [call for call in self._head() if call.delegates]
        results: dict[int, ToolResult] = {}
        may: dict[int, Ruled] = {}
        for place, call in enumerate(batch):
            may[place] = await self._may(call)
            if may[place].refused:
                results[place] = ToolResult(text=may[place].refused, failed=True)
        self._desk.waiting = len(batch) - len(results)
        limiter = anyio.CapacityLimiter(_SIDE_BY_SIDE)

        async def work(place: int, call: OpenCall) -> None:
            assert call.bound is not None
            async with limiter:
                results[place] = await self._run(call, call.bound, may[place])

        async with anyio.create_task_group() as group:
            for place, call in enumerate(batch):
                if place not in results:
                    group.start_soon(work, place, call)
        for place, call in enumerate(batch):
            result = results[place]
            self._end(call, "failed" if result.failed else "completed", result)
        last = results[len(batch) - 1]
        self.guards.ended(batch[-1].key, last.text, failed=last.failed)

    async def _may(self, call: OpenCall) -> Ruled:
        """What was ruled about a delegating call."""
        assert call.bound is not None
        guarded = self.guards.sees(call.key, call.requested.tool, call.requested.arguments)
        if guarded:
            return Ruled(refused=guarded)
        ruled = await self._permission.ruled(call.requested, call.bound.intent, call.key)
        if ruled.refused:
            self._journal.defer(*ruled.events)
        return ruled

    def _head(self) -> list[OpenCall]:
        """The open calls up to the first that does not delegate."""
        found: list[OpenCall] = []
        for call in self._open:
            if not call.delegates:
                break
            found.append(call)
        return found

    # ---- results ----------------------------------------------------------------------------------------------------

    def _answer_event(self, call: OpenCall, result: ToolResult) -> list[MessageCompleted]:
        if result.answer is None:
            return []
        step_id: StepId = call.requested.step_id
        text = wellformed(result.answer)
        return [
            MessageCompleted(
                session_id=self._host.session_id,
                turn_id=self._turn_id,
                step_id=step_id,
                text=text,
                corrections=self._correct(text),
            )
        ]

    def _end(self, call: OpenCall, status: CallStatus, result: ToolResult, *more: MessageCompleted) -> None:
        now = self._clock.monotonic()
        self._journal.defer(
            ToolCallFinished(
                session_id=self._host.session_id,
                turn_id=self._turn_id,
                call_id=call.requested.call_id,
                status=status,
                result=wellformed(result.text),
                duration=0.0 if call.started is None else now - call.started,
                side_file=result.side_file,
                seen=result.seen,
                pictures=list(result.pictures),
            ),
            *more,
        )
        if status == "failed":
            self._failed = call.requested.tool
        self._open.remove(call)

    async def _drop_open(self, sentence: str) -> None:
        for call in list(self._open):
            self._end(call, "cancelled", ToolResult(text=sentence))
        await self._journal.settle()

    async def close(self, reason: str) -> None:
        """Give every call that has no result yet one that says why it has none; ``reason`` as in "the user stopped the turn"."""
        self._journal.defer(*self._permission.unasked())
        for call in list(self._open):
            text = (NOT_BEGUN if call.started is None else BROKEN_OFF).format(reason=reason)
            self._end(call, "cancelled", ToolResult(text=text))
        await self._journal.settle()


def answers_itself(step: Step) -> bool:
    """Whether the text of a reply is also the answer that it gives by a call: it is told once."""
    text = step.reply.text.strip()
    return any(
        call.name == FINISH and call.arguments is not None and str(call.arguments.get("answer", "")).strip() == text
        for call in step.reply.calls
    )
