"""What code of one kernel process has shown, and what still comes of it after its execution has ended."""

import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable

import anyio

from ..ids import ExecutionId
from ..records import OutputOp
from .connection import Channel, Connection
from .outputs import Displays, OutputFold, Step
from .wire import Message

log = logging.getLogger(__name__)

OnLate = Callable[[ExecutionId, OutputOp], Awaitable[None]]
"""Told of a change to the outputs of an execution that has ended."""

_REMEMBERED = 50
_SIZE = 40_000_000
"""Characters of output that are kept of them, at most, beside those of the last one."""
_STEPS = 200


class Past:
    """The last executions and their outputs, by the id of their request; threads and timers of theirs still put out."""

    def __init__(self, on_late: OnLate | None = None) -> None:
        self.on_late = on_late
        self.displays = Displays()
        self._folds: OrderedDict[str, OutputFold] = OrderedDict()
        self._steps: Counter[ExecutionId] = Counter()
        self._touched: dict[str, None] = {}
        """Of which there may be something to tell."""
        self.arrived = anyio.Event()
        """Something has come since the last ``collect``."""

    def remember(self, request_id: str, fold: OutputFold) -> None:
        self._folds[request_id] = fold
        self._touched[request_id] = None  # it may have gone on while the rest was told
        size = sum(one.size for one in self._folds.values())
        while len(self._folds) > 1 and (len(self._folds) > _REMEMBERED or size > _SIZE):
            _, forgotten = self._folds.popitem(last=False)
            size -= forgotten.size
            self._steps.pop(forgotten.execution_id, None)

    def forget(self) -> None:
        """The process is gone: nothing of it is waited for any more."""
        self._folds.clear()
        self._steps.clear()
        self._touched.clear()
        self.arrived = anyio.Event()
        self.displays = Displays()

    def take(self, message: Message) -> bool:
        """Whether it belongs to an execution that has ended; it is taken then."""
        fold = self._folds.get(message.parent_id)
        if fold is None:
            return False
        fold.add(message.type, message.content)
        self._touched[message.parent_id] = None
        self.arrived.set()
        return True

    def collect(self, steps: deque[Step]) -> None:
        """What changed since the last call; an execution that never stops putting out is forgotten."""
        touched, self._touched = self._touched, {}
        if self.arrived.is_set():
            self.arrived = anyio.Event()
        for request_id in touched:
            fold = self._folds.get(request_id)
            if fold is None:
                continue
            new = fold.take()
            steps.extend(new)
            self._steps[fold.execution_id] += len(new)
            if self._steps[fold.execution_id] > _STEPS:
                del self._folds[request_id], self._steps[fold.execution_id]

    async def tell(self, step: Step) -> None:
        if self.on_late is not None:
            await self.on_late(step.execution_id, step.op)

    def hear(self, channel: Channel, message: Message) -> None:
        """For ``Connection.listener`` while nothing runs."""
        if channel == "iopub":
            try:
                self.take(message)
            except Exception:  # the edge of the event loop: nobody waits for this
                log.exception("an output that came late could not be read")

    async def drain(self, connection: Connection) -> None:
        """Take and tell what is here already, while nothing runs."""
        connection.read()
        connection.send_widget_changes()
        steps: deque[Step] = deque()
        self.collect(steps)
        for step in steps:
            await self.tell(step)
