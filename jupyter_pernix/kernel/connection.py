"""Our own client of one kernel process: sends requests, reads messages without ever losing one to a cancellation."""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal, cast

import anyio
import anyio.lowlevel
import zmq
import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import KernelManager
from jupyter_client.session import Session

from ..records import JSON
from .bundles import scrub
from .sidechannel import SideChannel
from .widgetstate import WidgetStates

_ASIDES = {
    "kernel_info_request",
    "comm_info_request",
    "complete_request",
    "inspect_request",
    "is_complete_request",
    "history_request",
}
"""Requests that put nothing out themselves; what claims to be theirs was printed by a thread that a cell has started."""

_COMMS = ("comm_open", "comm_msg", "comm_close")

_DIGESTS = 4_000
"""Messages that are remembered so that none can be replayed; the library's 65,536 are 10 MB for each connection."""

_YIELD_EVERY = 50
"""Messages after which other tasks get a turn."""


Channel = Literal["shell", "iopub", "stdin"]


@dataclass(frozen=True, kw_only=True)
class Message:
    """``parent_id``: the request that this belongs to, "" if none."""

    type: str
    parent_id: str
    content: JSON


def new_context() -> zmq.asyncio.Context:
    """A ZMQ context whose sockets hold a burst of messages; ZMQ's default of 1,000 drops what comes above it."""
    context = zmq.asyncio.Context()
    context.setsockopt(zmq.RCVHWM, 20_000)
    context.setsockopt(zmq.LINGER, 0)
    return context


def _new_client(manager: KernelManager, context: zmq.asyncio.Context) -> AsyncKernelClient:
    """Two clients that share a session id take each other's replies, so each has its own."""
    session = Session(
        key=manager.session.key, signature_scheme=manager.session.signature_scheme, digest_history_size=_DIGESTS
    )
    return AsyncKernelClient(
        **{**manager.get_connection_info(session=True), "session": session, "context": context, "parent": manager}
    )


