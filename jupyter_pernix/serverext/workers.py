"""Workers: sessions that do a part of another session's work. However one ends, its parent's log says so."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

from ..events import ProblemNoticed, WorkerReported, WorkerSpawned
from ..fold import SessionFold, total
from ..ids import CallId, SessionId, TurnId
from ..ports import WorkerAnswer
from ..records import Budget, CallView, MessageView, Spent, TerminalCode, TurnCreate, TurnView, Usage
from . import naming
from .host import Ending, Host
from .surroundings import Surroundings

if TYPE_CHECKING:
    from .session import Session

_STOP_SECONDS = 2.0
"""A worker whose parent is stopped has so long to end by itself."""
_STOPPED = Ending(code=TerminalCode.CANCELLED, detail="The turn that this worker worked for was stopped.")
_NO_BACKGROUND = "No endpoint is set for the background role, so workers use the one of this session."
_HOW_TO_SET = "Set roles.background.endpoint in the settings to give workers, plans and titles a model of their own."

OpenWorker = Callable[[Host, str], "Awaitable[Session]"]
"""Makes the session of a worker: for whom it works, and its title."""


class WorkerSessions:
    """``host.Workers``."""

    def __init__(self, around: Surroundings, open_worker: OpenWorker) -> None:
        self._around = around
        self._open_worker = open_worker
        self._said: dict[SessionId, TurnId] = {}

    async def delegate(self, host: Host, call_id: CallId, *, title: str, task: str, budget: Budget) -> WorkerAnswer:
        await self._say_which_model(host)
        title = naming.title_from(title) or naming.title_from(task)
        worker = await self._open_worker(host, title)
        await host.append(
            WorkerSpawned(
                session_id=host.session_id,
                turn_id=host.turn_id,
                call_id=call_id,
                worker_id=worker.session_id,
                title=title,
                task=task,
            )
        )
        answer = WorkerAnswer(worker.session_id, TerminalCode.INTERNAL_ERROR, "The worker could not be started.")
        turn_id: TurnId | None = None
        try:
            wanted = TurnCreate(text=task, can_ask=host.can_ask, budget=budget)
            turn_id = (await worker.submit(wanted)).turn_id
            await worker.wait_end(turn_id)
        finally:
            with anyio.CancelScope(shield=True):
                if turn_id is not None:
                    await self._stop(worker, turn_id)
                    answer = await self._answer(worker, turn_id)
                await self._report(host, call_id, answer)
                await worker.kernel.release()
        return answer

    async def _say_which_model(self, host: Host) -> None:
        if self._around.settings.roles.background.endpoint or self._said.get(host.session_id) == host.turn_id:
            return
        self._said[host.session_id] = host.turn_id
        await host.append(
            ProblemNoticed(session_id=host.session_id, turn_id=host.turn_id, text=_NO_BACKGROUND, hint=_HOW_TO_SET)
        )

    async def _stop(self, worker: "Session", turn_id: TurnId) -> None:
        """End the worker's turn, if it has not ended."""
        if worker.live is None or worker.live.turn_id != turn_id or worker.live.settled:
            return
        await worker.live.cancel(None if self._around.stopping else _STOPPED)
        with anyio.move_on_after(_STOP_SECONDS):
            await worker.wait_end(turn_id)
            return
        await worker.force(_STOPPED)

    async def _answer(self, worker: "Session", turn_id: TurnId) -> WorkerAnswer:
        stored = await self._around.store.events(worker.session_id)
        turn = SessionFold.of(worker.session_id, stored).turn(turn_id)
        assert turn is not None
        code = turn.code or TerminalCode.INTERRUPTED
        return WorkerAnswer(worker.session_id, code, _said(turn), spent_in(turn))

    async def _report(self, host: Host, call_id: CallId, answer: WorkerAnswer) -> None:
        await host.append(
            WorkerReported(
                session_id=host.session_id,
                turn_id=host.turn_id,
                call_id=call_id,
                worker_id=answer.session_id,
                code=answer.code,
                answer=answer.answer,
                spent=answer.spent,
            )
        )


def _said(turn: TurnView) -> str:
    """The answer with what the host says against it, or why there is none."""
    messages = [item for item in turn.items if isinstance(item, MessageView)]
    text = "\n".join([*messages[-1].corrections, messages[-1].text]) if messages else ""
    if turn.code is TerminalCode.ANSWERED:
        return text
    return "\n\n".join(part for part in (turn.detail, text and f"It had said by then:\n{text}") if part)


def spent_in(turn: TurnView) -> Spent:
    """What the turn used, as far as its endpoint said."""
    usage = Usage()
    for step in turn.steps:
        usage = total(usage, step.usage or Usage())
    changes = [change for item in turn.items if isinstance(item, CallView) for change in item.files]
    return Spent(
        rounds=sum(step.purpose == "act" for step in turn.steps),
        tokens=(usage.prompt_tokens or 0) + (usage.completion_tokens or 0),
        cost=turn.cost,
        changed_lines=sum(change.added_lines + change.removed_lines for change in changes),
    )
