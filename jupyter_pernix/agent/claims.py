"""A reply against what the host saw. Pure: ``corrections`` are sentences that every face shows before the reply.

Each says a fact (a command and its exit code, a file, how a cell ended), none calls anybody a liar, and none is given where the host
cannot know: a command that may have changed anything may have changed the file that is named.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..ids import TurnId
from ..records import Mode
from .commands import (
    checks_only,
    code_may_write,
    code_runs_tests,
    commits,
    downloads,
    exit_code_is_of_tests,
    installs,
    pushes,
    runs_tests,
)
from .ledger import Cell, Command, Facts, Ledger, Refusal
from .requests import is_change
from .statements import Kind, Statement, names_file, statements

_MOST = 6
_LONGEST = 100

_EXPLAINS = re.compile(
    r"\b(?:could\s*n(?:o|'|’)t|can\s*n(?:o|'|’)t|cannot|unable|impossible|not\s+possible|not\s+(?:changed|done|made|modified|applied|edited|needed|"
    r"necessary|found|there|allowed|able|exist\w*|carried|yet)|no\s+(?:changes?|need|edits?|such|file|permission|match\w*|occurrences?)|nothing\s+(?:to|was|needs|has)|"
    r"already|did\s*n(?:o|'|’)t|does\s*n(?:o|'|’)t|do\s*n(?:o|'|’)t|have\s*n(?:o|'|’)t|was\s*n(?:o|'|’)t|is\s*n(?:o|'|’)t|were\s*n(?:o|'|’)t|won(?:'|’)t|failed|refused|declined|"
    r"rejected|denied|blocked|stopped|missing|unclear|ambiguous|which\s+one|please\s+(?:tell|provide|give|confirm|specify|share|let)|let\s+me\s+know|"
    r"i\s+need|you\s+(?:need|would\s+have|have)\s+to|same\s+as\s+before|unchanged|as\s+it\s+was|"
    r"konnte\w*\s+(?:\w+\s+){0,4}nicht|kann\s+(?:\w+\s+){0,4}nicht|nicht\s+(?:möglich|gefunden|nötig|vorhanden|geändert|erlaubt|ausgeführt)|"
    r"kein\w*\s+(?:änderung\w*|datei|treffer)|nichts\s+(?:zu|geändert)|bereits|schon|gibt\s+es\s+nicht|fehlt|fehlgeschlagen|abgelehnt|unklar|"
    r"ich\s+brauche|bitte\s+(?:sag|gib|bestätige|nenn)\w*)\b",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"error|exception|fail|died|dead|crash|traceback|stopped|interrupt|restart|timed?\s?-?out|timeout|not\s+(?:run|finish|complete)|"
    r"could\s*n|cannot|can(?:'|’)t|unable|problem|abort|kill|fehler|abgestürzt|abgebrochen|neu\s*gestartet|nicht\s+(?:gelaufen|ausgeführt)|gestorben",
    re.IGNORECASE,
)
_OPAQUE = re.compile(
    r"(?:^|[;&|]\s*)(?:\./|bash\s|sh\s|make\b|just\b|npm\s+run|python\S*\s+\S+\.py|uv\s+run|source\s|\.\s|nox\b|tox\b|hatch\b|docker\b)"
)
_TEST_SUMMARY_FAILED = re.compile(
    r"\b[1-9]\d*\s+(?:failed|failures?|errors?)\b|\bFAILED\b|\bfailures=[1-9]|\bTests:\s+[1-9]\d*\s+failed",
    re.IGNORECASE,
)
_PROSE = frozenset((".md", ".rst", ".txt"))
_DOES: dict[Kind, str] = {
    "installed": "Nothing was installed",
    "committed": "Nothing was committed",
    "pushed": "Nothing was pushed",
    "downloaded": "Nothing was downloaded",
}
_BROKEN = {
    "dead": "the kernel died",
    "restarted": "the kernel was restarted while it ran",
    "timeout": "it ran too long and was stopped",
    "cancelled": "it was stopped",
    "aborted": "it was not run",
    "not_run": "it was not run",
    "": "its end was not seen",
}


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A run of tests, or of any code or command: when, what, and how it ended in words; ``bad`` "" if it ended well or cannot be told."""

    seq: int
    what: str
    bad: str


def corrections(
    text: str,
    ledger: Ledger,
    turn_id: TurnId,
    request_text: str = "",
    previous_request_text: str = "",
    mode: Mode = "auto",
) -> list[str]:
    """What the host's record says against the final ``text`` of this turn; nothing if there is nothing to say."""
    facts = ledger.turn(turn_id)
    asked = mode in ("edit", "auto") and is_change(request_text, previous_request_text)
    found: list[str] = []
    nothing = _nothing_changed(text, facts, f"{request_text}\n{previous_request_text}") if asked else ""
    if nothing:
        found.append(nothing)
    if facts.elsewhere:
        return found
    for statement in statements(text):
        if nothing and statement.kind in ("file", "change"):
            continue
        found += _against(statement, text, ledger, facts, asked=asked)
    found += _unsaid_end(text, facts, found)
    return list(dict.fromkeys(found))[:_MOST]


