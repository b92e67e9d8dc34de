"""``ports.TurnHost``: what a Run may do to its session."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from ..events import Delta, Event, Stored, TurnFinished
from ..ids import SessionId, TurnId
from ..ports import Executor
from ..records import ApprovalAnswer, ApprovalChoice, Mode, TerminalCode
from .questions import Questions
from .session_kernel import SessionKernel
from .session_log import SessionLog, known_reason
from .session_record import SessionRecord

STOPPED = "the server was stopped while this turn ran; what was finished is kept"


@dataclass(frozen=True, kw_only=True)
class QueuedTurn:
    turn_id: TurnId
    can_ask: bool


class Host:
    """One turn's view of its session."""

    def __init__(
        self, turn: QueuedTurn, *, log: SessionLog, questions: Questions, kernel: SessionKernel, record: SessionRecord
    ) -> None:
        self._turn = turn
        self._log = log
        self._questions = questions
        self._kernel = kernel
        self._record = record

    @property
    def session_id(self) -> SessionId:
        return self._log.session_id

    @property
    def space(self) -> Path:
        return self._log.space

    @property
    def mode(self) -> Mode:
        return self._log.summary.mode

    @property
    def can_ask(self) -> bool:
        return self._turn.can_ask

    async def append(self, *events: Event) -> list[Stored]:
        return await self._log.append(*(self._as_stopped(event) for event in events))

    def pass_on(self, delta: Delta) -> None:
        self._log.around.bus.pass_on(delta)

    async def move(self, reason: str) -> None:
        if reason == "turn_ended":
            # Whoever waits for the session to be idle finds the run notebook written.
            await self._record.write()
        await self._log.move(known_reason(reason), turn_id=self._turn.turn_id)

    async def ask(self, *, call_id: str, question: str, detail: str, choices: list[ApprovalChoice]) -> ApprovalAnswer:
        return await self._questions.ask(
            self._turn.turn_id, call_id=call_id, question=question, detail=detail, choices=choices
        )

    async def executor(self) -> Executor:
        return await self._kernel.executor()

    def side_file(self, name: str) -> tuple[Path, str]:
        """The second is the path below ``/pernix/api/``."""
        return self._kernel.side_file(name)

    def _as_stopped(self, event: Event) -> Event:
        """A turn that is cancelled because the server stops was interrupted, not cancelled."""
        if self._log.around.stopping and isinstance(event, TurnFinished) and event.code is TerminalCode.CANCELLED:
            return msgspec.structs.replace(event, code=TerminalCode.INTERRUPTED, detail=STOPPED)
        return event
