"""Questions to a person: a row in the log before they are on a screen, answered once, checked against that log.

A question outlives the server that asked it: when that ends, its turn goes on waiting in the log, and the next server takes the
answer under the same id.
"""

import contextlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import anyio

from ..errors import Conflict, InvalidInput
from ..events import ApprovalRequested, ApprovalResolved
from ..ids import ApprovalId, CallId, TurnId, new_approval_id
from ..records import ApprovalAnswer, ApprovalChoice, ApprovalView
from .session_log import SessionLog

EXPIRED = "Nobody answered in time; this was not allowed. Go on without it, or finish and say what is missing."


class Question:
    """An approval that a turn waits for; ``asker`` takes its answer. ``carried`` false: its turn is carried on once it is answered."""

    def __init__(self, asker: "Questions", event: ApprovalRequested, *, carried: bool) -> None:
        self.asker = asker
        self.event = event
        self.carried = carried
        self.taken = False
        """An answer is on its way into the log."""
        self.answer: ApprovalAnswer | None = None
        self.answered = anyio.Event()


class Questions:
    """Those of one session. ``open_`` is shared by all sessions, so that an answer finds its question by id. ``go_on`` carries on a
    turn that nobody carries yet."""

    def __init__(self, log: SessionLog, open_: dict[ApprovalId, Question], *, go_on: Callable[[TurnId], None]) -> None:
        self.log = log
        self._open = open_
        self._go_on = go_on

    async def ask(
        self,
        turn_id: TurnId,
        *,
        call_id: str,
        question: str,
        detail: str,
        choices: list[ApprovalChoice],
        why: str = "",
        rules: Sequence[str] = (),
        effects: Sequence[str] = (),
    ) -> ApprovalAnswer:
        """Store the question and wait for its answer, which ``answer`` stores, or for its expiry."""
        event = ApprovalRequested(
            session_id=self.log.session_id,
            turn_id=turn_id,
            call_id=CallId(call_id),
            approval_id=new_approval_id(),
            question=question,
            detail=detail,
            choices=choices,
            why=why,
            rules=list(rules),
            effects=list(effects),
            expires_at=self._expiry(),
        )
        # Known before it is stored: whoever sees it on the stream may answer at once.
        waiting = self._open[event.approval_id] = Question(self, event, carried=True)
        try:
            await self.log.move("approval_requested", event, turn_id=turn_id)
        except BaseException:
            self._open.pop(event.approval_id, None)
            await self._close(event)
            raise
        return await self._wait(waiting)

    async def ask_again(self, call_id: str) -> ApprovalAnswer | None:
        """The answer to what was asked about this call before its turn was reopened, waited for if need be; ``None``: nothing was."""
        call = (await self.log.fold()).call(CallId(call_id))
        if call is None or call.approval is None:
            return None
        if call.approval.choice is not None:
            approval = call.approval
            return ApprovalAnswer(choice=call.approval.choice, text=approval.text, rules=approval.granted)
        waiting = self._open.get(call.approval.approval_id)
        if waiting is None:
            waiting = self.restore(call.approval)
        waiting.carried = True
        return await self._wait(waiting)

    def restore(self, approval: ApprovalView) -> Question:
        """A question that an earlier server left open can be answered, under the same id."""
        event = ApprovalRequested(
            session_id=approval.session_id,
            turn_id=approval.turn_id,
            call_id=approval.call_id,
            approval_id=approval.approval_id,
            question=approval.question,
            detail=approval.detail,
            choices=approval.choices,
            why=approval.why,
            rules=approval.rules,
            effects=approval.effects,
            expires_at=approval.expires_at,
        )
        question = self._open[event.approval_id] = Question(self, event, carried=False)
        return question

    async def _wait(self, waiting: Question) -> ApprovalAnswer:
        try:
            with anyio.move_on_after(self._left(waiting.event)):
                await waiting.answered.wait()
            while not waiting.answered.is_set():
                await self._expire(waiting)
        except BaseException:
            known = self._open.pop(waiting.event.approval_id, None) is not None
            if known and not self.log.stays_waiting:
                await self._close(waiting.event)
            raise
        assert waiting.answer is not None
        return waiting.answer

    def _expiry(self) -> datetime | None:
        seconds = self.log.around.settings.permissions.expires
        return datetime.now(UTC) + timedelta(seconds=seconds) if seconds else None

    @staticmethod
    def _left(event: ApprovalRequested) -> float | None:
        """Seconds until the question expires; ``None``: it never does."""
        if event.expires_at is None:
            return None
        return max(0.0, (event.expires_at - datetime.now(UTC)).total_seconds())

    async def _expire(self, waiting: Question) -> None:
        """Nobody has answered in time: declined by the host, unless an answer is on its way."""
        if waiting.taken:
            await waiting.answered.wait()
            return
        with contextlib.suppress(Conflict):
            await self.answer(waiting, ApprovalAnswer(choice="reject_once", text=EXPIRED), by="host")

    async def _close(self, event: ApprovalRequested) -> None:
        """Nobody waits for the answer any more."""
        with anyio.CancelScope(shield=True):
            fold = await self.log.fold()
        if any(approval.approval_id == event.approval_id for approval in fold.open_approvals()):
            await self.log.append(self._resolved(event, ApprovalAnswer(choice="reject_once"), by="host"))

    async def answer(self, question: Question, answer: ApprovalAnswer, *, by: str) -> None:
        """Store the answer, then let the turn go on.

        :raises InvalidInput: if the choice was not offered
        :raises Conflict: if the turn does not wait for it any more
        """
        event = question.event
        if answer.choice not in event.choices:
            raise InvalidInput("$.choice", f"{answer.choice!r} was not offered; choices: {', '.join(event.choices)}")
        foreign = sorted(set(answer.rules or ()) - set(event.rules))
        if foreign:
            raise InvalidInput(
                "$.rules", f"{foreign[0]!r} was not offered; offered: {', '.join(event.rules) or 'nothing'}"
            )
        if question.taken or event.approval_id not in self._open:
            raise Conflict("the question has been answered already")
        # It stays known until its answer is stored: a turn that is stopped meanwhile closes it.
        question.taken = True
        try:
            await self.log.move("approval_resolved", self._resolved(event, answer, by=by), turn_id=event.turn_id)
        except BaseException:
            question.taken = False
            raise
        self._open.pop(event.approval_id, None)
        question.answer = answer
        question.answered.set()
        if not question.carried:
            self._go_on(event.turn_id)

    def _resolved(self, event: ApprovalRequested, answer: ApprovalAnswer, *, by: str) -> ApprovalResolved:
        return ApprovalResolved(
            session_id=self.log.session_id,
            turn_id=event.turn_id,
            call_id=event.call_id,
            approval_id=event.approval_id,
            choice=answer.choice,
            text=answer.text,
            by=by,
            rules=self._granted(event, answer),
        )

    @staticmethod
    def _granted(event: ApprovalRequested, answer: ApprovalAnswer) -> list[str]:
        if answer.choice not in ("allow_session", "allow_always"):
            return []
        return list(event.rules) if answer.rules is None else [rule for rule in event.rules if rule in answer.rules]

    def drop(self, turn_id: TurnId) -> None:
        """Nobody waits for the questions of this turn any more."""
        for approval_id in [key for key, asked in self._open.items() if asked.event.turn_id == turn_id]:
            del self._open[approval_id]
