"""Our own client of one kernel process: sends requests, reads messages without ever losing one to a cancellation."""

from collections import deque
from collections.abc import Callable
from typing import Literal

import anyio
import zmq
from jupyter_client.client import KernelClient
from jupyter_client.manager import KernelManager

from ..records import JSON
from .bundles import scrub
from .port import Port
from .sidechannel import SideChannel
from .widgetstate import WidgetStates
from .wire import Message, Wire

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

Channel = Literal["shell", "iopub", "stdin"]

Listener = Callable[[Channel, Message], None]
"""Given each message at once; it must not wait, and must not fail."""

Context = zmq.Context["zmq.Socket[bytes]"]


def new_context() -> Context:
    """A ZMQ context whose sockets hold a burst of messages; ZMQ's default of 1,000 drops what comes above it."""
    context: Context = zmq.Context()
    context.setsockopt(zmq.RCVHWM, 20_000)
    context.setsockopt(zmq.LINGER, 0)
    return context


def _ignore(channel: Channel, message: Message) -> None:
    pass


class Connection:
    """Shell and IOPub of one kernel, and what they tell of the code that runs there for whoever."""

    def __init__(self, manager: KernelManager, context: Context, widgets: WidgetStates) -> None:
        self.widgets = widgets
        self.listener: Listener = _ignore
        self._requests: deque[str] = deque(maxlen=200)
        """The last requests to run code."""
        self._client = KernelClient(
            **{**manager.get_connection_info(session=True), "context": context, "parent": manager}
        )
        self._wire = Wire(manager.session)
        identity = self._wire.identity
        self._shell = Port(self._client, "shell", identity, self._take_shell)
        self._iopub = Port(self._client, "iopub", identity, self._take_iopub)
        self._stdin = Port(self._client, "stdin", identity, self._take_stdin)
        self._side: SideChannel | None = None
        self.info: JSON = {}
        """What the kernel said about itself when it was ready: the content of its ``kernel_info_reply``."""
        self.busy = False
        """Code runs, as far as IOPub was read."""
        self._answered = anyio.Event()
        self._published = anyio.Event()
        self._heard = anyio.Event()
        self._nudges: deque[str] = deque(maxlen=200)
        self._asides: deque[str] = deque(maxlen=200)
        self._cell: Message | None = None

    @property
    def closed(self) -> bool:
        return self._iopub.closed

    def close(self) -> None:
        for port in (self._shell, self._iopub, self._stdin):
            port.close()
        if self._side is not None:
            self._side.close()

    @property
    def side(self) -> SideChannel:
        """For questions beside the code that runs."""
        if self._side is None:
            self._side = SideChannel(self._client)
        return self._side

    @property
    def cell(self) -> JSON | None:
        """The header of the request to run code that the kernel took up last, whoever's it is."""
        return None if self._cell is None else self._cell.parent

    def send_code(self, code: str, expressions: dict[str, str] | None = None, *, asks: bool = False) -> str:
        """Returns the id of the request. An error in it leaves the requests of other clients alone. The values of
        ``expressions`` after the code come with the reply. ``asks``: what asks for a line may do so, on stdin."""
        content = {
            "code": scrub(code),
            "silent": False,
            "store_history": True,
            "user_expressions": expressions or {},
            "allow_stdin": asks,
            "stop_on_error": False,
        }
        request_id = self._request("execute_request", content)
        self._requests.append(request_id)
        return request_id

    def send_input(self, line: str) -> None:
        """The answer to the kernel's last request for a line."""
        self._stdin.send(self._wire.request("input_reply", {"value": scrub(line)})[1])

    def send_widget_changes(self) -> None:
        """Tell the kernel, and by its echo every page, what ``Output`` widgets show of the code that was run from here."""
        for comm_id, state in self.widgets.take_changes().items():
            data: JSON = {"method": "update", "state": state, "buffer_paths": []}
            self._asides.append(self._request("comm_msg", {"comm_id": comm_id, "data": data}))

    def ask_info(self) -> str:
        """A harmless request; it also wakes a kernel whose event loop sleeps on an interrupt it has not noticed."""
        request_id = self._request("kernel_info_request", {})
        self._nudges.append(request_id)
        return request_id

    def read(self) -> None:
        """Hand on what has come and was not read yet."""
        self._shell.read()
        self._iopub.read()

    async def heard(self, seconds: float) -> None:
        """Until something came on IOPub since the last call, at most ``seconds``."""
        with anyio.move_on_after(seconds):
            await self._heard.wait()
        self._heard = anyio.Event()

    async def wait_ready(self, *, or_busy: bool = False) -> None:
        """Returns once the kernel has answered on shell and its IOPub reaches us. Waits for ever if it never does. ``or_busy``: an
        answer beside code that runs will do."""
        while True:
            self.ask_info()
            with anyio.move_on_after(0.5):
                await self._answered.wait()
                await self._published.wait()
                return
            if or_busy and await self.side.answers(1.0):
                self.busy = not self._answered.is_set()  # until it gets round to the request above
                return

    def _request(self, kind: str, content: JSON) -> str:
        request_id, frames = self._wire.request(kind, content)
        self._shell.send(frames)
        return request_id

    def _take_shell(self, frames: list[bytes]) -> None:
        message = self._wire.read(frames)
        if message is not None:
            if message.type == "kernel_info_reply":
                self.info = message.content
                self._answered.set()
                if self._cell is None:  # that it was busy was a guess; IOPub may not have reached us when it was idle
                    self.busy = False
                    self._heard.set()
            self.listener("shell", message)

    def _take_stdin(self, frames: list[bytes]) -> None:
        message = self._wire.read(frames)
        if message is not None:
            self.listener("stdin", message)

    def _take_iopub(self, frames: list[bytes]) -> None:
        message = self._wire.read(frames)
        if message is None:
            return
        if message.type in ("status", "execute_input"):
            self._iopub.expect_quiet()
            self._notice(message)
        elif self._is_aside(message):
            message.parent_id = self._cell.parent_id if self._cell is not None else ""
        if message.type in _COMMS:
            self.widgets.take(message.type, message.content, message.buffers)
        elif (
            self.widgets
            and message.parent_id in self._requests
            and self.widgets.capture(message.parent_id, message.type, message.content)
        ):
            message.type, message.content = "captured", {}
        self._published.set()
        self._heard.set()
        self.listener("iopub", message)

    def _is_aside(self, message: Message) -> bool:
        request_id, side = message.parent_id, self._side
        if message.parent_type in _ASIDES or request_id in self._asides:
            return True
        return side is not None and request_id in side.asked

    def _notice(self, message: Message) -> None:
        """Whether code runs. A silent request and one in a subshell is no cell: threads do not print for it."""
        if message.type == "execute_input":
            self._cell, self.busy = message, True
        elif message.parent_id in self._nudges:
            if message.content.get("execution_state") == "idle":
                self.busy = False  # requests are taken up in order
        elif self._cell is not None and message.parent_id == self._cell.parent_id:
            self.busy = message.content.get("execution_state") == "busy"
