"""The log of a session → the model's input. A fold: a live Run and a rebuilding from the log feed it the same events, so they
make the same bytes.

Rules. The input only grows. The system part is given once; mode and time stand in the user's messages. Every call has exactly one
result, in the order of the calls; one that was cut off gets a sentence. User and assistant take turns: a turn that ended without
an answer is closed by a line that says so, and a step that led to nothing by one that asks for more. Thoughts are not sent again.
A ``finish`` that was carried out is told as the answer it was.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC

from ..events import (
    MessageCompleted,
    StepFinished,
    StepStarted,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    TurnFinished,
    TurnStarted,
    TurnSubmitted,
)
from ..ids import CallId, TurnId
from ..records import JSON, TerminalCode
from .model.conversation import Conversation

FINISH = "finish"

NO_RESULT = "No result: this call was interrupted. It may or may not have had its effect; look before you repeat it."
EMPTY_REPLY = "(Your last reply was empty. Call a tool, or give your answer.)"

PROMISE = "(You said what you would do, but did nothing. Do it now by calling a tool, or give your answer.)"

_ENDINGS: dict[TerminalCode, str] = {
    TerminalCode.CANCELLED: "the user stopped it",
    TerminalCode.INTERRUPTED: "the program was interrupted",
    TerminalCode.STUCK: "it was going round in circles",
    TerminalCode.BUDGET_ROUNDS: "its steps were used up",
    TerminalCode.BUDGET_TOKENS: "its tokens were used up",
    TerminalCode.BUDGET_TIME: "its time was used up",
    TerminalCode.NO_MODEL: "there was no model",
    TerminalCode.MODEL_FAILED: "the model failed",
    TerminalCode.CONTEXT_OVERFLOW: "the conversation had grown too long",
    TerminalCode.INTERNAL_ERROR: "of an internal error",
}


_NOTE = "(This turn ended without an answer because {why}.)"


def is_unanswered(message: JSON) -> bool:
    """Whether an assistant's message is our line about a turn that ended without an answer, or an answer that was cut off by it."""
    said = str(message.get("content") or "").rpartition("\n")[2]
    return any(said == _NOTE.format(why=why) for why in _ENDINGS.values())


def plain_json(value: JSON) -> str:
    """JSON as models usually write it: the form in which arguments go back into the history unless a call has a ``raw`` of its own."""
    return json.dumps(value, ensure_ascii=False)


@dataclass(kw_only=True)
class _Step:
    """One answer of the model, until its results are complete."""

    texts: list[str] = field(default_factory=list[str])
    calls: list[ToolCallRequested] = field(default_factory=list[ToolCallRequested])
    results: dict[CallId, ToolCallFinished] = field(default_factory=dict[CallId, ToolCallFinished])
    finished: bool = False

    def messages(self) -> list[JSON]:
        answered = {call.call_id for call in self.calls if call.tool == FINISH and self._completed(call)}
        calls = [call for call in self.calls if call.call_id not in answered]
        if not calls:
            return self._plain()
        spoken, answer = (self.texts[:-1], self.texts[-1:]) if answered else (self.texts, [])
        said: JSON = {
            "role": "assistant",
            "content": "\n\n".join(spoken) or None,
            "tool_calls": [_wire_call(call) for call in calls],
        }
        results: list[JSON] = [
            {"role": "tool", "tool_call_id": call.wire_id, "content": self._result(call)} for call in calls
        ]
        return [said, *results, *({"role": "assistant", "content": text} for text in answer)]

    def _plain(self) -> list[JSON]:
        if self.texts:
            return [{"role": "assistant", "content": "\n\n".join(self.texts)}]
        if self.finished:
            return [{"role": "assistant", "content": "(nothing)"}, {"role": "user", "content": EMPTY_REPLY}]
        return []

    def _completed(self, call: ToolCallRequested) -> bool:
        result = self.results.get(call.call_id)
        return result is not None and result.status == "completed"

    def _result(self, call: ToolCallRequested) -> str:
        result = self.results.get(call.call_id)
        return NO_RESULT if result is None else result.result


def _wire_call(call: ToolCallRequested) -> JSON:
    arguments = call.raw or plain_json(call.arguments)
    return {"id": call.wire_id, "type": "function", "function": {"name": call.tool, "arguments": arguments}}


class Transcript:
    """Feed it a session's events in order with ``add``; before a request, ``flush`` brings ``conversation`` up to date."""

    def __init__(self, system: str) -> None:
        self.conversation = Conversation(system)
        self.wire_ids: set[str] = set()
        """Ids of calls that this session has used already."""
        self._submitted: dict[TurnId, str] = {}
        self._open: TurnId | None = None
        self._step = _Step()

    @classmethod
    def of(cls, system: str, log: Iterable[Stored]) -> "Transcript":
        transcript = cls(system)
        for stored in log:
            transcript.add(stored)
        return transcript

    def add(self, stored: Stored) -> None:
        event = stored.event
        match event:
            case TurnSubmitted():
                self._submitted[event.turn_id] = event.text
            case TurnStarted():
                self._close(TerminalCode.INTERRUPTED)
                self._open = event.turn_id
                self._append({"role": "user", "content": self._request(stored, event)})
            case StepStarted():
                self.flush()
            case StepFinished():
                self._step.finished = True
            case MessageCompleted():
                self._step.texts.append(event.text)
            case ToolCallRequested():
                self.wire_ids.add(event.wire_id)
                self._step.calls.append(event)
            case ToolCallFinished():
                self._step.results.setdefault(event.call_id, event)
            case TurnFinished() if event.turn_id == self._open:
                self._close(event.code)
            case _:
                pass

    def flush(self) -> None:
        """Append what the last step said and got; another step follows. Call it when the step's results are complete; doing so
        twice is harmless."""
        step, self._step = self._step, _Step()
        messages = step.messages()
        if step.texts and not step.calls:
            messages.append({"role": "user", "content": PROMISE})
        for message in messages:
            self._append(message)

    def _close(self, code: TerminalCode) -> None:
        if self._open is None:
            return
        self._open = None
        step, self._step = self._step, _Step()
        messages = step.messages()
        if code != TerminalCode.ANSWERED:
            note = _NOTE.format(why=_ENDINGS[code])
            if messages and messages[-1]["role"] == "assistant":
                messages[-1]["content"] = f"{messages[-1]['content']}\n\n{note}"
            else:
                messages.append({"role": "assistant", "content": note})
        for message in messages:
            self._append(message)

    def _request(self, stored: Stored, event: TurnStarted) -> str:
        time = stored.recorded_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"{self._submitted.get(event.turn_id, '')}\n\n(Mode: {event.mode}. Time: {time}.)"

    def _append(self, message: JSON) -> None:
        self.conversation.append(message)
