"""Follows one turn to its end: prints what happens, answers what is asked, stops it on Ctrl-C or when its time is over."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..client import JSON, Client, TurnEnd
from ..errors import RequestFailed, ServerError
from ..records import EXIT_CODES, TerminalCode
from .asking import ELSEWHERE, ask_approval, ask_line
from .screen import NOBODY, Screen

UNATTENDED = "Nobody is at this terminal to answer; do it in a way that needs no permission, or say what you need."


@dataclass
class Follow:
    """``seconds``: after that long the turn is cancelled; ``None`` waits for as long as it takes."""

    client: Client
    session_id: str
    turn_id: str
    after: int
    as_json: bool = False
    can_ask: bool = False
    seconds: float | None = None
    timed_out: bool = False
    workers: set[str] = field(default_factory=set[str])
    screen: Screen = field(init=False)
    end: TurnEnd = field(init=False)

    def __post_init__(self) -> None:
        self.end = TurnEnd(self.turn_id)
        self.screen = Screen(self.turn_id)

    def to_the_end(self) -> int:
        """The exit code of the turn's terminal code."""
        timer = threading.Timer(self.seconds, self._time_over) if self.seconds is not None else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            with signals_as_interrupt():
                return self._until_interrupted()
        finally:
            if timer is not None:
                timer.cancel()

    def _until_interrupted(self) -> int:
        try:
            return self._read()
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):  # the terminal itself may be gone
                self.screen.note("stopping the turn; press Ctrl-C again to leave without waiting", "yellow")
            self.client.cancel(self.session_id, self.turn_id)
            return self._read()
        except OSError:
            # Nobody sees any more what the turn does.
            with contextlib.suppress(ServerError):
                self.client.cancel(self.session_id, self.turn_id)
            raise

    def _time_over(self) -> None:
        self.timed_out = True
        # It runs in the timer's thread; a server that is away is reported by the reading thread.
        with contextlib.suppress(ServerError):
            self.client.cancel(self.session_id, self.turn_id)

    def _read(self) -> int:
        """Until the turn is over and its notebook is written."""
        while not self._read_until_worker():
            pass
        assert self.end.finished is not None
        return self._exit_code(self.end.finished)

    def _read_until_worker(self) -> bool:
        """True: to the end of the turn; false: a worker began, whose questions are to be seen too, so the stream is opened anew."""
        for message in self.client.events(self.after, "" if self.workers else self.session_id):
            session = message.data.get("session_id")
            if message.kind == "delta" and session == self.session_id and not self.as_json:
                self.screen.delta(message.data)
            if message.kind != "pernix":
                continue
            self.after = int(message.data["seq"])
            if session in self.workers:
                self._answer(message.data)
            if session != self.session_id:
                continue
            self._event(message.data)
            if self.end.reached(message.data):
                return True
            if message.data["type"] == "worker.spawned" and message.data["turn_id"] == self.turn_id:
                first = not self.workers
                self.workers.add(message.data["worker_id"])
                if first:
                    return False
        raise AssertionError("a stream has no end")

    def _event(self, event: JSON) -> None:
        if self.as_json:
            print(msgspec.json.encode(event).decode(), flush=True)
        else:
            self.screen.event(event)
        if event.get("turn_id") == self.turn_id:
            self._answer(event)

    def _exit_code(self, event: JSON) -> int:
        if self.timed_out:
            print(f"stopped: it took longer than --timeout {self.seconds:g} s", file=sys.stderr)
            return EXIT_CODES[TerminalCode.BUDGET_TIME]
        try:
            return EXIT_CODES[TerminalCode(event["code"])]
        except ValueError:
            return 1

    def _answer(self, event: JSON) -> None:
        """Ask the person, if this asks something."""
        match event["type"]:
            case "approval.requested":
                self._answer_approval(event)
            case "input.requested":
                self._answer_input(event)
            case _:
                pass

    def _answer_input(self, event: JSON) -> None:
        line = ask_line(self.screen, event, lambda: self._waits(event)) if self.can_ask else None
        try:
            if line is None or isinstance(line, str):
                self.client.answer_input(event["input_id"], line)
        except RequestFailed as exc:
            if exc.status not in (404, 409):
                raise
            line = ELSEWHERE
        if line is ELSEWHERE:
            self.screen.note("the code does not wait for it any more")

    def _waits(self, event: JSON) -> bool:
        return any(each["input_id"] == event["input_id"] for each in self.client.inputs(event["session_id"]))

    def _answer_approval(self, event: JSON) -> None:
        answer = (
            ask_approval(self.screen, event, lambda: self._is_open(event))
            if self.can_ask
            else ("reject_once", UNATTENDED)
        )
        try:
            if answer is not None:
                self.client.answer(event["approval_id"], *answer)
        except RequestFailed as exc:
            if exc.status not in (404, 409):
                raise
            answer = None
        if answer is None:
            self.screen.note("it was answered elsewhere in the meantime")
        elif not self.can_ask:
            self.screen.note(f"refused: {NOBODY}", "yellow")

    def _is_open(self, event: JSON) -> bool:
        return any(each["approval_id"] == event["approval_id"] for each in self.client.approvals(self.session_id))


@contextlib.contextmanager
def signals_as_interrupt() -> Iterator[None]:
    """A polite kill, and a terminal that is closed, stop the turn as Ctrl-C does, instead of leaving it to run on. A command that was
    started with ``nohup`` goes on without its terminal."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
