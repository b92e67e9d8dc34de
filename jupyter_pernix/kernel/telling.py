"""Tell the outputs of one execution to its listener: the first of a stream at once, the rest bundled."""

import math
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread

from ..masking import Masker, Pieces
from .execution import Execution
from .late import Past
from .outputs import Spill

MaskerNow = Callable[[], Masker]
"""What knows the secrets that no file may hold, as they are now."""

SideFile = Callable[[str], tuple[Path, str]]
"""Name of a side file → its absolute path, and the path a reader is told."""

DELIVERY = 30.0
"""Seconds that a listener may take for one step."""

_FLUSH = 0.25
_REWRITE_FLUSH = 5.0


class Telling:
    """Half a delivery is worse than a late stop, since the listener stores it: one that has begun is not cancelled."""

    def __init__(
        self, execution: Execution, past: Past, side_file: SideFile | None, masker: MaskerNow | None = None
    ) -> None:
        self._masker = masker
        self._masked: dict[str, Pieces] = {}
        """By the name of a side file that is being written."""
        self._execution = execution
        self._past = past
        self._side_file = side_file

    async def to_the_end(self) -> None:
        """What repeats earlier text is told ever more rarely as time goes by. A failing listener fails the execution."""
        execution = self._execution
        began, last = anyio.current_time(), -math.inf
        while True:
            await execution.changed.wait()
            fold = execution.fold
            if not execution.closing and not (fold.urgent and not fold.rewrites):
                elapsed = anyio.current_time() - began
                pause = min(max(_FLUSH, elapsed / 200), _REWRITE_FLUSH) if fold.rewrites else _FLUSH
                await self._pause(last + pause - anyio.current_time())
            execution.changed = anyio.Event()
            closing = execution.closing
            try:
                await self._deliver()
            except Exception as exc:  # the edge of this task: execute() raises it in the caller's
                execution.fail(exc)
                return
            last = anyio.current_time()
            if closing:
                await self._end_files()
                return

    async def _pause(self, seconds: float) -> None:
        """Wait, but not beyond something urgent or the end."""
        execution = self._execution
        until = anyio.current_time() + seconds
        while (left := until - anyio.current_time()) > 0 and not execution.closing:
            if execution.fold.urgent and not execution.fold.rewrites:
                return
            with anyio.move_on_after(left):
                execution.changed = anyio.Event()
                await execution.changed.wait()

    async def _deliver(self) -> None:
        execution = self._execution
        execution.outbox.extend(execution.fold.take())
        self._past.collect(execution.outbox)
        await self._put_aside(execution.fold.take_spills())
        while execution.outbox:
            step = execution.outbox.popleft()
            with anyio.CancelScope(shield=True), anyio.fail_after(DELIVERY):
                if step.execution_id == execution.execution_id:
                    await execution.on_output(step.op)
                else:
                    await self._past.tell(step)

    async def _put_aside(self, spills: list[Spill]) -> None:
        side_file = self._side_file
        if side_file is None or not spills:
            return

        def write() -> None:
            for spill in spills:
                path = side_file(spill.name)[0]
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(self._without_secrets(spill))

        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(write)

    def _without_secrets(self, spill: Spill) -> bytes:
        text = spill.text
        if self._masker is not None:
            pieces = self._masked.get(spill.name)
            if pieces is None:
                pieces = self._masked[spill.name] = Pieces(self._masker(), lines=True)
            text = pieces.add(text).text
        return text.encode("utf-8", "replace")

    async def _end_files(self) -> None:
        side_file, masked, self._masked = self._side_file, self._masked, {}
        if side_file is None or not masked:
            return

        def write() -> None:
            for name, pieces in masked.items():
                with side_file(name)[0].open("ab") as file:
                    file.write(pieces.rest().text.encode("utf-8", "replace"))

        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(write)
