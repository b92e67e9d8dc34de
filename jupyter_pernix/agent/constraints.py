"""What must outlive a shortened conversation word for word: what the user allowed and forbade, and what the host saw being done. Pure.

None of it is taken from a summary: rules are the user's own sentences, done work is the host's record.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..events import (
    ApprovalResolved,
    FileChanged,
    InstructionsRead,
    PlanUpdated,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    TurnContextAdded,
    TurnEdited,
    TurnStarted,
    TurnSubmitted,
)
from ..ids import CallId, TurnId
from ..records import FileChange, Plan
from .context import instructions_text

_RULE = re.compile(
    r"\b(?:do not|don(?:'|’)?t|does not|must|mustn(?:'|’)?t|never|always|only|should not|shouldn(?:'|’)?t|can(?:'|’)?t|cannot|may not|not "
    r"allowed|forbidden|prohibited|off[- ]limits|hands off|keep|avoid|without|leave|except|unless|instead of|rather than|make sure|ensure|"
    r"at most|at least|no more than|stick to|prefer|remember|important|read[- ]only|please no|no new|from now on|from here on|going forward|"
    r"henceforth|no longer|stop|refrain|has to|have to|required?|nothing|nobody|no one|under no|"
    r"nicht|nie|niemals|immer|nur|muss|müssen|musst|darf|dürfen|darfst|soll|sollst|sollen|keine?[nrms]?|ohne|lass|behalte|vermeide|"
    r"höchstens|mindestens|statt|außer|wichtig|verboten|ab jetzt|ab sofort|künftig|merk dir|"
    r"ne\s+\w+\s+(?:pas|plus|rien)|n['’]\w+\s+(?:pas|plus|rien)|jamais|toujours|seulement|uniquement|sans|évite[zr]?|interdit\w*|il faut|"
    r"doi(?:s|t|vent)|désormais|sauf|nunca|siempre|solo|sólo|solamente|no\s+\w+[eé]?s|sin|evita[r]?|prohibido|debes?|deben|excepto|"
    r"non\s+\w+|mai|sempre|soltanto|senza|deve|devi|vietato|tranne|não|apenas|somente|sem|evite|proibido|deves?|exceto|"
    r"niet|nooit|altijd|alleen|moet|zonder|geen|mag|vermijd|verboden|nigdy|zawsze|tylko|bez|musisz|aldrig|alltid|inte|endast|"
    r"asla|hiçbir|her zaman|sadece|yalnızca)\b"
    r"|^no\b",
    re.IGNORECASE,
)
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
"""A letter that is not a Latin one."""
_MOSTLY = 0.4
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；؟۔।])\s*|\n+")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LONGEST_SENTENCE = 500
_LONGEST_REQUEST = 6_000
_LONGEST_CONTEXT = 1_500
_MOST_DONE = 80


def rules_in(text: str) -> list[str]:
    """The sentences of a user's message that say what must, may or must not be done. In scripts whose languages have no words here,
    each sentence may be one."""
    found: list[str] = []
    for sentence in _SENTENCE_END.split(_FENCE.sub(" ", text)):
        plain = sentence.strip(" \t-*•>")
        if plain and (_RULE.search(plain) or _is_other_script(plain)):
            found.append(plain if len(plain) <= _LONGEST_SENTENCE else plain[:_LONGEST_SENTENCE] + "…")
    return found


def _is_other_script(sentence: str) -> bool:
    letters = sum(map(str.isalpha, sentence))
    return letters > 0 and len(_OTHER_SCRIPT.findall(sentence)) >= _MOSTLY * letters


@dataclass(kw_only=True)
class Standing:
    """Feed it the events of a session, up to where the conversation is cut off."""

    rules: dict[str, None] = field(default_factory=dict[str, None])
    files: dict[str, FileChange] = field(default_factory=dict[str, FileChange])
    lines: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    done: list[str] = field(default_factory=list[str])
    told: dict[str, InstructionsRead] = field(default_factory=dict[str, InstructionsRead])
    requests: dict[TurnId, str] = field(default_factory=dict[TurnId, str])
    started: list[TurnId] = field(default_factory=list[TurnId])
    plans: dict[TurnId, Plan] = field(default_factory=dict[TurnId, Plan])
    environment: str = ""
    context: dict[TurnId, list[str]] = field(default_factory=dict[TurnId, list[str]])
    _calls: dict[CallId, ToolCallRequested] = field(default_factory=dict[CallId, ToolCallRequested])

    @classmethod
    def of(cls, log: Iterable[Stored], *, upto: int) -> "Standing":
        standing = cls()
        for stored in log:
            if stored.seq <= upto:
                standing.add(stored)
        return standing

    def add(self, stored: Stored) -> None:
        event = stored.event
        match event:
            case TurnSubmitted() | TurnEdited():
                self.requests[event.turn_id] = event.text
            case TurnStarted():
                self.started.append(event.turn_id)
                self.rules.update(dict.fromkeys(rules_in(self.requests.get(event.turn_id, ""))))
            case ApprovalResolved() if event.text.strip() and event.by != "host":
                self.rules[f"(to a question) {event.text.strip()[:_LONGEST_SENTENCE]}"] = None
            case PlanUpdated():
                self.plans[event.turn_id] = event.plan
            case TurnContextAdded() if event.item.kind == "environment":
                self.environment = event.item.text
            case TurnContextAdded():
                self.context.setdefault(event.turn_id, []).append(event.item.text)
            case InstructionsRead():
                self.told[event.name] = event
            case FileChanged():
                self._changed(event.change)
            case ToolCallRequested():
                self._calls[event.call_id] = event
            case ToolCallFinished():
                self._ended(event)
            case _:
                pass

    def _changed(self, change: FileChange) -> None:
        first = self.files.get(change.path)
        before = change.before if first is None else first.before
        added, removed = self.lines.get(change.path, (0, 0))
        self.lines[change.path] = (added + change.added_lines, removed + change.removed_lines)
        self.files[change.path] = FileChange(path=change.path, before=before, after=change.after)

    def _ended(self, event: ToolCallFinished) -> None:
        call = self._calls.pop(event.call_id, None)
        if call is None or call.kind in ("read", "search", "think"):
            return
        outcome = event.result.split("\n", 1)[0][:120] if call.kind == "execute" else event.status
        self.done.append(f"{call.title}: {outcome}")

    # ---- telling it ---------------------------------------------------------------------------------------------------------

    def lines_for(self, turn_id: TurnId | None, *, limit: int) -> list[str]:
        """What is told beside the summary, at most about ``limit`` characters. ``turn_id``: the turn that is under way."""
        wanted: Sequence[tuple[float, Iterator[str]]] = (
            (0.35, self._request(turn_id)),
            (0.3, self._context(turn_id)),
            (0.45, self._rules()),
            (0.5, self._told()),
            (0.2, self._plan(turn_id)),
            (0.3, self._files()),
            (0.25, self._done()),
        )
        found: list[str] = []
        for share, lines in wanted:
            found += _fitting(list(lines), max(400, int(limit * share)))
        return found

    def _request(self, turn_id: TurnId | None) -> Iterator[str]:
        if turn_id is not None and turn_id in self.started:
            text = self.requests.get(turn_id, "")
            cut = text if len(text) <= _LONGEST_REQUEST else text[:_LONGEST_REQUEST] + "…"
            yield f"The request that you are working on: {cut}"

    def _context(self, turn_id: TurnId | None) -> Iterator[str]:
        """What was told beside that request, and the surroundings of the kernel, which are told only once."""
        for text in self.context.get(turn_id, []) if turn_id is not None else []:
            yield text if len(text) <= _LONGEST_CONTEXT else text[:_LONGEST_CONTEXT] + "…"
        if self.environment:
            yield self.environment

    def _rules(self) -> Iterator[str]:
        for rule in self.rules:
            yield f"The user said: {rule}"

    def _told(self) -> Iterator[str]:
        for event in self.told.values():
            yield from instructions_text(event)

    def _plan(self, turn_id: TurnId | None) -> Iterator[str]:
        plan = None if turn_id is None else self.plans.get(turn_id)
        if plan is not None:
            for step in plan.steps:
                if step.status != "completed":
                    yield f"Planned: {step.text}"

    def _files(self) -> Iterator[str]:
        for path, change in self.files.items():
            added, removed = self.lines[path]
            now = "deleted" if change.after is None else f"sha256 now {change.after[:16]}"
            yield f"File changed: {path} (+{added} -{removed} lines, {now})"

    def _done(self) -> Iterator[str]:
        kept = list(dict.fromkeys(self.done[::-1]))[:_MOST_DONE]
        for line in kept[::-1]:
            yield f"Done: {line}"


def _fitting(lines: list[str], limit: int) -> list[str]:
    """The last of the lines that fit; one at least, and a line about those that do not."""
    used, first = 0, len(lines)
    while first > 0 and (first == len(lines) or used + len(lines[first - 1]) <= limit):
        first -= 1
        used += len(lines[first])
    return ([f"({first} earlier ones are not shown)"] if first else []) + lines[first:]
