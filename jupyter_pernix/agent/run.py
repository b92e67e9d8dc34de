"""Carries one turn from its start to its end: ask the model, carry out what it calls, until it answers, is stopped, or may not go on.

However it ends, the log is legal: each call has a result, each request an end, ``turn.finished`` is the turn's last event, and the
session is idle. A turn that an earlier program left paused or waiting for a person goes on where it stood.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from ..errors import ContextOverflow, InvalidTransition, ModelError, PernixError, RateLimited
from ..events import MessageCompleted, ProblemNoticed, Stored, TurnFinished, TurnResumed, TurnStarted
from ..fold import SessionFold
from ..ids import TurnId
from ..ports import Clock, TurnHost
from ..records import Role, TerminalCode, Usage
from .beside import context_events
from .briefing import briefing_and_instructions
from .budget import Spending
from .calls import answers_itself
from .clock import SystemClock
from .closing import closing_calls
from .guards import promises
from .instructions import Instructions, changes, told_already
from .journal import Journal
from .model.parts import Model, Models, Reply
from .reopening import is_reopened
from .run_settings import RunSettings
from .states import Reason
from .steps import BudgetSpent, Step, is_empty
from .streaming import EndlessRepetition
from .toolbox import TOLD_AS
from .tools.base import Tool
from .tools.registry import TOOLS
from .turn import Turn

log = logging.getLogger(__name__)

_CLOSING_DEADLINE = 30.0

NO_MODEL = "No model is set up, so nothing could be asked."
TRY_LATER = "Go on with a new message when the endpoint works again, or use another one."
TRY_ANOTHER = "Try again, or use another model or endpoint."
NO_MODEL_HINT = "Add an endpoint (any OpenAI-compatible server), let the panel look for one on this machine, serve a GGUF file, or take the tour."
RESUMED = "This turn goes on after the server was started again. Variables of its kernel are gone."


@dataclass(frozen=True, kw_only=True)
class Ending:
    """``detail`` is a sentence for a person, "" for an answer. ``hint`` says what to do."""

    code: TerminalCode
    detail: str = ""
    hint: str = ""


class Run:
    """The live carrying-out of one submitted turn. ``log`` is the session's log up to now: to ``turn.submitted``, or for a turn that
    goes on, to where it was left."""

    def __init__(
        self,
        host: TurnHost,
        turn_id: TurnId,
        log: Sequence[Stored],
        models: Models,
        settings: RunSettings | None = None,
        clock: Clock | None = None,
        *,
        tools: Mapping[str, Tool[Any]] = TOOLS,
    ) -> None:
        self._host = host
        self._turn_id = turn_id
        self._log = log
        self._models = models
        self._settings = settings or RunSettings()
        self._clock = clock or SystemClock()
        self._tools = tools
        self._spending = Spending.of(
            log,
            turn_id,
            budget=self._settings.budget,
            session=self._settings.session_budget,
            now=self._clock.monotonic(),
        )
        self._journal: Journal | None = None
        self._turn: Turn | None = None
        self._empty = 0
        self._promised = False
        self._said_unpriced = False

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

    # ---- the beginning ----------------------------------------------------------------------------------------------

    async def _carry(self) -> Ending:
        reopened = is_reopened(self._log, self._turn_id)
        if not reopened:
            await self._host.move("turn_started")
        primary, role, unusable = await self._first_model()
        system, found = await briefing_and_instructions(self._host, None if primary is None else primary.context_length)
        journal = self._journal = Journal(self._host, system=system, log=self._log)
        if reopened:
            await journal.add(TurnResumed(session_id=self._host.session_id, turn_id=self._turn_id, text=RESUMED))
        else:
            told = changes(
                found,
                told_already(self._log),
                system=system,
                session_id=self._host.session_id,
                turn_id=self._turn_id,
            )
            await journal.add(self._started(primary), *told)
        if primary is None:
            return unusable
        turn = self._turn = await Turn.of(
            host=self._host,
            turn_id=self._turn_id,
            journal=journal,
            models=self._models,
            primary=primary,
            role=role,
            settings=self._settings,
            spending=self._spending,
            clock=self._clock,
            tools=self._tools,
        )
        if reopened:
            self._promised = turn.reopen()
        else:
            news = turn.toolbox.news(told_already(self._log).get(TOLD_AS), host=self._host, turn_id=self._turn_id)
            await journal.add(*news, *await context_events(self._host, journal.log, self._turn_id))
            await self._say_unusable(found, turn)
        if role == "backup":
            await self._say(
                f"{unusable.detail}, so {primary.name} at {primary.endpoint} carries this turn.", unusable.hint
            )
        await self._say_unpriced(primary)
        if self._settings.scout and not (reopened or self._host.is_worker or primary.protocol == "chat"):
            await turn.scout()
        return await self._loop(turn)

    async def _first_model(self) -> tuple[Model | None, Role, Ending]:
        """Who answers first: the primary, or the backup if that cannot be had; and how the turn ends without either, or why it is not
        the primary."""
        try:
            model = await self._models.get("primary")
        except PernixError as exc:
            hint = str(getattr(exc, "hint", "")) or "Choose another endpoint for this session, or add one."
            backup, also = await self._backup() if isinstance(exc, ModelError) else (None, "")
            return backup, "backup", Ending(code=TerminalCode.NO_MODEL, detail=f"{exc}{also}", hint=hint)
        return model, "primary", Ending(code=TerminalCode.NO_MODEL, detail=NO_MODEL, hint=NO_MODEL_HINT)

    async def _backup(self) -> tuple[Model | None, str]:
        """The backup, if there is one that can be had, and what is to be said of one that cannot."""
        try:
            return await self._models.get("backup"), ""
        except ModelError as exc:
            return None, f"; the backup too: {exc}"

    # ---- the loop ---------------------------------------------------------------------------------------------------

    async def _loop(self, turn: Turn) -> Ending:
        if turn.calls.waiting:
            ending = await self._carry_out(turn)
            if ending is not None:
                return ending
        while True:
            await self._pause_if_wanted(turn)
            try:
                step = await turn.ask()
            except BudgetSpent as exc:
                await self._keep_unfinished()
                return Ending(code=exc.exceeded.code, detail=exc.exceeded.detail)
            except EndlessRepetition as exc:
                await self._keep_unfinished()
                return Ending(code=TerminalCode.STUCK, detail=f"{exc}.", hint=exc.hint)
            except ContextOverflow as exc:
                return _overflow(exc)
            except ModelError as exc:
                return _failed(exc)
            ending = await self._after(step, turn)
            if ending is not None:
                return ending

    async def _pause_if_wanted(self, turn: Turn) -> None:
        if not self._host.pause_wanted:
            return
        await turn.journal.settle()
        since = self._clock.monotonic()
        await self._host.pause()
        self._spending.waited(self._clock.monotonic() - since)

    async def _after(self, step: Step, turn: Turn) -> Ending | None:
        """Store an answer and do what it leads to; ``None``: another step."""
        reply = step.reply
        goes_on = bool(reply.calls) or is_empty(reply) or self._promise_to_keep(reply, step.model)
        corrections = [] if goes_on else turn.corrections(reply.text)
        events = turn.steps.events_of(step, corrections=corrections, without_text=answers_itself(step))
        self._spending.spend(reply.usage, prompt_bytes=step.size.prompt_bytes, cost=step.cost)
        if reply.calls:
            # stored together with what is decided about the first call, before that has any effect
            turn.journal.defer(*events, *turn.calls.take(step))
        else:
            await turn.journal.add(*events)
        await self._say_unpriced(step.model, cost=step.cost)
        if is_empty(reply):
            return self._after_empty(reply.finish_reason)
        self._empty = 0
        if reply.finish_reason == "length":
            await self._say(
                "The model's reply was cut off at its output limit.",
                "Raise the limit of the endpoint, or ask for less at once.",
            )
        if not reply.calls:
            return None if goes_on else Ending(code=TerminalCode.ANSWERED)
        return await self._carry_out(turn)

    async def _carry_out(self, turn: Turn) -> Ending | None:
        outcome = await turn.carry_out()
        if outcome.answer is not None:
            return Ending(code=TerminalCode.ANSWERED)
        if outcome.exceeded is not None:
            return Ending(code=outcome.exceeded.code, detail=outcome.exceeded.detail)
        if turn.calls.guards.stuck:
            return Ending(code=TerminalCode.STUCK, detail=turn.calls.guards.stuck)
        return None

    def _promise_to_keep(self, reply: Reply, model: Model) -> bool:
        """Whether the reply only announces an action that this turn allows; it is asked for once."""
        if self._promised or model.protocol == "chat" or self._host.mode not in ("edit", "auto"):
            return False
        self._promised = promises(reply.text)
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
            cost=self._spending.cost,
        )
        with anyio.move_on_after(_CLOSING_DEADLINE, shield=True):
            try:
                await self._close_open(cancelled=cancelled)
                if ending.detail and not cancelled:
                    await self._say(ending.detail, ending.hint)
                await self._move("turn_ending")
                await self._host.append(finished)
                await self._move("turn_ended")
            except Exception:
                # the edge of a turn: when even its end cannot be stored, recovery at the next start closes it
                log.exception("the end of turn %s could not be stored", self._turn_id)
        return finished

    async def _close_open(self, *, cancelled: bool) -> None:
        if self._journal is not None:
            await self._journal.settle()
        if cancelled:
            await self._move("cancel_asked")
            await self._keep_unfinished()
        if self._turn is not None:
            await self._turn.steps.give_up()
            await self._turn.calls.close("the user stopped the turn" if cancelled else "the turn ended with an error")
        elif is_reopened(self._log, self._turn_id):
            await self._close_left()

    async def _close_left(self) -> None:
        """A turn that could not go on: what an earlier program left open in it is closed."""
        turn = SessionFold.of(self._host.session_id, self._log).turn(self._turn_id)
        if turn is not None:
            events = closing_calls(self._host.session_id, turn, execution="cancelled", results={}, waiting_too=True)
            await self._host.append(*events)

    async def _move(self, reason: Reason) -> None:
        """Move if the table allows it: where a turn stands when it is stopped is not known here."""
        try:
            await self._host.move(reason)
        except InvalidTransition as exc:
            log.debug("turn %s: %s", self._turn_id, exc)

    async def _keep_unfinished(self) -> None:
        """What the user has already read of an answer that was cut off stays."""
        turn = self._turn
        unfinished = None if turn is None else turn.steps.unfinished
        if turn is not None and unfinished is not None:
            step_id, text = unfinished
            await turn.journal.add(
                MessageCompleted(session_id=self._host.session_id, turn_id=self._turn_id, step_id=step_id, text=text)
            )

    async def _say(self, text: str, hint: str = "") -> None:
        problem = ProblemNoticed(session_id=self._host.session_id, turn_id=self._turn_id, text=text, hint=hint)
        if self._journal is None:
            await self._host.append(problem)
        else:
            await self._journal.add(problem)

    async def _say_unusable(self, found: Sequence[Instructions], turn: Turn) -> None:
        """Instructions that are there and cannot be used, and hooks that are not run, are said aloud, once a session."""
        said = {stored.event.text for stored in self._log if isinstance(stored.event, ProblemNoticed)}
        problems = [(f"{one.name} is not used as instructions: {one.fault}", "") for one in found if one.fault]
        if not self._host.is_worker:
            problems += [(one.text, one.hint) for one in await turn.hooks.notices()]
        for text, hint in problems:
            if text not in said:
                await self._say(text, hint)

    async def _say_unpriced(self, model: Model, *, cost: float | None = None) -> None:
        """A limit of cost that cannot be kept is said aloud, once; the other limits hold."""
        known = cost is not None or (model.price is not None and self._spending.rounds == 0)
        if known or self._said_unpriced or not self._spending.limits_cost:
            return
        self._said_unpriced = True
        await self._say(
            f"What {model.name} at {model.endpoint} costs is not known, so the limit of cost does not hold for it.",
            "Set the endpoint's price in the settings; it must report its usage. The other limits hold.",
        )

    def _started(self, model: Model | None) -> TurnStarted:
        return TurnStarted(
            session_id=self._host.session_id,
            turn_id=self._turn_id,
            mode=self._host.mode,
            endpoint="" if model is None else model.endpoint,
            model="" if model is None else model.name,
            protocol="chat" if model is None else model.protocol,
            context_length=None if model is None else model.context_length,
            budget=self._settings.budget,
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
