"""One execution while it runs: the facts that end it, and how they become its result. No I/O but telling the outputs."""

import asyncio
import re
from collections import deque
from typing import Literal, cast

import anyio

from ..ids import ExecutionId
from ..ports import OutputSink
from ..records import JSON, ExecutionResult, ExecutionStatus
from .connection import Channel
from .outputs import OutputFold, Step
from .wire import Message

Ending = Literal["", "dead", "restarted", "stuck", "lost"]
Interrupter = Literal["", "deadline", "request", "cancel"]

_REPLY_ERRORS = {"error"}
_REPLY_NOT_RUN = {"aborted", "abort"}

BELOW_PYTHON = re.compile(r"subprocess|popen|system|spawn|fork|ctypes|os\.write|__std|multiprocess|pool", re.IGNORECASE)
"""Code that may write to the process's own stdout; the kernel reads that from a pipe and publishes it after the cell is idle."""

SHELL_LINE = re.compile(r"^\s*!", re.MULTILINE)
"""A line that IPython hands to a shell; the cell succeeds whatever the command's exit code is."""

EXIT_CODE = {"exit_code": "_exit_code"}


class Execution:
    """Feed it with messages; ``ended`` is set once the kernel has replied and is idle, or will do neither any more."""

    def __init__(self, execution_id: ExecutionId, code: str, *, fold: OutputFold, on_output: OutputSink) -> None:
        self.execution_id = execution_id
        self.code = code
        self.fold = fold
        self.on_output = on_output
        self.request_id = ""
        self.began = anyio.Event()
        """The kernel has taken it up; before that, an interrupt would hit somebody else's code."""
        self.began_at: float | None = None
        """On the clock of ``anyio.current_time``."""
        self.ended = anyio.Event()
        self.changed = anyio.Event()
        self.ending: Ending = ""
        self.ending_sentence = ""
        self.interrupter: Interrupter = ""
        self.failure: Exception | None = None
        self.outbox: deque[Step] = deque()
        self.closing = False
        self.asking = False
        """It waits for a line from the user."""
        self._questions: deque[JSON] = deque()
        self._asked = anyio.Event()
        self._declined = False
        self._turned = anyio.Event()
        """``asking`` has changed, or it has ended or was declined an answer."""
        self.deadline: float | None = None
        self.stopped_kernel = False
        """It called ``exit()``: the kernel goes on for a moment, but not for long."""
        self._reply: JSON | None = None
        self._idle = False
        self._count: int | None = None
        self._notes: list[str] = []

    def take(self, channel: Channel, message: Message) -> None:
        match channel:
            case "iopub":
                self._take_iopub(message)
            case "shell" if message.type == "execute_reply":
                self._reply = message.content
                self._take_count(message.content)
                self._end_if_complete()
            case "stdin" if message.type == "input_request":
                self._questions.append(message.content)
                self._asked.set()
                self.changed.set()
            case _:
                pass

    def _take_iopub(self, message: Message) -> None:
        if message.type == "status":
            if message.content.get("execution_state") == "idle":
                self._idle = True
                self._end_if_complete()
            else:
                self._begin()
        elif message.type == "execute_input":
            self._begin()
            self._take_count(message.content)
        else:
            self.fold.add(message.type, message.content)
            self.changed.set()

    async def question(self) -> JSON:
        """The content of the next request for a line."""
        while not self._questions:
            self._asked = anyio.Event()
            await self._asked.wait()
        return self._questions.popleft()

    async def wait_ended(self, seconds: float | None) -> Literal["ended", "deadline", "declined"]:
        """Until it has ended, was declined an answer, or ``seconds`` are over, in which waiting for the user does not count."""
        left = seconds
        while not self.ended.is_set() and not self._declined:
            asking, began, turned = self.asking, anyio.current_time(), self._turned
            with anyio.move_on_after(None if asking else left):
                await turned.wait()
            if left is not None and not asking:
                left -= anyio.current_time() - began
                if left <= 0 and not turned.is_set():
                    return "deadline"
        return "ended" if self.ended.is_set() else "declined"

    def set_asking(self, asking: bool) -> None:
        self.asking = asking
        self._turn()

    def decline(self, sentence: str) -> None:
        """The user does not answer what it asks."""
        self._declined = True
        self._notes.append(sentence)
        self._turn()

    def end(self, ending: Ending, sentence: str) -> None:
        """It will not end by itself."""
        if not self.ended.is_set():
            self.ending, self.ending_sentence = ending, sentence
            self._set_ended()

    def fail(self, failure: Exception) -> None:
        """Telling its outputs, or reading them, has failed."""
        self.failure = self.failure or failure
        self._set_ended()

    def close(self) -> None:
        """No more messages will come: payloads become outputs, what was left out shows its end."""
        if self.closing:
            return
        self.closing = True
        reply = self._reply or {}
        payload = reply.get("payload")
        for item in cast(list[object], payload) if isinstance(payload, list) else []:
            if isinstance(item, dict):
                self._payload(cast(JSON, item))
        self._note_exit_code(reply)
        if reply.get("status") in _REPLY_ERRORS and self.fold.error is None:
            # A failed magic and a group of exceptions publish no error; without one the notebook would show a success.
            self.fold.add_error(reply)
        self.fold.finish()
        self.changed.set()

    def result(self, prologue: str = "") -> ExecutionResult:
        """``prologue``: what had to be done before the code could run."""
        status = self._status()
        error = self.fold.error or {}
        failed = status != "ok" or error
        sentences = [prologue, self._status_sentence(status), *self._notes]
        if error.get("ename") == "StdinNotImplementedError":
            sentences.append("The code asked for input, but nobody is there to answer; write it without input().")
        return ExecutionResult(
            status=status,
            execution_count=self._count,
            ename=str(error.get("ename", "")) if failed else "",
            evalue=str(error.get("evalue", "")) if failed else "",
            detail=" ".join(sentence for sentence in sentences if sentence),
        )

    def _status(self) -> ExecutionStatus:
        if self.ending in ("dead", "restarted") and not self.interrupter:
            return "dead" if self.ending == "dead" else "restarted"
        said = str((self._reply or {}).get("status", ""))
        if self.interrupter == "deadline":
            return "timeout"
        if self.interrupter and (self.ending or said != "ok"):
            return "cancelled"
        if said in _REPLY_NOT_RUN:
            return "aborted"
        if said in _REPLY_ERRORS or self.fold.error_is_last:
            return "error"
        return "ok"

    def _status_sentence(self, status: ExecutionStatus) -> str:
        match status:
            case "timeout":
                return f"The code was interrupted after {self.deadline:g} s. {self.ending_sentence}".strip()
            case "cancelled":
                return f"The code was interrupted on request. {self.ending_sentence}".strip()
            case "aborted":
                return "The kernel did not run this, because other code in its queue failed or was interrupted."
            case "dead" | "restarted":
                return self.ending_sentence
            case "error" if (self._reply or {}).get("status") == "ok":
                return "The kernel reports success, but the last thing it shows is an error."
            case "ok" if self.interrupter == "request":
                return "It was asked to stop, and ended as if it had not been."
            case "ok" if self.fold.error is not None:
                return f"The code went on after it had shown an error ({self.fold.error['ename']})."
            case _:
                return ""

    def _payload(self, item: JSON) -> None:
        match item.get("source"):
            case "page":
                data = item.get("data")
                self.fold.add("display_data", {"data": data if isinstance(data, dict) else {"text/plain": str(data)}})
            case "ask_exit":
                self.stopped_kernel = not item.get("keepkernel")
                if self.stopped_kernel:
                    self._notes.append(
                        "The code ended the kernel: all variables are gone, the next code runs in a fresh one."
                    )
            case "set_next_input":
                text = str(item.get("text", ""))
                self.fold.add("display_data", {"data": {"text/plain": f"proposed next input:\n{text}"}})
            case _:
                pass

    def _note_exit_code(self, reply: JSON) -> None:
        values: JSON = reply.get("user_expressions") or {}
        value: JSON = values.get("exit_code") or {}
        data: JSON = value.get("data") or {}
        shown = str(data.get("text/plain", "0"))
        if SHELL_LINE.search(self.code) and shown.lstrip("-").isdigit() and int(shown):
            self._notes.append(f"The last shell command in it exited with code {shown}.")

    def _take_count(self, content: JSON) -> None:
        count = content.get("execution_count")
        if isinstance(count, int):
            self._count = count

    def _end_if_complete(self) -> None:
        if self._idle and self._reply is not None:
            self._set_ended()

    def _begin(self) -> None:
        if self.began_at is None:
            # in a callback of the loop, outside of any task, where anyio does not know its loop
            self.began_at = asyncio.get_running_loop().time()
            self.began.set()

    def _set_ended(self) -> None:
        self._begin()
        self.ended.set()
        self.changed.set()
        self._turn()

    def _turn(self) -> None:
        self._turned.set()
        self._turned = anyio.Event()
