"""The log of a session → the model's input. A fold: a live Run and a rebuilding from the log feed it the same events, so they
make the same bytes.

Rules. The input only grows. The system part is given once; what changes (mode, time, instructions, plan, tools, what the host has
to say) stands in the next of the user's messages. Every call has exactly one result, in the order of the calls; one that was cut
off gets a sentence. User and assistant take turns: a turn that ended without an answer is closed by a line that says so, and a
step that led to nothing by one that asks for more. Thoughts are not sent again. A ``finish`` that was carried out is told as the
answer it was. ``context.compacted`` is the one rewrite: then the conversation is a new one, made of what is left of the groups.
Requests beside the conversation (plans, summaries, titles) are no part of it. Text of tools, files and kernels is written so that no
border of a chat template is in it (``foreign.py``); what the model and the user wrote themselves stays as it is.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC

from ..events import (
    ContextCompacted,
    InstructionsRead,
    MessageCompleted,
    PlanUpdated,
    StepFinished,
    StepStarted,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    TurnContextAdded,
    TurnEdited,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSubmitted,
)
from ..ids import CallId, StepId, TurnId
from ..records import JSON, Mode, Picture, Plan, TerminalCode
from .foreign import shown
from .groups import Group, left_out, summary_message
from .model.conversation import Conversation

FINISH = "finish"

NO_RESULT = "No result: this call was interrupted. It may or may not have had its effect; look before you repeat it."
EMPTY_REPLY = "(Your last reply was empty. Call a tool, or give your answer.)"

PROMISE = "(You said what you would do, but did nothing. Do it now by calling a tool, or give your answer.)"

RESUMED = "(The program was restarted and this turn goes on. The kernel's variables and imports are gone; files are as they were left.)"

_ENDINGS: dict[TerminalCode, str] = {
    TerminalCode.CANCELLED: "the user stopped it",
    TerminalCode.INTERRUPTED: "the program was interrupted",
    TerminalCode.STUCK: "it was going round in circles",
    TerminalCode.BUDGET_ROUNDS: "its steps were used up",
    TerminalCode.BUDGET_TOKENS: "its tokens were used up",
    TerminalCode.BUDGET_TIME: "its time was used up",
    TerminalCode.BUDGET_COST: "its money was used up",
    TerminalCode.BUDGET_LINES: "it had changed as many lines as it may",
    TerminalCode.NO_MODEL: "there was no model",
    TerminalCode.MODEL_FAILED: "the model failed",
    TerminalCode.CONTEXT_OVERFLOW: "the conversation had grown too long",
    TerminalCode.INTERNAL_ERROR: "of an internal error",
}

GIVEN_UP = "failed"
"""Finish reason of a step that has no answer."""

_LONGEST_NAME = 64
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")

_NOTE = "(This turn ended without an answer because {why}.)"


def is_unanswered(message: JSON) -> bool:
    """Whether an assistant's message is our line about a turn that ended without an answer, or an answer that was cut off by it."""
    said = str(message.get("content") or "").rpartition("\n")[2]
    return any(said == _NOTE.format(why=why) for why in _ENDINGS.values())


def plain_json(value: JSON) -> str:
    """JSON as models usually write it: the form in which arguments go back into the history unless a call has a ``raw`` of its own."""
    return _plain(value)


_plain = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(kw_only=True)
class _Step:
    """One answer of the model, until its results are complete."""

    first: int = 0
    texts: list[str] = field(default_factory=list[str])
    calls: list[ToolCallRequested] = field(default_factory=list[ToolCallRequested])
    results: dict[CallId, ToolCallFinished] = field(default_factory=dict[CallId, ToolCallFinished])
    finished: bool = False

    def group(self) -> Group:
        answered = {call.call_id for call in self.calls if call.tool == FINISH and self._completed(call)}
        calls = [call for call in self.calls if call.call_id not in answered]
        if not calls:
            return Group(first=self.first, messages=self._plain())
        spoken, answer = (self.texts[:-1], self.texts[-1:]) if answered else (self.texts, [])
        said: JSON = {
            "role": "assistant",
            "content": "\n\n".join(spoken) or None,
            "tool_calls": [_wire_call(call) for call in calls],
        }
        results: list[JSON] = [
            {"role": "tool", "tool_call_id": call.wire_id, "content": self._result(call)} for call in calls
        ]
        return Group(
            first=self.first,
            messages=[said, *results, *({"role": "assistant", "content": text} for text in answer)],
            short={at + 1: left_out(call, self.results.get(call.call_id)) for at, call in enumerate(calls)},
            pictures=self._pictures(calls),
        )

    def _pictures(self, calls: Sequence[ToolCallRequested]) -> dict[int, list[Picture]]:
        """Those of all results, behind the last one."""
        results = [self.results[call.call_id] for call in calls if call.call_id in self.results]
        pictures = [picture for result in results for picture in result.pictures]
        return {len(calls): pictures} if pictures else {}

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
        return NO_RESULT if result is None else shown(result.result)


