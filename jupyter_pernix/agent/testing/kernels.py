"""An executor and a clock that play what they are given."""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import anyio.lowlevel

from ...errors import KernelError
from ...ids import (
    ExecutionId,
)
from ...ports import AskInput, OutputSink, Surroundings
from ...records import (
    JSON,
    ExecutionResult,
    OutputOp,
    Place,
    Variable,
    Variables,
)


def printed(text: str) -> OutputOp:
    """Output of ``print``."""
    return OutputOp(op="append", output={"output_type": "stream", "name": "stdout", "text": text})


def shown(data: JSON) -> OutputOp:
    """A mime bundle that was displayed."""
    return OutputOp(op="append", output={"output_type": "display_data", "data": data, "metadata": {}})


@dataclass(frozen=True, kw_only=True)
class Executes:
    """One execution: its outputs, then its result (ok if not given). ``waits``: after the outputs it waits to be cancelled."""

    ops: tuple[OutputOp, ...] = ()
    asks: tuple[str, ...] = ()
    """Prompts of lines that it then asks for."""
    result: ExecutionResult | None = None
    error: KernelError | None = None
    waits: bool = False


class FakeExecutor:
    """Plays ``script``, one entry an execution, then only empty successes; ``codes`` keeps what it was given."""

    def __init__(self, script: Sequence[Executes] = (), *, place: Place = "own") -> None:
        self._script = list(script)
        self.kernel_name = "python3"
        self.language = "python"
        self.place: Place = place
        self.codes: list[str] = []
        self.typed: list[str | None] = []
        """What was answered to the lines that were asked for."""
        self.has: list[Variable] = []
        self.stands_in = Surroundings("python3", "python", "3.11.7", "/usr/bin/python3", "", {})
        self.interrupts = 0
        self.running = anyio.Event()
        """Set once an execution that ``waits`` has sent its outputs."""

    async def execute(
        self,
        code: str,
        *,
        execution_id: ExecutionId,
        on_output: OutputSink,
        deadline: float | None = None,
        ask_input: AskInput | None = None,
    ) -> ExecutionResult:
        self.codes.append(code)
        plays = self._script.pop(0) if self._script else Executes()
        for op in plays.ops:
            await on_output(op)
        for prompt in plays.asks:
            self.typed.append(None if ask_input is None else await ask_input(prompt, False))
        if plays.waits:
            self.running.set()
            try:
                await anyio.sleep_forever()
            finally:
                self.interrupts += 1
        if plays.error is not None:
            raise plays.error
        return plays.result or ExecutionResult(status="ok", execution_count=len(self.codes))

    async def variables(self, names: Sequence[str] | None = None) -> Variables:
        found = [each for each in self.has if names is None or each.name in names]
        return Variables(
            kernel_name=self.kernel_name, language=self.language, busy=False, total=len(self.has), variables=found
        )

    async def surroundings(self) -> Surroundings:
        return self.stands_in

    async def interrupt(self) -> None:
        self.interrupts += 1

    async def aclose(self) -> None:
        """There is nothing to close."""


class FakeClock:
    """Moves only when somebody sleeps on it, or by ``advance``; ``slept`` keeps the waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()

    def advance(self, seconds: float) -> None:
        self.now += seconds
