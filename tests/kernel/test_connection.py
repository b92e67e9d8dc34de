"""A connection to a kernel whose every word is chosen by the test."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import zmq
import zmq.asyncio
from jupyter_client.manager import KernelManager
from jupyter_client.session import Session

from jupyter_pernix.kernel.connection import Connection, new_context
from jupyter_pernix.kernel.widgetstate import WidgetStates


class Kernel:
    """Its shell and control answer when they are told to; it publishes nothing by itself."""

    def __init__(self, folder: Path) -> None:
        ports = {"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5}
        self.manager = KernelManager(transport="ipc", ip=str(folder / "k"), session=Session(key=b"k"), **ports)
        self._session = Session(key=b"k")
        self._context = zmq.asyncio.Context()
        self.shell, self.control, self.iopub = (
            self._bound(kind, port) for kind, port in ((zmq.ROUTER, 1), (zmq.ROUTER, 4), (zmq.PUB, 2))
        )

    def _bound(self, kind: int, port: int) -> zmq.asyncio.Socket:
        socket = self._context.socket(kind)
        socket.bind(f"ipc://{self.manager.ip}-{port}")
        return socket

    async def answer(self, socket: zmq.asyncio.Socket) -> None:
        """One request for information."""
        identities, parts = self._session.feed_identities(await socket.recv_multipart())
        request: Any = self._session.deserialize(parts)
        self._session.send(socket, "kernel_info_reply", {"banner": "it"}, parent=request, ident=identities)

    def publish(self, state: str) -> None:
        self._session.send(self.iopub, "status", {"execution_state": state})

    def close(self) -> None:
        self._context.destroy(linger=0)


@pytest.fixture
async def kernel(tmp_path: Path) -> AsyncIterator[Kernel]:
    kernel = Kernel(tmp_path)
    yield kernel
    kernel.close()


@pytest.fixture
async def connection(kernel: Kernel) -> AsyncIterator[Connection]:
    context = new_context()
    connection = Connection(kernel.manager, context, WidgetStates())
    yield connection
    connection.close()
    context.destroy(linger=0)


async def test_it_is_ready_once_shell_has_answered_and_iopub_was_heard(kernel: Kernel, connection: Connection):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.wait_ready)
        await kernel.answer(kernel.shell)
        with anyio.fail_after(20):
            while not connection._published.is_set():
                kernel.publish("starting")  # until its subscription has reached us
                await connection.heard(0.05)
    assert (connection.info, connection.busy) == ({"banner": "it"}, False)


async def test_a_kernel_that_is_taken_for_busy_is_free_when_shell_answers_whatever_iopub_missed(
    kernel: Kernel, connection: Connection
):
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kernel.answer, kernel.control)
            await connection.wait_ready(or_busy=True)
        assert connection.busy
        await kernel.answer(kernel.shell)
        while connection.busy:
            await connection.heard(1.0)


async def test_a_closed_connection_is_quiet(kernel: Kernel, connection: Connection):
    connection.close()
    connection.close()
    connection.send_code("1")
    connection.read()
    assert connection.closed
