"""The steps of a turn: one request each, streamed to whoever watches, stored when it is complete, made again when that may help, and
handed to the backup when its endpoint fails for good.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from ..config import Retry
from ..errors import ContextOverflow, ModelError
from ..events import (
    MessageCompleted,
    StepFallbackTaken,
    StepFinished,
    StepStarted,
    ThoughtCompleted,
)
from ..ids import StepId, TurnId, new_step_id
from ..ports import Clock, TurnHost
from ..records import Role, Timings, Usage
from .aside import retry_event
from .budget import Exceeded, Spending
from .context import GIVEN_UP
from .journal import Journal
from .model.parts import Model, Models, Part, Reply, RequestSize
from .model.pricing import cost_of, foreseen
from .model.retry import RetryPolicy, Wait, with_retries
from .model.roles import is_worth_fallback
from .sizes import Sizes
from .streaming import EndlessRepetition, Streaming
from .toolbox import Toolbox
from .wellformed import wellformed


class BudgetSpent(Exception):
    """A request was not made, because the budget does not allow it."""

    def __init__(self, exceeded: Exceeded) -> None:
        self.exceeded = exceeded
        super().__init__(exceeded.detail)


class OutOfTime(BudgetSpent):
    """The time was up in the middle of an answer; what there is of it stays."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A complete answer. ``size`` is what was sent for it, ``cost`` what it cost, ``None`` without a price."""

    step_id: StepId
    reply: Reply
    size: RequestSize
    model: Model
    cost: float | None


@dataclass(kw_only=True)
class _Asked:
    """A request that has no answer yet."""

    step_id: StepId
    size: RequestSize


