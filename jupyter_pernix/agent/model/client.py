"""A model behind an OpenAI-compatible endpoint, over httpx.

A request is a fixed head, the bytes that the conversation already has, and a fixed tail: nothing of the history is encoded again.
One request is one try; ``retry.py`` makes the others.
"""

import math
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Literal, cast

import anyio
import msgspec

from ...config import Deadlines, Price
from ...errors import EndpointFailed, EndpointUnreachable, ModelError, StreamBroken
from ...ids import SessionId
from ...records import JSON, Timings
from .conversation import Conversation
from .dialects import ToolSchemas
from .faults import classify_body
from .history import mended
from .http import Wire, checked_base_url, checked_key, place, translated, without_key
from .parts import Part, Reply, RequestSize, ToolSpec
from .sight import is_about_pictures, without_pictures
from .stream import ReplyReader

if TYPE_CHECKING:
    import httpx

    from .http import Answer

_encode = msgspec.json.Encoder().encode
_LONGEST_ERROR_BODY = 64 * 1024
_SLACK = 0.05
_END_GRACE = 0.25
_NEWER_NAMES = {"max_tokens": "max_completion_tokens"}


class Endpoint:
    """The connection to one endpoint: posts a request and reads the answer's parts. Shared by the models that speak to it."""

    def __init__(self, base_url: str, *, key: str = "", deadlines: Deadlines | None = None) -> None:
        self.base_url = checked_base_url(base_url)
        self.deadlines = deadlines or Deadlines()
        self._key = checked_key(key)
        self._wire: Wire | None = None

    def __repr__(self) -> str:
        return f"<Endpoint {place(self.base_url)}>"

    @property
    def wire(self) -> Wire:
        if self._wire is None:
            self._wire = Wire(self.base_url, key=self._key, connect=self.deadlines.connect)
        return self._wire

    @property
    def client(self) -> "httpx.AsyncClient":
        return self.wire.client

    def translated(self, *, started: bool = False) -> AbstractContextManager[None]:
        """Around whatever is done with ``client``; see ``http.translated``."""
        return translated(self.base_url, key=self._key, started=started)

    async def aclose(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            await wire.aclose()

    @asynccontextmanager
    async def post(
        self, body: bytes, *, tools: ToolSchemas | None = None, session_id: str = ""
    ) -> AsyncGenerator[AsyncIterator[Part]]:
        """One request for a streamed answer; see ``Model.stream``."""
        # A router keeps a conversation on the replica that has its prefix.
        headers = {"x-conversation-id": session_id} if session_id else {}
        wait = _Wait()
        with wait.scope:
            started = time.monotonic()
            wait.at_most(self.deadlines.first_token, self._too_slow)
            response = await self._send(body, headers)
            try:
                if response.status_code != 200:
                    wait.over()
                    raise await self._refusal(response)
                async with aclosing(self._parts(response, ReplyReader(tools), started, wait)) as parts:
                    yield parts
            finally:
                wait.over()
                if not _was_read(response):
                    with anyio.move_on_after(5, shield=True):
                        await response.aclose()
        if wait.scope.cancelled_caught:
            raise wait.error()

    async def _send(self, body: bytes, headers: Mapping[str, str]) -> "Answer":
        with self.translated():
            return await self.wire.post(body, headers)

    def _too_slow(self) -> EndpointUnreachable:
        return EndpointUnreachable(
            f"{place(self.base_url)} gave nothing for {self.deadlines.first_token:g} s",
            hint="see whether the server is busy, or raise deadlines.first_token",
        )

    def _stopped(self) -> StreamBroken:
        limit = self.deadlines.between_tokens
        return StreamBroken(f"{place(self.base_url)} stopped for {limit:g} s in the middle of its answer")

    async def _refusal(self, response: "Answer") -> ModelError:
        body = b""
        try:
            with self.translated(), anyio.fail_after(self.deadlines.connect):
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > _LONGEST_ERROR_BODY:
                        break
        except (ModelError, TimeoutError):
            pass  # the status alone tells enough
        if self._key:
            body = body.replace(self._key.encode(), b"[key]")
        return classify_body(response.status_code, body, response.headers)

    async def _parts(
        self, response: "Answer", reader: ReplyReader, started: float, wait: "_Wait"
    ) -> AsyncGenerator[Part]:
        first: float | None = None
        encoded = "content-encoding" in response.headers
        # The raw stream is two generators shorter.
        pieces = response.aiter_bytes() if encoded else aiter(cast(AsyncIterable[bytes], response.stream))
        broken: ModelError | None = None
        while not reader.is_done:
            try:
                piece = await self._next(pieces)
            except StreamBroken as exc:
                broken = exc
                break
            if not piece:
                break
            for part in self._checked(reader.feed(piece)):
                first = first if first is not None else time.monotonic() - started
                yield part
            if first is not None:
                wait.at_most(self.deadlines.between_tokens, self._stopped)
        wait.over()
        for part in self._checked(self._last(reader, broken)):
            yield _timed(part, first, started)
        if not _was_read(response):
            with anyio.move_on_after(_END_GRACE), suppress(ModelError):
                # Only a connection whose answer was read to its end can be used again.
                while await self._next(pieces):
                    pass

    async def _next(self, pieces: AsyncIterator[bytes]) -> bytes:
        """The next bytes of an answer, none at its end; errors translated."""
        try:
            return await anext(pieces, b"")
        except Exception as exc:
            with self.translated(started=True):
                raise
            raise AssertionError("an error passes") from exc

    def _last(self, reader: ReplyReader, broken: ModelError | None) -> Iterable[Part]:
        try:
            yield from reader.close(dropped=broken is not None)
        except StreamBroken as exc:
            raise (broken or exc) from exc

    def _checked(self, parts: Iterable[Part]) -> Iterable[Part]:
        """The same parts; an error that quotes the key is told without it."""
        try:
            yield from parts
        except ModelError as exc:
            if self._key and self._key in str(exc):
                exc.args = (without_key(str(exc), self._key),)
            raise


class _Wait:
    """One scope around a request, whose deadline moves: a scope for each piece of an answer costs more than reading it, and so does
    moving the deadline at each. Whoever reads takes a part at once; what it does between two of them counts."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.error: Callable[[], ModelError] = _no_limit

    def at_most(self, seconds: float, error: Callable[[], ModelError]) -> None:
        """What is awaited next may take so long, or a twentieth less; ``error``: what it is when that was too short."""
        deadline = anyio.current_time() + seconds
        if error != self.error or not 0 <= deadline - self.scope.deadline < _SLACK * seconds:
            self.scope.deadline = deadline
        self.error = error

    def over(self) -> None:
        self.scope.deadline = math.inf


def _no_limit() -> ModelError:
    raise AssertionError("nothing had a deadline")


def _was_read(response: "Answer") -> bool:
    """Whether an answer is known to have been read to its end, so that there is nothing left to close."""
    return bool(getattr(response.stream, "is_over", False))


def _timed(part: Part, first: float | None, started: float) -> Part:
    if not isinstance(part, Reply):
        return part
    total = time.monotonic() - started
    timings = Timings(first_token=first if first is not None else total, total=total)
    return Reply(
        text=part.text,
        thought=part.thought,
        calls=part.calls,
        finish_reason=part.finish_reason,
        usage=part.usage,
        timings=timings,
    )


class SentSizes:
    """How much of each conversation the last request had sent."""

    def __init__(self) -> None:
        self._sent: weakref.WeakKeyDictionary[Conversation, int] = weakref.WeakKeyDictionary()

    def next(self, conversation: Conversation, *, sees: bool) -> RequestSize:
        size = _size(conversation, sees)
        return RequestSize(prompt_bytes=size, prefix_bytes=min(self._sent.get(conversation, 0), size))

    def remember(self, conversation: Conversation, *, sees: bool) -> None:
        self._sent[conversation] = _size(conversation, sees)


def _size(conversation: Conversation, sees: bool) -> int:
    return conversation.size if sees else conversation.text_size


class ChatModel:
    """Implements ``parts.Model`` for the protocols ``tools`` (native calls) and ``chat`` (no calls: tools are not sent)."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        name: str,
        endpoint_name: str,
        protocol: Literal["tools", "chat"] = "tools",
        context_length: int | None = None,
        price: Price | None = None,
        options: JSON | None = None,
        sees: bool = False,
    ) -> None:
        self.sees = sees
        self.endpoint = endpoint_name
        self.name = name
        self.protocol: Literal["tools", "chat"] = protocol
        self.context_length = context_length
        self.price = price
        self._options = dict(options or {})
        self._http = endpoint
        self._sizes = SentSizes()
        self._tools: tuple[ToolSpec, ...] = ()
        self._tail = b"}"
        self._left_out: set[str] = set()
        self._broken_history: weakref.WeakSet[Conversation] = weakref.WeakSet()

    def __repr__(self) -> str:
        return f"<ChatModel {self.name!r} at {self._http!r}>"

    def learn_limit(self, tokens: int) -> None:
        self.context_length = tokens

    def size(self, conversation: Conversation) -> RequestSize:
        return self._sizes.next(conversation, sees=self.sees)

    async def aclose(self) -> None:
        await self._http.aclose()

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, session_id: SessionId
    ) -> AsyncGenerator[AsyncIterator[Part]]:
        offered = tuple(tools) if self.protocol == "tools" else ()
        body = self._body(conversation, offered)
        self._sizes.remember(conversation, sees=self.sees)
        schemas = {tool.name: tool.parameters for tool in offered}
        try:
            async with self._http.post(body, tools=schemas, session_id=session_id) as parts:
                yield parts
        except EndpointFailed as exc:
            self._learn(exc, conversation)
            raise

    def _body(self, conversation: Conversation, tools: tuple[ToolSpec, ...]) -> bytes:
        kept = {key: value for key, value in self._extra().items() if key not in self._left_out}
        kept = {"model": self.name, "stream": True, **kept}
        begin, tail = _encode(kept)[:-1] + b',"messages":', self._tail_for(tools)
        if conversation in self._broken_history and not self._shows(conversation):
            return b"".join((begin, _encode(mended(conversation.messages)), tail))
        return conversation.within(begin + b"[", b"]" + tail, pictures=self.sees)

    def _shows(self, conversation: Conversation) -> bool:
        return self.sees and conversation.pictures > 0

    def _extra(self) -> JSON:
        """What a request has beside the protocol's own fields, and an endpoint may refuse."""
        extra: JSON = {"stream_options": {"include_usage": True}, **self._options}
        for name, newer in _NEWER_NAMES.items():
            if name in self._left_out and name in extra:
                extra.setdefault(newer, extra[name])
        return extra

    def _tail_for(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if tools != self._tools:
            self._tools = tools
            self._tail = b',"tools":' + _encode([_wire_tool(tool) for tool in tools]) + b"}" if tools else b"}"
        return self._tail

    def _learn(self, fault: EndpointFailed, conversation: Conversation) -> None:
        """What the endpoint refused is left out, or mended, the next time; what cannot be is not worth another try."""
        if self._shows(conversation) and is_about_pictures(fault):
            self.sees = False
            without_pictures(fault)
        elif fault.kind == "unsupported_param":
            fault.retryable = fault.place in self._extra() and fault.place not in self._left_out
            self._left_out.add(fault.place)
        elif fault.kind == "bad_history":
            fault.retryable = conversation not in self._broken_history
            self._broken_history.add(conversation)


def _wire_tool(tool: ToolSpec) -> JSON:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }
