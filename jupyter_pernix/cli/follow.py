"""Follows one turn to its end: prints what happens, answers what is asked, stops it on Ctrl-C or when its time is over."""

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..client import JSON, Client, TurnEnd
from ..errors import RequestFailed, ServerError
from ..livetext import neutral
from ..records import EXIT_CODES, TerminalCode
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
            if session in self.workers and message.data["type"] == "approval.requested":
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
        if event["type"] == "approval.requested" and event["turn_id"] == self.turn_id:
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
        answer = ask(self.screen, event, lambda: self._is_open(event)) if self.can_ask else ("reject_once", UNATTENDED)
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


def ask(screen: Screen, event: JSON, still_open: Callable[[], bool]) -> tuple[str, str] | None:
    """The person's answer as ``(choice, text)``; no more input is a rejection. ``None``: it was answered elsewhere."""
    screen.note(neutral(str(event["question"])), "bold")
    if event.get("detail"):
        screen.note("\n".join("  " + line for line in neutral(str(event["detail"])).splitlines()))
    offered = [(key, choice, word) for key, choice, word in _KEYS if choice in event["choices"]]
    words = ", ".join(f"[{key}] {word}" for key, _, word in offered)
    _drop_typed_ahead()
    while True:
        sys.stderr.write(f"{words}, or write what to do instead: ")
        sys.stderr.flush()
        line = _read_line(still_open)
        if line is None:
            return None
        answer = line.strip()
        for key, choice, _ in offered:
            if answer.lower() in (key, choice):
                return choice, ""
        if answer or not line:
            return "reject_once", answer


def _read_line(still_open: Callable[[], bool]) -> str | None:
    """A line of stdin, "" at its end; ``None`` as soon as the question is no longer open."""
    while os.name != "nt" and not select.select([sys.stdin], [], [], 1.0)[0]:
        if not still_open():
            sys.stderr.write("\n")
            return None
    return sys.stdin.readline()


_KEYS = (
    ("y", "allow_once", "yes, once"),
    ("s", "allow_session", "yes, in this session"),
    ("a", "allow_always", "always"),
    ("n", "reject_once", "no"),
)


def _drop_typed_ahead() -> None:
    """What was typed before the question could be read is no answer to it."""
    try:
        import termios  # only where there are such terminals
    except ImportError:
        return
    with contextlib.suppress(OSError, termios.error):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


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
