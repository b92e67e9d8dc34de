"""Carries one turn from its start to its end: ask the model, carry out what it calls, until it answers, is stopped, or may not go on.

However it ends, the log is legal: each call has a result, ``turn.finished`` is the turn's last event, and the session is idle.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from ..config import Deadlines
from ..errors import ContextOverflow, InvalidTransition, ModelError, PernixError, RateLimited
from ..events import MessageCompleted, ProblemNoticed, Stored, TurnFinished, TurnStarted
from ..ids import TurnId
from ..ports import Clock, TurnHost
from ..records import Budget, TerminalCode, Usage
from .briefing import briefing
from .budget import Spending
from .calls import Calls
from .clock import SystemClock
from .guards import promises
from .journal import Journal
from .model.parts import Model
from .states import Reason
from .steps import EndlessRepetition, Step, Steps, is_empty
from .tools.base import Tool
from .tools.registry import TOOLS

log = logging.getLogger(__name__)

_CLOSING_DEADLINE = 30.0

NO_MODEL = "No model is set up, so nothing could be asked."
TRY_LATER = "Go on with a new message when the endpoint works again, or use another one."
TRY_ANOTHER = "Try again, or use another model or endpoint."
NO_MODEL_HINT = "Add an endpoint (any OpenAI-compatible server), let the panel look for one on this machine, serve a GGUF file, or take the tour."


@dataclass(frozen=True, kw_only=True)
class Ending:
    """``detail`` is a sentence for a person, "" for an answer. ``hint`` says what to do."""

    code: TerminalCode
    detail: str = ""
    hint: str = ""


class Run:
    """The live carrying-out of one submitted turn. ``log`` is the session's log up to and including ``turn.submitted``."""

    def __init__(
        self,
        host: TurnHost,
        turn_id: TurnId,
        log: Sequence[Stored],
        model: Model | None,
        budget: Budget | None = None,
        deadlines: Deadlines | None = None,
        clock: Clock | None = None,
        *,
        tools: Mapping[str, Tool[Any]] = TOOLS,
    ) -> None:
        self._host = host
        self._turn_id = turn_id
        self._log = log
        self._model = model
        self._budget = budget or Budget()
        self._deadlines = deadlines or Deadlines()
        self._clock = clock or SystemClock()
        self._tools = tools
        self._spending = Spending(budget=self._budget, started=self._clock.monotonic())
        self._steps: Steps | None = None
        self._calls: Calls | None = None
        self._empty = 0
        self._promised = False

    async def carry(self) -> TurnFinished:
        """Carry the turn to its end; the answer is its last event. Raises nothing but cancellation, and then the log is closed too."""
        try:
            ending = await self._carry()
        except anyio.get_cancelled_exc_class():
            await self._close(Ending(code=TerminalCode.CANCELLED, detail="The user stopped the turn."), cancelled=True)
            raise
        except Exception as exc:
            # the edge of a turn: an error of ours must not leave a session that never becomes idle
            log.exception("turn %s failed", self._turn_id)
            ending = _broken(exc)
        return await self._close(ending, cancelled=False)

    # ---- the loop ---------------------------------------------------------------------------------------------------

    async def _carry(self) -> Ending:
        await self._host.move("turn_started")
        self._journal = Journal(self._host, system=await briefing(self._host), log=self._log)
        await self._journal.add(self._started())
        if self._model is None:
            return Ending(code=TerminalCode.NO_MODEL, detail=NO_MODEL, hint=NO_MODEL_HINT)
        self._steps = Steps(
            host=self._host,
            turn_id=self._turn_id,
            journal=self._journal,
            model=self._model,
            tools=self._tools,
            clock=self._clock,
        )
        self._calls = Calls(
            host=self._host,
            turn_id=self._turn_id,
            journal=self._journal,
            tools=self._tools,
            spending=self._spending,
            deadlines=self._deadlines,
            clock=self._clock,
        )
        return await self._loop(self._steps, self._calls)

    async def _loop(self, steps: Steps, calls: Calls) -> Ending:
        while True:
            exceeded = self._spending.next_step(self._clock.monotonic())
            if exceeded is not None:
                return Ending(code=exceeded.code, detail=exceeded.detail)
            try:
                step = await steps.ask()
            except EndlessRepetition as exc:
                await self._keep_unfinished()
                return Ending(code=TerminalCode.STUCK, detail=f"{exc}.", hint=exc.hint)
            except ContextOverflow as exc:
                return _overflow(exc)
            except ModelError as exc:
                return _failed(exc)
            await steps.store(step, *calls.take(step))
            self._spending.spend(step.reply.usage, prompt_bytes=step.size.prompt_bytes)
            ending = await self._after(step, calls)
            if ending is not None:
                return ending

    async def _after(self, step: Step, calls: Calls) -> Ending | None:
        """What a stored answer leads to; ``None``: another step."""
        reply = step.reply
        if is_empty(reply):
            return self._after_empty(reply.finish_reason)
        self._empty = 0
        if reply.finish_reason == "length":
            await self._say(
                "The model's reply was cut off at its output limit.",
                "Raise the limit of the endpoint, or ask for less at once.",
            )
        if not reply.calls:
            return None if self._promise_to_keep(reply.text) else Ending(code=TerminalCode.ANSWERED)
        outcome = await calls.carry_out()
        if outcome.answer is not None:
            return Ending(code=TerminalCode.ANSWERED)
        if outcome.exceeded is not None:
            return Ending(code=outcome.exceeded.code, detail=outcome.exceeded.detail)
        if calls.repeats.stuck:
            return Ending(code=TerminalCode.STUCK, detail=calls.repeats.stuck)
        return None

    def _promise_to_keep(self, text: str) -> bool:
        """Whether the reply only announces an action that this turn allows; it is asked for once."""
        model, mode = self._model, self._host.mode
        if self._promised or model is None or model.protocol == "chat" or mode not in ("edit", "auto"):
            return False
        self._promised = promises(text)
        return self._promised

    def _after_empty(self, finish_reason: str) -> Ending | None:
        self._empty += 1
        if self._empty < 2:
            return None
        cut = " Its output limit may be too low for its thoughts." if finish_reason == "length" else ""
        return Ending(
            code=TerminalCode.MODEL_FAILED,
            detail=f"The model gave an empty reply twice: no text and no call.{cut}",
            hint="Try again, or use another model.",
        )

    # ---- the end ----------------------------------------------------------------------------------------------------

    async def _close(self, ending: Ending, *, cancelled: bool) -> TurnFinished:
        """Close what is open, store the end and make the session idle; cancellation does not get in between."""
        finished = TurnFinished(
            session_id=self._host.session_id,
            turn_id=self._turn_id,
            code=ending.code,
            detail=ending.detail,
            usage=self._spending.usage if self._spending.rounds else Usage(),
        )
        with anyio.move_on_after(_CLOSING_DEADLINE, shield=True):
            try:
                if cancelled:
                    await self._move("cancel_asked")
                    await self._keep_unfinished()
                if self._calls is not None:
                    await self._calls.close(
                        "the user stopped the turn" if cancelled else "the turn ended with an error"
                    )
                if ending.detail and not cancelled:
                    await self._say(ending.detail, ending.hint)
                await self._move("turn_ending")
                await self._host.append(finished)
                await self._move("turn_ended")
            except Exception:
                # the edge of a turn: when even its end cannot be stored, recovery at the next start closes it
                log.exception("the end of turn %s could not be stored", self._turn_id)
        return finished

    async def _move(self, reason: Reason) -> None:
        """Move if the table allows it: where a turn stands when it is stopped is not known here."""
        try:
            await self._host.move(reason)
        except InvalidTransition as exc:
            log.debug("turn %s: %s", self._turn_id, exc)

    async def _keep_unfinished(self) -> None:
        """What the user has already read of an answer that was cut off stays."""
        unfinished = None if self._steps is None else self._steps.unfinished
        if unfinished is not None:
            step_id, text = unfinished
            await self._journal.add(
                MessageCompleted(session_id=self._host.session_id, turn_id=self._turn_id, step_id=step_id, text=text)
            )

    async def _say(self, text: str, hint: str = "") -> None:
        problem = ProblemNoticed(session_id=self._host.session_id, turn_id=self._turn_id, text=text, hint=hint)
        await self._host.append(problem)

    def _started(self) -> TurnStarted:
        model = self._model
        return TurnStarted(
            session_id=self._host.session_id,
            turn_id=self._turn_id,
            mode=self._host.mode,
            endpoint="" if model is None else model.endpoint,
            model="" if model is None else model.name,
            protocol="chat" if model is None else model.protocol,
            context_length=None if model is None else model.context_length,
            budget=self._budget,
        )


