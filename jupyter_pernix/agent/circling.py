"""What makes calls go round: pure readings of calls and results that the rules in ``guards.py`` are made of."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from ..records import JSON
from .commands import checks_only, code_may_write, code_waits, looks_only, waits

Nature = Literal["look", "check", "wait", "edit", "effect"]
"""``look``: changes nothing. ``check``: runs tests or linters. ``wait``: lets time pass. ``edit``: changes a file by our own hand.
``effect``: may have changed anything."""

_LONGEST_COMMAND = 4_000
_LOOKING = frozenset(("read_file", "list_files", "search_files"))
_EDITING = frozenset(("write_file", "edit_file"))
_DELEGATING = "delegate"
_SEARCH_COMMAND = re.compile(r"(?:^|[|;&]\s*)(?:git\s+)?(?:grep|egrep|fgrep|rg|ag|ack)\b")
_SED_LINES = re.compile(r"\A\s*sed\s+-n\s+['\"]?(\d+),(\d+)p['\"]?\s+(\S+)\s*\Z")
_READ_HEAD = re.compile(r"\A(?P<about>[^\n]*?): lines (?P<first>\d+)-(?P<last>\d+) of (?P<all>\d+)\.")
_NO_HITS = re.compile(r"\ANo (?:line|file)s? match|\ANo files\b|\Aexit code 1\n\(no output\)\Z")
_CALLS_ITSELF = re.compile(r"\[\d+\]")
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b|"
    r"\b\d+(?:\.\d+)?\s?(?:ms|µs|us|ns|s|sec|secs|seconds|min|minutes)\b|0x[0-9a-fA-F]+|/tmp/\S+"
)


DESCRIBING = frozenset({"explanation", "description", "reason", "reasoning", "why", "thought", "comment"})
"""Arguments that only describe a call; they neither make it another one nor are they wrong."""

_canonical = msgspec.json.Encoder(order="sorted").encode


def without_descriptions(arguments: Mapping[str, Any]) -> JSON:
    """The arguments that say what to do."""
    return {name: value for name, value in arguments.items() if name not in DESCRIBING}


def call_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """Equal for two calls that ask for the same: order of keys and descriptions do not matter."""
    asked = without_descriptions(arguments)
    if tool == _DELEGATING:
        # a worker is told its task alone; the title is for the user
        asked.pop("title", None)
    return f"{tool} {_canonical(asked).decode()}"


def nature_of(tool: str, arguments: Mapping[str, Any]) -> Nature:
    if tool in _LOOKING:
        return "look"
    if tool in _EDITING:
        return "edit"
    if tool == "run_shell":
        command = str(arguments.get("command", ""))
        if waits(command) and looks_only(command):
            return "wait"
        return "look" if looks_only(command) else "check" if checks_only(command) else "effect"
    if tool == "run_code":
        code = str(arguments.get("code", ""))
        return "wait" if code_waits(code) and not code_may_write(code) else "effect"
    return "effect"


def form_of(key: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """``key``, or for a command line or code one that is equal for two spellings of the same: spaces, comments, empty lines."""
    if tool == "run_shell":
        rest = {name: value for name, value in arguments.items() if name == "timeout_seconds"}
        return f"run_shell {_words(str(arguments.get('command', '')))} {rest}"
    if tool == "run_code":
        return f"run_code {_code(str(arguments.get('code', '')))}"
    return key


def request_of(key: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """As ``form_of``, without what only says how: two calls with the same answer from a person."""
    return (
        f"run_shell {_words(str(arguments.get('command', '')))}"
        if tool == "run_shell"
        else form_of(key, tool, arguments)
    )


def _words(command: str) -> str:
    if len(command) > _LONGEST_COMMAND:
        return command.strip()
    try:
        lexer = shlex.shlex(command, posix=False, punctuation_chars=True)
        lexer.commenters = ""
        return " ".join(lexer).rstrip("; ")
    except ValueError:
        return command.strip()


def _code(code: str) -> str:
    lines = (line.rstrip() for line in code.strip().split("\n"))
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))


def fingerprint(text: str, *, exact: bool = False) -> str:
    """What of a result says something: times, durations, addresses and the count of a cell do not, unless ``exact``."""
    return text if exact else _TIME.sub("#", _CALLS_ITSELF.sub("", text))


def complaint(tool: str, text: str) -> str:
    """What a failed call complains of, equal for the same cause; "" if it says nothing."""
    if tool == "run_code":
        return re.sub(r"\d+", "#", text.split("\n", 1)[0])
    body = text.partition("\n")[2] if text.startswith("exit code") else text
    return "" if body.strip() in ("", "(no output)") else re.sub(r"\d+", "#", fingerprint(text))


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What goes round: for the model (after "Not done: "), and for a person."""

    model: str
    person: str


