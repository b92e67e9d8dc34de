"""One answer while it comes: its parts become deltas for whoever watches, and one that says the same without end is cut off."""

from dataclasses import dataclass, field

from ..errors import ModelError
from ..events import MessageDelta, ThoughtDelta, ToolCallDelta
from ..ids import StepId, TurnId
from ..ports import TurnHost
from .guards import Repetition
from .model.parts import CallPart, TextPart, ThoughtPart


class EndlessRepetition(ModelError):
    """The reply was one block of text over and over, and was cut off."""


@dataclass(kw_only=True)
class Streaming:
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
