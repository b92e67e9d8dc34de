"""A model that acts in two strokes: it chooses an action, one JSON object that the server holds to a schema, then writes the
action's text (code, content, answer) freely. For endpoints that enforce ``response_format`` and cannot call tools, small local
models above all: code inside a JSON string comes out on one line and badly escaped, in a fenced block it does not.

The tools stand in the system text, a line each, with a short example. What the model did before is shown to it in the same form:
its own actions and texts as assistant messages, their results as user messages. The prompt only ever grows at its end.
"""

import json
import re
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

from ...config import Price
from ...errors import EndpointFailed, ModelError, StreamBroken
from ...ids import SessionId
from ...records import JSON, Constraint, Timings, Usage
from .action_prompt import BlockReader, action_text, example_messages, exchange, is_prose, system_text, text_question
from .action_schema import schema_for
from .arguments import Unreadable, read_objects
from .calls import as_object, new_wire_id, read_call
from .client import Endpoint
from .constraint import constraint_fields
from .conversation import Conversation
from .history import MISSING_RESULT
from .parts import CallPart, ModelCall, Part, Reply, RequestSize, TextPart, ThoughtPart, ToolSpec

_encode = msgspec.json.Encoder().encode
_CHOICE_TOKENS = 700
_TEXT_TOKENS = 4000
_SAMPLED = 0.7
_BLANK_LOOP = 120
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
    ) -> None:
        self.endpoint = endpoint_name
        self.name = name
        self.context_length = context_length
        self.price = price
        self._options = dict(options or {})
        self._constraint: Constraint = constraint
        self._http = endpoint
        self._prompts: weakref.WeakKeyDictionary[Conversation, _Prompt] = weakref.WeakKeyDictionary()
        self._tools: tuple[ToolSpec, ...] = ()
        self._flat = False
        self._format = b""

    def __repr__(self) -> str:
        return f"<ActionModel {self.name!r} at {self._http!r}>"

    def learn_limit(self, tokens: int) -> None:
        self.context_length = tokens

    async def aclose(self) -> None:
        await self._http.aclose()

    def size(self, conversation: Conversation) -> RequestSize:
        prompt = self._prompts.get(conversation)
        if prompt is None:
            return RequestSize(prompt_bytes=conversation.size, prefix_bytes=0)
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
            self._set_format()
        prompt = self._prompts.get(conversation)
        if prompt is None:
            prompt = self._prompts[conversation] = _Prompt(self._tools)
        prompt.extend(conversation)
        async with aclosing(self._answer(prompt, session_id)) as parts:
            yield parts

    # ---- one answer -----------------------------------------------------------------------------------------------------

    async def _answer(self, prompt: "_Prompt", session_id: str) -> AsyncGenerator[Part]:
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
        temperature = _SAMPLED if strokes.prompt.repeats else 0.0
        for last_try in (False, True):
            written: list[str] = []
            body = self._body(bytes(strokes.prompt.encoded), temperature=temperature, limit=_CHOICE_TOKENS, free=False)
            try:
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
                temperature = _SAMPLED

    async def _write(self, strokes: "_Strokes", tool: ToolSpec, text_field: str) -> AsyncGenerator[Part]:
        """The second stroke: the text of the action, streamed as the answer or as the last argument."""
        prompt = strokes.prompt.with_choice(tool, strokes.chosen[1])
        body = self._body(prompt, temperature=0.0, limit=self._text_limit, free=True)
        if not is_prose(tool):
            yield CallPart(index=0, name=tool.name, text=_opened(strokes.chosen[1], text_field))
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
        if not is_prose(tool):
            yield CallPart(index=0, name=tool.name, text='"}')

    # ---- requests -------------------------------------------------------------------------------------------------------

    def _set_format(self) -> None:
        schema = schema_for(self._tools, flat=self._flat)
        self._format = _encode(constraint_fields(schema, self._constraint))[1:]

    @property
    def _text_limit(self) -> int:
        """Some servers refuse a limit that the context has no room for."""
        return min(_TEXT_TOKENS, max(256, self.context_length // 4)) if self.context_length else _TEXT_TOKENS // 2

    def _body(self, messages: bytes, *, temperature: float, limit: int, free: bool) -> bytes:
        head: JSON = {
            **self._options,
            "model": self.name,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": temperature,
            "max_tokens": limit,
        }
        tail = b"]}" if free else b"]," + self._format
        return b"".join((_encode(head)[:-1], b',"messages":[', messages, tail))

    @asynccontextmanager
    async def _post(self, body: bytes, session_id: str) -> AsyncGenerator[AsyncIterator[Part]]:
        try:
            async with self._http.post(body, session_id=session_id) as parts:
                yield parts
        except ModelError as exc:
            if not self._flat and _refuses_alternatives(exc):
                self._flat = True
                self._set_format()
                raise EndpointFailed(
                    str(exc), retryable=True, kind="unsupported_param", place="response_format"
                ) from exc
            raise


class _Unusable(ValueError):
    """What the model wrote is not an action."""


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

    prompt: "_Prompt"
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


class _Prompt:
    """One conversation as this model is shown it; grows at its end only."""

    def __init__(self, tools: tuple[ToolSpec, ...]) -> None:
        self.encoded = bytearray()
        self.sent = 0
        self.repeats = False
        """Whether the last two actions were the same: at temperature 0 the third would be too."""
        self._tools = tools
        self._seen = 0
        self._pending: dict[str, tuple[str, JSON]] = {}
        self._actions: list[str] = []

    @property
    def size(self) -> int:
        return len(self.encoded)

    def extend(self, conversation: Conversation) -> None:
        for message in conversation.messages[self._seen :]:
            self._take(message)
        self._seen = len(conversation.messages)
        self.repeats = len(self._actions) > 1 and self._actions[-1] == self._actions[-2]

    def _add(self, role: str, content: str) -> None:
        if self.encoded:
            self.encoded += b","
        self.encoded += _encode({"role": role, "content": content})

    def _add_all(self, messages: Sequence[tuple[str, str]]) -> None:
        for role, content in messages:
            self._add(role, content)

    def _take(self, message: JSON) -> None:
        role, content = message.get("role"), _plain(message.get("content"))
        if role == "tool":
            name, arguments = self._pending.pop(str(message.get("tool_call_id")), ("", {}))
            if name:
                self._add_action(name, arguments, content)
            return
        for name, arguments in self._pending.values():
            self._add_action(name, arguments, MISSING_RESULT)
        self._pending = {}
        if role == "assistant":
            self._take_assistant(message, content)
        elif role == "system" and not self.encoded:
            self._add("system", system_text(content, self._tools))
            self._add_all(example_messages(self._tools))
        else:
            self._add("user", content)

    def _take_assistant(self, message: JSON, content: str) -> None:
        calls = cast(list[Any], message.get("tool_calls") or [])
        for item in calls:
            function = as_object(as_object(item).get("function"))
            try:
                (arguments,) = read_objects(str(function.get("arguments") or ""))
            except (Unreadable, ValueError):
                arguments = {}
            self._pending[str(as_object(item).get("id") or new_wire_id())] = (str(function.get("name", "")), arguments)
        if not calls and content:
            finish = next((tool for tool in self._tools if is_prose(tool)), None)
            self._add_all(exchange(finish, {}, content) if finish else [("assistant", content)])

    def _add_action(self, name: str, arguments: JSON, result: str) -> None:
        tool = next((tool for tool in self._tools if tool.name == name), None)
        text_field = tool.text_field if tool else None
        if tool is not None and text_field is not None and text_field in arguments:
            small = {key: value for key, value in arguments.items() if key != text_field}
            self._add_all(exchange(tool, small, str(arguments[text_field])))
        else:
            self._add("assistant", action_text(name, arguments))
        self._actions.append(action_text(name, arguments))
        self._add("user", f"Result of {name}:\n{result}")

    def with_choice(self, tool: ToolSpec, arguments: JSON) -> bytes:
        """These messages, the action that was just chosen, and the question for its text."""
        more = [("assistant", action_text(tool.name, arguments)), ("user", text_question(tool, arguments))]
        return bytes(self.encoded) + b"".join(b"," + _encode({"role": role, "content": text}) for role, text in more)


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    pieces = cast(list[Any], content) if isinstance(content, list) else []
    return "".join(str(as_object(piece).get("text", "")) for piece in pieces)
