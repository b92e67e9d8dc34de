"""A ZMQ socket that the event loop reads by itself."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import Literal, cast

import zmq
from jupyter_client.client import KernelClient

Channel = Literal["shell", "iopub", "stdin", "control"]

_AT_ONCE = 50
"""Messages after which other tasks get a turn."""

_CPUS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
_MANY = 16
_SOON = 0.002
"""Seconds. When the last ``_MANY`` messages came in such steps or shorter ones, the next is waited for awake."""
_LONGEST = 3.0
"""Seconds that a flood is waited for awake: the CPU may be wanted by what the code computes."""


class Port:
    """Hands each message to ``take`` as soon as it is here, in order. Make it inside the event loop.

    ZMQ's file descriptor tells of a change, not of messages that are left: whoever reads goes on until there are none.

    A flood is waited for awake where there are two CPUs. ipykernel hands each message from one of its threads to another. While we
    sleep, the two run on both CPUs and contend for the interpreter at each message; that takes them a half longer, and as much CPU
    as staying awake costs here. With more CPUs one is idle in any case, and with one they never run at once.
    """

    def __init__(
        self, client: KernelClient, channel: Channel, identity: bytes, take: Callable[[list[bytes]], None]
    ) -> None:
        """``client``: makes the socket. ``identity``: by it the kernel knows where to send replies and questions."""
        connect: Callable[[bytes], zmq.Socket[bytes]] = getattr(client, f"connect_{channel}")
        self._socket = socket = connect(identity)
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._descriptor = cast(int, socket.getsockopt(zmq.FD))
        self.closed = False
        self._has_turn = False
        self._came: deque[float] = deque(maxlen=_MANY)
        """When the last messages came."""
        self._flooded_at: float | None = None
        self._loop.add_reader(self._descriptor, self.read)
        self._read_soon()

    def close(self) -> None:
        """Nothing is handed on any more."""
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(self._descriptor)
            self._socket.close(linger=0)

    def send(self, frames: list[bytes]) -> None:
        """Sent to the kernel that the socket is connected to; not at all when closed."""
        if not self.closed:
            self._socket.send_multipart(frames)
            if cast(int, self._socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:  # sending may have used up the change
                self._read_soon()

    def read(self) -> None:
        """Take what is here, and leave the rest of a flood for the next turn."""
        for _ in range(_AT_ONCE):
            if self.closed:
                return
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                if self._is_flooded():
                    break
                return
            self._came.append(self._loop.time())
            self._take(frames)
        self._read_soon()

    def expect_quiet(self) -> None:
        """Whatever comes next is no part of a flood before."""
        self._came.clear()
        self._flooded_at = None

    def _is_flooded(self) -> bool:
        came, now = self._came, self._loop.time()
        if _CPUS != 2 or len(came) < _MANY or came[-1] - came[0] >= _MANY * _SOON or now - came[-1] >= _SOON:
            return False
        if self._flooded_at is None:
            self._flooded_at = now
        return now - self._flooded_at < _LONGEST

    def _read_soon(self) -> None:
        if not self._has_turn:
            self._has_turn = True
            self._loop.call_soon(self._read_again)

    def _read_again(self) -> None:
        self._has_turn = False
        self.read()
