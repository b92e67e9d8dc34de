"""What a turn costs beside its model, kernel and store: CPU and wall time a step, with a model that answers at once.

    python benchmarks/loop.py [STEPS]

Each step reads a small file. The last column must not grow with the number of steps: the model input is only appended to.
"""

import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from jupyter_pernix.agent.model.conversation import Conversation
from jupyter_pernix.agent.model.parts import Part, Reply, RequestSize, ToolSpec
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel, RunSettings
from jupyter_pernix.agent.testing import MemoryHost, call
from jupyter_pernix.config import Price
from jupyter_pernix.ids import SessionId
from jupyter_pernix.records import Budget, ModelProtocol, TerminalCode


class Instant:
    """A model that asks for one file after the other and then answers."""

    endpoint = "bench"
    name = "instant"
    protocol: ModelProtocol = "tools"
    context_length: int | None = None
    price: Price | None = None
    sees = False

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self.times: list[float] = []
        self.sent = 0

    def learn_limit(self, tokens: int) -> None:
        self.context_length = tokens

    def size(self, conversation: Conversation) -> RequestSize:
        return RequestSize(prompt_bytes=conversation.size, prefix_bytes=min(self.sent, conversation.size))

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, session_id: SessionId
    ) -> AsyncGenerator[AsyncIterator[Part]]:
        self.sent = conversation.size
        self.times.append(time.process_time())
        yield self._parts()

    async def _parts(self) -> AsyncIterator[Part]:
        number = len(self.times)
        calls = (call("read_file", path=f"{number}.txt"),) if number < self._steps else ()
        yield Reply(text="" if calls else "Done.", thought="", calls=calls, finish_reason="stop")


async def measure(steps: int, folder: Path) -> None:
    space = folder / f"space-{steps}"
    space.mkdir()
    for number in range(1, steps + 1):
        (space / f"{number}.txt").write_text(f"line {number}\n")
    host = MemoryHost(space=space, side=folder / f"side-{steps}")
    turn_id = host.submit("Read all files.")
    model = Instant(steps)
    started, cpu = time.perf_counter(), time.process_time()
    finished = await Run(host, turn_id, host.log, OneModel(model), RunSettings(budget=Budget(rounds=None))).carry()
    assert finished.code == TerminalCode.ANSWERED
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    tail = model.times[-min(50, steps) :]
    late = (tail[-1] - tail[0]) / (len(tail) - 1)
    print(f"{steps:6}  {1000 * wall / steps:8.2f}  {1000 * cpu / steps:8.2f}  {1000 * late:10.2f}")


async def main(most: int) -> None:
    print(" steps   wall ms    CPU ms   last 50 CPU ms   (each a step)")
    with tempfile.TemporaryDirectory() as folder:
        for steps in (20, 100, most):
            await measure(steps, Path(folder))


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 400)
