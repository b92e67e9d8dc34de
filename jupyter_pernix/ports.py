"""Ports: what the agent needs from the world, as protocols. ``serverext/runtime.py`` plugs real parts in, tests plug fakes in."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .events import Delta, Event, Stored
from .ids import ExecutionId, SessionId
from .records import (
    JSON,
    ApprovalAnswer,
    ApprovalChoice,
    Budget,
    CellChange,
    CellSnapshot,
    ExecutionResult,
    Mode,
    NotebookOwner,
    OutputOp,
    Place,
    Spent,
    TerminalCode,
    Variables,
)

if TYPE_CHECKING:
    # its patterns take a moment to load, which the start of the server does not need
    from .masking import Masker

OutputSink = Callable[[OutputOp], Awaitable[None]]

AskInput = Callable[[str, bool], Awaitable[str | None]]
"""Prompt, and whether the answer is a password → the line that the user typed; ``None``: they will not answer."""


class Surroundings(NamedTuple):
    """In what a kernel's code runs. ``cwd`` and ``interpreter`` are absolute paths, "" if unknown; ``packages``: the best known ones
    that are installed, name → version."""

    kernel_name: str
    language: str
    version: str
    interpreter: str
    cwd: str
    packages: dict[str, str]


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
        self,
        code: str,
        *,
        execution_id: ExecutionId,
        on_output: OutputSink,
        deadline: float | None = None,
        ask_input: AskInput | None = None,
    ) -> ExecutionResult:
        """Run ``code`` to its end; each output step is awaited in order. After ``deadline`` seconds, in which waiting for the user
        does not count, it is interrupted (status ``timeout``). Cancelling this call interrupts the kernel. Errors in the code are a
        result, not an exception. ``ask_input`` ``None``: code that asks for a line gets an error at once.

        :raises KernelError: if there is no kernel to run it in
        """
        ...

    async def variables(self, names: Sequence[str] | None = None) -> Variables:
        """What the user's variables are, also while code runs; of all of them in short, or of ``names`` in more detail. Runs no code
        of the values' own classes.

        :raises KernelError: if it cannot be told (no kernel, a language that is not known, a busy kernel without subshells)
        """
        ...

    async def surroundings(self) -> Surroundings:
        """In what its code runs; found without running code of the user's.

        :raises KernelError: as ``variables``
        """
        ...

    async def interrupt(self) -> None: ...

    async def aclose(self) -> None:
        """Let go of the kernel; shut it down if it was started here. May be called twice."""
        ...


class NotebookState(NamedTuple):
    """A notebook now. ``path`` is relative to the server's root, ``name`` to the space. ``written``: ids of the cells whose source is as an
    agent wrote it. ``attached``: the session's code runs in its kernel."""

    path: str
    owner: NotebookOwner
    language: str
    cells: list[CellSnapshot]
    name: str = ""
    written: frozenset[str] = frozenset()
    attached: bool = False


class Notebooks(Protocol):
    """The notebooks of one space, each read and changed through whoever holds it now: a page that has it open, the server's shared
    document, or the file. ``path`` is relative to the space; "" is the notebook that the session is attached to.

    Every method raises ``NotebookRefused`` with a sentence when it did nothing: no such notebook or cell, changed meanwhile, read-only,
    damaged, the page did not answer.
    """

    async def read(self, path: str, *, from_root: bool = False) -> NotebookState:
        """``from_root``: ``path`` is relative to the server's root.

        :raises NotebookMissing: if there is none
        """
        ...

    async def create(self, path: str) -> None:
        """Make a notebook without cells where there is nothing, for the session's kernel."""
        ...

    async def change(self, change: CellChange) -> NotebookOwner:
        """Carry it out if the cell still has the type and source of ``change.before``, and its neighbours are there."""
        ...

    async def begin_run(
        self, path: str, cell: CellSnapshot, execution_id: ExecutionId, *, trusted: bool
    ) -> NotebookOwner:
        """Clear the outputs of the cell and mark it as running, if its source still is the given one."""
        ...

    async def put_outputs(
        self,
        path: str,
        cell_id: str,
        execution_id: ExecutionId,
        outputs: list[JSON],
        execution_count: int | None,
        *,
        trusted: bool,
    ) -> NotebookOwner:
        """These are the outputs of the cell now; it does not run any more. They replace whatever stands there. Unless ``trusted``, a
        page shows them sanitised."""
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

    @property
    def masker(self) -> "Masker":
        """Knows the secrets of this machine now."""
        ...

    async def append(self, *events: Event) -> list[Stored]:
        """Store, without their secrets; returns once they are durable."""
        ...

    def pass_on(self, delta: Delta) -> None:
        """Hand a delta to whoever listens; never waits."""
        ...

    async def move(self, reason: str) -> None:
        """Take the session through its state table and store the change.

        :raises InvalidTransition: if the table has no entry; nothing has changed then
        """
        ...

    async def ask(
        self,
        *,
        call_id: str,
        question: str,
        detail: str,
        choices: list[ApprovalChoice],
        why: str = "",
        rules: Sequence[str] = (),
        effects: Sequence[str] = (),
    ) -> ApprovalAnswer:
        """Store the question, wait for a person, store the answer; the session is ``awaiting_user`` meanwhile.
        ``why``, ``rules`` and ``effects`` are shown with it; the answer's ``rules`` is a part of ``rules``, or ``None`` for all of
        them. A question that expires is answered by the host: declined, with a text that says so."""
        ...

    @property
    def permissions_folder(self) -> Path | None:
        """Where the user's saved rules are; ``None``: nothing can be saved, and nothing is."""
        ...

    @property
    def home(self) -> Path:
        """The user's home folder, resolved."""
        ...

    @property
    def sandbox(self) -> bool:
        """The session's kernel and commands run in the sandbox."""
        ...

    @property
    def network(self) -> bool:
        """The sandbox lets the network through."""
        ...

    def sandboxed(self, command: Sequence[str], *, network: bool) -> list[str]:
        """``command`` so that it runs in the sandbox. Only when ``sandbox``.

        :raises ToolError: if it does not work on this machine
        """
        ...

    @property
    def kept_folder(self) -> Path | None:
        """Where copies of files are kept before their first change; ``None``: nowhere, and nothing can be put back."""
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

    async def running_executor(self) -> Executor | None:
        """The session's kernel if it is there already, be it its own or that of its notebook; none is started."""
        ...

    async def ask_input(self, execution_id: ExecutionId, prompt: str, password: bool) -> str | None:
        """Store that running code wants a line, wait for the user, store the answer; the session is ``awaiting_user`` meanwhile.
        Cancelling it closes the question. Only when ``can_ask``."""
        ...

    @property
    def notebooks(self) -> Notebooks:
        """The notebooks of the space."""
        ...

    def side_file(self, name: str) -> tuple[Path, str]:
        """Where to keep a text that is too long to show: absolute path, and its address below ``/pernix/api/``."""
        ...


class Clock(Protocol):
    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...
