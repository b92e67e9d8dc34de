"""Requests beside the conversation: a plan, a summary, a title. They are stored as steps with a purpose, count against the budget, and
may fail: whoever asks goes on without the answer.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from ..config import Retry
from ..errors import ModelError
from ..events import Event, StepFinished, StepRetryScheduled, StepStarted
from ..ids import SessionId, StepId, TurnId, new_step_id
from ..ports import Clock
from ..records import Purpose, Role, Timings, Usage
from .budget import GUESS, Spending
from .context import GIVEN_UP
from .model.conversation import Conversation
from .model.parts import Model, Reply, RequestSize, TextPart
from .model.pricing import cost_of, foreseen
from .model.retry import RetryPolicy, Wait, with_retries
from .tools import finish

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Question:
    """``seconds`` and ``longest`` (characters) bound the answer; a longer one is cut off."""

    purpose: Purpose
    system: str
    text: str
    seconds: float
    longest: int


@dataclass(kw_only=True)
class Asides:
    """``store`` keeps the events; ``spending`` ``None``: nothing limits them; ``index`` numbers the requests of the turn."""

    session_id: SessionId
    turn_id: TurnId | None
    store: Callable[..., Awaitable[None]]
    clock: Clock
    retry: Retry
    spending: Spending | None = None
    index: Callable[[], int] = lambda: 0

    async def ask(self, question: Question, model: Model, role: Role) -> str | None:
        """The answer's text; ``None`` if there is none: the budget does not allow it, the model failed, it took too long."""
        conversation = Conversation(question.system)
        conversation.append({"role": "user", "content": question.text})
        size = model.size(conversation)
        if not self._allowed(size, model):
            return None
        step_id = new_step_id()
        await self.store(self._started(step_id, question, model, role, size))
        reply: Reply | None = None
        try:
            with anyio.move_on_after(self._seconds(question)) as scope:
                reply = await with_retries(
                    lambda: _answer(model, conversation, question, self.session_id),
                    clock=self.clock,
                    on_wait=lambda wait: self._say(wait, step_id),
                    policy=RetryPolicy.of(self.retry),
                )
            if scope.cancelled_caught:
                log.info("%s by %s took too long", question.purpose, model.name)
        except ModelError as exc:
            log.info("%s by %s failed: %s", question.purpose, model.name, exc)
        finally:
            with anyio.CancelScope(shield=True):
                await self.store(self._finished(step_id, reply, model, size))
        return None if reply is None else reply.text

    def _allowed(self, size: RequestSize, model: Model) -> bool:
        if self.spending is None:
            return True
        tokens = size.prompt_bytes // GUESS
        cost = foreseen(tokens, model.price)
        return self.spending.next_request(self.clock.monotonic(), tokens=tokens, cost=cost) is None

    def _seconds(self, question: Question) -> float:
        left = None if self.spending is None else self.spending.left(self.clock.monotonic())
        return question.seconds if left is None else min(question.seconds, left)

    def _started(self, step_id: StepId, question: Question, model: Model, role: Role, size: RequestSize) -> StepStarted:
        return StepStarted(
            session_id=self.session_id,
            turn_id=self.turn_id,
            step_id=step_id,
            index=self.index(),
            endpoint=model.endpoint,
            model=model.name,
            prompt_bytes=size.prompt_bytes,
            prefix_bytes=0,
            role=role,
            purpose=question.purpose,
        )

    def _finished(self, step_id: StepId, reply: Reply | None, model: Model, size: RequestSize) -> Event:
        usage = Usage() if reply is None else reply.usage
        cost = None if reply is None else cost_of(usage, model.price)
        if reply is not None and self.spending is not None:
            self.spending.spend(usage, prompt_bytes=size.prompt_bytes, cost=cost, act=False)
        return StepFinished(
            session_id=self.session_id,
            turn_id=self.turn_id,
            step_id=step_id,
            usage=usage,
            timings=Timings() if reply is None else reply.timings,
            prefix_share=None,
            finish_reason=GIVEN_UP if reply is None else reply.finish_reason,
            cost=cost,
        )

    async def _say(self, wait: Wait, step_id: StepId) -> None:
        await self.store(retry_event(wait, self.session_id, self.turn_id, step_id))


async def _answer(model: Model, conversation: Conversation, question: Question, session_id: SessionId) -> Reply:
    # a model that is driven by actions answers by one, and must have one to choose
    offered = [finish.TOOL.spec] if model.protocol == "actions" else []
    # another conversation: a router must not take it for the session's own
    async with model.stream(conversation, offered, session_id=SessionId(f"{session_id}-{question.purpose}")) as parts:
        text = ""
        async for part in parts:
            if isinstance(part, Reply):
                return part
            text += part.text if isinstance(part, TextPart) else ""
            if len(text) > question.longest:
                break
    return Reply(text=text, thought="", calls=(), finish_reason="length")


def retry_event(wait: Wait, session_id: SessionId, turn_id: TurnId | None, step_id: StepId) -> StepRetryScheduled:
    """A wait, as it is said aloud."""
    return StepRetryScheduled(
        session_id=session_id,
        turn_id=turn_id,
        step_id=step_id,
        attempt=wait.attempt,
        attempts=wait.attempts,
        seconds=wait.seconds,
        asked=wait.asked,
        text=wait.text,
        hint=wait.error.hint,
    )
