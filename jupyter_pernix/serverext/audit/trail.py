"""Writes the audit: at the start it brings the files to where the log is, then it follows what the store makes durable.

Lines are written within a fraction of a second, on a thread of their own; they are made durable, and the store notes how far they go,
whenever the store takes its journal into the database. An audit that cannot be written stops nobody, since each event is in the store
before anything is done: it says so, and is caught up later.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from ...audit import BREAK_FOUND, OPENED, SWITCHED_OFF, SWITCHED_ON
from ..store import AuditState, Ledger, new_state
from .due import DueLine, compare, due_line, due_lines, mark_behind, of_mark
from .files import DayFiles, behind, last_head
from .guards import Digests
from .projection import entries_of

log = logging.getLogger(__name__)

FORMAT = 1
_TOGETHER_SECONDS = 0.2
"""What comes within this time is written at once."""
_MOST_WAITING = 200_000
"""Lines that are kept while the files cannot be written."""


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, kw_only=True)
class AuditNow:
    """``state`` ``None``: there is no audit. ``problem``: a sentence about what is wrong, or ""."""

    state: AuditState | None
    problem: str


class Trail:
    """``serverext.store.Auditor``. ``on`` false: nothing is written but that it was switched off."""

    def __init__(self, folder: Path, *, on: bool, now: Callable[[], str] = _now) -> None:
        self.folder = folder
        self._on = on
        self._now = now
        self._files = DayFiles(folder)
        self._lock = threading.Lock()
        """Around all that follows, but ``_added``."""
        self._tip: DueLine | None = None
        """The last line that was made."""
        self._kept: AuditState | None = None
        """Behind the last line that is in the files."""
        self._waiting: list[DueLine] = []
        self._digests = Digests(b"")
        self._found = ""
        self._failure = ""
        self._given_up = False
        self._following = False
        self._added: deque[bytes] = deque()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="pernix-audit", daemon=True)

    @property
    def problem(self) -> str:
        """What a person should know about, or ""."""
        return "; ".join(one for one in (self._found, self._failure, self._files.meddled) if one)

    # ---- the start ------------------------------------------------------------------------------------------------------

    def begin(self, ledger: Ledger) -> None:
        """Compare the files with the log, say what is wrong with them, write what they lack."""
        with self._lock:
            try:
                self._begin(ledger)
            except (
                Exception
            ) as exc:  # The edge of the audit: whatever is wrong with it, the server serves, and says so.
                log.exception("%s: the audit does not begin", self.folder)
                self._given_up = True
                self._failed("cannot be read", exc)
                return
            if self._tip is not None and self._tip.on:
                self._following = True
                self._thread.start()

    def _begin(self, ledger: Ledger) -> None:
        state = ledger.state() or (self._opened(ledger) if self._on else None)
        if state is None:
            return
        self._kept = state
        self._digests = Digests(bytes.fromhex(state.key))
        found = behind(self.folder, state.head)
        strange, there = found.fault, 0
        due = self._due(ledger, state)
        if not strange:
            compared = compare(due, found.lines)
            strange, there = compared.strange, compared.there
            if compared.torn:
                self._files.cut(found.lines[-1].day, compared.torn)
        if there:
            state, due = due[there - 1].state(state), due[there:]
        if strange:
            due = self._broken(ledger, state, strange)
        end = due[-1].state(state) if due else state
        if end.on != self._on:
            due = self._switched(ledger, state, end)
        self._kept, self._waiting = state, due
        self._tip = due[-1] if due else DueLine(b"", state.head, state.seq, state.on)
        self._write()
        ledger.save(self._durable() or state)

    def _opened(self, ledger: Ledger) -> AuditState:
        """A first line; behind those of another store, if there are any."""
        state = new_state(head=last_head(self.folder), seq=ledger.last_seq())
        mark = mark_behind(
            state.head,
            at=self._now(),
            kind=OPENED,
            seq=state.seq,
            store=state.store_id,
            format=FORMAT,
            behind=state.seq,
        )
        ledger.begin(state, mark)
        return state

    def _broken(self, ledger: Ledger, state: AuditState, strange: str) -> list[DueLine]:
        """The files stay as they are; the chain goes on from what the store knows, with a line that says what was found."""
        ledger.save(state)
        ledger.insert_mark(mark_behind(state.head, at=self._now(), kind=BREAK_FOUND, seq=state.seq, found=strange))
        self._found = f"the audit's files were changed by somebody else: {strange}"
        log.error("%s: %s", self.folder, self._found)
        return self._due(ledger, state)

    def _switched(self, ledger: Ledger, state: AuditState, end: AuditState) -> list[DueLine]:
        seq = ledger.last_seq() if self._on else end.seq
        kind = SWITCHED_ON if self._on else SWITCHED_OFF
        ledger.insert_mark(mark_behind(end.head, at=self._now(), kind=kind, seq=seq, seq_before=end.seq, seq_now=seq))
        return self._due(ledger, state)

    def _due(self, ledger: Ledger, state: AuditState) -> list[DueLine]:
        marks = ledger.marks_behind(state.head.n)
        # while it was off much may have been said that nobody needs to read here
        behind_seq = state.seq if state.on else max([state.seq, *(mark.seq for mark in marks)])
        return due_lines(state, marks, ledger.events_behind(behind_seq) if state.on or marks else [])

    # ---- while the server runs ------------------------------------------------------------------------------------------

    def add(self, payload: bytes) -> None:
        """These events are durable. Costs no time; they are written soon."""
        if self._following:
            self._added.append(payload)
            self._wake.set()

    def settle(self) -> AuditState | None:
        with self._lock:
            if self._given_up or self._tip is None:
                return None
            self._drain()
            return self._durable()

    def note(self, ledger: Ledger, kind: str, facts: Callable[[Digests], dict[str, Any]]) -> None:
        """The line is in the store before it is in the files, as events are."""
        with self._lock:
            if not self._following or self._tip is None:
                return
            self._drain()
            fields = {name: value for name, value in facts(self._digests).items() if value is not None}
            mark = mark_behind(self._tip.head, at=self._now(), kind=kind, seq=self._tip.seq, **fields)
            ledger.insert_mark(mark)
            self._tip = of_mark(self._tip.head, self._tip.seq, mark, on=True)
            self._waiting.append(self._tip)
            self._write()

    def now(self) -> AuditNow:
        """How far the files go, as far as they have been written."""
        with self._lock:
            return AuditNow(state=self._kept, problem=self.problem)

    def close(self) -> None:
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        self._files.close()

    def _work(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._stop.wait(_TOGETHER_SECONDS)
            self._wake.clear()
            with self._lock:
                try:
                    self._drain()
                except Exception:  # The edge of the thread: what cannot be written now is tried again.
                    log.exception("%s: the audit could not be written", self.folder)

    def _drain(self) -> None:
        """All that was added becomes lines, and they are written if that is possible."""
        while self._added:
            payload = self._added.popleft()
            if self._tip is None or self._given_up:
                continue
            for entry in entries_of(payload, self._digests):
                if entry.seq > self._tip.seq:
                    self._tip = due_line(self._tip.head, entry)
                    self._waiting.append(self._tip)
        self._write()

    def _write(self) -> None:
        if self._given_up:
            return
        try:
            for day, lines in groupby(self._waiting[:], key=lambda due: due.head.day):
                of_day = list(lines)
                self._files.append(day, b"".join(one.raw for one in of_day))
                assert self._kept is not None
                self._kept = of_day[-1].state(self._kept)
                del self._waiting[: len(of_day)]
        except OSError as exc:
            self._failed("cannot be written", exc)
            if len(self._waiting) > _MOST_WAITING:
                self._given_up, self._following, self._waiting = True, False, []
        else:
            self._failure = ""

    def _durable(self) -> AuditState | None:
        try:
            self._files.make_durable()
        except OSError as exc:
            self._failed("cannot be written", exc)
            return None
        return self._kept

    def _failed(self, what: str, exc: Exception) -> None:
        later = "it is caught up when the server starts again" if self._given_up else "it is caught up once it can be"
        said = f"the audit {what}: {getattr(exc, 'strerror', None) or exc} ({self.folder}); {later}"
        if said != self._failure:
            log.error("%s", said)
        self._failure = said
