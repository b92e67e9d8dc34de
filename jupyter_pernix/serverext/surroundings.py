"""What every session works with; built by the runtime, or by a test."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from anyio.abc import TaskGroup

from ..config import Settings
from ..events import Stored
from ..ids import SessionId, TurnId
from ..ports import Executor, TurnHost
from .bus import Bus
from .incell import InCellExecutions
from .store import EventStore

Carry = Callable[[TurnHost, TurnId, Sequence[Stored]], Awaitable[object]]
"""Carries one submitted turn to its end; ``agent.run.Run`` behind a model, or a test's own function."""

WriteRecord = Callable[[SessionId, Sequence[Stored], Path], None]
"""Writes the run notebook of a session's log to a path (blocking, atomic)."""


class Kernels(Protocol):
    """What starts kernels; see ``kernel.provision``."""

    async def start(self, kernel_name: str, *, cwd: Path, env: Mapping[str, str]) -> Executor: ...


@dataclass(kw_only=True)
class Surroundings:
    """``root``: the server's root folder, resolved. ``tasks`` outlives every session."""

    store: EventStore
    bus: Bus
    settings: Settings
    root: Path
    side_folder: Path
    kernels: Kernels
    carry: Carry
    write_record: WriteRecord
    tasks: TaskGroup
    kernel_env: Callable[[], Mapping[str, str]] = dict
    executions: InCellExecutions = field(default_factory=InCellExecutions)
    stopping: bool = False
    """The server is going down: a turn that is cancelled now was interrupted, not cancelled by the user."""
