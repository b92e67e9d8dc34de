"""One command of a line: its assignments, its redirections, its words, and what the program does with them."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..judgement import Judgement
from ..paths import canonical, inside, judge_path
from . import line_builtins, line_git
from .deny import Denials
from .line_globs import matches
from .line_state import State
from .parts import EXACT, Assignment, Call, Finding, For, Node, Piece, Redirect, Simple, Word
from .programs.findings import path_words
from .programs.table import judge_program
from .reader import read_line
from .variables import Known, harmless_name, judge_assignment, put_in

DEEPEST = 8
"""How many commands within commands are judged."""

MOST_WORK = 1000
"""How much of a line is looked at: a command counts 3, a path, a redirection or a name that a pattern matches 1."""

MOST_VALUES = 200


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SYSTEM = frozenset({"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"})
_NOTHING_KEPT = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
_ONLY_MAKE = frozenset({"touch", "mkdir", "tee", "split", "csplit"})
"""Programs that write plain files and folders, never links."""

_BRING_ANYTHING = _names("""7z ar bsdtar cp cpio install link ln mv patch pax rsync tar unzip""")
_GIT_BRINGS = _names(
    """checkout switch restore merge pull rebase stash clone apply am submodule worktree reset cherry-pick revert read-tree checkout-index"""
)


class TooMuch(Exception):
    """The line does so much that judging it would take too long."""


class Commands:
    """Judges single commands. ``denied_by``: the first deny rule that a part of the line is against, "" as long as there is none."""

    def __init__(
        self,
        line: str,
        *,
        root: str,
        home: str,
        environ: Mapping[str, str],
        denials: Denials,
        program: Callable[[Call], Finding] | None = None,
    ) -> None:
        self.line = line
        self.root = root
        self.home = home
        self.environ = environ
        self.denials = denials
        self.denied_by = ""
        self._program = program or judge_program
        self._work = 0
        self._depth = 0

    def judge(self, node: Node, state: State) -> tuple[list[Judgement], State]:
        """What ``node`` would do, and how the line stands after it."""
        raise NotImplementedError

    def _spend(self, work: int) -> None:
        self._work += work
        if self._work > MOST_WORK:
            raise TooMuch("it does more than can be looked at")

    def command(self, node: Simple, state: State) -> tuple[list[Judgement], State]:
        self._spend(3 + len(node.assignments))
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

    def redirect(self, redirect: Redirect, state: State, after: State) -> tuple[list[Judgement], State]:
        """``state`` is where the target is looked up, ``after`` what the line stands at once it is done."""
        self._spend(1)
        if redirect.fd.startswith("{"):
            return [_always("a redirection sets a variable")], after
        if redirect.op in ("<<", "<<-"):
            return [_always("a here-document is asked about every time")], after
        known = put_in(redirect.target, state.variables)
        found = self._inner(known.inner, state)
        if known.unknown:
            return [
                *found,
                replace(_always(known.unknown), grave=known.secret or redirect.op not in ("<", "<<<")),
            ], after
        text = known.word.text or ""
        if redirect.op == "<<<":
            return found, after
        copies = redirect.op in (">&", "<&")
        if copies and (text == "-" or text.rstrip("-").isdecimal()):
            return found, after
        if known.word.glob:
            return [*found, replace(_always("a pattern as the target of a redirection"), grave=True)], after
        if redirect.op == "<&" or (redirect.op == ">&" and redirect.fd not in ("", "1")):
            return [*found, _always(f"`{redirect.op}` cannot copy to {text}")], after
        return self._target(redirect, text, state, after, found)

    def _target(
        self, redirect: Redirect, text: str, state: State, after: State, found: list[Judgement]
    ) -> tuple[list[Judgement], State]:
        if not text or (not state.certain and not text.startswith("/")):
            return [*found, replace(_always("the target of a redirection is not known"), grave=True)], after
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            return [
                *found,
                Judgement(
                    ruling="ask_always", why="bash opens a connection for this name", effects=("network",), grave=True
                ),
            ], after
        if redirect.op in ("<", "<>"):
            found = [*found, *self.path(text, "read", state)]
        if redirect.op == "<" or text in _NOTHING_KEPT:
            return found, after
        one, *others = self.path(text, "write", state)
        if one.ruling == "ask" and not one.rules:
            one = replace(one, rules=(">",), why=f"writes output into {text}")
        return [*found, one, *others], after.with_written(one.writes)

    def path(self, text: str, how: str, state: State) -> list[Judgement]:
        """What touching the path ``text`` means where the line stands."""
        self._spend(1 + text.count("/") // 50)
        joined = text if text.startswith("/") else f"{state.folder}/{text}"
        try:
            real = canonical(text, folder=state.folder)
        except (ValueError, OSError):
            return [replace(_always("a path cannot be followed"), grave=True)]
        if how == "read" and real in _NOTHING_KEPT:
            return [Judgement(ruling="auto", why="reads nothing that is kept")]
        rule = self.denials.of_path(real, how) or self.denials.of_path(os.path.normpath(joined), how)
        self.denied_by = self.denied_by or rule
        kind = "read" if how == "read" else "delete" if how == "delete" else "write"
        found = [judge_path(real, kind, root=self.root, home=self.home, as_folder=text.endswith("/"))]
        if found[0].ruling == "ask" and not inside(real, self.root) and inside(os.path.normpath(joined), self.root):
            why = f"{text} leads out of the space through a link"
            found.append(replace(found[0], ruling="ask_always", why=why, rules=()))
        if state.may_be_other(joined, real):
            why = f"an earlier part of the line may have changed what {text} is"
            found.append(Judgement(ruling="ask_always", why=why, effects=("opaque",), grave=True))
        return found

    def loop_values(self, node: For, state: State) -> tuple[list[str] | None, list[Judgement]]:
        """What the variable of a loop is in turn; ``None`` if that is not known."""
        found: list[Judgement] = []
        values: list[str] = []
        unknown = False
        if not harmless_name(node.name, self.environ, exported=False):
            found.append(replace(_always(f"`{node.name}` is not known to be harmless"), grave=True))
        for word in node.words:
            words, reasons = self._expand(word, state)
            found += reasons
            unknown = unknown or any(one.text is None for one in words)
            values += [one.text or "" for one in words]
        values = list(dict.fromkeys(values))
        if len(values) > MOST_VALUES:
            found.append(_always("a loop has too many words"))
        return (None if unknown or len(values) > MOST_VALUES else values), found

    def _assignment(self, one: Assignment, state: State, *, exported: bool) -> list[Judgement]:
        known = put_in(one.value, state.variables) if one.value.pieces or one.value.text is None else Known(one.value)
        found = self._inner(known.inner, state)
        return [judge_assignment(one, known, self.environ, exported=exported), *found]

    def _inner(self, nodes: Sequence[Node], state: State) -> list[Judgement]:
        """What is run inside of an expansion: never ``auto`` together with it, but a deny rule sees it."""
        found: list[Judgement] = []
        for node in nodes:
            found += self.judge(node, state)[0]
        return found

    def _expand(self, word: Word, state: State) -> tuple[list[Word], list[Judgement]]:
        """The words that one becomes; one without a text if it is not known, with the reason."""
        known = put_in(word, state.variables)
        found = self._inner(known.inner, state)
        if known.unknown:
            why = Judgement(ruling="ask_always", why=known.unknown, effects=("opaque",), grave=known.secret)
            if known.secret:
                why = replace(why, effects=("reads_env", "reads_secret"))
            return [known.word], [why, *found]
        if not known.word.glob or not known.word.pieces:
            return [known.word], found
        names = matches(known.word, folder=state.folder, root=self.root)
        self._spend(2 + len(names.names))
        if not state.certain and not (known.word.text or "").startswith("/"):
            names = replace(names, names=(), unknown="a pattern in a folder that is not known")
        if state.put and not names.unknown and names.names:
            names = replace(names, names=(), unknown="an earlier part of the line may change what a pattern matches")
        if names.unknown:
            lost = Word(text=None, raw=word.raw, glob=True, plain=False)
            return [lost], [*found, replace(_always(names.unknown), grave=names.outside)]
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
            return [replace(_always(why), grave=True), *found], after.lost()
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
            return self._builtin(name, words, state), after.lost()
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
                found += self._text(text, state)
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
        finding = self._program(call)
        rules: tuple[str, ...] = ()
        if finding.ruling == "ask":
            rules = (finding.rule if _is_of_words(finding.rule, call) else f"exact:{self.line}",)
        found = [
            Judgement(ruling=finding.ruling, why=finding.why, rules=rules, effects=finding.effects, grave=finding.grave)
        ]
        if len(words) > 1 and words[1].text is None and finding.ruling != "auto":
            found[0] = replace(found[0], grave=True)
        if finding.unknown_operands and finding.ruling == "auto":
            found.append(_always("the names it works on are not known"))
        touched = self._touched(finding, state)
        if rules and rules[0].startswith("exact:"):
            touched = [_never_outside(one) for one in touched]
        ran = self._ran(finding, state)
        if rules:
            ran = [replace(one, rules=_of_paths(one.rules) or rules) if one.ruling == "ask" else one for one in ran]
        if name == "git" and (
            why := line_git.runs(call.args, folder=state.folder, root=self.root, environ=self.environ)
        ):
            found.append(Judgement(ruling="ask_always", why=why, effects=("runs_process",), grave=True))
        if finding.ruling == "auto" and (shadow := self._shadow(name)):
            found.append(_always(f"`{name}` is here {shadow}, a file of the space"))
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

    def _ran(self, finding: Finding, state: State) -> list[Judgement]:
        found = self._deeper(finding.runs, state) if finding.runs else []
        if finding.runs_text is not None:
            found += self._text(finding.runs_text, state)
        return found

    def _deeper(self, words: Sequence[Word], state: State) -> list[Judgement]:
        if not words:
            return []
        if self._depth >= DEEPEST:
            return [replace(_always("commands within commands go too deep"), grave=True)]
        self._depth += 1
        found, _ = self.command(Simple((), tuple(words), (), " ".join(word.raw for word in words)), state)
        self._depth -= 1
        return found

    def _text(self, text: str, state: State) -> list[Judgement]:
        """A further line for bash that the line holds as text."""
        if self._depth >= DEEPEST:
            return [replace(_always("commands within commands go too deep"), grave=True)]
        self._depth += 1
        node = read_line(text)
        found, _ = self.judge(node, state)
        self._depth -= 1
        return found

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


def _always(why: str) -> Judgement:
    return Judgement(ruling="ask_always", why=why, effects=("opaque",))