def _against(statement: Statement, text: str, ledger: Ledger, facts: Facts, *, asked: bool) -> list[str]:
    match statement.kind:
        case "tests_pass":
            return _tests(ledger)
        case "tests_run":
            return [] if _test_runs(ledger) else [_NO_TESTS]
        case "file":
            return _files(statement, ledger, facts, asked=asked)
        case "change":
            return _change(ledger, facts)
        case "ran":
            return _ran(statement, text, ledger, facts)
        case "installed":
            return _act(statement.kind, ledger, installs)
        case "committed":
            return _act(statement.kind, ledger, commits)
        case "pushed":
            return _act(statement.kind, ledger, pushes)
        case "downloaded":
            return _act(statement.kind, ledger, downloads)


# ---- nothing was changed ------------------------------------------------------------------------------------------------


def _nothing_changed(text: str, facts: Facts, request: str) -> str:
    if _changed(facts) or facts.elsewhere or any(True for _ in _effects(facts)):
        return ""
    if _ran_code(facts) and not names_file(request):
        # a variable, a table in the kernel: the cell may well have been the change
        return ""
    if _asks(text) or _EXPLAINS.search(text) or ("```" in request and "```" in text):
        return ""
    refused = next((one for one in reversed(facts.refusals) if one.rule != "host"), None)
    return f"Nothing was changed in this turn{'' if refused is None else f': {_refused(refused)}'}."


def _refused(refusal: Refusal) -> str:
    title = _short(refusal.title) or "a call"
    if refusal.rule == "user":
        return f"you declined “{title}”"
    if refusal.rule == "nobody_to_ask":
        return f"“{title}” needs an approval, and nobody was there to give it"
    if refusal.rule.startswith("mode:"):
        return f"“{title}” is not allowed in mode “{refusal.rule.split(':')[1]}”"
    return f"“{title}” was refused ({refusal.rule.partition(':')[0]})"


def _asks(text: str) -> bool:
    return text.rstrip(" \n*_)\"'”").endswith("?") or re.search(r"\?\s*$", text, re.MULTILINE) is not None


def _changed(facts: Facts) -> bool:
    return any(one.change.before != one.change.after for one in facts.changes)


def _effects(facts: Facts, *, ended_well: bool = False) -> Iterable[Command | Cell]:
    """Commands and cells that may have changed files; ``ended_well``: only those that ended so."""
    for command in facts.commands.values():
        if not checks_only(command.command) and (command.exit_code == 0 or not ended_well):
            yield command
    for cell in facts.cells.values():
        if code_may_write(cell.code) and (cell.status == "ok" or not ended_well):
            yield cell


# ---- tests --------------------------------------------------------------------------------------------------------------

_NO_TESTS = "Unchecked: no tests were run in this session."


def _tests(ledger: Ledger) -> list[str]:
    runs = _test_runs(ledger)
    if not runs:
        return [_NO_TESTS]
    last = runs[-1]
    if last.bad:
        return [f"The last test run failed: {last.what} {last.bad}."]
    later = [
        path
        for path, seq in ledger.last_change.items()
        if seq > last.seq and PurePosixPath(path).suffix.lower() not in _PROSE
    ]
    if later:
        more = f" and {len(later) - 1} more" if len(later) > 1 else ""
        return [f"Unchecked: {later[-1]}{more} changed after the last test run ({last.what})."]
    return []


def _test_runs(ledger: Ledger) -> list[_Run]:
    runs = [
        _Run(seq=command.seq, what=f"`{_short(command.command)}`", bad=_test_failure(command))
        for command in ledger.commands.values()
        if runs_tests(command.command)
    ]
    runs += [
        _Run(seq=cell.seq, what=f"the cell `{_short(cell.code)}`", bad="" if cell.status == "ok" else _cell_end(cell))
        for cell in ledger.cells.values()
        if code_runs_tests(cell.code)
    ]
    return sorted(runs, key=lambda run: run.seq)


def _test_failure(command: Command) -> str:
    if command.exit_code is None:
        return "did not end by itself"
    if command.exit_code != 0:
        return f"ended with exit code {command.exit_code}"
    if not exit_code_is_of_tests(command.command) and _TEST_SUMMARY_FAILED.search(command.tail):
        return "reports failures"
    return ""


def _cell_end(cell: Cell) -> str:
    if cell.status == "error":
        return f"ended with {cell.ename or 'an error'}"
    return f"did not run to its end: {_BROKEN.get(cell.status, cell.status)}"


# ---- files --------------------------------------------------------------------------------------------------------------


