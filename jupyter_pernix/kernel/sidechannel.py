"""Ask a kernel for the value of an expression without disturbing what runs in it.

The question goes on sockets of its own, so that nothing of it mixes with the messages of executions. A kernel that has subshells
answers in a thread beside the running code; another one answers only between two cells. It is never counted, never in the history,
and every wait has an end.
"""

import ast
import json
from collections import deque
from functools import partial
from typing import Literal, cast

import anyio
from jupyter_client.client import KernelClient

from ..errors import KernelError
from ..records import JSON
from .port import Port
from .wire import Message, Wire

Channel = Literal["shell", "control"]

_SUBSHELLS = "kernel subshells"

_UNDISTURBED = (
    "[[__import__('builtins').setattr(_o, '_parent_header_global', _p) for _o, _p in (lambda s, y, h: ("
    "(s, {{'header': h}}), (s.displayhook, h), (s.display_pub, h), (y.stdout, h), (y.stderr, h)))"
    "(__import__('IPython').get_ipython(), __import__('sys'), {header}) if '_parent_header_global' in _o.__dict__], {expression}][1]"
)
"""ipykernel takes each request for the one that threads of the user print for; this names the cell again that they belong to."""


class SideChannel:
    """Shell and control of one kernel process. Questions wait for each other."""

    def __init__(self, client: KernelClient) -> None:
        """``client``: makes the sockets, which are of its own."""
        self._wire = Wire(client.session)
        identity = self._wire.identity
        self._ports: dict[Channel, Port] = {
            "shell": Port(client, "shell", identity, partial(self._take, "shell")),
            "control": Port(client, "control", identity, partial(self._take, "control")),
        }
        self._came: dict[Channel, deque[Message]] = {"shell": deque(), "control": deque()}
        self._arrived = anyio.Event()
        self._lock = anyio.Lock()
        self._subshells: bool | None = None
        self.asked: deque[str] = deque(maxlen=100)
        """The last questions' requests."""
        self._abandoned: dict[str, str] = {}
        """Requests whose answer did not come in time, and the subshell that still works on each."""
        self.closed = False

    def close(self) -> None:
        self.closed = True
        for port in self._ports.values():
            port.close()
        self._arrived.set()

    async def answers(self, seconds: float) -> bool:
        """Whether the kernel answers within that time, whatever code runs in it."""
        async with self._lock:
            with anyio.move_on_after(seconds):
                await self._reply("control", self._send("control", "kernel_info_request", {}))
                return True
        return False

    async def evaluate(
        self, expression: str, *, busy: bool, cell: JSON | None, deadline: float, before: str = "", asks: bool = False
    ) -> JSON:
        """What the Python ``expression`` is, whose value must be a ``str`` of a JSON object. ``busy``: code runs in the kernel now.
        ``cell``: the header of the cell that the kernel took up last. ``before``: code to be run silently before. ``asks``: the code
        that runs now may ask for lines; ipykernel holds that for all of its threads at once, so the question must not change it.

        :raises KernelError: if there is no answer in ``deadline`` seconds, or none can be had while code runs, or it is an error
        """
        async with self._lock:
            with anyio.move_on_after(deadline):
                return await self._evaluate(expression, busy, cell, before, asks)
        raise KernelError(
            f"the kernel did not answer within {deadline:g} s; it is busy in code that lets nothing else run"
        )

    async def _evaluate(self, expression: str, busy: bool, cell: JSON | None, before: str, asks: bool) -> JSON:
        subshell = await self._open_subshell()
        if subshell is None and busy:
            raise KernelError("the kernel is busy, and of a kind that cannot be looked into while code runs")
        if cell is not None:
            expression = _UNDISTURBED.format(header=repr(cell), expression=expression)
        content = {
            "code": before,
            "silent": True,
            "store_history": False,
            "user_expressions": {"it": expression},
            "allow_stdin": asks,
            "stop_on_error": False,
        }
        request_id = self._send("shell", "execute_request", content, subshell)
        if subshell is not None:
            self._abandoned[request_id] = subshell
        reply = await self._reply("shell", request_id)
        if subshell is not None:
            await self._close_subshell(request_id)
        return _value(reply)

    async def _open_subshell(self) -> str | None:
        """``None``: this kernel has no such thing."""
        if self._subshells is None:
            info = await self._reply("control", self._send("control", "kernel_info_request", {}))
            self._subshells = _SUBSHELLS in (info.get("supported_features") or [])
        await self._clear_away()
        if not self._subshells:
            return None
        reply = await self._reply("control", self._send("control", "create_subshell_request", {}))
        return str(reply["subshell_id"]) if "subshell_id" in reply else None

    async def _close_subshell(self, request_id: str) -> None:
        """Only once it has answered: the kernel waits for the end of its thread, and takes up nothing else meanwhile."""
        subshell = self._abandoned.pop(request_id)
        await self._reply("control", self._send("control", "delete_subshell_request", {"subshell_id": subshell}))

    async def _clear_away(self) -> None:
        """End the subshells of questions that were given up and have been answered since."""
        while self._came["shell"]:
            request_id = self._came["shell"].popleft().parent_id
            if request_id in self._abandoned:
                await self._close_subshell(request_id)

    def _send(self, channel: Channel, kind: str, content: JSON, subshell: str | None = None) -> str:
        header = {} if subshell is None else {"subshell_id": subshell}
        request_id, frames = self._wire.request(kind, content, **header)
        self.asked.append(request_id)
        self._ports[channel].send(frames)
        return request_id

    async def _reply(self, channel: Channel, request_id: str) -> JSON:
        came = self._came[channel]
        while True:
            if self.closed:
                raise KernelError("the kernel is gone")
            if not came:
                self._arrived = anyio.Event()
                await self._arrived.wait()
                continue
            message = came.popleft()
            if message.parent_id == request_id:
                return message.content
            if message.parent_id in self._abandoned and channel == "shell":
                await self._close_subshell(message.parent_id)

    def _take(self, channel: Channel, frames: list[bytes]) -> None:
        message = self._wire.read(frames)
        if message is not None:
            self._came[channel].append(message)
            self._arrived.set()


def _value(reply: JSON) -> JSON:
    """What the expression came to.

    :raises KernelError: if that is an error, or no string of a JSON object
    """
    values: JSON = reply.get("user_expressions") or {}
    found: JSON = values.get("it") or reply
    if found.get("status") != "ok":
        raise KernelError(f"the kernel answered {found.get('ename', found.get('status'))}: {found.get('evalue', '')}")
    try:
        value: object = json.loads(ast.literal_eval(found["data"]["text/plain"]))
    except (KeyError, TypeError, ValueError, SyntaxError) as exc:
        raise KernelError("the kernel answered something that is not JSON") from exc
    if not isinstance(value, dict):
        raise KernelError("the kernel answered something that is not a JSON object")
    return cast(JSON, value)
