"""The bytes of one answer → parts. Pure: nothing here waits or knows where the bytes come from.

``ReplyReader`` takes the body in pieces cut anywhere and yields ``TextPart``, ``ThoughtPart`` and ``CallPart``; ``close`` gives
the ``Reply``. An answer is complete when the server said so, by a finish reason or by ``[DONE]``; anything else is
``StreamBroken``, and nothing of it may be used.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from ...errors import EndpointFailed, StreamBroken
from ...records import JSON, Usage
from .calls import CallCollector, as_object
from .complaint import read_complaint
from .dialects import ToolSchemas
from .faults import classify, content_filtered, not_a_stream
from .hold import CallHold
from .parts import Part, Reply, TextPart, ThoughtPart
from .plain import Choice, plain_choice
from .sse import EventDecoder, ServerEvent
from .thoughts import ThoughtSplitter
from .usage import read_usage
from .written import read_written, without_envelopes, without_marks

_FINISH = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "complete": "stop",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "context_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "refusal": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "spii": "content_filter",
    "error": "error",
    "malformed_function_call": "error",
    "unexpected_tool_call": "error",
    "insufficient_system_resource": "error",
    "timeout": "error",
    "abort": "error",
    "cancelled": "error",
}
_quick = msgspec.json.Decoder().decode
_LONGEST_DONE = 16
_LONGEST_WHOLE_BODY = 32 * 1024 * 1024


class ReplyReader:
    """One answer being read. ``tools`` are the parameter schemas of what was offered; without any, text is never read as a call."""

    def __init__(self, tools: ToolSchemas | None = None) -> None:
        self._events = EventDecoder()
        self._assembler = Assembler(tools or {})
        self._head = b""
        self._take: Callable[[bytes], Iterator[Part]] = self._sniff
        self._whole: list[bytes] | None = None
        self._whole_size = 0

    @property
    def is_done(self) -> bool:
        """``[DONE]`` was read: whatever may follow does not belong to the answer."""
        return self._assembler.done

    def feed(self, data: bytes) -> Iterator[Part]:
        """Parts that these bytes complete; iterate to the end before the next call.

        :raises ModelError: if they hold an error instead
        """
        return self._take(data)

    def close(self, *, dropped: bool = False) -> Iterator[Part]:
        """The last parts; ``dropped``: the connection did not end as it should.

        :raises ModelError: if the answer is not whole, or empty
        """
        if self._whole is not None:
            yield from self._close_whole(b"".join(self._whole), dropped=dropped)
            return
        for event in self._events.close():
            yield from self._event(event)
        yield from self._assembler.close(dropped=dropped)

    # The content type is not looked at: servers put the wrong one on both kinds of body.
    def _sniff(self, data: bytes) -> Iterator[Part]:
        self._head += data
        start = self._head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n\0")
        if start[:1] == b"{":
            self._whole, self._take = [self._head], self._collect
        elif start[:1] == b"<":
            raise not_a_stream("a web page")
        elif start:
            self._take = self._stream
            yield from self._stream(self._head)

    def _stream(self, data: bytes) -> Iterator[Part]:
        for event in self._events.feed(data):
            yield from self._event(event)

    def _collect(self, data: bytes) -> Iterator[Part]:
        assert self._whole is not None
        self._whole.append(data)
        self._whole_size += len(data)
        if self._whole_size > _LONGEST_WHOLE_BODY:
            raise not_a_stream("a JSON body without end")
        yield from ()

    def _close_whole(self, body: bytes, *, dropped: bool) -> list[Part]:
        try:
            answer = as_object(json.loads(body))
        except (ValueError, RecursionError) as exc:
            chunks = _lines_of_json(body)
            if not chunks:
                raise StreamBroken("the endpoint's answer was cut off") from exc
            parts = [part for chunk in chunks for part in self._assembler.chunk(chunk)]
            return [*parts, *self._assembler.close(dropped=dropped)]
        if not answer.get("choices"):
            raise (
                classify(read_complaint(answer))
                if "error" in answer or "message" in answer
                else not_a_stream("other JSON")
            )
        parts = self._assembler.chunk(answer)
        self._assembler.done = not dropped
        return [*parts, *self._assembler.close(dropped=dropped)]

    def _event(self, event: ServerEvent) -> list[Part]:
        data = event.data.strip().strip("\0")
        if not data or self._assembler.done:
            return []
        if len(data) < _LONGEST_DONE and data.strip('"').upper() == "[DONE]":
            self._assembler.done = True
            return []
        plain = plain_choice(data) if event.name != "error" else None
        if plain is not None:
            return self._assembler.plain(plain)
        try:
            value = _decoded(data)
        except (ValueError, RecursionError) as exc:
            if not event.whole or data[:1] in "{[":
                raise StreamBroken("the endpoint's answer was cut off in the middle") from exc
            raise not_a_stream(repr(read_complaint(data).message)) from exc
        if event.name == "error":
            raise classify(read_complaint(value))
        return self._assembler.chunk(as_object(value))


class Assembler:
    """Chunks of one answer, joined. Only the first choice counts."""

    def __init__(self, tools: ToolSchemas) -> None:
        self._tools = tools
        self._calls = CallCollector(tools)
        self._thoughts = ThoughtSplitter()
        self._hold = CallHold() if tools else None
        self._text: list[str] = []
        self._thought: list[str] = []
        self._usage = Usage()
        self._finish = ""
        self._surrogate = ""
        self._begun = False
        self.done = False

    def plain(self, choice: Choice) -> list[Part]:
        """As ``chunk`` for one that holds nothing else."""
        delta = choice.delta
        parts: list[Part] = []
        if delta.content:
            self._begun = True
            parts += self._visible(delta.content)
        for fragment in delta.tool_calls or ():
            self._begun = True
            function = fragment.function
            part = self._calls.take(
                index=fragment.index,
                wire_id=fragment.id or "",
                name=(function.name or "").strip(),
                text=function.arguments or "",
            )
            if part is not None:
                parts.append(part)
        if choice.finish_reason:
            self._finish = _FINISH.get(choice.finish_reason.lower(), "stop")
        return parts

    def chunk(self, chunk: JSON) -> list[Part]:
        """:raises ModelError: if the chunk is an error"""
        self._usage = read_usage(chunk, self._usage)
        choices = chunk.get("choices")
        if chunk.get("error") or (not choices and chunk.get("object") == "error"):
            raise classify(read_complaint(chunk))
        parts: list[Part] = []
        for item in cast(list[Any], choices) if isinstance(choices, list) else []:
            choice = as_object(item)
            if choice.get("index", 0) in (0, None, "0"):
                parts += self._choice(choice)
        return parts

    def _choice(self, choice: JSON) -> list[Part]:
        if choice.get("error"):
            raise classify(read_complaint(choice))
        delta = as_object(choice.get("delta"))
        if not delta and not ("delta" in choice and self._begun):
            delta = as_object(choice.get("message")) or {"content": choice.get("text")}
        parts: list[Part] = []
        thought, text = _contents(delta)
        self._begun = self._begun or bool(thought or text or delta.get("tool_calls"))
        if thought:
            self._thought.append(thought)
            parts.append(ThoughtPart(text=thought))
        if text:
            parts += self._visible(text)
        fragments: Any = delta.get("tool_calls")
        if isinstance(delta.get("function_call"), dict):
            fragments = [delta["function_call"]]
        if isinstance(fragments, dict):
            fragments = [fragments]
        for item in cast(list[Any], fragments) if isinstance(fragments, list) else []:
            part = self._calls.add(as_object(item))
            if part is not None:
                parts.append(part)
        reason: Any = choice.get("finish_reason")
        if isinstance(reason, dict):
            reason = as_object(cast(object, reason)).get("type")
        if isinstance(reason, str) and reason:
            self._finish = _FINISH.get(reason.lower(), "stop")
        return parts

    def _visible(self, text: str, *, final: bool = False) -> list[Part]:
        text, self._surrogate = _paired(self._surrogate + text, final=final)
        split = self._thoughts.feed(text, final=final)
        parts: list[Part] = []
        if split.thought:
            self._thought.append(split.thought)
            parts.append(ThoughtPart(text=split.thought))
        if split.text:
            self._text.append(split.text)
        shown = self._hold.feed(split.text) if self._hold else split.text
        if shown:
            parts.append(TextPart(text=shown))
        return parts

    def close(self, *, dropped: bool) -> list[Part]:
        """The rest and the ``Reply``.

        :raises ModelError: if the answer is not whole, was stopped, or says nothing
        """
        if not self._finish and (dropped or not self.done):
            raise StreamBroken("the endpoint's answer ended before its end")
        if self._finish == "error":
            raise StreamBroken("the endpoint gave up in the middle of its answer")
        if self._finish == "content_filter":
            raise content_filtered()
        parts = self._visible("", final=True)
        text, thought = "".join(self._text), "".join(self._thought)
        if self._thoughts.reclaimed:
            text, thought = text.removeprefix(self._thoughts.reclaimed), self._thoughts.reclaimed + thought
        reply = self._reply(text, thought)
        held = self._hold.finish() if self._hold else ""
        if held and reply.text.endswith(held):
            parts.append(TextPart(text=held))
        return [*parts, reply]

    def _reply(self, text: str, thought: str) -> Reply:
        calls = self._calls.finish(cut=self._finish == "length")
        if calls:
            text = without_envelopes(text, self._tools)
        else:
            written = read_written(text, self._tools)
            if written.truncated:
                raise StreamBroken(f"the model stopped in the middle of a call of {written.truncated!r}")
            text, calls = written.text, written.calls
        text, thought = without_marks(_clean(text)), _clean(thought)
        if not calls and not text.strip():
            raise _empty(thought, self._finish)
        finish = self._finish or "stop"
        if finish in ("stop", "tool_calls"):
            finish = "tool_calls" if calls else "stop"
        return Reply(text=text, thought=thought, calls=calls, finish_reason=finish, usage=self._usage)


def _lines_of_json(body: bytes) -> list[JSON]:
    """The chunks of a stream that puts an object on each line and no ``data:`` before it; none if ``body`` is something else."""
    try:
        lines = [as_object(json.loads(line)) for line in body.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return []
    return lines if len(lines) > 1 and all("choices" in line or "error" in line for line in lines) else []


def _decoded(text: str) -> Any:
    try:
        return _quick(text)
    except (msgspec.DecodeError, RecursionError):
        return json.loads(text)  # takes what servers send and no standard allows: NaN, half a surrogate pair


def _empty(thought: str, finish: str) -> EndpointFailed:
    what = "the model only thought and gave no answer" if thought.strip() else "the model gave an empty answer"
    hint = "raise the endpoint's limit of output tokens" if finish == "length" else ""
    return EndpointFailed(what, retryable=True, kind="empty_reply", hint=hint)


_THOUGHT_KEYS = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
_THOUGHTS = frozenset((*_THOUGHT_KEYS, "reasoning_details"))


def _contents(delta: JSON) -> tuple[str, str]:
    """Thought and text of one delta; of several fields that repeat the thought, the first counts."""
    text, thought = _flat(delta.get("content"))
    refusal = delta.get("refusal")
    if isinstance(refusal, str) and not text:
        text = refusal
    if _THOUGHTS.isdisjoint(delta):
        return thought, text
    for key in _THOUGHT_KEYS:
        value: Any = delta.get(key)
        if isinstance(value, dict):
            inner = as_object(cast(object, value))
            value = inner.get("content") or inner.get("text")
        if isinstance(value, str) and value:
            return thought + value, text
    details = delta.get("reasoning_details")
    if isinstance(details, list):
        thought += "".join(
            str(as_object(one).get("text") or as_object(one).get("summary") or "") for one in cast(list[Any], details)
        )
    return thought, text


def _flat(content: object) -> tuple[str, str]:
    """Text and thought of ``content``, which is text or a list of typed pieces."""
    if isinstance(content, str):
        return content, ""
    text = thought = ""
    if isinstance(content, dict):
        content = [as_object(cast(object, content))]
    for item in cast(list[Any], content) if isinstance(content, list) else []:
        piece = {"text": item} if isinstance(item, str) else as_object(item)
        inner = piece.get("text") or piece.get("thinking") or ""
        if isinstance(inner, list):
            inner = _flat(cast(object, inner))[0]
        if piece.get("type") in ("thinking", "reasoning"):
            thought += str(inner)
        else:
            text += str(inner)
    return text, thought


def _paired(text: str, *, final: bool) -> tuple[str, str]:
    """``text`` and what of it must wait: half a surrogate pair at its end, whose other half comes with the next delta."""
    if not final and text and "\ud800" <= text[-1] <= "\udbff":
        return _clean(text[:-1]), text[-1]
    return _clean(text), ""


def _clean(text: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
