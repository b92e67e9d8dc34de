"""What has been seen in a cell so far, and how grave each sight is.

The effects of a ``Judgement`` are all that is known. ``obvious_effects`` is what a person is shown: of a command line only what it does to
files, packages and the network, since the line itself is shown beside it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ...commands import installs
from ..judgement import EFFECTS_IN_WORDS, NETWORK, RUN_CODE, Effect, Judgement, Ruling, denied, strictest
from ..paths import How, canonical, judge_path
from ..shell import judge_line
from ..shell.deny import Denials

_WEIGHT: dict[Effect, tuple[Ruling, bool]] = {
    "deletes": ("ask_always", True),
    "writes_outside": ("ask_always", True),
    "reads_secret": ("ask_always", True),
    "network": ("ask_always", True),
    "installs": ("ask_always", True),
    "publishes": ("ask_always", True),
    "privilege": ("ask_always", True),
    "runs_later": ("ask_always", True),
    "kills_kernel": ("ask_always", True),
    "frontend_js": ("ask_always", True),
    "overrides_builtins": ("ask_always", True),
    "delayed": ("ask_always", False),
    "opaque": ("ask_always", False),
    "runs_code_from_text": ("ask_always", False),
    "syntax_error": ("ask_always", False),
    "writes_notebook": ("ask_always", False),
}
"""Ruling and gravity of an effect that is seen by itself; what is not listed is asked about as the cell itself is."""

_OF_LINES = frozenset[Effect](
    (
        "deletes",
        "installs",
        "moves",
        "reads_outside",
        "writes_outside",
        "writes_file",
        "reads_secret",
        "network",
        "db_write",
    )
)
_OF_TEXT = frozenset[Effect](("runs_code_from_text",))
_NEVER_SHOWN = frozenset[Effect](("publishes", "privilege", "runs_later"))
_ONLY_NAMES: dict[str, frozenset[Effect]] = {
    "touch": frozenset(("writes_file",)),
    "mkdir": frozenset(("writes_file",)),
    "ls": frozenset(("reads_outside", "reads_secret")),
}
"""Programs that make or show names, and nothing of what is in the files."""
_TEXT_FOR_INTERPRETER = re.compile(r"\s-\w*[ce]\b")
_ELSEWHERE = re.compile(r"(?i)\A[a-z][a-z0-9+.-]+://")
_LOCAL_FILE = re.compile(r"(?i)\Afile://(localhost)?(?=/)")
_HOLDS_SECRETS = re.compile(
    r"(?i)\.(?:ssh|aws|gnupg|netrc|kube|docker|env|pgpass|npmrc|pypirc)\b|id_(?:rsa|dsa|ecdsa|ed25519)|credential|token|shadow|\.(?:pem|key)\b"
)
_FETCHES = re.compile(r"\b(?:curl|wget|http|https|xh|aria2c|nc|ncat|socat|telnet|lynx|w3m)\b")
_FETCHING = frozenset[Effect](("network", "runs_process", "installs", "writes_file"))
_SEVERAL = re.compile(r"[;&|\n`]|\$\(")
_LONGEST_SEARCHED = 4_000
_LINES = 200


class TooMuch(Exception):
    """More than a reader should have to look at; the cell is judged as unreadable."""


@dataclass
class Found:
    """``folder``: where the code works at this point. ``uses``: names of the cell's language are put into its command lines."""

    root: str
    home: str
    folder: str
    deny: Sequence[str] = ()
    lines: list[str] = field(default_factory=list[str])
    obvious: dict[Effect, None] = field(default_factory=dict[Effect, None])
    parts: list[Judgement] = field(default_factory=list[Judgement])
    _seen: set[object] = field(default_factory=set[object])
    """What need not be looked at again: a cell may say the same a thousand times."""

    def see(self, *effects: Effect, why: str = "", grave: bool | None = None) -> None:
        """``grave``: other than is usual for these effects; ``True`` also asks each time."""
        if (effects, why, grave) in self._seen:
            return
        self._seen.add((effects, why, grave))
        for effect in effects:
            ruling, usual = _WEIGHT.get(effect, ("ask", False))
            heavy = usual if grave is None else grave
            if effect == "network" and grave is None:
                self._network(why)
                continue
            said = why or f"this {EFFECTS_IN_WORDS[effect]}"
            self._add(effect)
            self.parts.append(
                Judgement(ruling="ask_always" if heavy else ruling, why=said, effects=(effect,), grave=heavy)
            )

    def _network(self, why: str) -> None:
        """What a person may allow for a session."""
        self._add("network")
        said = why or f"this {EFFECTS_IN_WORDS['network']}"
        self.parts.append(Judgement(ruling="ask", why=said, rules=(NETWORK,), effects=("network",), grave=True))

    def see_mildly(self, *effects: Effect) -> None:
        """Effects of what is asked about as any cell is."""
        for effect in effects:
            self._add(effect)
            self.parts.append(Judgement(ruling="ask", why=f"this {EFFECTS_IN_WORDS[effect]}", effects=(effect,)))

    def line(self, line: str, *, shown: str | None = None) -> None:
        """A command line that bash would get."""
        line = line.strip()
        if not line:
            return
        if len(self.lines) >= _LINES:
            raise TooMuch
        self.lines.append(_collapsed(line) if shown is None else shown)
        judged = self.judge(line)
        self.parts.append(judged)
        self._add("runs_process", *_shown(line, judged.effects))
        if judged.ruling == "auto" and _FETCHES.search(line):
            # what a command may fetch from this machine unasked, a cell may not: what it does with it is not seen
            self._network("")

    def judge(self, line: str) -> Judgement:
        return judge_line(line, root=self.root, home=self.home, folder=self.folder, deny=self.deny)

    def only_denied(self, line: str) -> None:
        """A line that starts what is judged by other means: only a deny rule counts."""
        judged = self.judge(line)
        if judged.ruling == "denied":
            self.parts.append(judged)

    def path(self, path: str, how: How, *, expand: bool = False) -> None:
        """A path that code names. ``expand``: whoever takes it knows ``~``. An address of elsewhere is use of the network."""
        path = _LOCAL_FILE.sub("", path)
        if _ELSEWHERE.match(path):
            self.see("network")
            return
        if expand and (path == "~" or path.startswith("~/")):
            path = self.home + path[1:]
        if not path or "\0" in path or len(path) > 4000:
            return
        if (path, how, self.folder) in self._seen:
            return
        self._seen.add((path, how, self.folder))
        real = canonical(path, folder=self.folder)
        judged = judge_path(real, how, root=self.root, home=self.home)
        self.parts.append(judged)
        # whoever writes says so
        left_out = ("writes_file", "reads_secret") if _is_outside_only(real, judged.effects) else ("writes_file",)
        told: list[Effect] = [effect for effect in judged.effects if effect not in left_out]
        self._add(*told)
        if how != "read" and real.lower().endswith(".ipynb"):
            self.see("writes_notebook")
        self._refuse_path(real, how)

    def change_folder(self, path: str | None) -> None:
        """``None``: it cannot be known where to."""
        self.see("changes_cwd")
        if path is None:
            return
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        if "\0" in path or len(path) > 4000:
            return
        self.folder = canonical(path, folder=self.folder)
        judged = judge_path(self.folder, "read", root=self.root, home=self.home, as_folder=True)
        if judged.ruling != "auto":
            why = "later code works outside of the space"
            self.parts.append(Judgement(ruling="ask_always", why=why, effects=("changes_cwd",), grave=judged.grave))

    def judgement(self, *, nothing: str) -> Judgement:
        """All of it. A cell is never less than asked about, and what is grave is asked each time, but for paths that can be given."""
        cell = Judgement(ruling="ask", why=nothing, rules=(RUN_CODE,))
        parts = sorted(map(_of_cell, self.parts), key=lambda part: (part.ruling != "denied", not part.grave))
        grave = [part for part in parts if part.grave]
        return strictest((*grave, cell, *parts))

    def _add(self, *effects: Effect) -> None:
        self.obvious.update((effect, None) for effect in effects if effect not in _NEVER_SHOWN)

    def _refuse_path(self, real: str, how: How) -> None:
        rule = Denials(self.deny, root=self.root, home=self.home).of_path(real, how) if self.deny else ""
        if rule:
            self.parts.append(denied(Judgement(ruling="ask", why=""), f"the rule {rule!r} forbids it"))


