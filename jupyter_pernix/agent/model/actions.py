"""A model that acts in two strokes: it chooses an action, one JSON object that the server holds to a schema, then writes the
action's text (code, content, answer) freely. For endpoints that enforce ``response_format`` and cannot call tools, small local
models above all: code inside a JSON string comes out on one line and badly escaped, in a fenced block it does not.

The tools stand in the system text, a line each, with short examples; ``action_history`` shows what was done in the same form. All is
asked for at temperature 0. Chance comes in only where the same request would fail in the same way again; a model that has done the
same thing twice running is not offered that tool for its next action.
"""

import json
import logging
import re
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from ...config import Price
from ...errors import EndpointFailed, ModelError, StreamBroken
from ...ids import SessionId
from ...records import JSON, Constraint, Timings, Usage
from .action_history import ActionHistory
from .action_prompt import BlockReader, is_prose
from .action_schema import schema_for
from .arguments import Unreadable, read_objects
from .calls import as_object, new_wire_id, read_call
from .client import Endpoint
from .constraint import constraint_fields
from .conversation import Conversation
from .parts import CallPart, ModelCall, Part, Reply, RequestSize, TextPart, ThoughtPart, ToolSpec
from .sight import is_about_pictures, without_pictures

log = logging.getLogger(__name__)

_encode = msgspec.json.Encoder().encode
_CHOICE_TOKENS = 700
_TEXT_TOKENS = 4000
_SAMPLED = 0.7
_BLANK_LOOP = 120
_LONGEST_RESULT = 16_000
_CUT_OFF = "the {field} was cut off at the length limit, so nothing was done; write less at once"


