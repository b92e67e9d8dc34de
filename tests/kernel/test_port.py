"""A socket that the event loop reads, against a socket of the other kind."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import anyio
import pytest
import zmq
from jupyter_client.client import KernelClient

from jupyter_pernix.kernel import port as port_module
from jupyter_pernix.kernel.connection import Context, new_context
from jupyter_pernix.kernel.port import Port


class Looked(zmq.Socket[bytes]):
    """Counts how often somebody looked for a message."""

    looks = 0

    def recv_multipart(self, *args: Any, **options: Any) -> Any:
        Looked.looks += 1
        return super().recv_multipart(*args, **options)


class Peer:
    """Plays the client that makes the port's socket, and the kernel at its other end."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.socket = context.socket(zmq.ROUTER)
        self.socket.bind("inproc://kernel")

    def connect_shell(self, identity: bytes) -> Any:
        socket = self._context.socket(zmq.DEALER, socket_class=Looked)
        socket.setsockopt(zmq.IDENTITY, identity)
        socket.connect("inproc://kernel")
        return socket

    def send(self, number: int) -> None:
        self.socket.send_multipart([b"me", str(number).encode()])


class Taken:
    """Numbers that came; ``until`` waits for so many."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._came = anyio.Event()

    def __call__(self, frames: list[bytes]) -> None:
        self.numbers.append(int(frames[0]))
        self._came.set()

    async def until(self, count: int) -> None:
        with anyio.fail_after(20):
            while len(self.numbers) < count:
                self._came = anyio.Event()
                await self._came.wait()


@pytest.fixture
def peer() -> Iterator[Peer]:
    context = new_context()
    yield Peer(context)
    context.destroy(linger=0)


def port_of(peer: Peer, taken: Taken) -> Port:
    return Port(cast(KernelClient, peer), "shell", b"me", taken)


async def test_a_burst_is_taken_whole_and_in_order_while_others_get_their_turns(peer: Peer):
    taken = Taken()
    port = port_of(peer, taken)
    port.send([b"hello"])
    assert peer.socket.recv_multipart() == [b"me", b"hello"]
    for number in range(900):
        peer.send(number)
    turns = 0
    while len(taken.numbers) < 900:
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 9
    assert taken.numbers == list(range(900))
    port.close()


async def test_no_answer_is_overlooked_when_sending_and_receiving_alternate(peer: Peer):
    taken = Taken()
    port = port_of(peer, taken)
    for number in range(300):
        port.send([b"question"])
        peer.socket.recv_multipart()
        peer.send(number)
        port.send([b"another"])  # notices the answer, so that the descriptor tells nothing any more
        peer.socket.recv_multipart()
        await taken.until(number + 1)
    port.close()


async def test_what_came_can_be_read_at_once(peer: Peer):
    taken = Taken()
    port = port_of(peer, taken)
    port.send([b"hello"])
    peer.socket.recv_multipart()
    peer.send(1)
    port.read()
    assert taken.numbers == [1]
    port.close()


async def test_closed_it_hands_nothing_on_and_sends_nothing(peer: Peer):
    taken = Taken()
    port = port_of(peer, taken)
    port.send([b"hello"])
    peer.socket.recv_multipart()
    peer.send(1)
    port.close()
    port.close()
    port.read()
    port.send([b"gone"])
    await anyio.lowlevel.checkpoint()
    assert (taken.numbers, port.closed) == ([], True)


async def looks_in(turns: int) -> int:
    before = Looked.looks
    for _ in range(turns):
        await asyncio.sleep(0)
    return Looked.looks - before


async def flooded(peer: Peer, count: int) -> tuple[Port, Taken]:
    taken = Taken()
    port = port_of(peer, taken)
    port.send([b"hello"])
    peer.socket.recv_multipart()
    for number in range(count):
        peer.send(number)
    await taken.until(count)
    await looks_in(5)
    return port, taken


@pytest.mark.parametrize(
    ("cpus", "count", "awake"), [(2, 100, True), (2, 10, False), (1, 100, False), (16, 100, False)]
)
async def test_only_a_flood_is_waited_for_awake_and_only_where_there_are_two_cpus(
    peer: Peer, monkeypatch: pytest.MonkeyPatch, cpus: int, count: int, awake: bool
):
    monkeypatch.setattr(port_module, "_CPUS", cpus)
    monkeypatch.setattr(port_module, "_SOON", 60.0)
    port, taken = await flooded(peer, count)
    assert await looks_in(40) == (40 if awake else 0)
    port.expect_quiet()
    await looks_in(2)
    assert await looks_in(40) == 0
    peer.send(count)
    await taken.until(count + 1)
    assert taken.numbers == list(range(count + 1))
    port.close()


async def test_when_a_flood_is_over_the_next_message_is_waited_for_asleep(peer: Peer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(port_module, "_CPUS", 2)
    port, taken = await flooded(peer, 100)
    await asyncio.sleep(0.05)
    assert await looks_in(40) == 0
    peer.send(100)
    await taken.until(101)
    assert taken.numbers == list(range(101))
    port.close()


async def test_a_flood_that_goes_on_is_waited_for_asleep_after_a_while(peer: Peer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(port_module, "_CPUS", 2)
    monkeypatch.setattr(port_module, "_SOON", 60.0)
    monkeypatch.setattr(port_module, "_LONGEST", 0.05)
    port, taken = await flooded(peer, 100)
    await asyncio.sleep(0.1)
    assert await looks_in(40) == 0
    peer.send(100)
    await taken.until(101)
    assert taken.numbers == list(range(101))
    port.close()
