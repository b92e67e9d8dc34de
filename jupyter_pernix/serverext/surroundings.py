"""What every session works with; built by the runtime, or by a test."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from ..config import Settings
from ..events import Stored
from ..ids import ExecutionId, SessionId, TurnId
from ..ports import Executor, TurnHost
from ..records import OutputOp
from .bus import Bus
from .incell import InCellExecutions
from .side_files import SideFiles
from .store import EventStore

SideFile = Callable[[str], tuple[Path, str]]
"""As ``ports.TurnHost.side_file``."""

OnLate = Callable[[ExecutionId, OutputOp], Awaitable[None]]
"""Takes outputs that come after their execution has ended."""

Carry = Callable[[TurnHost, TurnId, Sequence[Stored]], Awaitable[object]]
"""Carries one submitted turn to its end; ``agent.run.Run`` behind a model, or a test's own function."""

WriteRecord = Callable[[SessionId, Sequence[Stored], Path], None]
"""Writes the run notebook of a session's log to a path (blocking, atomic)."""


class Kernels(Protocol):
    """What starts kernels; see ``kernel.provision``."""

    async def start(self, kernel_name: str, *, cwd: Path, side_file: SideFile, on_late: OnLate) -> Executor: ...


@dataclass(kw_only=True)
class Surroundings:
    """``root``: the server's root folder, resolved. ``tasks`` outlives every session."""

    store: EventStore
    bus: Bus
    settings: Settings
    root: Path
    side_files: SideFiles
    kernels: Kernels
    carry: Carry
    write_record: WriteRecord
    tasks: TaskGroup
    executions: InCellExecutions = field(default_factory=InCellExecutions)
    naming: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while the path of a run notebook is chosen and stored, so that no two sessions choose the same."""
    stopping: bool = False
    """The server is going down: a turn that is cancelled now was interrupted, not cancelled by the user."""
