"""What the audit's files should hold, made from the log; and how that compares with what they do hold. Pure.

Files may end before the log does: the program was ended in between, and what is missing is written. They may hold nothing else.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...audit import SWITCHED_OFF, SWITCHED_ON, Head, next_line
from ..store import AuditState, EventRow, Mark
from .files import DayLine
from .guards import Digests
from .projection import Entry, entry_of


class DueLine(NamedTuple):
    """A line that must stand in the files; ``head`` and ``seq``, ``on``: what the store knows once it does."""

    raw: bytes
    head: Head
    seq: int
    on: bool = True

    def state(self, before: AuditState) -> AuditState:
        return replace(before, head=self.head, seq=self.seq, on=self.on)


def due_lines(state: AuditState, marks: Sequence[Mark], events: Iterable[EventRow]) -> list[DueLine]:
    """What stands behind ``state``, in order."""
    digests = Digests(bytes.fromhex(state.key))
    entries = (entry_of(seq, microseconds, body.encode(), digests) for seq, microseconds, body in events)
    audited = iter([entry for entry in entries if entry is not None])
    waiting = list(marks)
    head, last, on = state.head, state.seq, state.on
    found: list[DueLine] = []
    while True:
        if waiting and waiting[0].n == head.n + 1:
            due = of_mark(head, last, waiting.pop(0), on=on)
        else:
            entry = next((one for one in audited if one.seq > last), None) if on else None
            if entry is None:
                return found
            due = due_line(head, entry)
        found.append(due)
        _, head, last, on = due


def due_line(head: Head, entry: Entry) -> DueLine:
    at, kind, seq, fields = entry
    raw, after = next_line(head, at=at, kind=kind, fields=fields)
    return DueLine(raw, after, seq)


def of_mark(head: Head, seq: int, mark: Mark, *, on: bool) -> DueLine:
    raw, after = next_line(head, at=mark.at, kind=mark.kind, fields=json.loads(mark.fields))
    return DueLine(raw, after, max(seq, mark.seq), {SWITCHED_OFF: False, SWITCHED_ON: True}.get(mark.kind, on))


def mark_behind(head: Head, *, at: str, kind: str, seq: int, **fields: object) -> Mark:
    return Mark(n=head.n + 1, at=at, kind=kind, fields=json.dumps(fields), seq=seq)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """``there``: how many due lines the files have. ``torn``: bytes of the next one, whose writing was cut off. ``strange``: what else
    is behind them and must not be, "" for nothing."""

    there: int
    torn: int = 0
    strange: str = ""


def compare(due: Sequence[DueLine], found: Sequence[DayLine]) -> Comparison:
    for place, line in enumerate(found):
        if place < len(due) and (line.day, line.raw) == (due[place].head.day, due[place].raw):
            continue
        is_last = place == len(found) - 1
        if is_last and place < len(due) and line.day == due[place].head.day and due[place].raw.startswith(line.raw):
            return Comparison(there=place, torn=len(line.raw))
        others = len(found) - place
        return Comparison(
            there=place, strange=f"{others} line{'s' * (others > 1)} in {line.day}.jsonl that the log does not give"
        )
    return Comparison(there=len(found))
