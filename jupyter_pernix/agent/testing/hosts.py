"""A session in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from ...errors import ToolFailed
from ...events import (
    ApprovalRequested,
    ApprovalResolved,
    Delta,
    Event,
    InputAnswered,
    InputRequested,
    SessionCreated,
    SessionStateChanged,
    Stored,
    TurnSubmitted,
    WorkerReported,
    WorkerSpawned,
    event_type,
)
from ...fold import SessionFold
from ...ids import (
    CallId,
    ExecutionId,
    TurnId,
    new_approval_id,
    new_input_id,
    new_session_id,
    new_turn_id,
)
from ...masking import Masker, masked_event
from ...ports import WorkerAnswer
from ...records import (
    ApprovalAnswer,
    ApprovalChoice,
    Budget,
    Mention,
    Mode,
    SessionState,
    SessionView,
    Spent,
    TerminalCode,
)
from ..states import REASONS, Reason, advance
from .kernels import FakeExecutor
from .notebooks import MemoryNotebooks


@dataclass(frozen=True, kw_only=True)
class Works:
    """How one worker ends. ``until``: not before this is set; ``waits``: not before it is cancelled."""

    answer: str = ""
    code: TerminalCode = TerminalCode.ANSWERED
    spent: Spent = field(default_factory=Spent)
    until: anyio.Event | None = None
    waits: bool = False

    async def carry(self) -> None:
        if self.waits:
            await anyio.sleep_forever()
        if self.until is not None:
            await self.until.wait()


@dataclass(frozen=True, kw_only=True)
class Delegated:
    """What a worker was given."""

    title: str
    task: str
    budget: Budget


EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class MemoryHost:
    """A session in memory. Event number n is recorded n seconds after ``EPOCH``.

    ``answers`` are given to the questions in turn; a question beyond them waits until it is cancelled. ``agrees``: in mode
    auto it is allowed once instead. ``can_ask`` is true if there are answers, if it agrees, or as given. ``workers`` are the ends of the
    workers in the order in which they are started; one beyond them waits until it is cancelled. ``delegated`` keeps what they were
    given. ``log``: the session goes on from there, in the state that it tells; a question that stands open in it is not stored again
    when it is asked. ``secrets``: values that are known to be secret.
    """

    def __init__(
        self,
        *,
        space: Path,
        side: Path,
        mode: Mode = "auto",
        answers: Sequence[ApprovalAnswer] = (),
        can_ask: bool | None = None,
        agrees: bool = False,
        executor: FakeExecutor | None = None,
        log: Sequence[Stored] = (),
        workers: Sequence["Works"] = (),
        is_worker: bool = False,
        instructions_folder: Path | None = None,
        notebooks: MemoryNotebooks | None = None,
        permissions_folder: Path | None = None,
        kept_folder: Path | None = None,
        home: Path | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        self.masker = Masker(secrets)
        self.permissions_folder = permissions_folder
        self.kept_folder = kept_folder
        self.home = (home or space.parent).resolve()
        self.sandbox = False
        self.network = False
        self.notebooks = notebooks or MemoryNotebooks()
        self.space = space.resolve()
        self.is_worker = is_worker
        self.instructions_folder = instructions_folder
        self.pause_wanted = False
        self.paused = anyio.Event()
        """Set once the turn is paused; ``resume`` lets it go on."""
        self._resumed = anyio.Event()
        self._workers = list(workers)
        self._working = 0
        self.delegated: list[Delegated] = []
        self.mode: Mode = mode
        self.log: list[Stored] = list(log)
        self.deltas: list[Delta] = []
        self.asking = anyio.Event()
        """Set once a question waits that has no answer."""
        self.fake_executor = executor or FakeExecutor()
        self.lines: list[str | None] = []
        """What the user types when running code asks for a line; without one left, nobody answers."""
        self.has_kernel = False
        """The kernel has been started."""
        self._side = side
        self._answers = list(answers)
        self._agrees = agrees
        self.can_ask = bool(answers) or agrees if can_ask is None else can_ask
        self.session_id = log[0].event.session_id if log else new_session_id()
        self.state = SessionFold.of(self.session_id, log).view.state
        if not log:
            self._store(self._created())

    @property
    def events(self) -> list[Any]:
        return [stored.event for stored in self.log]

    @property
    def types(self) -> list[str]:
        """The tags of the log, in order."""
        return [event_type(stored.event) for stored in self.log]

    @property
    def view(self) -> SessionView:
        return SessionFold.of(self.session_id, self.log).view

    def submit(self, text: str, mentions: Sequence[Mention] = ()) -> TurnId:
        """Store a user's message; a Run carries its turn then."""
        turn_id = new_turn_id()
        self._store(
            TurnSubmitted(session_id=self.session_id, turn_id=turn_id, text=text, origin="api", mentions=list(mentions))
        )
        return turn_id

    async def append(self, *events: Event) -> list[Stored]:
        await anyio.lowlevel.checkpoint()
        return [self._store(event) for event in events]

    def pass_on(self, delta: Delta) -> None:
        self.deltas.append(delta)

    async def move(self, reason: str) -> None:
        known: dict[str, Reason] = {name: name for name in REASONS}
        before, after = self.state, advance(self.state, known[reason])
        moved = SessionStateChanged(
            session_id=self.session_id, turn_id=self._turn_id, before=before, after=after, reason=reason
        )
        with anyio.CancelScope(shield=True):
            await self.append(moved)
            self.state = after

    def sandboxed(self, command: Sequence[str], *, network: bool) -> list[str]:
        raise ToolFailed("Not run: there is no sandbox here.")

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
        open_ = [one for one in SessionFold.of(self.session_id, self.log).open_approvals() if one.call_id == call_id]
        approval_id = open_[0].approval_id if open_ else new_approval_id()
        ids: dict[str, Any] = {
            "session_id": self.session_id,
            "turn_id": self._turn_id,
            "call_id": CallId(call_id),
            "approval_id": approval_id,
        }
        if not open_:
            with anyio.CancelScope(shield=True):
                await self.append(
                    ApprovalRequested(
                        **ids,
                        question=question,
                        detail=detail,
                        choices=choices,
                        why=why,
                        rules=list(rules),
                        effects=list(effects),
                    )
                )
                await self.move("approval_requested")
        try:
            await anyio.lowlevel.checkpoint()
            answer = await self._answer()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.append(ApprovalResolved(**ids, choice="reject_once", text="", by="host"))
            raise
        with anyio.CancelScope(shield=True):
            remembered = answer.choice in ("allow_session", "allow_always")
            granted = [rule for rule in rules if answer.rules is None or rule in answer.rules] if remembered else []
            await self.append(
                ApprovalResolved(**ids, choice=answer.choice, text=answer.text, by="script", rules=granted)
            )
            await self.move("approval_resolved")
        return answer

    async def pause(self) -> None:
        self.pause_wanted = False
        if self.state is SessionState.PROCESSING:
            await self.move("pause_asked")
        await self.move("step_ended")
        self.paused.set()
        await self._resumed.wait()
        await self.move("resumed")

    def resume(self) -> None:
        self._resumed.set()

    async def delegate(self, *, call_id: str, title: str, task: str, budget: Budget) -> WorkerAnswer:
        if self.is_worker:
            raise ToolFailed("a worker cannot delegate")
        works = self._workers.pop(0) if self._workers else Works(waits=True)
        worker_id = new_session_id()
        self.delegated.append(Delegated(title=title, task=task, budget=budget))
        ids: dict[str, Any] = {"session_id": self.session_id, "turn_id": self._turn_id, "call_id": CallId(call_id)}
        self._working += 1
        with anyio.CancelScope(shield=True):
            await self.append(WorkerSpawned(**ids, worker_id=worker_id, title=title, task=task))
            if self._working == 1:
                await self.move("workers_started")
        try:
            await works.carry()
        except anyio.get_cancelled_exc_class():
            works = Works(code=TerminalCode.CANCELLED, answer="It was stopped.")
            raise
        finally:
            with anyio.CancelScope(shield=True):
                reported = WorkerReported(
                    **ids, worker_id=worker_id, code=works.code, answer=works.answer, spent=works.spent
                )
                await self.append(reported)
                self._working -= 1
                if self._working == 0 and self.state is SessionState.AWAITING_WORKERS:
                    await self.move("workers_done")
        return WorkerAnswer(session_id=worker_id, code=works.code, answer=works.answer, spent=works.spent)

    async def ask_input(self, execution_id: ExecutionId, prompt: str, password: bool) -> str | None:
        ids: dict[str, Any] = {
            "session_id": self.session_id,
            "turn_id": self._turn_id,
            "execution_id": execution_id,
            "input_id": new_input_id(),
        }
        with anyio.CancelScope(shield=True):
            await self.append(InputRequested(**ids, prompt=prompt, password=password))
            await self.move("input_requested")
        text, by = None, "host"
        try:
            await anyio.lowlevel.checkpoint()
            if not self.lines:
                await anyio.sleep_forever()
            text, by = self.lines.pop(0), "script"
        finally:
            with anyio.CancelScope(shield=True):
                await self.append(InputAnswered(**ids, text=None if password else text, by=by))
                if self.state is SessionState.AWAITING_USER:
                    await self.move("input_answered")
        return text

    async def executor(self) -> FakeExecutor:
        self.has_kernel = True
        return self.fake_executor

    async def running_executor(self) -> FakeExecutor | None:
        return self.fake_executor if self.has_kernel else None

    def side_file(self, name: str) -> tuple[Path, str]:
        return self._side / name, f"side/{name}"

    async def _answer(self) -> ApprovalAnswer:
        if self._answers:
            return self._answers.pop(0)
        if self._agrees and self.mode == "auto":
            return ApprovalAnswer(choice="allow_once")
        self.asking.set()
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes it")

    @property
    def _turn_id(self) -> TurnId:
        submitted = [event.turn_id for event in self.events if isinstance(event, TurnSubmitted)]
        return submitted[-1]

    def _store(self, event: Event) -> Stored:
        seq = len(self.log) + 1
        stored = Stored(seq=seq, recorded_at=EPOCH + timedelta(seconds=seq), event=masked_event(event, self.masker))
        self.log.append(stored)
        return stored

    def _created(self) -> SessionCreated:
        return SessionCreated(
            session_id=self.session_id,
            title="",
            space_root="",
            record_path="pernix-runs/test.ipynb",
            mode=self.mode,
            endpoint=None,
            kernel_name="",
            place="own",
            origin="api",
        )
