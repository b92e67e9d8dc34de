"""Parts to test an agent with, and to try one without a model, a kernel or a server. All of them play what they are given as data.

::

    host = MemoryHost(space=tmp_path, side=tmp_path / "side")
    turn_id = host.submit("How many rows has data.csv?")
    model = ScriptedModel([Says(calls=(call("read_file", path="data.csv"),)), Says(text="Three.")])
    finished = await Run(host, turn_id, host.log, ScriptedModels(model)).carry()
    assert host.types[-2:] == ["turn.finished", "session.state_changed"]
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from ..config import Price
from ..errors import EndpointFailed, KernelError, ModelError, ToolFailed
from ..events import (
    ApprovalRequested,
    ApprovalResolved,
    Delta,
    Event,
    SessionCreated,
    SessionStateChanged,
    Stored,
    TurnSubmitted,
    WorkerReported,
    WorkerSpawned,
    event_type,
)
from ..fold import SessionFold
from ..ids import (
    CallId,
    ExecutionId,
    SessionId,
    TurnId,
    new_approval_id,
    new_session_id,
    new_turn_id,
)
from ..ports import OutputSink, WorkerAnswer
from ..records import (
    JSON,
    ApprovalAnswer,
    ApprovalChoice,
    Budget,
    ExecutionResult,
    Mode,
    ModelProtocol,
    OutputOp,
    Place,
    Role,
    SessionState,
    SessionView,
    Spent,
    TerminalCode,
    Timings,
    Usage,
)
from .context import plain_json
from .model.conversation import Conversation
from .model.parts import CallPart, Model, ModelCall, Part, Reply, RequestSize, TextPart, ThoughtPart, ToolSpec
from .states import REASONS, Reason, advance

# ---- model --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Says:
    """One reply. ``error``: raised after the parts were streamed, instead of the reply. ``waits``: streams, then waits to be cancelled."""

    text: str = ""
    thought: str = ""
    calls: tuple[ModelCall, ...] = ()
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    error: ModelError | None = None
    waits: bool = False
    chunk: int = 8


def call(name: str, /, wire_id: str = "", **arguments: Any) -> ModelCall:
    """A complete call with readable arguments."""
    return ModelCall(wire_id=wire_id, name=name, arguments=arguments, raw=plain_json(arguments))


def unreadable_call(name: str, fault: str, *, wire_id: str = "") -> ModelCall:
    """A call whose arguments could not be read."""
    return ModelCall(wire_id=wire_id, name=name, arguments=None, raw="{}", fault=fault)


Script = Says | Callable[[Sequence[JSON]], Says]
"""A reply, or a function of the messages that makes one."""


class ScriptedModel:
    """Plays ``script``, one entry a request; ``requests`` keeps the messages of each, as they were sent."""

    def __init__(
        self,
        script: Sequence[Script],
        *,
        endpoint: str = "script",
        name: str = "scripted-1",
        protocol: ModelProtocol = "tools",
        context_length: int | None = 32_768,
        price: Price | None = None,
    ) -> None:
        self.price = price
        self._script = list(script)
        self.endpoint = endpoint
        self.name = name
        self.protocol: ModelProtocol = protocol
        self.context_length = context_length
        self.requests: list[list[JSON]] = []
        self.sent: list[bytes] = []
        self.tools: list[str] = []
        self.streaming = anyio.Event()
        """Set once a reply that ``waits`` has been streamed."""

    def learn_limit(self, tokens: int) -> None:
        self.context_length = tokens

    def size(self, conversation: Conversation) -> RequestSize:
        last = self.sent[-1][:-1] if self.sent else b""
        same = bool(last) and conversation.encoded().startswith(last)
        return RequestSize(prompt_bytes=conversation.size, prefix_bytes=len(last) - 1 if same else 0)

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, session_id: SessionId
    ) -> AsyncGenerator[AsyncIterator[Part]]:
        self.requests.append(list(conversation.messages))
        self.sent.append(conversation.encoded())
        self.tools = [tool.name for tool in tools]
        if not self._script:
            raise EndpointFailed("the script is over")
        entry = self._script.pop(0)
        yield self._parts(entry if isinstance(entry, Says) else entry(conversation.messages))

    async def _parts(self, says: Says) -> AsyncIterator[Part]:
        for at in range(0, len(says.thought), says.chunk):
            yield ThoughtPart(text=says.thought[at : at + says.chunk])
        for at in range(0, len(says.text), says.chunk):
            yield TextPart(text=says.text[at : at + says.chunk])
        for index, asked in enumerate(says.calls):
            yield CallPart(index=index, name=asked.name, text=asked.raw)
        if says.waits:
            self.streaming.set()
            await anyio.sleep_forever()
        if says.error is not None:
            raise says.error
        yield Reply(
            text=says.text,
            thought=says.thought,
            calls=says.calls,
            finish_reason=says.finish_reason or ("tool_calls" if says.calls else "stop"),
            usage=says.usage,
            timings=Timings(),
        )


class ScriptedModels:
    """Implements ``Models`` with the models that it is given; an error in the place of one is raised when its role is asked for.
    ``asked`` keeps the roles that were."""

    def __init__(
        self,
        primary: Model | ModelError | None,
        *,
        background: Model | ModelError | None = None,
        backup: Model | ModelError | None = None,
    ) -> None:
        self._roles: dict[Role, Model | ModelError | None] = {
            "primary": primary,
            "background": background,
            "backup": backup,
        }
        self.asked: list[Role] = []

    async def get(self, role: Role) -> Model | None:
        self.asked.append(role)
        model = self._roles[role]
        if isinstance(model, ModelError):
            raise model
        return model


# ---- kernel -------------------------------------------------------------------------------------------------------------


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
        self.interrupts = 0
        self.running = anyio.Event()
        """Set once an execution that ``waits`` has sent its outputs."""

    async def execute(
        self, code: str, *, execution_id: ExecutionId, on_output: OutputSink, deadline: float | None = None
    ) -> ExecutionResult:
        self.codes.append(code)
        plays = self._script.pop(0) if self._script else Executes()
        for op in plays.ops:
            await on_output(op)
        if plays.waits:
            self.running.set()
            try:
                await anyio.sleep_forever()
            finally:
                self.interrupts += 1
        if plays.error is not None:
            raise plays.error
        return plays.result or ExecutionResult(status="ok", execution_count=len(self.codes))

    async def interrupt(self) -> None:
        self.interrupts += 1

    async def aclose(self) -> None:
        """There is nothing to close."""


# ---- clock --------------------------------------------------------------------------------------------------------------


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


# ---- host ---------------------------------------------------------------------------------------------------------------


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

    ``answers`` are given to the questions in turn; a question beyond them waits until it is cancelled. ``can_ask`` is true if
    there are answers, or as given. ``workers`` are the ends of the workers in the order in which they are started; one beyond them
    waits until it is cancelled. ``delegated`` keeps what they were given. ``log``: the session goes on from there, in the state that
    it tells; a question that stands open in it is not stored again when it is asked.
    """

    def __init__(
        self,
        *,
        space: Path,
        side: Path,
        mode: Mode = "auto",
        answers: Sequence[ApprovalAnswer] = (),
        can_ask: bool | None = None,
        executor: FakeExecutor | None = None,
        log: Sequence[Stored] = (),
        workers: Sequence["Works"] = (),
        is_worker: bool = False,
        instructions_folder: Path | None = None,
    ) -> None:
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
        self._side = side
        self._answers = list(answers)
        self.can_ask = bool(answers) if can_ask is None else can_ask
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

    def submit(self, text: str) -> TurnId:
        """Store a user's message; a Run carries its turn then."""
        turn_id = new_turn_id()
        self._store(TurnSubmitted(session_id=self.session_id, turn_id=turn_id, text=text, origin="api"))
        return turn_id

    async def append(self, *events: Event) -> list[Stored]:
        await anyio.lowlevel.checkpoint()
        return [self._store(event) for event in events]

    def pass_on(self, delta: Delta) -> None:
        self.deltas.append(delta)

    async def move(self, reason: str) -> None:
        known: dict[str, Reason] = {name: name for name in REASONS}
        before, after = self.state, advance(self.state, known[reason])
        self.state = after
        await self.append(
            SessionStateChanged(
                session_id=self.session_id, turn_id=self._turn_id, before=before, after=after, reason=reason
            )
        )

    async def ask(self, *, call_id: str, question: str, detail: str, choices: list[ApprovalChoice]) -> ApprovalAnswer:
        open_ = [one for one in SessionFold.of(self.session_id, self.log).open_approvals() if one.call_id == call_id]
        approval_id = open_[0].approval_id if open_ else new_approval_id()
        ids: dict[str, Any] = {
            "session_id": self.session_id,
            "turn_id": self._turn_id,
            "call_id": CallId(call_id),
            "approval_id": approval_id,
        }
        if not open_:
            await self.append(ApprovalRequested(**ids, question=question, detail=detail, choices=choices))
            await self.move("approval_requested")
        try:
            answer = await self._answer()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.append(ApprovalResolved(**ids, choice="reject_once", text="", by="host"))
            raise
        await self.append(ApprovalResolved(**ids, choice=answer.choice, text=answer.text, by="script"))
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

    async def executor(self) -> FakeExecutor:
        return self.fake_executor

    def side_file(self, name: str) -> tuple[Path, str]:
        return self._side / name, f"side/{name}"

    async def _answer(self) -> ApprovalAnswer:
        if self._answers:
            return self._answers.pop(0)
        self.asking.set()
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes it")

    @property
    def _turn_id(self) -> TurnId:
        submitted = [event.turn_id for event in self.events if isinstance(event, TurnSubmitted)]
        return submitted[-1]

    def _store(self, event: Event) -> Stored:
        seq = len(self.log) + 1
        stored = Stored(seq=seq, recorded_at=EPOCH + timedelta(seconds=seq), event=event)
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
