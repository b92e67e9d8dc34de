"""What every session works with; built by the runtime, or by a test."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio.abc import TaskGroup

from ..agent.clock import SystemClock
from ..config import Settings
from ..events import Event, Stored
from ..ids import ExecutionId, SessionId, TurnId
from ..ports import Clock, Executor, TurnHost
from ..records import OutputOp
from .bus import Bus
from .incell import InCellExecutions
from .known_secrets import KnownSecrets
from .sandbox import Sandboxes
from .side_files import SideFiles
from .store import EventStore

if TYPE_CHECKING:
    from ..kernel.sandbox import Wall
    from .notebooks.hub import NotebookHub

SideFile = Callable[[str], tuple[Path, str]]
"""As ``ports.TurnHost.side_file``."""

OnLate = Callable[[ExecutionId, OutputOp], Awaitable[None]]
"""Takes outputs that come after their execution has ended."""

Carry = Callable[[TurnHost, TurnId, Sequence[Stored]], Awaitable[object]]
"""Carries one submitted turn to its end; ``agent.run.Run`` behind a model, or a test's own function."""

Compact = Callable[[TurnHost, Sequence[Stored]], Awaitable[bool]]
"""Makes the conversation with this log shorter, between turns; false: there was nothing to gain."""

Title = Callable[[SessionId, Sequence[Stored]], Awaitable[tuple[Sequence[Event], str | None]]]
"""A title for the session with this log, and the events of the request that was made for it; ``None``: none could be had."""

WriteRecord = Callable[[SessionId, Sequence[Stored], Path], None]
"""Writes the run notebook of a session's log to a path (blocking, atomic)."""

Warm = Callable[[], Awaitable[None]]
"""Does ahead what the first turn of a process would take long for."""


class Kernels(Protocol):
    """What starts kernels; see ``kernel.provision``."""

    async def start(
        self, kernel_name: str, *, cwd: Path, side_file: SideFile, on_late: OnLate, wall: "Wall | None" = None
    ) -> Executor: ...


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
    compact: Compact | None = None
    title: Title | None = None
    warm: Warm | None = None
    clock: Clock = field(default_factory=SystemClock)
    instructions_folder: Path | None = None
    """The user's own folder of instructions to the agent."""
    permissions_folder: Path | None = None
    """Where the user's saved rules are."""
    kept_folder: Path | None = None
    """Where copies of files are kept before their first change."""
    home: Path = field(default_factory=lambda: Path.home().resolve())
    notebooks: "NotebookHub | None" = None
    """The notebooks of the server; ``None``: it has none."""
    sandboxes: Sandboxes = field(default_factory=lambda: Sandboxes(Settings().sandbox, home=Path.home().resolve()))
    executions: InCellExecutions = field(default_factory=InCellExecutions)
    secrets: KnownSecrets = field(default_factory=KnownSecrets)
    naming: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while the path of a run notebook is chosen and stored, so that no two sessions choose the same."""
    stopping: bool = False
    """The server is going down: a turn that is cancelled now was interrupted, not cancelled by the user."""