def _broken(error: Exception) -> Ending:
    """What is wrong outside (the store, the space's folder) is said as it is; anything else is a fault of ours."""
    if isinstance(error, PernixError) and not isinstance(error, InvalidTransition):
        hint = str(getattr(error, "hint", ""))
        return Ending(code=TerminalCode.INTERNAL_ERROR, detail=f"{str(error).rstrip('.')}.", hint=hint)
    detail = f"An internal error ended the turn: {type(error).__name__}: {error}"
    return Ending(code=TerminalCode.INTERNAL_ERROR, detail=detail, hint="The server's log has the details.")


def _failed(error: ModelError) -> Ending:
    hint = error.hint or (TRY_LATER if error.retryable else TRY_ANOTHER)
    if isinstance(error, RateLimited) and error.retry_after:
        hint = f"It asks to wait {error.retry_after:.0f} s. {hint}"
    return Ending(code=TerminalCode.MODEL_FAILED, detail=f"{str(error).rstrip('.')}.", hint=hint)


def _overflow(error: ContextOverflow) -> Ending:
    limit = f" of {error.limit:,} tokens" if error.limit else ""
    return Ending(
        code=TerminalCode.CONTEXT_OVERFLOW,
        detail=f"The conversation no longer fits in the model's context{limit}. {str(error).rstrip('.')}.",
        hint=error.hint or "Go on in a new session, or use a model with a longer context.",
    )
