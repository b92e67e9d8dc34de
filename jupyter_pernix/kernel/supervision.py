"""Carry one execution to its end in the kernel: read what comes, answer what it asks, watch the process, stop it.

It ends when the kernel has replied *and* is idle, in either order, however long that takes; or when its process is gone, which is
looked at twice a second. An interrupt may need several, and a nudge: a kernel whose event loop sleeps notices it only on waking.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import anyio

from ..ports import AskInput
from ..records import Place
from .connection import Channel, Connection
from .execution import BELOW_PYTHON, Execution
from .late import Past
from .process import KernelProcess
from .telling import Telling
from .wire import Message

_SHORT = 0.25
"""Seconds in which most code ends; only what takes longer is watched."""
_BRIEF = 0.02
"""Seconds that code which shows or asks something is given to end; then it is told."""
_POLL = 0.5
_NUDGE = 1.0
_SETTLE = 0.25
_LONGEST_PROMPT = 2_000

DECLINED = "The code asked for input, and the user did not give any."


class Supervision:
    """Of one execution whose request has been sent. ``carry`` may be entered again after a cancellation."""

    def __init__(
        self,
        execution: Execution,
        process: KernelProcess,
        connection: Connection,
        *,
        place: Place,
        past: Past,
        grace: float,
        ask_input: AskInput | None,
    ) -> None:
        """``grace``: seconds that code has to end after an interrupt before the next measure."""
        self._execution = execution
        self._process = process
        self._connection = connection
        self._identity = process.identity
        self._sent_at = anyio.current_time()
        self._place = place
        self._past = past
        self._grace = grace
        self._ask_input = ask_input
        self._nudges: set[str] = set()

    @property
    def may_interrupt(self) -> bool:
        """An interrupt would hit this execution, not what a user runs in their kernel before it."""
        return self._execution.began.is_set() or self._place == "own"

    async def interrupt(self) -> None:
        await self._process.interrupt()
        self._nudge()

    def _nudge(self) -> None:
        self._nudges.add(self._connection.ask_info())

    async def carry(
        self,
        telling: Telling,
        deadline: float | None,
        *,
        interrupter: Literal["deadline", "cancel"] = "deadline",
        when_stuck: Callable[[], Awaitable[None]],
    ) -> None:
        """Until the execution has ended and everything is told. ``when_stuck``: called when it cannot be stopped.

        :raises Exception: what a listener, or whoever was asked for input, has raised
        """
        execution = self._execution
        self._process.trim_log()
        if interrupter != "cancel" and await self._is_short(deadline):
            self._connection.send_widget_changes()
            execution.close()
            await telling.to_the_end()
        else:
            await self._carry_long(telling, deadline, interrupter, when_stuck)
        if execution.failure is not None:
            raise execution.failure

    async def _is_short(self, deadline: float | None) -> bool:
        """Wait a moment; whether the code has ended, and nothing of it is still on its way."""
        execution = self._execution
        with anyio.move_on_after(_SHORT if deadline is None else min(_SHORT, deadline)):
            await execution.changed.wait()
        if execution.changed.is_set() and not execution.ended.is_set():
            with anyio.move_on_after(_BRIEF):
                await execution.ended.wait()
        return execution.ended.is_set() and not BELOW_PYTHON.search(execution.code)

    async def _carry_long(
        self,
        telling: Telling,
        deadline: float | None,
        interrupter: Literal["deadline", "cancel"],
        when_stuck: Callable[[], Awaitable[None]],
    ) -> None:
        execution = self._execution
        execution.changed.set()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(telling.to_the_end)
            async with anyio.create_task_group() as reading:
                reading.start_soon(self._watch)
                if self._ask_input is not None and interrupter != "cancel":
                    reading.start_soon(self._answer, self._ask_input)
                if deadline and self._place == "attached":
                    await execution.began.wait()
                ending = await execution.wait_ended(self._left(deadline))
                if ending != "ended":
                    execution.interrupter = interrupter if ending == "deadline" else "request"
                    await self._stop()
                await self._settle()
                self._connection.send_widget_changes()
                reading.cancel_scope.cancel()
            if execution.ending == "stuck":
                await when_stuck()
            execution.close()

    def _left(self, deadline: float | None) -> float | None:
        """In a user's kernel the time until the code is taken up does not count."""
        if not deadline:
            return deadline
        since = self._execution.began_at if self._place == "attached" else self._sent_at
        return max(0.0, deadline - (anyio.current_time() - (since or self._sent_at)))

    def take(self, channel: Channel, message: Message) -> None:
        """For ``Connection.listener`` while the code runs."""
        execution = self._execution
        try:
            if message.parent_id == execution.request_id:
                execution.take(channel, message)
            elif channel == "iopub":
                if self._past.take(message):
                    execution.changed.set()
            elif channel == "shell" and message.parent_id in self._nudges:
                self._passed_over()
        except Exception as exc:  # the edge of the event loop: execute() raises it in the caller's task
            execution.fail(exc)

    async def _stop(self) -> None:
        """Interrupt, nudge, interrupt again; then give it up."""
        execution = self._execution
        with anyio.move_on_after(_NUDGE):
            await execution.began.wait()
        if not self.may_interrupt:
            execution.end("stuck", "It waits behind other code in this kernel and may still run.")
            return
        for _ in range(2):
            await self._process.interrupt()
            until = anyio.current_time() + self._grace
            while anyio.current_time() < until and not execution.ended.is_set():
                self._nudge()
                with anyio.move_on_after(min(_NUDGE, self._grace)):
                    await execution.ended.wait()
            if execution.ended.is_set():
                return
        own = self._place == "own"
        consequence = "The kernel was restarted: all variables are gone." if own else "It still runs."
        execution.end("stuck", f"It did not heed interrupts. {consequence}")

    async def _settle(self) -> None:
        """Wait for what the kernel still publishes of output that went past it."""
        if self._execution.failure is None and BELOW_PYTHON.search(self._execution.code):
            await anyio.sleep(_SETTLE)

    def _passed_over(self) -> None:
        """Requests are answered in order: the kernel is past the code. An interrupt between two steps of the kernel's own may have
        cost the code its reply, or the whole code; nothing more will come then."""
        sentence = "The kernel did not say how it ended."
        asyncio.get_running_loop().call_later(_SETTLE, self._execution.end, "lost", sentence)

    async def _answer(self, ask_input: AskInput) -> None:
        """One question after the other, as the code asks them. What is still open when the code ends is cancelled."""
        execution = self._execution
        while True:
            question = await execution.question()
            prompt = str(question.get("prompt", ""))[:_LONGEST_PROMPT]
            execution.set_asking(True)
            try:
                answer = await ask_input(prompt, bool(question.get("password")))
            except Exception as exc:  # the edge of this task: execute() raises it in the caller's
                execution.failure = exc
                execution.decline("")  # nobody will answer: it must not wait for ever
                return
            finally:
                execution.set_asking(False)
            if answer is None:
                execution.decline(DECLINED)
                return
            self._connection.send_input(answer)

    async def _watch(self) -> None:
        execution = self._execution
        while not execution.ended.is_set():
            self._process.trim_log()
            alive = await self._process.is_alive()
            if not alive or self._process.identity != self._identity:
                await anyio.sleep(_SETTLE)  # what it still had sent is on its way
                if alive:
                    execution.end("restarted", "The kernel was restarted while the code ran; all variables are gone.")
                else:
                    await self._tell_of_death()
            await anyio.sleep(_POLL)

    async def _tell_of_death(self) -> None:
        if self._process.was_shut_down:
            self._execution.end("dead", "The kernel was shut down while the code ran.")
            return
        how = await self._process.exit_sentence()
        tail = self._process.log_tail()
        wrote = f" It wrote: {tail[-1000:]}" if tail else ""
        self._execution.end(
            "dead",
            f"The kernel died: it {how}. All variables are gone; the next code will run in a fresh kernel.{wrote}",
        )