class Connection:
    """Shell and IOPub of one kernel, and what they tell of the code that runs there for whoever."""

    def __init__(self, manager: KernelManager, context: zmq.asyncio.Context, widgets: WidgetStates) -> None:
        self.widgets = widgets
        self._requests: deque[str] = deque(maxlen=200)
        """The last requests to run code."""
        self._manager, self._context = manager, context
        self._client = _new_client(manager, context)
        self._client.start_channels(stdin=True, hb=False, control=False)
        self._side: SideChannel | None = None
        self.closed = False
        self.info: JSON = {}
        """What the kernel said about itself when it was ready: the content of its ``kernel_info_reply``."""
        self.busy = False
        """Code runs, as far as IOPub was read."""
        self._nudges: deque[str] = deque(maxlen=200)
        self._asides: deque[str] = deque(maxlen=200)
        self.cell: JSON | None = None
        """The header of the request to run code that the kernel took up last, whoever's it is."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._client.shell_channel.stop()
            self._client.iopub_channel.stop()
            self._client.stdin_channel.stop()
            if self._side is not None:
                self._side.close()

    @property
    def side(self) -> SideChannel:
        """For questions beside the code that runs."""
        if self._side is None:
            client = _new_client(self._manager, self._context)
            client.start_channels(iopub=False, stdin=False, hb=False, control=True)
            self._side = SideChannel(client)
        return self._side

    def send_code(self, code: str, expressions: dict[str, str] | None = None, *, asks: bool = False) -> str:
        """Returns the id of the request. An error in it leaves the requests of other clients alone. The values of
        ``expressions`` after the code come with the reply. ``asks``: what asks for a line may do so, on stdin."""
        request_id = self._client.execute(
            scrub(code), user_expressions=expressions or {}, allow_stdin=asks, stop_on_error=False
        )
        self._requests.append(request_id)
        return request_id

    def send_input(self, line: str) -> None:
        """The answer to the kernel's last request for a line."""
        self._client.input(scrub(line))

    def send_widget_changes(self) -> None:
        """Tell the kernel, and by its echo every page, what ``Output`` widgets show of the code that was run from here."""
        for comm_id, state in self.widgets.take_changes().items():
            data: JSON = {"method": "update", "state": state, "buffer_paths": []}
            message = self._client.session.msg("comm_msg", {"comm_id": comm_id, "data": data})
            self._asides.append(str(message["header"]["msg_id"]))
            self._client.shell_channel.send(message)

    def ask_info(self) -> str:
        """A harmless request; it also wakes a kernel whose event loop sleeps on an interrupt it has not noticed."""
        request_id = self._client.kernel_info()
        self._nudges.append(request_id)
        return request_id

    async def messages(self, channel: Channel) -> AsyncIterator[Message]:
        """All messages from now on; ends when the connection is closed."""
        count = 0
        while not self.closed:
            message = await self._receive(channel)
            if message is None:
                # A poll that is cancelled has taken nothing off the socket; a receive might have.
                await self._poll(channel, 1.0)
                continue
            yield message
            count += 1
            if count % _YIELD_EVERY == 0:
                await anyio.lowlevel.checkpoint()

    async def waiting(self, channel: Channel) -> AsyncIterator[Message]:
        """The messages that are here already."""
        while not self.closed and (message := await self._receive(channel)) is not None:
            yield message

    async def readable(self, seconds: float) -> bool:
        """Whether IOPub has something, after at most ``seconds``."""
        return not self.closed and await self._poll("iopub", seconds)

    async def wait_ready(self, *, or_busy: bool = False) -> None:
        """Returns once the kernel has answered on shell and its IOPub reaches us. Waits for ever if it never does. ``or_busy``: an
        answer beside code that runs will do."""
        while True:
            self.ask_info()
            with anyio.move_on_after(0.5):
                async with anyio.create_task_group() as group:
                    group.start_soon(self._first, "iopub", "")
                    group.start_soon(self._first, "shell", "kernel_info_reply")
                return
            if or_busy and await self.side.answers(1.0):
                self.busy = True  # until it gets round to the request above
                return

    async def _poll(self, channel: Channel, seconds: float) -> bool:
        try:
            return bool(await self._socket(channel).poll(int(seconds * 1000)))
        except anyio.get_cancelled_exc_class():
            if self.closed:  # closing a socket cancels who polls it; nobody has cancelled this task
                return False
            raise

    async def _first(self, channel: Channel, message_type: str) -> None:
        async for message in self.messages(channel):
            if message.type == "kernel_info_reply":
                self.info = message.content
            if message.type == message_type or not message_type:
                return

    async def _receive(self, channel: Channel) -> Message | None:
        """The next message if there is one. A message that cannot be read is dropped, as ``Session`` would refuse it."""
        try:
            frames = await self._socket(channel).recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return None
        session = self._client.session
        _, parts = session.feed_identities(frames)
        try:
            raw = cast(dict[str, Any], session.deserialize(parts))
        except (ValueError, TypeError, KeyError):
            return Message(type="unreadable", parent_id="", content={})
        parent: JSON = raw.get("parent_header") or {}
        content = raw.get("content")
        kind = str(raw.get("msg_type") or raw["header"]["msg_type"])
        aside = kind != "status" and self._is_aside(parent) and channel == "iopub"
        message = Message(
            type=kind,
            parent_id=str((self.cell or {} if aside else parent).get("msg_id", "")),
            content=cast(JSON, content) if isinstance(content, dict) else {},
        )
        if message.type in ("status", "execute_input"):
            self._notice(message, parent)
        elif message.type in _COMMS and channel == "iopub":
            buffers = cast(list[Any], raw.get("buffers") or [])
            self.widgets.take(message.type, message.content, [bytes(part) for part in buffers])
        elif message.parent_id in self._requests and self.widgets.capture(
            message.parent_id, message.type, message.content
        ):
            return Message(type="captured", parent_id=message.parent_id, content={})
        return message

    def _is_aside(self, parent: JSON) -> bool:
        side = self._side
        if parent.get("msg_type") in _ASIDES or parent.get("msg_id") in self._asides:
            return True
        return side is not None and parent.get("msg_id") in side.asked

    def _notice(self, message: Message, parent: JSON) -> None:
        """Whether code runs. A silent request and one in a subshell is no cell: threads do not print for it."""
        if message.type == "execute_input":
            self.cell, self.busy = parent, True
        elif message.parent_id in self._nudges:
            if message.content.get("execution_state") == "idle":
                self.busy = False  # requests are taken up in order
        elif self.cell is not None and message.parent_id == self.cell.get("msg_id"):
            self.busy = message.content.get("execution_state") == "busy"

    def _socket(self, channel: Channel) -> zmq.asyncio.Socket:
        match channel:
            case "shell":
                return cast(zmq.asyncio.Socket, self._client.shell_channel.socket)
            case "iopub":
                return cast(zmq.asyncio.Socket, self._client.iopub_channel.socket)
            case "stdin":
                return cast(zmq.asyncio.Socket, self._client.stdin_channel.socket)