def _shown(line: str, effects: Iterable[Effect]) -> list[Effect]:
    """What of a line's effects a person is told beside the line itself."""
    found = _among(_OF_LINES, effects)
    if len(line) > _LONGEST_SEARCHED:  # it is judged as unreadable anyway
        return found
    if _TEXT_FOR_INTERPRETER.search(line):
        found += _among(_OF_TEXT, effects)
    left_out: set[Effect] = set()
    if installs(line):
        found.append("installs")
    if "installs" in found or "publishes" in effects:
        left_out |= {"network", "writes_file"}
    if _is_outside_only(line, effects):
        left_out.add("reads_secret")
    if "moves" in effects and not _SEVERAL.search(line) and ">" not in line:
        left_out.add("writes_file")
    if not _SEVERAL.search(line):
        left_out |= _ONLY_NAMES.get(line.split(None, 1)[0], frozenset())
    return [effect for effect in found if effect not in left_out]


def _is_outside_only(text: str, effects: Iterable[Effect]) -> bool:
    """That it is outside is said; that it may be secret only of what is made to hold secrets."""
    return "reads_outside" in effects and not _HOLDS_SECRETS.search(text)


def _among(these: frozenset[Effect], effects: Iterable[Effect]) -> list[Effect]:
    return [effect for effect in effects if effect in these]


def _of_cell(part: Judgement) -> Judgement:
    """A part's judgement as it counts for its cell: rules for words of the shell cover no cell."""
    rules = tuple(rule for rule in part.rules if rule == NETWORK or rule.startswith(("dir:", "file:")))
    if (
        part.ruling == "ask"
        and part.grave
        and not rules
        and "network" in part.effects
        and set(part.effects) <= _FETCHING
    ):
        return replace(part, rules=(NETWORK,))
    ruling: Ruling = part.ruling
    if ruling == "auto" or (ruling == "ask" and not part.grave):
        ruling = "ask"
    elif ruling == "ask" and (not rules or len(rules) < len(part.rules)):
        ruling = "ask_always"
    return Judgement(
        ruling=ruling,
        why=part.why,
        rules=rules,
        effects=part.effects,
        grave=part.grave,
        reads=part.reads,
        writes=part.writes,
    )


def _collapsed(line: str) -> str:
    """As it is shown: without the runs of blanks that continued lines leave."""
    return line if re.search(r"[\"'\\`<]", line) else re.sub(r"[ \t]+", " ", line)