class ActionModel:
    """Implements ``parts.Model``: each answer is one call of one of the tools, or for ``finish`` the text of the answer."""

    protocol: Literal["actions"] = "actions"

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        name: str,
        endpoint_name: str,
        context_length: int | None = None,
        price: Price | None = None,
        options: JSON | None = None,
        constraint: Constraint = "response_format",
        sees: bool = False,
    ) -> None:
        self.sees = sees
        self.endpoint = endpoint_name
        self.name = name
        self.context_length = context_length
        self.price = price
        self._options = dict(options or {})
        self._constraint: Constraint = constraint
        self._http = endpoint
        self._prompts: weakref.WeakKeyDictionary[Conversation, ActionHistory] = weakref.WeakKeyDictionary()
        self._tools: tuple[ToolSpec, ...] = ()
        self._flat = False
        self._thinks = False
        self._formats: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"<ActionModel {self.name!r} at {self._http!r}>"

    def learn_limit(self, tokens: int) -> None:
        self.context_length = tokens

    async def aclose(self) -> None:
        await self._http.aclose()

    def size(self, conversation: Conversation) -> RequestSize:
        prompt = self._prompts.get(conversation)
        if prompt is None:
            size = conversation.size if self.sees else conversation.text_size
            return RequestSize(prompt_bytes=size, prefix_bytes=0)
        prompt.extend(conversation)
        return RequestSize(prompt_bytes=prompt.size, prefix_bytes=min(prompt.sent, prompt.size))

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, session_id: SessionId
    ) -> AsyncGenerator[AsyncIterator[Part]]:
        if not tools:
            raise EndpointFailed("this model answers by actions and was offered none", kind="protocol")
        if tuple(tools) != self._tools:
            self._tools = tuple(tools)
            self._prompts.clear()
            self._formats.clear()
        prompt = self._prompts.get(conversation)
        if prompt is None:
            prompt = self._prompts[conversation] = ActionHistory(
                self._tools, longest_result=_longest_result(self.context_length), sees=self.sees
            )
        prompt.extend(conversation)
        try:
            async with aclosing(self._answer(prompt, session_id)) as parts:
                yield parts
        except EndpointFailed as exc:
            if prompt.has_pictures and self.sees and is_about_pictures(exc):
                self.sees = False
                self._prompts.clear()
                without_pictures(exc)
            raise

    # ---- one answer -----------------------------------------------------------------------------------------------------

    async def _answer(self, prompt: ActionHistory, session_id: str) -> AsyncGenerator[Part]:
        started = time.monotonic()
        strokes = _Strokes(prompt, session_id)
        prompt.sent = prompt.size
        async with aclosing(self._choose(strokes)) as thoughts:
            async for part in thoughts:
                yield part
        chosen_after = time.monotonic() - started
        tool, arguments = strokes.chosen
        if tool.text_field is None:
            call = read_call(tool.name, arguments)
            yield CallPart(index=0, name=tool.name, text=call.raw)
            yield strokes.reply(calls=(call,), first=chosen_after, started=started)
            return
        async with aclosing(self._write(strokes, tool, tool.text_field)) as parts:
            async for part in parts:
                yield part
        calls = () if is_prose(tool) else (strokes.call(tool, tool.text_field),)
        yield strokes.reply(calls=calls, first=chosen_after, started=started)

    async def _choose(self, strokes: "_Strokes") -> AsyncGenerator[Part]:
        """The first stroke; asked for a second time when it was cut off or went round in blanks."""
        form = self._format(without=strokes.prompt.repeated)
        temperature = 0.0
        for last_try in (False, True):
            written: list[str] = []
            limit = _CHOICE_TOKENS + self._room_to_think
            body = self._body(bytes(strokes.prompt.encoded), temperature=temperature, limit=limit, form=form)
            try:
                with _empty_is_unusable():
                    async with self._post(body, strokes.session_id) as parts:
                        async for part in parts:
                            strokes.count(part)
                            if isinstance(part, ThoughtPart):
                                yield part
                            elif isinstance(part, TextPart):
                                written.append(part.text)
                                _refuse_blanks(written)
                strokes.chosen = _read_action("".join(written), self._tools)
                return
            except _Unusable as exc:
                if last_try:
                    raise EndpointFailed(
                        f"the model wrote no usable action: {exc}", kind="protocol", hint="use a larger model"
                    ) from exc
                log.warning("%r wrote no usable action and is asked again: %s", self.name, exc)
                temperature = _SAMPLED
            finally:
                self._thinks = self._thinks or bool(strokes.thought)

    async def _write(self, strokes: "_Strokes", tool: ToolSpec, text_field: str) -> AsyncGenerator[Part]:
        """The second stroke: the text of the action, streamed as the answer or as the last argument."""
        messages = strokes.prompt.with_choice(tool, strokes.chosen[1])
        temperature = _SAMPLED if strokes.prompt.stumbled else 0.0
        body = self._body(messages, temperature=temperature, limit=self._text_limit + self._room_to_think)
        if not is_prose(tool):
            yield CallPart(index=0, name=tool.name, text=_opened(strokes.chosen[1], text_field))
        try:
            async with self._post(body, strokes.session_id) as parts:
                async for part in parts:
                    strokes.count(part)
                    if isinstance(part, ThoughtPart):
                        yield part
                    elif not isinstance(part, TextPart):
                        continue
                    elif is_prose(tool):
                        strokes.text.append(part.text)
                        yield part
                    else:
                        shown = strokes.block.feed(part.text)
                        if shown:
                            yield CallPart(index=0, name=tool.name, text=json.dumps(shown, ensure_ascii=False)[1:-1])
                        if strokes.block.closed:
                            break  # what a model says behind its block is explanation
        except EndpointFailed as exc:
            strokes.prompt.stumbled = exc.kind == "empty_reply"
            raise
        strokes.prompt.stumbled = False
        if not is_prose(tool):
            yield CallPart(index=0, name=tool.name, text='"}')

    # ---- requests -------------------------------------------------------------------------------------------------------

    def _format(self, *, without: str = "") -> bytes:
        """The fields that hold an answer to one of the tools, as JSON without the opening brace; ``without`` one that is not offered."""
        if without not in self._formats:
            offered = [tool for tool in self._tools if tool.name != without] or self._tools
            schema = schema_for(offered, flat=self._flat)
            self._formats[without] = _encode(constraint_fields(schema, self._constraint))[1:]
        return self._formats[without]

    @property
    def _text_limit(self) -> int:
        """Some servers refuse a limit that the context has no room for."""
        return min(_TEXT_TOKENS, max(256, self.context_length // 4)) if self.context_length else _TEXT_TOKENS // 2

    @property
    def _room_to_think(self) -> int:
        """A server lets a model think before it holds the answer to the schema; those tokens count too."""
        return self._text_limit if self._thinks else 0

    def _body(self, messages: bytes, *, temperature: float, limit: int, form: bytes = b"") -> bytes:
        """``form``: the fields of a constraint; empty leaves the model free."""
        head: JSON = {
            **self._options,
            "model": self.name,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": temperature,
            "max_tokens": limit,
        }
        tail = b"]," + form if form else b"]}"
        return b"".join((_encode(head)[:-1], b',"messages":[', messages, tail))

    @asynccontextmanager
    async def _post(self, body: bytes, session_id: str) -> AsyncGenerator[AsyncIterator[Part]]:
        try:
            async with self._http.post(body, session_id=session_id) as parts:
                yield parts
        except ModelError as exc:
            if not self._flat and _refuses_alternatives(exc):
                self._flat = True
                self._formats.clear()
                raise EndpointFailed(
                    str(exc), retryable=True, kind="unsupported_param", place="response_format"
                ) from exc
            raise


class _Unusable(ValueError):
    """What the model wrote is not an action."""


def _longest_result(context_length: int | None) -> int:
    """Characters of a result that are shown: an eighth of a small context, at three characters a token."""
    return min(_LONGEST_RESULT, max(1500, context_length * 3 // 8)) if context_length else _LONGEST_RESULT


@contextmanager
def _empty_is_unusable() -> Generator[None]:
    """An answer of thoughts alone was cut off before its action began."""
    try:
        yield
    except EndpointFailed as exc:
        if exc.kind != "empty_reply":
            raise
        raise _Unusable(str(exc)) from exc


def _refuses_alternatives(error: ModelError) -> bool:
    named = re.search(r"anyof|oneof|schema|grammar|response_format", str(error), re.IGNORECASE)
    return named is not None and not isinstance(error, StreamBroken)


def _refuse_blanks(written: list[str]) -> None:
    """A grammar that allows any blanks between fields lets a weak model write nothing else."""
    tail = "".join(written[-_BLANK_LOOP:])
    if len(tail) >= _BLANK_LOOP and not tail[-_BLANK_LOOP:].strip():
        raise _Unusable("it went round in blanks")


def _read_action(text: str, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, JSON]:
    """:raises _Unusable: if ``text`` is no action"""
    try:
        (action,) = read_objects(text)
    except (Unreadable, ValueError) as exc:
        raise _Unusable(str(exc)) from exc
    name = action.pop("action", None)
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise _Unusable(f"there is no action {name!r}")
    known = as_object(tool.parameters.get("properties"))
    return tool, {key: value for key, value in action.items() if key in known and value is not None}


def _opened(arguments: JSON, text_field: str) -> str:
    """The JSON text of the arguments up to where the text begins."""
    return json.dumps({**arguments, text_field: ""}, ensure_ascii=False)[:-2]


@dataclass
class _Strokes:
    """What one answer has come to so far."""

    prompt: ActionHistory
    session_id: str
    text: list[str] = field(default_factory=list[str])
    thought: list[str] = field(default_factory=list[str])
    block: BlockReader = field(default_factory=BlockReader)
    _chosen: tuple[ToolSpec, JSON] | None = None
    _usage: Usage = field(default_factory=Usage)
    _finish: str = ""
    _deltas: int = 0

    @property
    def chosen(self) -> tuple[ToolSpec, JSON]:
        assert self._chosen is not None
        return self._chosen

    @chosen.setter
    def chosen(self, value: tuple[ToolSpec, JSON]) -> None:
        self._chosen = value
        self._deltas = 0

    def count(self, part: Part) -> None:
        """Prompt tokens are those of the last request, which holds the other's; completion tokens are added up."""
        if isinstance(part, ThoughtPart):
            self.thought.append(part.text)
        if not isinstance(part, Reply):
            self._deltas += 1
            return
        self._deltas = 0
        self._finish = part.finish_reason
        before, now = self._usage.completion_tokens or 0, part.usage.completion_tokens
        self._usage = Usage(
            prompt_tokens=part.usage.prompt_tokens,
            completion_tokens=None if now is None else before + now,
            cached_tokens=part.usage.cached_tokens,
        )

    def call(self, tool: ToolSpec, text_field: str) -> ModelCall:
        text = self.block.finish()
        if self._finish == "length" and not self.block.closed:
            fault = _CUT_OFF.format(field=text_field)
            return ModelCall(wire_id=new_wire_id(), name=tool.name, arguments=None, raw="{}", fault=fault)
        return read_call(tool.name, {**self.chosen[1], text_field: text})

    def reply(self, *, calls: tuple[ModelCall, ...], first: float, started: float) -> Reply:
        usage = self._usage
        if self._deltas:
            # The block was closed before the server had said what it counted; it sends a delta a token.
            usage = Usage(
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=(usage.completion_tokens or 0) + self._deltas,
                cached_tokens=usage.cached_tokens,
            )
        cut = self._finish == "length" and not calls
        return Reply(
            text="".join(self.text),
            thought="".join(self.thought),
            calls=calls,
            finish_reason="length" if cut else "tool_calls" if calls else "stop",
            usage=usage,
            timings=Timings(first_token=first, total=time.monotonic() - started),
        )
