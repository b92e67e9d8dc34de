"""Lines that running code asks the user for: a row in the log before they are on a screen, answered once.

Other than a question about a call, none outlives what asked it: when the code ends first, the turn is stopped or the server ends, it
is closed by the host. A password goes to the code and nowhere else.
"""

import anyio

from ..errors import Conflict, NotFound
from ..events import Event, InputAnswered, InputRequested
from ..ids import ExecutionId, InputId, TurnId, new_input_id
from ..records import InputAnswer, InputView, SessionState
from .session_log import SessionLog
from .store import EventStore

_OVER = "the code does not wait for this line any more"


class OpenInput:
    """A line that code waits for; ``asker`` takes it."""

    def __init__(self, asker: "Inputs", event: InputRequested) -> None:
        self.asker = asker
        self.event = event
        self.taken = False
        """An answer is on its way into the log."""
        self.text: str | None = None
        self.answered = anyio.Event()


class OpenInputs:
    """Those of all sessions, by id."""

    def __init__(self, store: EventStore) -> None:
        self.by_id: dict[InputId, OpenInput] = {}
        self._store = store

    async def answer(self, input_id: InputId, answer: InputAnswer, *, by: str) -> InputView:
        """Give the code the line that it waits for.

        :raises NotFound: if no code ever asked for it
        :raises Conflict: if the code does not wait for it any more
        """
        waiting = self.by_id.get(input_id)
        if waiting is None:
            if not await self._store.has_input(input_id):
                raise NotFound("input", input_id)
            raise Conflict(_OVER)
        await waiting.asker.answer(waiting, answer, by=by)
        execution = (await waiting.asker.log.fold()).execution(waiting.event.execution_id)
        assert execution is not None
        return next(view for view in execution.inputs if view.input_id == input_id)


class Inputs:
    """Those of one session. ``open_`` is shared by all sessions, so that an answer finds its input."""

    def __init__(self, log: SessionLog, open_: OpenInputs) -> None:
        self.log = log
        self._open = open_.by_id

    async def ask(self, turn_id: TurnId, execution_id: ExecutionId, prompt: str, password: bool) -> str | None:
        """Store that code wants a line and wait for it; ``None``: the user will not give one."""
        event = InputRequested(
            session_id=self.log.session_id,
            turn_id=turn_id,
            execution_id=execution_id,
            input_id=new_input_id(),
            prompt=prompt,
            password=password,
        )
        # Known before it is stored: whoever sees it on the stream may answer at once.
        waiting = self._open[event.input_id] = OpenInput(self, event)
        self.log.inputs += 1
        try:
            await self.log.move("input_requested", event, turn_id=turn_id)
            await waiting.answered.wait()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._close(event)
            raise
        finally:
            self._open.pop(event.input_id, None)
            self.log.inputs -= 1
        return waiting.text

    async def answer(self, waiting: OpenInput, answer: InputAnswer, *, by: str) -> None:
        """Store the answer, then hand it to the code.

        :raises Conflict: if the code does not wait for it any more
        """
        event = waiting.event
        if waiting.taken or event.input_id not in self._open:
            raise Conflict(_OVER)
        waiting.taken = True
        try:
            kept = None if event.password else answer.text
            await self.log.move("input_answered", self._answered(event, kept, by=by), turn_id=event.turn_id)
        except BaseException:
            waiting.taken = False
            raise
        waiting.text = answer.text
        waiting.answered.set()

    async def _close(self, event: InputRequested) -> None:
        """The code does not wait any more. When only the code has ended, and not the turn, the session goes on."""
        async with self.log.moving:
            if not any(one.input_id == event.input_id for one in (await self.log.fold()).open_inputs()):
                return
            events: list[Event] = [self._answered(event, None, by="host")]
            if self.log.summary.state is SessionState.AWAITING_USER:
                events.append(self.log.change("input_answered", event.turn_id))
            await self.log.around.store.append(events)

    def _answered(self, event: InputRequested, text: str | None, *, by: str) -> InputAnswered:
        return InputAnswered(
            session_id=self.log.session_id,
            turn_id=event.turn_id,
            execution_id=event.execution_id,
            input_id=event.input_id,
            text=text,
            by=by,
        )