def _wire_call(call: ToolCallRequested) -> JSON:
    arguments = call.raw or plain_json(call.arguments)
    return {"id": call.wire_id, "type": "function", "function": {"name": _wire_name(call.tool), "arguments": arguments}}


def _wire_name(name: str) -> str:
    """A name that a model made up, as an endpoint takes it; one request with another name would be refused, and each after it."""
    if _NAME.fullmatch(name):
        return name
    return _NOT_IN_NAMES.sub("_", name[:_LONGEST_NAME]) or "unnamed"


@dataclass(kw_only=True)
class _Request:
    """A user's message with what the host has to say beside it, until the first step asks for an answer to it."""

    first: int
    text: str
    mode: Mode
    time: str
    asides: list[str]
    pictures: list[Picture] = field(default_factory=list[Picture])

    def content(self) -> str:
        return "\n\n".join([self.text, *self.asides, f"(Mode: {self.mode}. Time: {self.time}.)"])


class Transcript:
    """Feed it a session's events in order with ``add``; before a request, ``flush`` brings ``conversation`` up to date."""

    def __init__(self, system: str) -> None:
        self.system = system
        self.conversation = Conversation(system)
        self.wire_ids: set[str] = set()
        """Ids of calls that this session has used already."""
        self.sent: tuple[str, str, int] | None = None
        """Endpoint, model and size of the last request of this conversation; ``None`` before the first, and after a rewrite."""
        self._groups: list[Group] = []
        self._submitted: dict[TurnId, str] = {}
        self._early: dict[TurnId, list[TurnContextAdded]] = {}
        """What was told with a message whose turn has not begun."""
        self._open: TurnId | None = None
        self._request: _Request | None = None
        self._step = _Step()
        self._step_id: StepId | None = None
        self._corrections: list[str] = []
        self._notes: list[str] = []

    @classmethod
    def of(cls, system: str, log: Iterable[Stored]) -> "Transcript":
        transcript = cls(system)
        for stored in log:
            transcript.add(stored)
        return transcript

    @property
    def groups(self) -> Sequence[Group]:
        """What the conversation is made of, the system part aside."""
        return self._groups

    def add(self, stored: Stored) -> None:
        event = stored.event
        match event:
            case TurnSubmitted() | TurnEdited():
                self._submitted[event.turn_id] = event.text
            case TurnStarted():
                self._start(stored, event)
            case InstructionsRead() | PlanUpdated() if self._request is not None:
                self._request.asides += _aside(event)
            case TurnContextAdded() if event.turn_id == self._open:
                self._take_context(event)
            case TurnContextAdded():
                self._early.setdefault(event.turn_id, []).append(event)
            case StepStarted() if event.purpose == "act":
                self.flush()
                self._step_id = event.step_id
                self._step.first = stored.seq
                same = event.prompt_bytes in (self.conversation.size, self.conversation.text_size)
                self.sent = (event.endpoint, event.model, event.prompt_bytes) if same else None
            case StepFinished() if event.step_id == self._step_id:
                self._step.finished = event.finish_reason != GIVEN_UP
                # what was given up may never have reached the endpoint
                self.sent = self.sent if self._step.finished else None
            case MessageCompleted():
                self._step.texts.append(event.text)
                self._corrections += event.corrections
            case ToolCallRequested():
                self.wire_ids.add(event.wire_id)
                self._step.calls.append(event)
            case ToolCallFinished():
                self._step.results.setdefault(event.call_id, event)
            case TurnResumed() if event.turn_id == self._open:
                self._notes = [RESUMED]
            case ContextCompacted():
                self._compact(event)
            case TurnFinished() if event.turn_id == self._open:
                self._close(event.code, stored.seq)
            case _:
                pass

    def flush(self) -> None:
        """Append the request, or what the last step said and got; another step follows. Call it when the step's results are
        complete; doing so twice is harmless."""
        self._flush_request()
        step, self._step = self._step, _Step()
        group = step.group()
        if not group.messages:
            return
        asks = [PROMISE] if step.texts and not step.calls else []
        self._ask(group, [*asks, *self._notes])
        self._notes = []
        self._append(group)

    def _start(self, stored: Stored, event: TurnStarted) -> None:
        self._close(TerminalCode.INTERRUPTED, stored.seq - 1)
        self._open = event.turn_id
        corrections, self._corrections = self._corrections, []
        self._notes = []
        self._request = _Request(
            first=stored.seq,
            text=self._submitted.get(event.turn_id, ""),
            mode=event.mode,
            time=stored.recorded_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            asides=[f"(The host corrected your last answer before it was shown: {' '.join(corrections)})"]
            if corrections
            else [],
        )
        for early in self._early.pop(event.turn_id, ()):
            self._take_context(early)

    def _take_context(self, event: TurnContextAdded) -> None:
        """What comes after the first step stands behind what is said next."""
        if self._request is None:
            self._notes.append(shown(event.item.text))
        else:
            self._request.asides.append(shown(event.item.text))
            self._request.pictures += event.item.pictures

    def _flush_request(self) -> None:
        request, self._request = self._request, None
        if request is None:
            return
        request.asides += self._notes
        self._notes = []
        pictures = {0: request.pictures} if request.pictures else {}
        message: JSON = {"role": "user", "content": request.content()}
        self._append(Group(first=request.first, messages=[message], pictures=pictures))

    def _ask(self, group: Group, texts: Sequence[str]) -> None:
        """Put what the host says behind the group: in the user's message that is there, or behind the last result, since strict endpoints
        take no user's message after one, else in a message of its own."""
        if not texts:
            return
        last, said = group.messages[-1], "\n".join(texts)
        if last["role"] in ("user", "tool"):
            last["content"] = f"{last['content']}\n\n{said}"
        else:
            group.messages.append({"role": "user", "content": said})

    def _close(self, code: TerminalCode, seq: int) -> None:
        if self._open is None:
            return
        self._open = None
        self._flush_request()
        step, self._step = self._step, _Step()
        group = step.group()
        group.first = group.first or seq
        messages = group.messages
        if code != TerminalCode.ANSWERED:
            note = _NOTE.format(why=_ENDINGS[code])
            if messages and messages[-1]["role"] == "assistant":
                messages[-1]["content"] = f"{messages[-1]['content']}\n\n{note}"
            else:
                messages.append({"role": "assistant", "content": note})
        self._append(group)

    def _append(self, group: Group) -> None:
        before = self.conversation.size
        for at, message in enumerate(group.messages):
            self.conversation.append(message, group.pictures.get(at, ()))
        group.size = self.conversation.size - before
        if group.messages:
            self._groups.append(group)

    # ---- compaction ---------------------------------------------------------------------------------------------------------

    def _compact(self, event: ContextCompacted) -> None:
        self.flush()
        if event.level == "summary":
            kept = [group for group in self._groups if group.first > event.upto_seq]
            first = Group(first=event.upto_seq, messages=[summary_message(event)], summary=True)
            self._groups = [first, *kept]
        else:
            self._groups = [group.shortened() if group.first <= event.upto_seq else group for group in self._groups]
        self.sent = None
        self.conversation = Conversation(self.system)
        for message, pictures in _merged(self._groups):
            self.conversation.append(message, pictures)
        for group in self._groups:
            group.measure()


def _merged(groups: Iterable[Group]) -> list[tuple[JSON, list[Picture]]]:
    """All messages with their pictures; a summary and the request behind it, both the user's, are one."""
    messages: list[tuple[JSON, list[Picture]]] = []
    for group in groups:
        for at, message in enumerate(group.messages):
            pictures = group.pictures.get(at, [])
            if messages and messages[-1][0]["role"] == message["role"] == "user":
                before, shown = messages[-1]
                content = f"{before['content']}\n\n{message['content']}"
                messages[-1] = {"role": "user", "content": content}, [*shown, *pictures]
            else:
                messages.append((message, pictures))
    return messages


def _aside(event: InstructionsRead | PlanUpdated) -> list[str]:
    """What a user's message says beside its text because of this event."""
    if isinstance(event, PlanUpdated):
        return [plan_text(event.plan)] if event.plan.by == "scout" else []
    return instructions_text(event)


def instructions_text(event: InstructionsRead) -> list[str]:
    """A changed file of instructions as it is told; nothing for one that stands in the system part."""
    if event.text:
        return [
            f"({event.name} is now as follows; what you were told of it before no longer holds.)\n{shown(event.text)}"
        ]
    return [] if event.digest else [f"({event.name} is gone; what it said no longer holds.)"]


def plan_text(plan: Plan) -> str:
    steps = "".join(f"\n{number}. {step.text}" for number, step in enumerate(plan.steps, 1))
    tools = f"\nTools: {', '.join(plan.tools)}." if plan.tools else ""
    return f"(A plan made beforehand; follow it where it fits, leave it where you know better.)\n{plan.approach}{steps}{tools}"
