"""What a model says, in parts, and the port that every model is: endpoint over HTTP, schema-constrained actions, tour, script."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from ...config import Price
from ...ids import SessionId
from ...records import JSON, ModelProtocol, Role, Timings, Usage
from .conversation import Conversation


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the model is told about it. ``parameters`` is a JSON Schema object.

    ``text_field`` names the argument that is long free text (code, file content, an answer); an endpoint that is driven by
    schema-constrained actions is asked for it in a second request. ``None``: the tool has none.
    """

    name: str
    description: str
    parameters: JSON
    text_field: str | None = None


class TextPart(msgspec.Struct, frozen=True, kw_only=True):
    """The next characters of the visible answer."""

    text: str


class ThoughtPart(msgspec.Struct, frozen=True, kw_only=True):
    text: str


class CallPart(msgspec.Struct, frozen=True, kw_only=True):
    """The next characters of the arguments of call number ``index``; nothing may be run yet."""

    index: int
    name: str
    text: str


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A complete call. ``arguments`` is ``None`` when they could not be read with certainty; ``fault`` then says why, for the model.

    ``raw`` is the text of the arguments as it goes back into the history: always a JSON object.
    """

    wire_id: str
    name: str
    arguments: JSON | None
    raw: str
    fault: str = ""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer; always the last part of a stream that ended well."""

    text: str
    thought: str
    calls: tuple[ModelCall, ...]
    finish_reason: str
    usage: Usage = msgspec.field(default_factory=Usage)
    timings: Timings = msgspec.field(default_factory=Timings)


Part = TextPart | ThoughtPart | CallPart | Reply


class RequestSize(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one request's messages, and how many of them repeat the previous request of the same conversation."""

    prompt_bytes: int
    prefix_bytes: int


class Model(Protocol):
    """One model behind one endpoint."""

    @property
    def endpoint(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def protocol(self) -> ModelProtocol: ...

    @property
    def context_length(self) -> int | None:
        """In tokens, as configured, told by the endpoint or learnt from a refusal; ``None``: unknown."""
        ...

    @property
    def price(self) -> Price | None: ...

    @property
    def sees(self) -> bool:
        """It is shown the pictures of a conversation; false once its endpoint has refused some."""
        ...

    def learn_limit(self, tokens: int) -> None:
        """The endpoint has refused a request and named its limit: ``context_length`` from now on."""
        ...

    def size(self, conversation: Conversation) -> RequestSize:
        """What the next ``stream`` of this conversation will send."""
        ...

    def stream(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, session_id: SessionId
    ) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Ask for the next answer. Leaving the context closes the connection, which stops the generation.

        Iteration ends with one ``Reply``, or raises ``ModelError`` (from entering or from the iteration); after an error
        nothing of what was yielded counts. Retries are made by the caller.
        """
        ...


class Models(Protocol):
    """The models of one turn, by role; each is connected when it is first asked for, and closed by whoever made this."""

    async def get(self, role: Role) -> Model | None:
        """The same object each time; ``None``: the role is not configured, which for ``primary`` cannot be.

        :raises ModelError: if its endpoint cannot be used, with what to do
        """
        ...