@dataclass(kw_only=True)
class Call:
    """One call as it was asked for; ``version``: of the world, when it was. ``result`` ``None``: not carried out."""

    form: str
    tool: str
    arguments: Mapping[str, Any]
    nature: Nature
    version: int
    refused: bool = False
    result: str | None = None
    failed: bool = False

    @property
    def name(self) -> str:
        """The call in a few words, for a sentence."""
        what = next(
            (str(self.arguments[key]) for key in ("path", "command", "code", "pattern") if key in self.arguments), ""
        )
        flat = " ".join(what.split())
        return f"{self.tool}({flat[:80]}{'…' if len(flat) > 80 else ''})"


@dataclass(kw_only=True)
class Record:
    """What became of one form since the world was last changed; ``waited``: as many waits had ended at its last run."""

    version: int
    waited: int = 0
    runs: int = 0
    failures: int = 0
    result: str = ""


# ---- searching ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search: the words of its pattern, and where."""

    words: frozenset[str]
    where: str

    def near(self, other: "Search") -> bool:
        """Whether this is the other one in other words."""
        if not self._same_place(other):
            return False
        common = len(self.words & other.words)
        smaller = min(len(self.words), len(other.words))
        return smaller > 0 and (common == smaller or common / len(self.words | other.words) >= 0.5)

    def _same_place(self, other: "Search") -> bool:
        one, two = self.where.strip("./"), other.where.strip("./")
        return one == two or not one or not two or one.startswith(f"{two}/") or two.startswith(f"{one}/")


def search_of(tool: str, arguments: Mapping[str, Any]) -> Search | None:
    """The search that a call is, if it is one."""
    if tool == "search_files":
        return Search(words=_tokens(str(arguments.get("pattern", ""))), where=str(arguments.get("path", "") or ""))
    if tool == "run_shell":
        command = str(arguments.get("command", ""))
        if _SEARCH_COMMAND.search(command):
            return Search(words=_tokens(re.sub(r"(?<!\S)-\S+", "", command)) - {"grep", "rg", "git", "ag"}, where="")
        return None
    query = arguments.get("query")
    return Search(words=_tokens(query), where=tool) if isinstance(query, str) and "search" in tool else None


def _tokens(pattern: str) -> frozenset[str]:
    """Words of a pattern in lower case: ``loadConfig``, ``load_config`` and ``load.*config`` have the same. Plural or not is one."""
    plain = re.sub(r"\\[bBsSdDwWAZ]|\(\?[:=!<]+", " ", pattern)
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+", plain)
    return frozenset(word.lower().rstrip("s") or word.lower() for word in words if len(word) > 1)


def hits(text: str) -> frozenset[str]:
    """The lines that a search found; empty if none."""
    if _NO_HITS.match(text):
        return frozenset()
    return frozenset(
        line for line in text.split("\n") if line.strip() and not line.startswith(("[", "exit code", "No line"))
    )


@dataclass(kw_only=True)
class Searches:
    """The searches of a turn: how many in a row were the same in other words and found nothing new."""

    _last: Search | None = None
    _known: set[str] = field(default_factory=set[str])
    fruitless: int = 0

    def is_reworded(self, search: Search) -> bool:
        return self._last is not None and search.near(self._last)

    def ended(self, search: Search, text: str) -> None:
        found = hits(text)
        if not self.is_reworded(search):
            self.fruitless = 0
        self.fruitless = self.fruitless + 1 if found <= self._known else 0
        self._known |= found
        self._last = search