class Steps:
    """The requests of one turn. ``model`` and ``role`` are what answers now: the primary, until the backup has taken over."""

    def __init__(
        self,
        *,
        host: TurnHost,
        turn_id: TurnId,
        journal: Journal,
        models: Models,
        model: Model,
        role: Role,
        toolbox: Toolbox,
        sizes: Sizes,
        spending: Spending,
        retry: Retry,
        clock: Clock,
        index: int = 0,
    ) -> None:
        self._host = host
        self._turn_id = turn_id
        self._journal = journal
        self._models = models
        self.model = model
        self.role: Role = role
        self._toolbox = toolbox
        self._sizes = sizes
        self._spending = spending
        self._policy = RetryPolicy.of(retry)
        self._clock = clock
        self._index = index
        self._streaming: Streaming | None = None
        self._asked: _Asked | None = None
        self._failed: list[str] = []

    @property
    def unfinished(self) -> tuple[StepId, str] | None:
        """Step and text of an answer that is being streamed, if there is any text of it."""
        streaming = self._streaming
        if streaming is None or not streaming.text.strip():
            return None
        return streaming.step_id, wellformed(streaming.text)

    def next_index(self) -> int:
        """The number of the next request of this turn, those beside the conversation included."""
        self._index += 1
        return self._index - 1

    # ---- asking -----------------------------------------------------------------------------------------------------

    async def ask(self, *, last_try: bool = False) -> Step:
        """Make the next request; its answer is not stored yet (see ``events_of``). ``last_try``: there is nothing else that could be
        done about an input that is too long, so a backup that holds more may be asked.

        :raises ModelError: if there is no usable answer, all retries and the backup included
        :raises ContextOverflow: if the input is too long for the model
        :raises EndlessRepetition: if the answer was cut off; what there is of it is ``unfinished``, and it is to be given up then
        :raises BudgetSpent: if the budget does not allow it, or another try of it
        :raises OutOfTime: if its time was up before the answer was complete; as for a repetition
        """
        self._journal.transcript.flush()
        self._check()
        asked = self._asked = _Asked(step_id=new_step_id(), size=self._size())
        await self._journal.add(self._started(asked))
        try:
            reply = await self._answer(asked, last_try=last_try)
        except (EndlessRepetition, OutOfTime):
            raise
        except (ModelError, BudgetSpent):
            self._drop_unfinished()
            await self.give_up()
            raise
        self._sizes.observe(self.model, asked.size.prompt_bytes, reply.usage)
        return Step(
            step_id=asked.step_id,
            reply=reply,
            size=asked.size,
            model=self.model,
            cost=cost_of(reply.usage, self.model.price),
        )

    async def give_up(self) -> None:
        """Close a request that has no answer, if there is one."""
        asked, self._asked = self._asked, None
        if asked is not None:
            await self._journal.add(self._finished(asked, Usage(), Timings(), GIVEN_UP, None))

    def events_of(self, step: Step, *, corrections: Sequence[str] = (), without_text: bool = False) -> list[Any]:
        """The answer, as it is to be stored together with the calls that it asks for: all of it or nothing. ``without_text``: its text is
        stored in another way."""
        reply = step.reply
        asked, self._asked = self._asked, None
        self._streaming = None
        assert asked is not None
        ids: dict[str, Any] = {
            "session_id": self._host.session_id,
            "turn_id": self._turn_id,
            "step_id": step.step_id,
        }
        events: list[Any] = []
        if reply.thought.strip():
            events.append(ThoughtCompleted(**ids, text=wellformed(reply.thought)))
        if reply.text.strip() and not without_text:
            events.append(MessageCompleted(**ids, text=wellformed(reply.text), corrections=list(corrections)))
        events.append(self._finished(asked, reply.usage, reply.timings, reply.finish_reason, step.cost))
        return events

    # ---- the request ------------------------------------------------------------------------------------------------

    def _size(self) -> RequestSize:
        """What the next request will send. A conversation that was rebuilt from the log is known to the endpoint already."""
        conversation, sent = self._journal.transcript.conversation, self._journal.transcript.sent
        size = self.model.size(conversation)
        whole = size.prompt_bytes in (conversation.size, conversation.text_size)
        if size.prefix_bytes == 0 and whole and sent is not None:
            endpoint, name, length = sent
            if (endpoint, name) == (self.model.endpoint, self.model.name) and length <= size.prompt_bytes:
                return RequestSize(prompt_bytes=size.prompt_bytes, prefix_bytes=length)
        return size

    def _check(self) -> None:
        """:raises BudgetSpent: if no request may be made now"""
        exceeded = self._spending.next_step(
            self._clock.monotonic(), tokens=(tokens := self._tokens()), cost=self._cost(tokens)
        )
        if exceeded is not None:
            raise BudgetSpent(exceeded)

    def _tokens(self) -> int:
        return self._sizes.tokens(self.model, self._journal.transcript.conversation)

    def _cost(self, tokens: int) -> float | None:
        # what the endpoint has in its cache already is cheaper, and how much that will be is not known
        price = self.model.price
        if price is None or price.cached is not None:
            return None
        return foreseen(tokens, price)

    async def _answer(self, asked: _Asked, *, last_try: bool) -> Reply:
        try:
            return await self._tried(asked)
        except EndlessRepetition:
            raise
        except ModelError as exc:
            if isinstance(exc, ContextOverflow) and not last_try:
                raise
            backup = await self._backup(exc)
            if backup is None:
                raise
            await self._fall_back(asked, exc, backup)
        try:
            return await self._tried(asked)
        except ModelError as exc:
            if isinstance(exc, ContextOverflow):
                raise
            raise ModelError(f"{self._failed[-1]}; the backup too: {exc}", hint=exc.hint) from exc

    async def _tried(self, asked: _Asked) -> Reply:
        return await with_retries(
            lambda: self._attempt(asked.step_id), clock=self._clock, on_wait=self._wait, policy=self._policy
        )

    async def _backup(self, error: ModelError) -> Model | None:
        if self.role == "backup":
            return None
        try:
            backup = await self._models.get("backup")
        except ModelError as exc:
            raise ModelError(f"{error}; the backup too: {exc}", hint=exc.hint) from error
        if backup is None or (backup.endpoint, backup.name) == (self.model.endpoint, self.model.name):
            return None
        worth = is_worth_fallback(
            error, context_length=self.model.context_length, backup_context_length=backup.context_length
        )
        return backup if worth else None

    async def _fall_back(self, asked: _Asked, error: ModelError, backup: Model) -> None:
        """From now on the backup answers. It gets the same conversation: that has nothing in it that only one endpoint knows."""
        self._drop_unfinished()
        failed, self.model, self.role = self.model, backup, "backup"
        self._failed.append(f"{failed.name} at {failed.endpoint}: {error}")
        await self._journal.add(
            StepFallbackTaken(
                session_id=self._host.session_id,
                turn_id=self._turn_id,
                step_id=asked.step_id,
                endpoint=backup.endpoint,
                model=backup.name,
                failed_endpoint=failed.endpoint,
                failed_model=failed.name,
                text=f"{failed.name} at {failed.endpoint} failed ({error}), so {backup.name} at {backup.endpoint} goes on with this turn.",
            )
        )
        self._check()
        asked.size = self._size()

    def _started(self, asked: _Asked) -> StepStarted:
        return StepStarted(
            session_id=self._host.session_id,
            turn_id=self._turn_id,
            step_id=asked.step_id,
            index=self.next_index(),
            endpoint=self.model.endpoint,
            model=self.model.name,
            prompt_bytes=asked.size.prompt_bytes,
            prefix_bytes=asked.size.prefix_bytes,
            role=self.role,
        )

    def _finished(
        self, asked: _Asked, usage: Usage, timings: Timings, finish_reason: str, cost: float | None
    ) -> StepFinished:
        size = asked.size
        return StepFinished(
            session_id=self._host.session_id,
            turn_id=self._turn_id,
            step_id=asked.step_id,
            usage=usage,
            timings=timings,
            prefix_share=None if size.prefix_bytes == 0 else size.prefix_bytes / size.prompt_bytes,
            finish_reason=finish_reason,
            cost=cost,
        )

    # ---- one attempt ------------------------------------------------------------------------------------------------

    async def _attempt(self, step_id: StepId) -> Reply:
        again = self._streaming is not None and self._streaming.step_id == step_id
        self._streaming = Streaming(host=self._host, turn_id=self._turn_id, step_id=step_id)
        if again:
            self._check()
            self._streaming.begin()
        return await self._once(self._streaming)

    async def _wait(self, wait: Wait) -> None:
        self._drop_unfinished()
        left = self._spending.left(self._clock.monotonic())
        if left is not None and wait.seconds >= left:
            exceeded = self._spending.next_call(self._clock.monotonic() + wait.seconds)
            assert exceeded is not None
            raise BudgetSpent(exceeded)
        await self._journal.add(retry_event(wait, self._host.session_id, self._turn_id, self._asked_id()))

    def _asked_id(self) -> StepId:
        assert self._asked is not None
        return self._asked.step_id

    def _drop_unfinished(self) -> None:
        """After an error nothing of what was streamed counts; a step that is streamed again begins at its start."""
        if self._streaming is not None:
            self._streaming.text = ""

    async def _once(self, streaming: Streaming) -> Reply:
        reply: Reply | None = None
        began = self._clock.monotonic()
        left = self._spending.left(began)
        with anyio.move_on_after(left):
            async with self.model.stream(
                self._journal.transcript.conversation,
                self._toolbox.specs(self.model.protocol),
                session_id=self._host.session_id,
            ) as parts:
                async for part in parts:
                    reply = self._take(streaming, part)
        if reply is None and left is not None:
            exceeded = self._spending.next_call(began + left + 1)
            assert exceeded is not None
            raise OutOfTime(exceeded)
        if reply is None:
            raise AssertionError("a stream ends with a Reply or an error")
        return reply

    def _take(self, streaming: Streaming, part: Part) -> Reply | None:
        if isinstance(part, Reply):
            return part
        streaming.pass_on(part)
        return None


def is_empty(reply: Reply) -> bool:
    return not reply.text.strip() and not reply.calls
