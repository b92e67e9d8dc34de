"""Turns without an agent: functions that a test gives in place of it, made of small steps."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

from jupyter_pernix.events import (
    MessageCompleted,
    MessageDelta,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    TurnFinished,
    TurnResumed,
    TurnStarted,
)
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import CallId, TurnId, new_call_id, new_step_id
from jupyter_pernix.ports import TurnHost
from jupyter_pernix.records import Budget, TerminalCode, TurnView, Usage


class Turn:
    """What a carrying function may say about its turn."""

    def __init__(self, host: TurnHost, turn_id: TurnId, log: Sequence[Stored]) -> None:
        self.host, self.turn_id, self.log = host, turn_id, log
        self.step_id = new_step_id()

    @property
    def ids(self) -> dict[str, Any]:
        return {"session_id": self.host.session_id, "turn_id": self.turn_id}

    @property
    def view(self) -> TurnView:
        """The turn as the log tells it up to now."""
        turn = SessionFold.of(self.host.session_id, self.log).turn(self.turn_id)
        assert turn is not None
        return turn

    @property
    def reopened(self) -> bool:
        """An earlier server began it."""
        return self.view.started_at is not None

    async def start(self) -> None:
        """Begin, or go on, as a Run does."""
        if self.reopened:
            await self.host.append(TurnResumed(**self.ids, text="the server was restarted"))
            return
        await self.host.move("turn_started")
        await self.host.append(
            TurnStarted(
                **self.ids,
                mode=self.host.mode,
                endpoint="fake",
                model="fake-1",
                protocol="tools",
                context_length=None,
                budget=Budget(),
            )
        )

    def write(self, text: str, *, offset: int = 0) -> None:
        self.host.pass_on(MessageDelta(**self.ids, step_id=self.step_id, offset=offset, text=text))

    async def say(self, text: str) -> None:
        await self.host.append(MessageCompleted(**self.ids, step_id=self.step_id, text=text))

    async def request(self, tool: str = "run_code") -> CallId:
        call_id = new_call_id()
        await self.host.append(
            ToolCallRequested(
                **self.ids,
                step_id=self.step_id,
                call_id=call_id,
                wire_id=call_id,
                tool=tool,
                kind="execute",
                title=tool,
                arguments={},
            )
        )
        return call_id

    async def begin(self, call_id: CallId) -> None:
        await self.host.append(ToolCallStarted(**self.ids, call_id=call_id))

    async def end(self, call_id: CallId, result: str = "done") -> None:
        await self.host.append(
            ToolCallFinished(**self.ids, call_id=call_id, status="completed", result=result, duration=0.1)
        )

    async def finish(self, code: TerminalCode = TerminalCode.ANSWERED, detail: str = "") -> None:
        await self.host.move("turn_ending")
        await self.host.append(TurnFinished(**self.ids, code=code, detail=detail, usage=Usage()))
        await self.host.move("turn_ended")


Story = Callable[[Turn], Awaitable[None]]


class Told:
    """Carries each turn by ``story``; as a Run does, it closes its turn when it is cancelled."""

    def __init__(self, story: Story) -> None:
        self._story = story

    async def __call__(self, host: TurnHost, turn_id: TurnId, log: Sequence[Stored]) -> None:
        turn = Turn(host, turn_id, log)
        try:
            await turn.start()
            await self._story(turn)
            await turn.finish()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await turn.finish(TerminalCode.CANCELLED, "cancelled")
            raise


async def echo(turn: Turn) -> None:
    """Answers with what was asked."""
    asked = [stored.event for stored in turn.log if getattr(stored.event, "turn_id", None) == turn.turn_id]
    await turn.say(f"echo: {getattr(asked[0], 'text', '')}")


async def forever(turn: Turn) -> None:
    await anyio.sleep_forever()
