"""Work that nobody waits for, in a task group that everything else lives in too."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVarTuple

from anyio.abc import TaskGroup

log = logging.getLogger(__name__)

Ts = TypeVarTuple("Ts")


def start_guarded(tasks: TaskGroup, work: Callable[[*Ts], Awaitable[object]], *args: *Ts) -> None:
    """Start ``work``; if it fails, that is logged and ends nothing but it."""

    async def guarded() -> None:
        try:
            await work(*args)
        except Exception:  # The edge of the task: its group holds the whole runtime.
            log.exception("background work failed: %s", getattr(work, "__qualname__", work))

    tasks.start_soon(guarded, name=getattr(work, "__qualname__", None))
