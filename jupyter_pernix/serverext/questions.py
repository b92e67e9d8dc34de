"""Questions to a person: a row in the log before they are on a screen, answered once, checked against that log."""

import anyio

from ..errors import Conflict, InvalidInput
from ..events import ApprovalRequested, ApprovalResolved
from ..ids import ApprovalId, CallId, TurnId, new_approval_id
from ..records import ApprovalAnswer, ApprovalChoice
from .session_log import SessionLog


class Question:
    """An approval that a turn waits for; ``asker`` takes its answer."""

    def __init__(self, asker: "Questions", event: ApprovalRequested) -> None:
        self.asker = asker
        self.event = event
        self.answer: ApprovalAnswer | None = None
        self.answered = anyio.Event()


class Questions:
    """Those of one session. ``open_`` is shared by all sessions, so that an answer finds its question by id."""

    def __init__(self, log: SessionLog, open_: dict[ApprovalId, Question]) -> None:
        self.log = log
        self._open = open_

    async def ask(
        self, turn_id: TurnId, *, call_id: str, question: str, detail: str, choices: list[ApprovalChoice]
    ) -> ApprovalAnswer:
        """Store the question and wait for its answer, which ``answer`` stores."""
        event = ApprovalRequested(
            session_id=self.log.session_id,
            turn_id=turn_id,
            call_id=CallId(call_id),
            approval_id=new_approval_id(),
            question=question,
            detail=detail,
            choices=choices,
        )
        # Known before it is stored: whoever sees it on the stream may answer at once.
        waiting = self._open[event.approval_id] = Question(self, event)
        try:
            await self.log.move("approval_requested", event, turn_id=turn_id)
            await waiting.answered.wait()
        except BaseException:
            if self._open.pop(event.approval_id, None) is not None and await self._is_open(event.approval_id):
                await self.log.append(self._resolved(event, ApprovalAnswer(choice="reject_once"), by="host"))
            raise
        assert waiting.answer is not None
        return waiting.answer

    async def _is_open(self, approval_id: ApprovalId) -> bool:
        with anyio.CancelScope(shield=True):
            fold = await self.log.fold()
        return any(approval.approval_id == approval_id for approval in fold.open_approvals())

    async def answer(self, question: Question, answer: ApprovalAnswer, *, by: str) -> None:
        """Store the answer, then let the turn go on.

        :raises InvalidInput: if the choice was not offered
        :raises Conflict: if the turn does not wait for it any more
        """
        event = question.event
        if answer.choice not in event.choices:
            raise InvalidInput("$.choice", f"{answer.choice!r} was not offered; choices: {', '.join(event.choices)}")
        if self._open.pop(event.approval_id, None) is None:
            raise Conflict("the question has been answered already")
        try:
            await self.log.move("approval_resolved", self._resolved(event, answer, by=by), turn_id=event.turn_id)
        except BaseException:
            self._open[event.approval_id] = question
            raise
        question.answer = answer
        question.answered.set()

    def _resolved(self, event: ApprovalRequested, answer: ApprovalAnswer, *, by: str) -> ApprovalResolved:
        return ApprovalResolved(
            session_id=self.log.session_id,
            turn_id=event.turn_id,
            call_id=event.call_id,
            approval_id=event.approval_id,
            choice=answer.choice,
            text=answer.text,
            by=by,
        )

    def drop(self, turn_id: TurnId) -> None:
        """Nobody waits for the questions of this turn any more."""
        for approval_id in [key for key, asked in self._open.items() if asked.event.turn_id == turn_id]:
            del self._open[approval_id]
