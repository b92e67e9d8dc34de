"""Ports: what the agent needs from the world, as protocols. ``serverext/runtime.py`` plugs real parts in, tests plug fakes in."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from .events import Delta, Event, Stored
from .ids import ExecutionId, SessionId
from .records import ApprovalAnswer, ApprovalChoice, Budget, ExecutionResult, Mode, OutputOp, Place, Spent, TerminalCode

OutputSink = Callable[[OutputOp], Awaitable[None]]


class Executor(Protocol):
    """One kernel that runs code for one session."""

    @property
    def kernel_name(self) -> str: ...

    @property
    def place(self) -> Place: ...

    @property
    def language(self) -> str:
        """As the kernelspec says, e.g. ``"python"``."""
        ...

    async def execute(
        self, code: str, *, execution_id: ExecutionId, on_output: OutputSink, deadline: float | None = None
    ) -> ExecutionResult:
        """Run ``code`` to its end; each output step is awaited in order. After ``deadline`` seconds it is interrupted (status
        ``timeout``). Cancelling this call interrupts the kernel. Errors in the code are a result, not an exception.

        :raises KernelError: if there is no kernel to run it in
        """
        ...

    async def interrupt(self) -> None: ...

    async def aclose(self) -> None:
        """Let go of the kernel; shut it down if it was started here. May be called twice."""
        ...


class WorkerAnswer(NamedTuple):
    """How a worker ended, always: ``answer`` is what it said, or why it has no answer. ``spent`` counts for the turn that delegated."""

    session_id: SessionId
    code: TerminalCode
    answer: str
    spent: Spent = Spent()


class TurnHost(Protocol):
    """What a Run may do to its session; every effect on the world is announced here first."""

    @property
    def session_id(self) -> SessionId: ...

    @property
    def space(self) -> Path:
        """Absolute, resolved folder that the session works in."""
        ...

    @property
    def mode(self) -> Mode:
        """The mode now; the user may change it in the middle of a turn."""
        ...

    @property
    def can_ask(self) -> bool:
        """False when nobody can answer (headless): what would be asked is refused."""
        ...

    async def append(self, *events: Event) -> list[Stored]:
        """Store; returns once they are durable."""
        ...

    def pass_on(self, delta: Delta) -> None:
        """Hand a delta to whoever listens; never waits."""
        ...

    async def move(self, reason: str) -> None:
        """Take the session through its state table and store the change.

        :raises InvalidTransition: if the table has no entry; nothing has changed then
        """
        ...

    async def ask(self, *, call_id: str, question: str, detail: str, choices: list[ApprovalChoice]) -> ApprovalAnswer:
        """Store the question, wait for a person, store the answer; the session is ``awaiting_user`` meanwhile."""
        ...

    @property
    def pause_wanted(self) -> bool:
        """The user asked for a pause; a Run looks between two steps."""
        ...

    async def pause(self) -> None:
        """Between two steps: make the session ``paused`` and wait until it is resumed. Call it when ``pause_wanted``."""
        ...

    @property
    def is_worker(self) -> bool:
        """This session works for another one; it cannot delegate."""
        ...

    async def delegate(self, *, call_id: str, title: str, task: str, budget: Budget) -> WorkerAnswer:
        """Hand ``task`` to a session of its own and wait for its end; both are stored. The session is ``awaiting_workers`` while any
        worker runs. Cancelling stops the worker. ``budget`` is what is left of this turn's and session's for it: the worker's turn has
        no other, and what it spent is told in the answer. May be called again before the first one has returned.

        :raises ToolError: if this session may not delegate
        """
        ...

    @property
    def instructions_folder(self) -> Path | None:
        """The user's own folder of instructions (SOUL.md, RULES.md, SESSIONS.md)."""
        ...

    async def executor(self) -> Executor:
        """The session's kernel, started on first use.

        :raises KernelError: if it cannot be had
        """
        ...

    def side_file(self, name: str) -> tuple[Path, str]:
        """Where to keep a text that is too long to show: absolute path, and its address below ``/pernix/api/``."""
        ...


class Clock(Protocol):
    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...
