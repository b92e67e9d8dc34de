"""One request to the model: streamed to whoever watches, stored when it is complete, made again when that may help."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ModelError
from ..events import (
    MessageCompleted,
    MessageDelta,
    ProblemNoticed,
    StepFinished,
    StepStarted,
    ThoughtCompleted,
    ThoughtDelta,
    ToolCallDelta,
)
from ..ids import StepId, TurnId, new_step_id
from ..ports import Clock, TurnHost
from .guards import Repetition
from .journal import Journal
from .model.parts import CallPart, Model, Part, Reply, RequestSize, TextPart, ThoughtPart, ToolSpec
from .model.retry import Wait, with_retries
from .tools.base import Tool
from .wellformed import wellformed


class EndlessRepetition(ModelError):
    """The reply was one block of text over and over, and was cut off."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A complete answer. ``size`` is what was sent for it."""

    step_id: StepId
    reply: Reply
    size: RequestSize


@dataclass(kw_only=True)
class _Streaming:
    """One attempt: turns parts into deltas with their offsets."""

    host: TurnHost
    turn_id: TurnId
    step_id: StepId
    text: str = ""
    _thought: int = 0
    _calls: dict[int, int] = field(default_factory=dict[int, int])
    _watch_text: Repetition = field(default_factory=Repetition)
    _watch_calls: Repetition = field(default_factory=lambda: Repetition(window=12_000))

    def begin(self) -> None:
        """Clear what an attempt that failed has left on the screens."""
        self.host.pass_on(self._message(0, ""))
        self.host.pass_on(self._thinking(0, ""))

    def pass_on(self, part: TextPart | ThoughtPart | CallPart) -> None:
        """:raises EndlessRepetition: if the model has begun to say the same over and over"""
        match part:
            case TextPart():
                self.host.pass_on(self._message(len(self.text), part.text))
                self.text += part.text
                repeats = self._watch_text.repeats(part.text)
            case ThoughtPart():
                self.host.pass_on(self._thinking(self._thought, part.text))
                self._thought += len(part.text)
                repeats = self._watch_text.repeats(part.text)
            case CallPart():
                self.host.pass_on(self._call(part))
                repeats = self._watch_calls.repeats(part.text)
        if repeats:
            self.text = self.text[: -self._watch_text.surplus] + " […]" if self.text else ""
            raise EndlessRepetition(
                "The model repeated the same text without end, so its reply was cut off",
                hint="Say the request in other words, or use another model.",
            )

    def _message(self, offset: int, text: str) -> MessageDelta:
        return MessageDelta(
            session_id=self.host.session_id, turn_id=self.turn_id, step_id=self.step_id, offset=offset, text=text
        )

    def _thinking(self, offset: int, text: str) -> ThoughtDelta:
        return ThoughtDelta(
            session_id=self.host.session_id, turn_id=self.turn_id, step_id=self.step_id, offset=offset, text=text
        )

    def _call(self, part: CallPart) -> ToolCallDelta:
        offset = self._calls.get(part.index, 0)
        self._calls[part.index] = offset + len(part.text)
        return ToolCallDelta(
            session_id=self.host.session_id,
            turn_id=self.turn_id,
            step_id=self.step_id,
            offset=offset,
            text=part.text,
            index=part.index,
            tool=part.name,
        )


