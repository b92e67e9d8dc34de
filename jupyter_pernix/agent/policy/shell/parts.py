"""The parts of a command line, after it was read as bash reads it, and what a judge of one program is given and gives back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..judgement import Effect, Ruling


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word. ``text``: the value of ``text``, the name of ``variable``, what follows the ``~`` of ``tilde``, and of ``unknown``
    why it cannot be known. ``quoted``: neither split nor matched against file names. ``inner``: what would be run for an ``unknown``."""

    kind: Literal["text", "variable", "tilde", "unknown"]
    text: str
    quoted: bool = False
    inner: "tuple[Node, ...]" = ()


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quotes and escapes. ``text``: its value, ``None`` if that cannot be known before it runs (a substitution, a
    variable that is not known). A glob stays as it is written, with ``glob`` true. ``raw``: as it stands in the line. ``plain``: nothing
    in it was quoted, escaped or expanded. ``pieces``: what it was made of, where a reader read it."""

    text: str | None
    raw: str
    glob: bool = False
    plain: bool = True
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Redirect:
    """``op``: ``<``, ``>``, ``>>``, ``>|``, ``<>``, ``&>``, ``&>>``, ``<<`` (``target`` is then the text), ``<<<``, ``<&``, ``>&``."""

    op: str
    target: Word
    fd: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    name: str
    value: Word
    subscript: bool = False
    append: bool = False


@dataclass(frozen=True, slots=True)
class Simple:
    """``A=1 program words <in >out``. ``words`` may be empty."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    raw: str


@dataclass(frozen=True, slots=True)
class Group:
    """Commands one after another. ``kind``: ``list`` (``;``, newline), ``and``, ``or``, ``pipe``, ``subshell``, ``braces``, ``not``, ``if``,
    ``while``, ``background``. ``redirects`` are those of the whole."""

    kind: Literal["list", "and", "or", "pipe", "subshell", "braces", "not", "if", "while", "background"]
    parts: "tuple[Node, ...]"
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    name: str
    words: tuple[Word, ...]
    body: "Node"
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Opaque:
    """What this reader does not take apart: a substitution, a function, arithmetic, ``case``, … ``inner``: what is seen in it that would
    be run anyway, for deny rules and for the words of the reason. ``python``: a text that may be run as such."""

    what: str
    inner: "tuple[Node, ...]" = ()
    python: str = ""


Node = Simple | Group | For | Opaque


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a program's judge says of one call. Paths in ``reads`` and ``writes`` are words as given, relative to the folder of the call:
    the line's judge resolves and judges them. ``rule``: what "always" would save of an ``ask``: words, or ``exact`` for this line only.
    ``runs``: words of a further command that this one runs, to be judged in its place. ``runs_text``: a further line for bash.
    ``runs_python``: a text that is run as Python.
    ``unknown_operands``: some names are not known (they come from a file or a pipe)."""

    ruling: Ruling
    why: str
    rule: str = ""
    effects: tuple[Effect, ...] = ()
    grave: bool = False
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    runs: tuple[Word, ...] = ()
    runs_text: str | None = None
    runs_python: str | None = None
    unknown_operands: bool = False


@dataclass(frozen=True, kw_only=True)
class Call:
    """One program with its words, all of them known. ``name`` is the program without its folder. ``folder``: absolute, where it runs.
    ``root``: of the space."""

    name: str
    words: tuple[Word, ...]
    folder: str
    root: str
    home: str

    @property
    def args(self) -> tuple[str, ...]:
        """The words after the program. Words without a known text never come here: the line's judge has asked before."""
        return tuple(word.text or "" for word in self.words[1:])


Judge = Callable[[Call], Finding]
EXACT = "exact"