# ---- same results -------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Complaints:
    """Different calls, one after the other, that all had the same result: the same failure, or the same long output."""

    LONG = 80

    said: str = ""
    forms: set[str] = field(default_factory=set[str])

    def ended(self, tool: str, form: str, text: str, *, failed: bool) -> None:
        said = complaint(tool, text) if failed else text if len(text) >= self.LONG else ""
        if said and said == self.said:
            self.forms.add(form)
        else:
            self.said, self.forms = said, {form} if said else set()

    def forgive(self, left: int) -> None:
        """Count on from ``left``: it was said."""
        self.forms = set(sorted(self.forms)[:left])


@dataclass(kw_only=True)
class Stale:
    """Edits that were refused because their file was another one than the model knew: how many in a row, by path."""

    counts: dict[str, int] = field(default_factory=dict[str, int])

    def refused(self, path: str) -> None:
        self.counts[path] = self.counts.get(path, 0) + 1

    def edited(self, path: str) -> None:
        self.counts.pop(path, None)

    def storm(self, at: int) -> str:
        """A sentence for a person about a file that was refused ``at`` times; "" if there is none."""
        found = next(((path, count) for path, count in self.counts.items() if count >= at), None)
        if found is None:
            return ""
        return (
            f"The file {found[0]!r} was changed {found[1]} times between reading and editing it: another program (a formatter, an "
            "editor, a sync) rewrites it."
        )


# ---- paging -------------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Pages:
    """Small pieces of one file, read one after the other."""

    SMALL_LINES = 80
    SMALL_TEXT = 6_000
    GAP = 20

    path: str = ""
    count: int = 0
    _first: int = 0
    _last: int = 0

    def adjoins(self, piece: tuple[str, int, int]) -> bool:
        path, first, last = piece
        near = first <= self._last + self.GAP and last >= self._first - self.GAP
        return path == self.path and near and last - first < self.SMALL_LINES

    def ended(self, piece: tuple[str, int, int], text: str) -> None:
        path, first, last = piece
        shown = _READ_HEAD.match(text)
        if shown is not None:
            first, last = int(shown["first"]), int(shown["last"])
        if (
            last - first >= self.SMALL_LINES
            or len(text) > self.SMALL_TEXT
            or (shown is not None and last == int(shown["all"]))
        ):
            self.path, self.count = path, 0
        elif self.adjoins((path, first, last)):
            self.count += 1
        else:
            self.path, self.count = path, 1
        self._first, self._last = first, last


def piece_of(tool: str, arguments: Mapping[str, Any]) -> tuple[str, int, int] | None:
    """Path, first and last line of a piece of a file that a call asks for; ``None`` if it asks for no piece."""
    if tool == "read_file":
        first, last = _number(arguments.get("start_line"), 1), _number(arguments.get("end_line"), 0)
        return (str(arguments.get("path", "")), first, last) if last >= first else None
    if tool == "run_shell":
        found = _SED_LINES.match(str(arguments.get("command", "")))
        return (found[3], int(found[1]), int(found[2])) if found else None
    return None


def _number(value: Any, otherwise: int) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return otherwise


# ---- rounds -------------------------------------------------------------------------------------------------------------

LONGEST_ROUND = 4


def rounds_of(forms: Sequence[str], size: int, most: int) -> int:
    """How many rounds of the same ``size`` calls lie behind the last form if it begins one more, at most ``most``; else 0."""
    past = len(forms) - 1
    block = forms[past - size : past]
    if past < size or forms[-1] != block[0] or len(set(block)) == 1:
        return 0
    count = 1
    while (
        count < most and past >= (count + 1) * size and forms[past - (count + 1) * size : past - count * size] == block
    ):
        count += 1
    return count
