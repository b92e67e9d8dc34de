"""Guards against a model that goes round in circles. Pure; one ``Guards`` watches the calls of one turn.

A repeat is judged by the call, not by its outcome: an output that changes a little each time is still the same call. Three things
make a repeat honest, and none of them is the model's word: a file was changed since, the file that is looked at is another one by
now, or the call is there to wait. The first finding of a turn makes it think again (once); if it goes on, the turn is stuck.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..events import ApprovalResolved, ContextCompacted, Stored, ToolCallFinished, ToolCallRequested
from ..ids import CallId, StepId, TurnId
from ..records import JSON
from .circling import (
    DESCRIBING,
    LONGEST_ROUND,
    Call,
    Complaints,
    Finding,
    Pages,
    Record,
    Searches,
    Stale,
    call_key,
    fingerprint,
    form_of,
    nature_of,
    piece_of,
    request_of,
    rounds_of,
    search_of,
    without_descriptions,
)
from .repetition import Repetition, promises

__all__ = ["DESCRIBING", "UNCHANGED", "Guards", "Repetition", "call_key", "promises", "without_descriptions"]

UNCHANGED = "nothing was written"
"""Part of the first line of an edit that succeeded without changing its file."""

STALE = ("has changed since it was read", "has not been read in this session", "was changed by somebody else")
"""Why an edit is refused whose file is not in the state that the model knows."""

NUDGE_AT = 3
STUCK_AT = 5
FAILURES_AT = 12
_FAILING_REPLIES = 3
_POLLS_AT = 30
_WAITS_AT = 10
_LOOKS_AT = 4
_FAILED_AGAIN_AT = 3
_ROUNDS_AT = 2
_VARYING_ROUNDS_AT = 8
_WAITING_ROUNDS_AT = 20
_SAME_RESULT_AT = 4
_FRUITLESS_AT = 3
_PAGES_AT = 5
_STALE_AT = 3
_STRIKES = 2
_EXCERPT = 300

Keys = Callable[[str, JSON], str]


@dataclass(kw_only=True)
class Guards:
    """Show it each call of the turn with ``sees`` before it is carried out, and then its outcome with ``ended``."""

    rethink: str = ""
    """What the last refusal said to make the model think again: a part of what ``sees`` returned, "" for any other call."""
    _calls: list[Call] = field(default_factory=list[Call])
    _in_a_row: int = 0
    _failures: int = 0
    _reply: int = 0
    _nudged: int = -1
    _told_at: int = 0
    _struck: int = -1
    _failing: set[int] = field(default_factory=set[int])
    _strikes: int = 0
    _rethought: bool = False
    _found: Finding | None = None
    _version: int = 0
    _waits: int = 0
    _start: int = 0
    _declined: set[str] = field(default_factory=set[str])
    _records: dict[str, Record] = field(default_factory=dict[str, Record])
    _edits: set[str] = field(default_factory=set[str])
    _stale: Stale = field(default_factory=Stale)
    _complaints: Complaints = field(default_factory=Complaints)
    _searches: Searches = field(default_factory=Searches)
    _pages: Pages = field(default_factory=Pages)
    _unknown: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, log: Iterable[Stored], turn_id: TurnId, keys: Keys = call_key) -> "Guards":
        """As it was after the last finished call of this turn. ``keys``: tool and arguments → key, as the live calls have it
        (``tools.registry.key_of``)."""
        guards = cls()
        asked: dict[CallId, ToolCallRequested] = {}
        step: StepId | None = None
        declined: set[CallId] = set()
        for stored in log:
            event = stored.event
            match event:
                case ToolCallRequested():
                    asked[event.call_id] = event
                    if event.turn_id == turn_id and event.step_id != step:
                        step = event.step_id
                        guards.replied()
                case ApprovalResolved() if event.choice.startswith("reject") and event.by != "host":
                    declined.add(event.call_id)
                case ContextCompacted() if event.turn_id == turn_id:
                    guards.compacted()
                case ToolCallFinished() if event.call_id in asked:
                    call = asked.pop(event.call_id)
                    guards._relive(call, event, keys, live=event.turn_id == turn_id, declined=event.call_id in declined)
                case _:
                    pass
        return guards

    def _relive(
        self, call: ToolCallRequested, finished: ToolCallFinished, keys: Keys, *, live: bool, declined: bool
    ) -> None:
        key = keys(call.tool, call.arguments)
        if finished.status == "unknown":
            if nature_of(call.tool, call.arguments) not in ("look", "wait"):
                self._unknown[key] = call.title
        elif not live or finished.status == "cancelled":
            if finished.status == "completed":
                self._unknown.pop(key, None)
        else:
            self.sees(key, call.tool, call.arguments)
            if declined:
                self.declined(key)
            self.ended(key, finished.result, failed=finished.status == "failed")

    def replied(self) -> None:
        """The calls that follow are those of a new reply: of several in one reply the model has not seen what was said to the first, so
        they count once against it. Never called: each call is a reply of its own."""
        self._reply += 1

    # ---- a call comes -----------------------------------------------------------------------------------------------

    def sees(self, key: str, tool: str, arguments: Mapping[str, Any]) -> str:
        """A sentence for the model if the call must not be carried out, else ""."""
        form = form_of(key, tool, arguments)
        call = Call(form=form, tool=tool, arguments=arguments, nature=nature_of(tool, arguments), version=self._version)
        last = self._calls[-1] if self._calls else None
        self._in_a_row = self._counted() if last is not None and last.form == form else 1
        self._told_at = 0 if self._in_a_row == 1 else self._told_at
        self._calls.append(call)
        self.rethink = ""
        found = self._circling(call)
        if found is not None:
            call.refused = True
            return self._refusal(found)
        if request_of(key, tool, arguments) in self._declined:
            call.refused = True
            return "Not done: the user has already declined exactly this call. Do something else, or finish and say so."
        return ""

    def _counted(self) -> int:
        told_already = self._reply > 0 and self._nudged == self._reply and self._in_a_row >= NUDGE_AT
        self._nudged = self._reply
        return self._in_a_row + (not told_already)

    def _refusal(self, found: Finding) -> str:
        self._found = found
        if self._rethought:
            if self._in_a_row <= NUDGE_AT and not (self._reply and self._struck == self._reply):
                self._strikes += 1
                self._struck = self._reply
            return f"Not done: {found.model}"
        self._rethought = True
        self._struck = self._reply
        self.rethink = (
            "Stop and think again: what do you know by now, and what is still missing? "
            "Use the results that you have, do something else, or finish and say what is missing."
        )
        return f"Not done: {found.model} {self.rethink}"

    def _circling(self, call: Call) -> Finding | None:
        return (
            self._same_in_a_row(call)
            or self._failing_unchanged(call)
            or self._seen_already(call)
            or self._round(call)
            or self._same_result(call)
            or self._reworded(call)
            or self._paging(call)
        )

    def _same_in_a_row(self, call: Call) -> Finding | None:
        count = self._in_a_row
        if count < NUDGE_AT:
            return None
        before = [one for one in self._calls[-count:-1] if one.result is not None]
        varies = len(before) > 1 and before[-1].result != before[-2].result
        if call.tool == "read_file" and varies and count < _POLLS_AT:
            return None
        if call.nature == "wait" and count < (_POLLS_AT if varies else _WAITS_AT):
            return None
        self._told_at = self._told_at or count
        what = f"the same call {count} times in a row"
        if call.nature == "wait" or (varies and call.tool == "read_file"):
            known = f"this is {what}. Wait longer in one call, or finish and say how to go on."
        else:
            known = f"this is {what}, and its result will not change.{self._known(call)}"
        return Finding(model=known, person=f"The model asked for {what}: {call.name}.")

    def _failing_unchanged(self, call: Call) -> Finding | None:
        record = self._record(call)
        if record is None or record.failures < _FAILED_AGAIN_AT - 1:
            return None
        what = f"this call has failed {record.failures} times, and nothing was changed since"
        return Finding(
            model=f"{what}.{self._known(call)} Change what makes it fail, then repeat it.",
            person=f"The model repeated a failing call unchanged: {call.name}.",
        )

    def _seen_already(self, call: Call) -> Finding | None:
        record = self._record(call)
        if record is None or call.nature not in ("look", "check") or record.runs < _LOOKS_AT - 1:
            return None
        what = f"this call was carried out {record.runs} times already, and nothing was changed since"
        return Finding(
            model=f"{what}.{self._known(call)}", person=f"The model repeated {call.name} although nothing had changed."
        )

    def _record(self, call: Call) -> Record | None:
        """What became of this call, if nothing was changed and nothing was waited for since."""
        record = self._records.get(call.form)
        fresh = record is not None and record.version == self._version and record.waited == self._waits
        return record if fresh else None

    def _round(self, call: Call) -> Finding | None:
        longest = LONGEST_ROUND * (_WAITING_ROUNDS_AT + 1) + 1
        forms = [one.form for one in self._calls[max(self._start, len(self._calls) - longest) :]]
        for size in range(2, LONGEST_ROUND + 1):
            count = rounds_of(forms, size, _WAITING_ROUNDS_AT)
            if count < _ROUNDS_AT:
                continue
            block = self._calls[-1 - size : -1]
            if count >= self._rounds_allowed(block, self._calls[-1 - 2 * size : -1 - size]):
                names = ", ".join(dict.fromkeys(one.name for one in block))
                return Finding(
                    model=f"you go round in a circle: the same {size} calls {count} times over, with nothing new ({names}).",
                    person=f"The model went round in a circle, {count} times over: {names}.",
                )
        return None

    def _rounds_allowed(self, block: list[Call], before: list[Call]) -> int:
        if any(one.nature == "wait" for one in block):
            return _WAITING_ROUNDS_AT
        same = all(
            one.refused or two.refused or fingerprint(one.result or "") == fingerprint(two.result or "")
            for one, two in zip(block, before, strict=True)
        )
        return _ROUNDS_AT if same else _VARYING_ROUNDS_AT

    def _same_result(self, call: Call) -> Finding | None:
        same = self._complaints
        if len(same.forms) < _SAME_RESULT_AT or call.nature == "edit" or call.form in same.forms:
            return None
        what = f"{len(same.forms)} different calls had the same result"
        # one refusal, then it may try two more
        same.forgive(_SAME_RESULT_AT - 2)
        said = _short(same.said)
        return Finding(model=f"{what}, so one more of the kind will not help: {said}", person=f"{what}: {said}")

    def _reworded(self, call: Call) -> Finding | None:
        search = search_of(call.tool, call.arguments)
        if search is None or self._searches.fruitless < _FRUITLESS_AT or not self._searches.is_reworded(search):
            return None
        count = self._searches.fruitless
        return Finding(
            model=f"this is the same search in other words; the last {count} of them found nothing new. Look elsewhere or otherwise.",
            person=f"The model searched for the same in other words, and the last {count} searches found nothing new: {call.name}.",
        )

    def _paging(self, call: Call) -> Finding | None:
        piece = piece_of(call.tool, call.arguments)
        if piece is None or self._pages.count < _PAGES_AT or not self._pages.adjoins(piece):
            return None
        return Finding(
            model=(
                f"you have read {self._pages.count} small pieces of {piece[0]!r} one after the other. Read it whole (read_file "
                "without end_line gives as much as fits), or search in it."
            ),
            person=f"The model read {piece[0]!r} in small pieces, one after the other.",
        )

    def _known(self, call: Call) -> str:
        result = next(
            (one.result for one in reversed(self._calls) if one.form == call.form and one.result is not None), None
        )
        return "" if result is None else f" It was: {_short(result)}"

    # ---- a call has ended -------------------------------------------------------------------------------------------

    def ended(self, key: str, result: str, *, failed: bool) -> None:
        """The outcome of the call that ``sees`` was shown last; ``result`` as the model reads it. A refused one has an outcome too."""
        self._failures = self._failures + 1 if failed else 0
        self._failing = {*self._failing, self._reply} if failed else set()
        call = self._calls[-1] if self._calls else None
        if call is None or call.refused:
            return
        call.result, call.failed = result, failed
        self._unknown.pop(key, None)
        self._watch_result(call, result)
        self._watch_edit(call, result)
        if not failed and (call.nature == "effect" or (call.nature == "edit" and not _left_alone(result))):
            self._version += 1
        if call.nature == "wait":
            self._waits += 1
        self._keep(call, result)

    def _keep(self, call: Call, result: str) -> None:
        said = fingerprint(result, exact=call.nature == "look")
        record = self._record(call)
        if record is None or (record.runs and record.result != said):
            record = self._records[call.form] = Record(version=self._version, waited=self._waits)
        record.runs += 1
        record.failures = record.failures + 1 if call.failed else 0
        record.result = said

    def _watch_edit(self, call: Call, result: str) -> None:
        if call.nature != "edit":
            return
        path = str(call.arguments.get("path", ""))
        if call.failed and any(why in result.split("\n", 1)[0] for why in STALE):
            self._stale.refused(path)
            return
        if call.failed or _left_alone(result):
            return
        self._stale.edited(path)
        self._complaints = Complaints()
        if call.form not in self._edits:
            # a new change is progress; the same one back and forth is none
            self._edits.add(call.form)
            self._strikes = 0

    def _watch_result(self, call: Call, result: str) -> None:
        search, piece = search_of(call.tool, call.arguments), piece_of(call.tool, call.arguments)
        if search is not None:
            self._searches.ended(search, result)
        if piece is not None:
            self._pages.ended(piece, result)
        if call.nature != "edit" and (call.tool == "run_shell" or call.nature != "look"):
            self._complaints.ended(call.tool, call.form, result, failed=call.failed)

    def declined(self, key: str) -> None:
        """The user said no to the call that ``sees`` was shown last."""
        call = self._calls[-1]
        self._declined.add(request_of(key, call.tool, call.arguments))

    def compacted(self) -> None:
        """Results of earlier calls are no longer in the model's input, so it may look again."""
        self._records.clear()
        self._searches, self._pages = Searches(), Pages()
        self._start = len(self._calls)

    def needs_asking(self, key: str) -> str:
        """A sentence for a person if this call may already have had its effect, in a program that ended while it ran; else ""."""
        title = self._unknown.get(key)
        if title is None:
            return ""
        return "The program ended while this ran before, and whether it had its effect could not be found out. Do it again?"

    @property
    def stuck(self) -> str:
        """Why the turn must end now, for a person, beginning with what went round; "" if it may go on."""
        storm = self._stale.storm(_STALE_AT)
        if storm:
            return f"{storm} Stop that program, then say how to go on."
        circles = self._strikes >= _STRIKES or (self._told_at and self._in_a_row >= self._told_at + STUCK_AT - NUDGE_AT)
        if self._found is not None and circles:
            return f"{self._found.person} Say it in other words, or use another model."
        if self._failures >= FAILURES_AT and (not self._reply or len(self._failing) >= _FAILING_REPLIES):
            return f"{self._failures} tool calls in a row failed. Look at their results, then say how to go on."
        return ""


def _left_alone(result: str) -> bool:
    return UNCHANGED in result.split("\n", 1)[0]


def _short(text: str) -> str:
    flat = " ".join(text[: 4 * _EXCERPT].split())
    return flat if len(flat) <= _EXCERPT else f"{flat[:_EXCERPT]}…"
