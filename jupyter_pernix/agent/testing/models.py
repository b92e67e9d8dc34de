"""Models that play a script."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from ...config import Price
from ...errors import EndpointFailed, ModelError
from ...ids import (
    SessionId,
)
from ...records import (
    JSON,
    ModelProtocol,
    Role,
    Timings,
    Usage,
)
from ..context import plain_json
from ..model.conversation import Conversation
from ..model.parts import CallPart, Model, ModelCall, Part, Reply, RequestSize, TextPart, ThoughtPart, ToolSpec


@dataclass(frozen=True, kw_only=True)
class Says:
    """One reply. ``error``: raised after the parts were streamed, instead of the reply. ``waits``: streams, then waits to be cancelled."""

    text: str = ""
    thought: str = ""
    calls: tuple[ModelCall, ...] = ()
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    error: ModelError | None = None
    waits: bool = False
    chunk: int = 8


def call(name: str, /, wire_id: str = "", **arguments: Any) -> ModelCall:
    """A complete call with readable arguments."""
    return ModelCall(wire_id=wire_id, name=name, arguments=arguments, raw=plain_json(arguments))


def unreadable_call(name: str, fault: str, *, wire_id: str = "") -> ModelCall:
    """A call whose arguments could not be read."""
    return ModelCall(wire_id=wire_id, name=name, arguments=None, raw="{}", fault=fault)


Script = Says | Callable[[Sequence[JSON]], Says]
"""A reply, or a function of the messages that makes one."""


class ScriptedModel:
    """Plays ``script``, one entry a request; ``requests`` keeps the messages of each, as they were sent."""

    def __init__(
        self,
        script: Sequence[Script],
        *,
        endpoint: str = "script",
        name: str = "scripted-1",
        protocol: ModelProtocol = "tools",
        context_length: int | None = 32_768,
        price: Price | None = None,
        sees: bool = False,
    ) -> None:
        self.price = price
        self.sees = sees
        self._script = list(script)
        self.endpoint = endpoint
        self.name = name
        self.protocol: ModelProtocol = protocol
        self.context_length = context_length
        self.requests: list[list[JSON]] = []
        self.sent: list[bytes] = []
        self.tools: list[str] = []
        self.streaming = anyio.Event()
        """Set once a reply that ``waits`` has been streamed."""

    def learn_limit(self, tokens: int) -> None:
        self.context_length = tokens

    def size(self, conversation: Conversation) -> RequestSize:
        last = self.sent[-1][:-1] if self.sent else b""
        same = bool(last) and conversation.encoded(pictures=self.sees).startswith(last)
        size = conversation.size if self.sees else conversation.text_size
        return RequestSize(prompt_bytes=size, prefix_bytes=len(last) - 1 if same else 0)

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, session_id: SessionId
    ) -> AsyncGenerator[AsyncIterator[Part]]:
        self.requests.append(list(conversation.messages))
        self.sent.append(conversation.encoded(pictures=self.sees))
        self.tools = [tool.name for tool in tools]
        if not self._script:
            raise EndpointFailed("the script is over")
        entry = self._script.pop(0)
        yield self._parts(entry if isinstance(entry, Says) else entry(conversation.messages))

    async def _parts(self, says: Says) -> AsyncIterator[Part]:
        for at in range(0, len(says.thought), says.chunk):
            yield ThoughtPart(text=says.thought[at : at + says.chunk])
        for at in range(0, len(says.text), says.chunk):
            yield TextPart(text=says.text[at : at + says.chunk])
        for index, asked in enumerate(says.calls):
            yield CallPart(index=index, name=asked.name, text=asked.raw)
        if says.waits:
            self.streaming.set()
            await anyio.sleep_forever()
        if says.error is not None:
            raise says.error
        yield Reply(
            text=says.text,
            thought=says.thought,
            calls=says.calls,
            finish_reason=says.finish_reason or ("tool_calls" if says.calls else "stop"),
            usage=says.usage,
            timings=Timings(),
        )


class ScriptedModels:
    """Implements ``Models`` with the models that it is given; an error in the place of one is raised when its role is asked for.
    ``asked`` keeps the roles that were."""

    def __init__(
        self,
        primary: Model | ModelError | None,
        *,
        background: Model | ModelError | None = None,
        backup: Model | ModelError | None = None,
    ) -> None:
        self._roles: dict[Role, Model | ModelError | None] = {
            "primary": primary,
            "background": background,
            "backup": backup,
        }
        self.asked: list[Role] = []

    async def get(self, role: Role) -> Model | None:
        self.asked.append(role)
        model = self._roles[role]
        if isinstance(model, ModelError):
            raise model
        return model
