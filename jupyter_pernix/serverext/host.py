"""``ports.TurnHost``: what a Run may do to its session."""

from pathlib import Path

from ..events import Delta, Event, Stored
from ..ids import SessionId
from ..ports import Executor
from ..records import ApprovalAnswer, ApprovalChoice, Mode
from .session import QueuedTurn, Session
from .session_log import known_reason


class Host:
    """One turn's view of its session."""

    def __init__(self, session: Session, turn: QueuedTurn) -> None:
        self._session = session
        self._turn = turn

    @property
    def session_id(self) -> SessionId:
        return self._session.session_id

    @property
    def space(self) -> Path:
        return self._session.log.space

    @property
    def mode(self) -> Mode:
        return self._session.log.summary.mode

    @property
    def can_ask(self) -> bool:
        return self._turn.can_ask

    async def append(self, *events: Event) -> list[Stored]:
        return await self._session.log.append(*(self._session.as_stopped(event) for event in events))

    def pass_on(self, delta: Delta) -> None:
        self._session.around.bus.pass_on(delta)

    async def move(self, reason: str) -> None:
        if reason == "turn_ended":
            # Whoever waits for the session to be idle finds the run notebook written.
            await self._session.record.write()
        await self._session.log.move(known_reason(reason), turn_id=self._turn.turn_id)

    async def ask(self, *, call_id: str, question: str, detail: str, choices: list[ApprovalChoice]) -> ApprovalAnswer:
        return await self._session.questions.ask(
            self._turn.turn_id, call_id=call_id, question=question, detail=detail, choices=choices
        )

    async def executor(self) -> Executor:
        return await self._session.kernel.executor()

    def side_file(self, name: str) -> tuple[Path, str]:
        """The second is the path below ``/pernix/api/``."""
        return self._session.kernel.side_file(name)
