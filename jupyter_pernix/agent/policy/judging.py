"""One call judged by what it would touch: its paths, its command line, its code. Looks at the disk, changes nothing."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...errors import ToolError
from ..commands import scripts, scripts_of_code
from .cells import judge_cell
from .intent import Intent
from .judgement import Effect, Judgement, denied, strictest
from .opening import read_bytes
from .paths import How, inside, judge_path
from .rules import paths_denied, tool_denied
from .scope import OutOfScope, Scope
from .shell import judge_line

_LARGEST_SCRIPT = 5_000_000


NOT_YOURS = frozenset({"pernix-runs"})
"""Folders of a space that only their owner writes: the run notebooks. Compared without case."""


class Unjudgeable(Exception):
    """The call names something that cannot be touched at all; the text is a sentence for the model, ``rule`` names why."""

    def __init__(self, sentence: str, rule: str) -> None:
        self.rule = rule
        super().__init__(sentence)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """``targets``: what a yes is for: canonical paths, also those that a command line or code is seen to touch, the command line, digests of
    scripts. ``opened``: paths outside of the space that the call names itself; a yes opens them to it."""

    judgement: Judgement
    targets: tuple[str, ...]
    opened: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Judge:
    """For one space. ``home``: canonical. ``language`` of the kernel; ``automagic``: a bare line may be a command there. ``environ``: what a
    command line is run with. ``guarded``: canonical folders with what this program stands on (its settings, its log); what is known to
    touch them is asked about each time."""

    scope: Scope
    home: str
    deny: tuple[str, ...] = ()
    language: str = "python"
    automagic: bool = False
    guarded: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict[str, str])

    def judge(self, intent: Intent) -> Judged:
        """:raises Unjudgeable: if it must not be done, whatever is allowed"""
        found, targets, opened = self._paths(intent)
        given = intent.targets
        root = str(self.scope.root)
        if given.command:
            targets.append(given.command)
            found.append(judge_line(given.command, root=root, home=self.home, environ=self.environ, deny=self.deny))
        if intent.action == "execute":
            targets.append("kernel")
            found += [self._cell(code) for code in (given.codes or (given.code,)) if code.strip()]
        targets += given.cells
        targets += self._scripts((*scripts(given.command), *scripts_of_code(given.code)))
        whole = strictest(found, nothing="has no effect")
        if given.command or intent.action == "execute":
            targets += [path for path in (*whole.reads, *whole.writes) if path not in targets]
        return Judged(
            judgement=self._denied(intent, self._kept_from(whole)), targets=tuple(targets), opened=tuple(opened)
        )

    def _cell(self, code: str) -> Judgement:
        found = judge_cell(
            code,
            language=self.language,
            root=str(self.scope.root),
            home=self.home,
            automagic=self.automagic,
            deny=self.deny,
        )
        return found.judgement

    def _kept_from(self, whole: Judgement) -> Judgement:
        touched = (*whole.reads, *whole.writes)
        folder = next((one for one in self.guarded for path in touched if inside(path, one)), None)
        if folder is None or whole.ruling == "denied":
            return whole
        why = f"touches {folder}, which this program stands on"
        return replace(whole, ruling="ask_always", rules=(), grave=True, why=why)

    def _denied(self, intent: Intent, whole: Judgement) -> Judgement:
        rule = tool_denied(intent.tool, self.deny) or paths_denied(
            whole, self.deny, root=str(self.scope.root), home=self.home
        )
        return denied(whole, f"the rule {rule!r} forbids it") if rule else whole

    def _paths(self, intent: Intent) -> tuple[list[Judgement], list[str], list[str]]:
        found: list[Judgement] = []
        targets: list[str] = []
        opened: list[str] = []
        given: Iterable[tuple[How, Sequence[str]]] = (
            ("read", intent.targets.reads),
            ("write", intent.targets.writes),
            ("delete", intent.targets.deletes),
        )
        for how, names in given:
            for name in names:
                path, outside = self._located(name, how)
                found.append(judge_path(path, how, root=str(self.scope.root), home=self.home))
                targets.append(path)
                if outside:
                    opened.append(path)
        return found, targets, opened

    def _located(self, name: str, how: How) -> tuple[str, bool]:
        try:
            located = self.scope.find(name, home=self.home)
        except OutOfScope as exc:
            raise Unjudgeable(str(exc), "scope") from exc
        owner = next((part for part in located.parts if part.casefold() in NOT_YOURS), None)
        if how != "read" and owner is not None and not located.outside:
            sentence = f"Not done: {located.name!r} is in {owner!r}, which is not yours to change."
            raise Unjudgeable(sentence, f"protected:{owner}")
        return str(located.path), located.outside

    def _scripts(self, names: Iterable[str]) -> list[str]:
        """The space's own files that would be run, each with the digest of its content: a yes is for what they are now."""
        found: list[str] = []
        for name in names:
            try:
                located = self.scope.locate(name)
                content = read_bytes(located, limit=_LARGEST_SCRIPT)
            except ToolError:
                continue
            found.append(f"{located.path} sha256:{hashlib.sha256(content).hexdigest()}")
        return found


WALLED_OFF: frozenset[Effect] = frozenset(
    {
        "deletes",
        "moves",
        "runs_code_from_text",
        "runs_code_from_file",
        "kills_kernel",
        "reads_env",
        "changes_env",
        "huge",
        "opaque",
        "installs",
        "privilege",
        "unpickles",
        "delayed",
        "overrides_builtins",
        "syntax_error",
        "runs_process",
        "changes_cwd",
        "writes_file",
        "waits_input",
        "writes_outside",
        "reads_outside",
        "runs_later",
    }
)
"""Effects that the sandbox bounds: what they do stays in the space, or does not happen."""


def bounded(judgement: Judgement, *, network: bool) -> bool:
    """Whether the sandbox keeps all that ``judgement`` found from doing harm beyond the space. ``network``: it lets the network through."""
    left = set(judgement.effects) - WALLED_OFF
    return left <= {"network", "publishes"} and (not left or not network)
