"""A model that acts by writing one JSON object at a time, held to a schema by the server: for endpoints that enforce
``response_format`` and cannot call tools, small local models above all.

The tools stand in the system text, a line each, with two short examples. What the model did before is shown to it in the same
form: its own actions as assistant messages, their results as user messages. The prompt only ever grows at its end.
"""

import json
import re
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

from ...errors import EndpointFailed, ModelError, StreamBroken
from ...ids import SessionId
from ...records import JSON, Timings, Usage
from .action_prompt import action_text, example_messages, system_text
from .action_schema import schema_for
from .arguments import Unreadable, read_objects
from .calls import as_object, new_wire_id, read_call
from .client import Endpoint
from .conversation import Conversation
from .history import MISSING_RESULT
from .parts import CallPart, ModelCall, Part, Reply, RequestSize, ThoughtPart, ToolSpec

_encode = msgspec.json.Encoder().encode
_MAX_TOKENS = 3000
_SAMPLED = 0.7
_BLANK_LOOP = 120


class ActionModel:
    """Implements ``parts.Model``; each answer is exactly one call of one of the tools."""

    protocol: Literal["actions"] = "actions"

    def __init__(self, endpoint: Endpoint, *, name: str, endpoint_name: str, context_length: int | None = None) -> None:
        self.endpoint = endpoint_name
        self.name = name
        self.context_length = context_length
        self._http = endpoint
        self._prompts: weakref.WeakKeyDictionary[Conversation, _Prompt] = weakref.WeakKeyDictionary()
        self._tools: tuple[ToolSpec, ...] = ()
        self._flat = False
        self._format = b""

    def __repr__(self) -> str:
        return f"<ActionModel {self.name!r} at {self._http!r}>"

    async def aclose(self) -> None:
        await self._http.aclose()

    def size(self, conversation: Conversation) -> RequestSize:
        prompt = self._prompts.get(conversation)
        if prompt is None or not self._tools:
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
        prompt.sent = prompt.size
        parts = self._answer(prompt, session_id)
        try:
            yield parts
        finally:
            await parts.aclose()

    def _set_format(self) -> None:
        schema = schema_for(self._tools, flat=self._flat)
        self._format = _encode(
            {"type": "json_schema", "json_schema": {"name": "action", "strict": True, "schema": schema}}
        )

    def _body(self, prompt: "_Prompt", *, temperature: float) -> bytes:
        head: JSON = {
            "model": self.name,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": temperature,
            "max_tokens": _MAX_TOKENS,
        }
        return b"".join(
            (_encode(head)[:-1], b',"messages":[', bytes(prompt.encoded), b'],"response_format":', self._format, b"}")
        )

    async def _answer(self, prompt: "_Prompt", session_id: str) -> AsyncGenerator[Part]:
        """One action, asked for a second time when the first was cut off or went round in blanks."""
        temperature = _SAMPLED if prompt.repeats else 0.0
        started = time.monotonic()
        for last_try in (False, True):
            attempt = _Attempt(self._tools)
            try:
                async with self._post(self._body(prompt, temperature=temperature), session_id) as parts:
                    async for part in attempt.follow(parts):
                        yield part
                call = attempt.call()
            except _Unusable as exc:
                if last_try:
                    raise EndpointFailed(
                        f"the model wrote no usable action: {exc}",
                        kind="protocol",
                        hint="use a larger model, or a longer context",
                    ) from exc
                temperature = _SAMPLED
                continue
            total = time.monotonic() - started
            yield Reply(
                text="",
                thought="".join(attempt.thought),
                calls=(call,),
                finish_reason="tool_calls",
                usage=attempt.usage,
                timings=Timings(first_token=(attempt.first_at or time.monotonic()) - started, total=total),
            )
            return

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
    return bool(re.search(r"anyof|oneof|schema|grammar|response_format", str(error), re.IGNORECASE)) and not isinstance(
        error, StreamBroken
    )


@dataclass
class _Attempt:
    """Follows one answer while it is written."""

    tools: tuple[ToolSpec, ...]
    written: list[str] = field(default_factory=list[str])
    thought: list[str] = field(default_factory=list[str])
    usage: Usage = field(default_factory=Usage)
    first_at: float | None = None
    _name: str = ""
    _blank: int = 0
    _finish: str = ""

    async def follow(self, parts: AsyncIterator[Part]) -> AsyncGenerator[Part]:
        async for part in parts:
            self.first_at = self.first_at or time.monotonic()
            if isinstance(part, ThoughtPart):
                self.thought.append(part.text)
                yield part
            elif isinstance(part, Reply):
                self.usage, self._finish = part.usage, part.finish_reason
                self.written = [part.text]
            else:
                async for shown in self._show(part.text):
                    yield shown

    async def _show(self, text: str) -> AsyncGenerator[Part]:
        self.written.append(text)
        self._blank = self._blank + len(text) if not text.strip() else 0
        if self._blank > _BLANK_LOOP:
            raise _Unusable("it went round in blanks")
        if self._name:
            yield CallPart(index=0, name=self._name, text=text)
            return
        so_far = "".join(self.written)
        named = re.match(r'\s*\{\s*"action"\s*:\s*"([^"]+)"\s*,?', so_far)
        if named is not None:
            self._name = named[1]
            yield CallPart(index=0, name=self._name, text="{" + so_far[named.end() :])

    def call(self) -> ModelCall:
        """:raises _Unusable: if what was written is no action"""
        text = "".join(self.written)
        try:
            (action,) = read_objects(text)
        except (Unreadable, ValueError) as exc:
            raise _Unusable("it was cut off at the length limit" if self._finish == "length" else str(exc)) from exc
        name = action.pop("action", None)
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            raise _Unusable(f"there is no action {name!r}")
        known = as_object(tool.parameters.get("properties"))
        return read_call(tool.name, {key: value for key, value in action.items() if key in known and value is not None})


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
            for example_role, example in example_messages(self._tools):
                self._add(example_role, example)
        else:
            self._add("user", content)

    def _take_assistant(self, message: JSON, content: str) -> None:
        calls = cast(list[Any], message.get("tool_calls") or [])
        for item in calls:
            function = as_object(as_object(item).get("function"))
            arguments = as_object(json.loads(function.get("arguments") or "{}"))
            self._pending[str(as_object(item).get("id") or new_wire_id())] = (str(function.get("name", "")), arguments)
        if not calls and content:
            self._add("assistant", _answer_text(content, self._tools))

    def _add_action(self, name: str, arguments: JSON, result: str) -> None:
        text = action_text(name, arguments)
        self._actions.append(text)
        self._add("assistant", text)
        self._add("user", f"Result of {name}:\n{result}")


def _answer_text(content: str, tools: tuple[ToolSpec, ...]) -> str:
    """A plain answer of before, in the form that this model is held to."""
    finish = next((tool for tool in tools if tool.name == "finish" and tool.text_field), None)
    return action_text(finish.name, {finish.text_field: content}) if finish and finish.text_field else content


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    pieces = cast(list[Any], content) if isinstance(content, list) else []
    return "".join(str(as_object(piece).get("text", "")) for piece in pieces)