def _files(statement: Statement, ledger: Ledger, facts: Facts, *, asked: bool) -> list[str]:
    found: list[str] = []
    for name in statement.files:
        if _is_among(name, (one.change.path for one in facts.changes if one.change.before != one.change.after)):
            continue
        if (statement.earlier or not asked) and _is_among(name, ledger.last_change):
            continue
        sentence = _not_changed(name, facts, ledger, asked=asked)
        if sentence:
            found.append(sentence)
    return found


def _not_changed(name: str, facts: Facts, ledger: Ledger, *, asked: bool) -> str:
    turns = [facts] if asked else [facts, *_all_facts(ledger)]
    naming = [one for some in turns for one in _effects(some) if _names(one, name)]
    if naming:
        last = naming[-1]
        well = last.exit_code == 0 if isinstance(last, Command) else last.status == "ok"
        return "" if well else f"What was to change {name} did not end well: {_what(last)} {_end(last)}."
    if any(True for some in turns for _ in _effects(some, ended_well=True)):
        return ""
    return (
        f"{name} was not changed in this turn."
        if asked or _is_among(name, ledger.last_change)
        else f"{name} was not changed."
    )


def _all_facts(ledger: Ledger) -> list[Facts]:
    return [Facts(commands=ledger.commands, cells=ledger.cells)]


def _names(one: Command | Cell, name: str) -> bool:
    text = one.command if isinstance(one, Command) else one.code
    path = PurePosixPath(name)
    return path.name in text or (len(path.stem) > 3 and path.stem in text)


def _is_among(name: str, paths: Iterable[str]) -> bool:
    wanted = PurePosixPath(name)
    return any(path == name or path.endswith(f"/{name}") or PurePosixPath(path).name == wanted.name for path in paths)


def _change(ledger: Ledger, facts: Facts) -> list[str]:
    """ "I fixed it" without a file: wrong only if nothing in the whole session can have changed anything."""
    session = Facts(commands=ledger.commands, cells=ledger.cells)
    if ledger.changes or _changed(facts) or any(True for _ in _effects(session, ended_well=True)) or _ran_code(session):
        return []
    return ["No file was changed in this session."]


def _ran_code(facts: Facts) -> bool:
    """A cell that ended well: what it did in the kernel may be the change that is meant."""
    return any(cell.status == "ok" for cell in facts.cells.values())


# ---- code ---------------------------------------------------------------------------------------------------------------


def _ran(statement: Statement, text: str, ledger: Ledger, facts: Facts) -> list[str]:
    if not facts.cells and not facts.commands:
        before = ledger.cells or ledger.commands
        return [] if before and statement.earlier else ["No code was run in this turn."]
    last = max([*facts.cells.values(), *facts.commands.values()], key=lambda one: one.seq)
    well = last.exit_code == 0 if isinstance(last, Command) else last.status == "ok"
    if well or (_TROUBLE.search(text) and not statement.well):
        return []
    if not statement.well and isinstance(last, Command) and (last.exit_code or 0) > 0 and checks_only(last.command):
        return []
    return [f"The last code that was run did not end well: {_what(last)} {_end(last)}."]


def _unsaid_end(text: str, facts: Facts, found: list[str]) -> list[str]:
    """A kernel that died under the last cell is said, whatever the reply makes of it."""
    if not facts.cells or _TROUBLE.search(text) or _asks(text):
        return []
    last = max(facts.cells.values(), key=lambda cell: cell.seq)
    if last.status in ("ok", "error") or any("did not run to its end" in one for one in found):
        return []
    return [f"The last code that was run did not end well: {_what(last)} {_end(last)}."]


def _what(one: Command | Cell) -> str:
    return f"`{_short(one.command if isinstance(one, Command) else one.code)}`"


def _end(one: Command | Cell) -> str:
    if isinstance(one, Cell):
        return _cell_end(one)
    return "did not end by itself" if one.exit_code is None else f"ended with exit code {one.exit_code}"


# ---- acts ---------------------------------------------------------------------------------------------------------------


def _act(kind: Kind, ledger: Ledger, does: Callable[[str], bool]) -> list[str]:
    ones: list[Command | Cell] = [*ledger.commands.values(), *ledger.cells.values()]
    tried: list[Command | Cell] = []
    for one in ones:
        line = one.command if isinstance(one, Command) else one.code
        well = one.exit_code == 0 if isinstance(one, Command) else one.status == "ok"
        if does(line):
            if well:
                return []
            tried.append(one)
        elif well and _OPAQUE.search(line):
            return []
    if tried:
        last = max(tried, key=lambda one: one.seq)
        return [f"{_DOES[kind]}: {_what(last)} {_end(last)}."]
    return [f"{_DOES[kind]} in this session: no such command was run."]


def _short(text: str) -> str:
    flat = " ".join(text.split()).replace("`", "'")
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]}…"
