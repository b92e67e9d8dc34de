"""One turn under a cell: follows its events, shows them, runs its code here, asks what has to be asked."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from ...asked import answer_of, prompt, reason_lines, resolved_line
from ...client import JSON, Client, Message, TurnEnd
from ...errors import RequestFailed
from ...livetext import neutral
from .answer import Answer
from .incell import InCell, interrupt_main_thread
from .view import CellView

UNATTENDED = "Nobody can be asked while this notebook is executed; do it in a way that needs no permission, or say what you need."
_STOP_SECONDS = 20.0


class CellFailed(Exception):
    """Ends the cell with one sentence instead of a traceback, so that what follows it in the notebook does not run."""

    def _render_traceback_(self) -> list[str]:
        return [neutral(str(self))]


class CellStopped(KeyboardInterrupt):
    """The user interrupted the cell; its turn has been stopped."""

    def _render_traceback_(self) -> list[str]:
        return ["stopped"]


class CellTurn:
    """``ask``: reads an answer from the user, ``None`` when this front end cannot; ``panel``: a panel can answer instead."""

    def __init__(
        self,
        client: Client,
        *,
        session_id: str,
        turn_id: str,
        after: int,
        view: CellView,
        incell: InCell,
        ask: Callable[[str], str] | None,
        ask_password: Callable[[str], str] | None = None,
        panel: bool,
    ) -> None:
        self._client, self._session_id, self._turn_id = client, session_id, turn_id
        self._after, self._view, self._incell = after, view, incell
        self._ask, self._ask_password, self._panel = ask, ask_password, panel
        self._messages: queue.SimpleQueue[Message | BaseException | None] = queue.SimpleQueue()
        self._left = False
        self._asking = ""
        self._settled: set[str] = set()
        """Questions that are answered, wherever."""
        self._lock = threading.Lock()
        self._elsewhere: dict[str, list[JSON]] = {}
        self._text = ""
        self._corrections: list[str] = []
        self._workers: dict[str, str] = {}
        self._finished: JSON | None = None
        self._calls: dict[str, JSON] = {}
        self._code: list[str] = []

    def answer(self) -> Answer:
        """What has come of it by now."""
        finished = self._finished or {}
        return Answer(
            text=self._text,
            session_id=self._session_id,
            turn_id=self._turn_id,
            ended=finished.get("code", "interrupted"),
            code="\n\n".join(self._code),
            usage=finished.get("usage") or {},
            corrections=tuple(self._corrections),
            call_list=tuple(self._calls.values()),
        )

    def follow(self) -> Answer:
        """To the end of the turn.

        :raises CellStopped: if the user interrupted it
        :raises CellFailed: if it ended without an answer
        :raises ServerError: if the server went away
        """
        threading.Thread(target=self._listen, name="pernix-events", daemon=True).start()
        try:
            self._until_interrupted()
        finally:
            self._left = True
            self._view.flush()
        assert self._finished is not None
        code, detail = self._finished["code"], self._finished["detail"]
        if code != "answered":
            raise CellFailed(f"{code}: {detail}" if detail else code)
        return self.answer()

    def _until_interrupted(self) -> None:
        try:
            self._work(None)
        except KeyboardInterrupt:
            self._view.note("stopping …")
            self._view.flush()
            self._cancel()
            self._work(time.monotonic() + _STOP_SECONDS)
            raise CellStopped("the turn was stopped") from None

    def _cancel(self) -> None:
        with contextlib.suppress(RequestFailed):  # it may have ended by itself
            self._client.cancel(self._session_id, self._turn_id)

    # ---- the listening thread -------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        end = TurnEnd(self._turn_id)
        try:
            for message in self._client.events(self._after, self._session_id):
                self._messages.put(message)
                if message.kind == "pernix":
                    self._wake_for(message.data)
                if self._left or (message.kind == "pernix" and end.reached(message.data)):
                    self._messages.put(None)
                    return
        except Exception as exc:  # the edge of the thread: the cell raises it
            self._messages.put(exc)

    def _wake_for(self, event: JSON) -> None:
        """Stop what the main thread does when it has become pointless."""
        if event["type"] == "execution.finished":
            self._incell.end(event["execution_id"])
        with self._lock:
            ended = {"approval.resolved": "approval_id", "input.answered": "input_id"}.get(event["type"])
            if ended is not None:
                self._settled.add(event[ended])
            if ended is not None and self._asking and event[ended] == self._asking:
                self._asking = ""
                interrupt_main_thread()

    # ---- the cell's thread ----------------------------------------------------------------------------------------------

    def _work(self, until: float | None) -> None:
        """Until the listening thread has seen the end of the turn."""
        while True:
            try:
                message = self._messages.get(timeout=0.1)
            except queue.Empty:
                self._view.flush_if_due()
                if until is not None and time.monotonic() > until:
                    raise CellStopped("the server did not say that the turn has ended") from None
                continue
            if message is None:
                return
            if isinstance(message, BaseException):
                raise message
            if message.kind == "delta":
                self._delta(message.data)
            elif message.kind == "pernix" and message.data.get("turn_id") == self._turn_id:
                self._event(message.data)
            self._view.flush_if_due()

    def _delta(self, delta: JSON) -> None:
        if delta["type"] == "message.delta" and delta["turn_id"] == self._turn_id:
            self._view.delta(delta["step_id"], int(delta["offset"]), delta["text"])

    def _event(self, event: JSON) -> None:
        handle = _HANDLERS.get(event["type"])
        if handle is not None:
            handle(self, event)

    def _message(self, event: JSON) -> None:
        self._text, self._corrections = event["text"], list(event.get("corrections") or [])
        self._view.message(event["step_id"], event["text"], self._corrections)

    def _plan(self, event: JSON) -> None:
        plan = event["plan"]
        self._view.plan(plan["approach"], [(step["text"], step["status"]) for step in plan["steps"]])

    def _worker(self, event: JSON) -> None:
        self._workers[event["worker_id"]] = event["title"]
        self._view.note(f"A worker began: {event['title']}. What it has to ask, it asks in the Pernix panel.")

    def _worker_done(self, event: JSON) -> None:
        self._view.note(f"A worker ended ({event['code']}): {self._workers.get(event['worker_id'], '')}".rstrip(": "))

    def _compacted(self, event: JSON) -> None:
        sizes = f"{event['tokens_before']:,} → {event['tokens_after']:,} tokens"
        self._view.note(f"The conversation was made shorter: {sizes}. {event['dropped']}".strip())

    def _instructions(self, event: JSON) -> None:
        if event["text"] or not event["digest"]:
            self._view.note(f"{event['name']} {'changed' if event['digest'] else 'is gone'}.")

    def _moved(self, event: JSON) -> None:
        if event["after"] == "paused":
            self._view.note(f"Paused; it goes on with: jupyter pernix resume {event['session_id']}")

    def _requested(self, event: JSON) -> None:
        self._view.call(event["call_id"], event["title"] or event["tool"])
        fields = ("tool", "title", "arguments", "call_id")
        self._calls[event["call_id"]] = {"status": "pending", "seconds": None, "result": ""} | {
            field: event[field] for field in fields
        }

    def _started(self, event: JSON) -> None:
        self._told(event["call_id"], status="in_progress")
        self._view.call_changed(event["call_id"], "in_progress")

    def _told(self, call_id: str, **fields: Any) -> None:
        if call_id in self._calls:
            self._calls[call_id].update(fields)

    def _call_finished(self, event: JSON) -> None:
        self._told(event["call_id"], status=event["status"], seconds=event["duration"], result=event["result"])
        problem = "" if event["status"] == "completed" else event["result"]
        self._view.call_changed(event["call_id"], event["status"], event["duration"], problem)

    def _execute(self, event: JSON) -> None:
        self._code.append(event["code"])
        if event["place"] != "in_cell":
            self._elsewhere[event["execution_id"]] = []
            return
        self._view.close_segment()
        result = self._incell.run(event["execution_id"], event["code"], on_interrupt=self._cancel)
        if result["status"] == "cancelled":
            raise KeyboardInterrupt

    def _output(self, event: JSON) -> None:
        if event["execution_id"] in self._elsewhere:
            # Imported here: only a session with a kernel of its own needs the records.
            from ...fold import apply_output
            from ...records import OutputOp

            op = OutputOp(
                op=event["op"],
                index=event.get("index", 0),
                output=event.get("output"),
                text=event.get("text", ""),
            )
            apply_output(self._elsewhere[event["execution_id"]], op)

    def _executed(self, event: JSON) -> None:
        outputs = self._elsewhere.pop(event["execution_id"], [])
        if outputs:
            self._view.outputs(outputs)

    def _problem(self, event: JSON) -> None:
        self._view.note(" ".join(text for text in (event["text"], event.get("hint", "")) if text))

    def _turn_finished(self, event: JSON) -> None:
        self._finished = event

    # ---- questions ------------------------------------------------------------------------------------------------------

    def _question(self, event: JSON) -> None:
        self._view.question(event["question"], event["detail"], reason_lines(event))
        if self._ask is None and self._panel:
            self._view.note("It waits for your answer in the Pernix panel.")
            self._view.flush()
            return
        if self._ask is None:
            self._view.note("Refused: nobody can be asked here.")
            self._answer(event, "reject_once", UNATTENDED)
            return
        self._view.close_segment()
        answer = self._read_answer(event)
        if answer is not None:
            self._answer(event, *answer)

    def _input(self, event: JSON) -> None:
        """Code in a kernel elsewhere asks for a line."""
        if self._ask is None:
            self._view.note(
                f"The code asks for a line: {event['prompt']} It waits for your answer in the Pernix panel."
            )
            self._view.flush()
            return
        self._view.close_segment()
        read = self._ask_password if event["password"] and self._ask_password is not None else self._ask
        line = self._read(event["input_id"], event["prompt"], read)
        if line is not None:
            with contextlib.suppress(RequestFailed):  # it was answered elsewhere meanwhile
                self._client.request("POST", f"/inputs/{quote(event['input_id'], safe='')}", {"text": line})

    def _read(self, asking: str, prompt: str, read: Callable[[str], str]) -> str | None:
        """``None``: it was answered elsewhere."""
        with self._lock:
            if asking in self._settled:
                return None
            self._asking = asking
        try:
            line = read(prompt)
        except KeyboardInterrupt:
            with self._lock:
                elsewhere, self._asking = not self._asking, ""
            if elsewhere:
                return None
            raise
        with self._lock:
            self._asking = ""
        return line

    def _read_answer(self, event: JSON) -> tuple[str, str] | None:
        """``None``: it was answered elsewhere."""
        assert self._ask is not None
        while True:
            line = self._read(event["approval_id"], prompt(event["choices"]), self._ask)
            if line is None:
                return None
            answer = answer_of(line, event["choices"])
            if answer is not None:
                return answer

    def _answer(self, event: JSON, choice: str, text: str) -> None:
        try:
            self._client.answer(event["approval_id"], choice, text)
        except RequestFailed as exc:
            if exc.status not in (404, 409):
                raise

    def _resolved(self, event: JSON) -> None:
        self._view.note(f"{resolved_line(event)} ({event['by']})")


_HANDLERS: dict[str, Callable[[CellTurn, JSON], Any]] = {
    "message.completed": CellTurn._message,
    "plan.updated": CellTurn._plan,
    "worker.spawned": CellTurn._worker,
    "worker.reported": CellTurn._worker_done,
    "step.retry_scheduled": CellTurn._problem,
    "step.fallback_taken": CellTurn._problem,
    "turn.resumed": CellTurn._problem,
    "context.compacted": CellTurn._compacted,
    "instructions.read": CellTurn._instructions,
    "session.state_changed": CellTurn._moved,
    "tool_call.requested": CellTurn._requested,
    "tool_call.started": CellTurn._started,
    "tool_call.finished": CellTurn._call_finished,
    "execution.started": CellTurn._execute,
    "execution.output": CellTurn._output,
    "execution.finished": CellTurn._executed,
    "approval.requested": CellTurn._question,
    "approval.resolved": CellTurn._resolved,
    "input.requested": CellTurn._input,
    "problem.noticed": CellTurn._problem,
    "turn.finished": CellTurn._turn_finished,
}
