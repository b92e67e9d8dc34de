"""One command of a line: its assignments, its redirections, its words, and what the program does with them."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..judgement import Judgement
from ..paths import canonical, inside
from . import line_builtins, line_git
from .deny import Denials
from .line_globs import matches
from .line_state import State
from .line_touch import Touching, always
from .parts import EXACT, Assignment, Call, Finding, For, Piece, Simple, Word
from .programs.findings import path_words
from .programs.table import judge_program
from .reader import read_line
from .variables import Known, harmless_name, judge_assignment, put_in, stays_known

DEEPEST = 8
"""How many commands within commands are judged."""

MOST_VALUES = 200


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AT_ONCE = re.compile(r"-j|--jobs=|--parallel=")
_SYSTEM = frozenset({"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"})
_ONLY_MAKE = frozenset({"touch", "mkdir", "tee", "split", "csplit"})
"""Programs that write plain files and folders, never links."""

_BRING_ANYTHING = _names("""7z ar bsdtar cp cpio install link ln mv patch pax rsync tar unzip""")
_CHANGE_THE_SHELL = _names(
    "cd pushd popd export set unset eval exec source . alias trap read declare typeset local readonly shopt enable"
)
_GIT_BRINGS = _names(
    """checkout switch restore merge pull rebase stash clone apply am submodule worktree reset cherry-pick revert read-tree checkout-index"""
)


class Commands(Touching):
    """Judges single commands. ``line``: the whole, for rules that are for it alone."""

    def __init__(
        self,
        line: str,
        *,
        root: str,
        home: str,
        environ: Mapping[str, str],
        denials: Denials,
    ) -> None:
        super().__init__(root=root, home=home, denials=denials)
        self.line = line
        self.environ = environ
        self._depth = 0

    def command(self, node: Simple, state: State) -> tuple[list[Judgement], State]:
        self.spend(3 + len(node.assignments))
        found: list[Judgement] = []
        after = state
        for one in node.assignments:
            found += self._assignment(one, state, exported=bool(node.words))
            if not node.words:
                after = after.without(one.name)
        for redirect in node.redirects:
            more, after = self.redirect(redirect, state, after)
            found += more
        if not node.words:
            return found, after
        if not state.certain:
            why = "the folder it runs in is not known before it runs"
            found.append(Judgement(ruling="ask_always", why=why, effects=("opaque",), grave=True))
        more, after = self._words(node.words, state, after)
        return found + more, after

    def loop_values(self, node: For, state: State) -> tuple[list[str] | None, list[Judgement]]:
        """What the variable of a loop is in turn; ``None`` if that is not known."""
        found: list[Judgement] = []
        values: list[str] = []
        unknown = False
        if not harmless_name(node.name, self.environ, exported=False):
            found.append(replace(always(f"`{node.name}` is not known to be harmless"), grave=True))
        for word in node.words:
            words, reasons = self._expand(word, state)
            found += reasons
            unknown = unknown or any(one.text is None for one in words)
            values += [one.text or "" for one in words]
        values = list(dict.fromkeys(values))
        if len(values) > MOST_VALUES:
            found.append(always("a loop has too many words"))
        return (None if unknown or len(values) > MOST_VALUES or not stays_known(node.name) else values), found

    def _assignment(self, one: Assignment, state: State, *, exported: bool) -> list[Judgement]:
        known = put_in(one.value, state.variables) if one.value.pieces or one.value.text is None else Known(one.value)
        found = self.inner(known.inner, state)
        return [judge_assignment(one, known, self.environ, exported=exported), *found]

    def _expand(self, word: Word, state: State) -> tuple[list[Word], list[Judgement]]:
        """The words that one becomes; one without a text if it is not known, with the reason."""
        known = put_in(word, state.variables)
        found = self.inner(known.inner, state)
        if known.unknown:
            why = Judgement(ruling="ask_always", why=known.unknown, effects=("opaque",), grave=known.secret)
            if known.secret:
                why = replace(why, effects=("reads_env", "reads_secret"))
            return [known.word], [why, *found]
        if not known.word.glob or not known.word.pieces:
            return [known.word], found
        names = matches(known.word, folder=state.folder, root=self.root)
        self.spend(2 + len(names.names))
        if not state.certain and not (known.word.text or "").startswith("/"):
            names = replace(names, names=(), unknown="a pattern in a folder that is not known")
        if state.put and not names.unknown and names.names:
            names = replace(names, names=(), unknown="an earlier part of the line may change what a pattern matches")
        if names.unknown:
            lost = Word(text=None, raw=word.raw, glob=True, plain=False)
            return [lost], [*found, replace(always(names.unknown), grave=names.outside)]
        if not names.names:
            return [known.word], found
        return [
            Word(text=name, raw=name, plain=False, pieces=(Piece("text", name, True),)) for name in names.names
        ], found

    def _words(self, given: Sequence[Word], state: State, after: State) -> tuple[list[Judgement], State]:
        words: list[Word] = []
        found: list[Judgement] = []
        for word in given:
            more, reasons = self._expand(word, state)
            words += more
            found += reasons
        self.denied_by = self.denied_by or self.denials.of_words(words)
        first = words[0].text
        if first is None or given[0].glob or not first or not first.isascii():
            why = f"which program `{given[0].raw}` is cannot be known before it runs"
            return [replace(always(why), grave=True), *found], after.lost()
        more, after = self._known_program(first, words, state, after)
        if any(word.text is None for word in words):
            more = [replace(one, ruling="ask_always", rules=()) if one.ruling == "ask" else one for one in more]
        return found + more, after

    def _known_program(
        self, first: str, words: list[Word], state: State, after: State
    ) -> tuple[list[Judgement], State]:
        name = first
        if "/" in first:
            folder, _, name = first.rpartition("/")
            if folder not in _SYSTEM:
                return self._file(first, words, state), after
        args = [word.text if word.text is not None else "_" for word in words[1:]]
        if name == "cd":
            judgement, changed = line_builtins.change_folder(args, state, root=self.root, environ=self.environ)
            if any(word.text is None for word in words):
                changed = state.lost()
            return [judgement], replace(changed, put=after.put, written=after.written)
        if name == "pwd" and all(arg in ("-L", "-P") for arg in args):
            return [Judgement(ruling="auto", why="prints the folder")], after
        if name == "export":
            return self._export(words[1:], state, after)
        if name == "set":
            return [line_builtins.judge_set(args)], after
        if (ending := line_builtins.judge_end(name, args)) is not None:
            return [ending], after
        if name in line_builtins.ALWAYS:
            read = line_builtins.read_names(args) if name == "read" else None
            lost = after.lost() if read is None else after.without(*read)
            return self._builtin(name, words, state), lost
        return self._call(name, words, state, after)

    def _builtin(self, name: str, words: list[Word], state: State) -> list[Judgement]:
        why = f"`{name}` {line_builtins.ALWAYS[name]}"
        effect = "runs_code_from_text" if name in ("eval", "trap") else "changes_env"
        found = [Judgement(ruling="ask_always", why=why, effects=(effect,), grave=name in line_builtins.GRAVE)]
        rest = [word.text if word.text is not None else word.raw for word in words[1:]]
        if name in ("eval", "trap", "alias"):
            texts = (
                [" ".join(rest)]
                if name == "eval"
                else [text.partition("=")[2] if name == "alias" else text for text in rest]
            )
            for text in texts:
                found += self.text(text, state)
        if name in ("exec", "builtin"):
            found += self._deeper(words[1:], state)
        return found

    def _export(self, words: Sequence[Word], state: State, after: State) -> tuple[list[Judgement], State]:
        found: list[Judgement] = []
        for word in words:
            one = line_builtins.exported(word) if word.text is not None else None
            if one is None:
                why = "`export` without a plain value may show or change what other programs see"
                found.append(Judgement(ruling="ask_always", why=why, effects=("changes_env",), grave=True))
                continue
            found += [judge_assignment(one, Known(one.value), self.environ, exported=True)]
            after = after.without(one.name)
        if not words:
            why = "`export` shows all variables, secrets too"
            found.append(Judgement(ruling="ask_always", why=why, effects=("reads_env",), grave=True))
        return found, after

    def _file(self, first: str, words: list[Word], state: State) -> list[Judgement]:
        """A program that is named by its file."""
        real = canonical(first, folder=state.folder)
        if not inside(real, self.root):
            why = f"`{first}` is a program outside of the space"
            return [Judgement(ruling="ask_always", why=why, effects=("runs_code_from_file",), grave=True)]
        found = [*self.path(first, "read", state), *self._arguments(words, state)]
        if real in state.written or not os.path.isfile(real):  # noqa: PTH113
            why = f"`{first}` is a file that is not there yet"
            return [*found, Judgement(ruling="ask_always", why=why, effects=("runs_code_from_file",), grave=True)]
        rule = f"./{os.path.relpath(real, self.root)}"
        why = f"`{first}` runs a file of the space"
        return [*found, Judgement(ruling="ask", why=why, rules=(rule,), effects=("runs_code_from_file",))]

    def _arguments(self, words: Sequence[Word], state: State) -> list[Judgement]:
        given = path_words(word.text for word in words[1:] if word.text is not None)
        return [one for path in given for one in self.path(path, "read", state)]

    def _call(self, name: str, words: list[Word], state: State, after: State) -> tuple[list[Judgement], State]:
        filled = tuple(word if word.text is not None else replace(word, text="_") for word in words)
        call = Call(name=name, words=filled, folder=state.folder, root=self.root, home=self.home)
        finding = judge_program(call)
        rules: tuple[str, ...] = ()
        if finding.ruling == "ask":
            rules = (finding.rule if _is_of_words(finding.rule, call) else f"exact:{self.line}",)
        found = [
            Judgement(ruling=finding.ruling, why=finding.why, rules=rules, effects=finding.effects, grave=finding.grave)
        ]
        if len(words) > 1 and words[1].text is None and finding.ruling != "auto" and not _is_number(words[1]):
            found[0] = replace(found[0], grave=True)
        if finding.unknown_operands and finding.ruling == "auto":
            found.append(always("the names it works on are not known"))
        touched = self._touched(finding, state)
        if rules and rules[0].startswith("exact:"):
            touched = [_never_outside(one) for one in touched]
        ran = self._ran(finding, call, state)
        if finding.runs and finding.runs[0].text in _CHANGE_THE_SHELL:
            found.append(replace(always(f"`{name}` changes the shell itself"), grave=True))
            after = after.lost()
        if rules:
            ran = [replace(one, rules=_of_paths(one.rules) or rules) if one.ruling == "ask" else one for one in ran]
        if name == "git" and (
            why := line_git.runs(call.args, folder=state.folder, root=self.root, environ=self.environ)
        ):
            found.append(Judgement(ruling="ask_always", why=why, effects=("runs_process",), grave=True))
        if finding.ruling == "auto" and (shadow := self._shadow(name)):
            found.append(always(f"`{name}` is here {shadow}, a file of the space"))
        return [*found, *touched, *ran], self._afterwards(name, call, finding, touched, state, after)

    def _touched(self, finding: Finding, state: State) -> list[Judgement]:
        found = [one for path in finding.reads for one in self.path(path, "read", state)]
        how = "delete" if "deletes" in finding.effects and "writes_file" not in finding.effects else "write"
        for path in finding.writes:
            found += self.path(path, how, state)
        if "runs_code_from_file" in finding.effects and any(set(one.reads) & set(state.written) for one in found):
            why = "it runs a file that an earlier part of the line writes"
            found.append(Judgement(ruling="ask_always", why=why, effects=("runs_code_from_file",), grave=True))
        return found

    def _ran(self, finding: Finding, call: Call, state: State) -> list[Judgement]:
        found = self._deeper(finding.runs, state) if finding.runs else []
        if finding.runs_text is not None:
            found += self.text(finding.runs_text, state)
            texts = [word.text for word in call.words]
            if "$" in finding.runs_text and finding.runs_text in texts:
                # `bash -c '"$@"' name words`: the words behind the text may be what it runs
                found += self._deeper(call.words[texts.index(finding.runs_text) + 2 :], state)
        if finding.runs_python is not None:
            found += self.code(finding.runs_python, state)
        return found

    def _deeper(self, words: Sequence[Word], state: State) -> list[Judgement]:
        if not words:
            return []
        if self._depth >= DEEPEST:
            return [replace(always("commands within commands go too deep"), grave=True)]
        self._depth += 1
        found, _ = self.command(Simple((), tuple(words), (), " ".join(word.raw for word in words)), state)
        self._depth -= 1
        return found

    def text(self, text: str, state: State) -> list[Judgement]:
        """A further line for bash that the line holds as text."""
        if self._depth >= DEEPEST:
            return [replace(always("commands within commands go too deep"), grave=True)]
        self._depth += 1
        node = read_line(text)
        found, _ = self.judge(node, state)
        self._depth -= 1
        return found

    def code(self, text: str, state: State) -> list[Judgement]:
        """What a text of Python in the line is seen to do, if a person must see it whatever the mode."""
        from ..cells import judge_cell  # here: it judges the lines of a cell by this module

        self.spend(1 + len(text) // 1000)
        found = judge_cell(text, root=self.root, home=self.home, folder=state.folder, deny=self.denials.rules).judgement
        if found.ruling == "denied":
            return [found]
        return [replace(found, ruling="ask_always", rules=())] if found.grave else []

    def _shadow(self, name: str) -> str:
        """The file of the space that bash would find for ``name``, since a folder of the space is among those it looks in."""
        for folder in self.environ.get("PATH", "").split(":") if "PATH" in self.environ else ():
            real = os.path.realpath(folder if folder.startswith("/") else f"{self.root}/{folder}")
            if inside(real, self.root) and os.path.lexists(f"{real}/{name}"):
                return f"{real}/{name}"
        return ""

    def _afterwards(
        self, name: str, call: Call, finding: Finding, touched: list[Judgement], state: State, after: State
    ) -> State:
        if finding.ruling == "auto":
            return after
        writes = [path for one in touched for path in one.writes]
        after = after.with_written(writes)
        brings = name in _BRING_ANYTHING or (name == "git" and any(arg in _GIT_BRINGS for arg in call.args))
        if name in _ONLY_MAKE:
            return after
        return after.with_put(writes or ([self.root] if brings else []))


def _is_number(word: Word) -> bool:
    """Whether a word that is not known is one for how many at once: ``-j$(nproc)``. It is none that names what is done."""
    return _AT_ONCE.match(word.raw) is not None


def _is_of_words(rule: str, call: Call) -> bool:
    """Whether a rule tells words apart that the line tells apart: ``cargo "test x"`` is no ``cargo test``."""
    if rule in ("", EXACT):
        return False
    return not any(" " in (word.text or "").strip() and (word.text or "") in rule for word in call.words)


def _never_outside(one: Judgement) -> Judgement:
    """A rule for one line gives no place outside of the space to write to."""
    outside = one.ruling == "ask" and one.rules and one.writes
    return replace(one, ruling="ask_always", rules=()) if outside and "writes_outside" in one.effects else one


def _of_paths(rules: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(rule for rule in rules if rule.startswith(("dir:", "file:")) or rule == ">")