class Steps:
    """The requests of one turn."""

    def __init__(
        self,
        *,
        host: TurnHost,
        turn_id: TurnId,
        journal: Journal,
        model: Model,
        tools: Mapping[str, Tool[Any]],
        clock: Clock,
    ) -> None:
        self._host = host
        self._turn_id = turn_id
        self._journal = journal
        self._model = model
        self._specs: list[ToolSpec] = [] if model.protocol == "chat" else [tool.spec for tool in tools.values()]
        self._clock = clock
        self._streaming: _Streaming | None = None
        self._index = 0

    @property
    def unfinished(self) -> tuple[StepId, str] | None:
        """Step and text of an answer that is being streamed, if there is any text of it."""
        streaming = self._streaming
        if streaming is None or not streaming.text.strip():
            return None
        return streaming.step_id, wellformed(streaming.text)

    async def ask(self) -> Step:
        """Make the next request; its answer is not stored yet (see ``events_of``).

        :raises ModelError: if there is no usable answer, all retries included; it has been said aloud then
        """
        self._journal.transcript.flush()
        step_id = new_step_id()
        size = self._model.size(self._journal.transcript.conversation)
        started = StepStarted(
            session_id=self._host.session_id,
            turn_id=self._turn_id,
            step_id=step_id,
            index=self._index,
            endpoint=self._model.endpoint,
            model=self._model.name,
            prompt_bytes=size.prompt_bytes,
            prefix_bytes=size.prefix_bytes,
        )
        self._index += 1
        await self._journal.add(started)
        try:
            reply = await with_retries(lambda: self._attempt(step_id), clock=self._clock, on_wait=self._say)
        except EndlessRepetition:
            raise
        except ModelError:
            self._drop_unfinished()
            raise
        return Step(step_id=step_id, reply=reply, size=size)

    async def store(self, step: Step, *requested: Any) -> None:
        """Store the answer together with the calls that it asks for: all of it or nothing."""
        await self._journal.add(*self._events_of(step), *requested)
        self._streaming = None

    def _events_of(self, step: Step) -> list[Any]:
        reply, size = step.reply, step.size
        ids: dict[str, Any] = {
            "session_id": self._host.session_id,
            "turn_id": self._turn_id,
            "step_id": step.step_id,
        }
        events: list[Any] = []
        if reply.thought.strip():
            events.append(ThoughtCompleted(**ids, text=wellformed(reply.thought)))
        if reply.text.strip():
            events.append(MessageCompleted(**ids, text=wellformed(reply.text)))
        first = size.prefix_bytes == 0
        events.append(
            StepFinished(
                **ids,
                usage=reply.usage,
                timings=reply.timings,
                prefix_share=None if first else size.prefix_bytes / size.prompt_bytes,
                finish_reason=reply.finish_reason,
            )
        )
        return events

    async def _attempt(self, step_id: StepId) -> Reply:
        again = self._streaming is not None and self._streaming.step_id == step_id
        self._streaming = _Streaming(host=self._host, turn_id=self._turn_id, step_id=step_id)
        if again:
            self._streaming.begin()
        return await self._once(self._streaming)

    async def _say(self, wait: Wait) -> None:
        self._drop_unfinished()
        await self._journal.add(
            ProblemNoticed(
                session_id=self._host.session_id, turn_id=self._turn_id, text=f"{wait.error}", hint=_then(wait)
            )
        )

    def _drop_unfinished(self) -> None:
        """After an error nothing of what was streamed counts; a step that is streamed again begins at its start."""
        if self._streaming is not None:
            self._streaming.text = ""

    async def _once(self, streaming: _Streaming) -> Reply:
        reply: Reply | None = None
        async with self._model.stream(
            self._journal.transcript.conversation, self._specs, session_id=self._host.session_id
        ) as parts:
            async for part in parts:
                reply = self._take(streaming, part)
        if reply is None:
            raise AssertionError("a stream ends with a Reply or an error")
        return reply

    def _take(self, streaming: _Streaming, part: Part) -> Reply | None:
        if isinstance(part, Reply):
            return part
        streaming.pass_on(part)
        return None


def _then(wait: Wait) -> str:
    hint = f"{wait.error.hint.rstrip('.')}. " if wait.error.hint else ""
    return f"{hint}Asking again at once." if wait.seconds == 0 else f"{hint}Asking again in {wait.seconds:.0f} s."


def is_empty(reply: Reply) -> bool:
    return not reply.text.strip() and not reply.calls
