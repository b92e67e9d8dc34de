"""Reads a command line as ``bash --noprofile --norc -c`` does, and takes it apart.

A strict part of bash's grammar: lists, pipes, groups, ``if``, ``while``, ``for`` over words, redirections, assignments in front. Whatever
else bash knows becomes ``Opaque``, with the commands that can be seen in it. What is no valid line, or cannot be read with
certainty, becomes one ``Opaque`` as a whole. Nothing is ever left out or guessed.
"""

import re

from .parts import Assignment, Group, Node, Opaque, Piece, Redirect, Simple, Word
from .reader_blocks import BlockReader
from .reader_words import Unreadable

LONGEST = 12_000
"""Characters of a line that is read at all."""

MOST_COMMANDS = 400

_CONTINUED = re.compile(r"[<>&|;({}\d]\\\n[<>&|;(){}\d]")
_OPERATOR = re.compile(r"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|>>|>&|>\||&>>|&>|<(?!\()|>(?!\())", re.ASCII)
_ASSIGNS = re.compile(r"([A-Za-z_]\w*)(\+?=|\[)", re.ASCII)
_SHELL = re.compile(r"(?:ba|da|z|k|mk|a|fi|c|tc)?sh\Z|source\Z|eval\Z")
_PYTHON = re.compile(r"(?:i?python|pypy)[\d.]*t?w?\Z")
_ENDS = frozenset("\n;&|)")


def read_line(line: str) -> Node:
    """The whole line as one node. It takes time in proportion to the length, and no stack to speak of."""
    if len(line) > LONGEST:
        return Opaque(f"it is longer than {LONGEST:,} characters")
    if "\0" in line:
        return Opaque("it holds a NUL character")
    if _CONTINUED.search(line):
        return Opaque("an operator is continued on the next line")
    return _read(Reader(line))


def _read(reader: "Reader") -> Node:
    try:
        return reader.whole()
    except Unreadable as exc:
        return Opaque(f"it cannot be taken apart: {exc}", (*reader.seen, *reader.expanded))


class Reader(BlockReader):
    """The grammar: from lists down to simple commands; blocks (``if``, ``for``, …) are in ``BlockReader``."""

    def whole(self) -> Node:
        """:raises Unreadable: if the text is no list of commands, to its end"""
        node = self.commands(frozenset())
        if self.look():
            raise Unreadable(f"`{self.text[self.at : self.at + 12]}` has no meaning where it stands")
        self.read_heredocs(at_end=True)
        inner = list(self.expanded)
        if self.bodies and any(_names(one, _SHELL) for one in self.seen):
            inner += [found for body in self.bodies for found in self.commands_of(body)]
        if inner:
            node = Group("list", (node, Opaque("a here-document runs commands", tuple(inner))))
        if self.bodies and any(_names(one, _PYTHON) for one in self.seen):
            node = Group("list", (node, Opaque("a here-document is run as code", python="\n".join(self.bodies))))
        return Group("list", (node, Opaque(self.doubt))) if self.doubt else node

    def commands_of(self, text: str) -> tuple[Node, ...]:
        self.deeper()
        reader = Reader(text, depth=self.depth, work=self.work)
        self.depth -= 1
        try:
            return (reader.whole(),)
        except Unreadable as exc:
            return (Opaque(f"it cannot be taken apart: {exc}", (*reader.seen, *reader.expanded)),)

    def commands_in(self, text: str) -> tuple[Node, ...]:
        self.deeper()
        reader = Reader(text, depth=self.depth, work=self.work)
        self.depth -= 1
        try:
            return tuple(node for piece in reader.expansions() for node in piece.inner)
        except Unreadable as exc:
            return (Opaque(f"it cannot be taken apart: {exc}", tuple(reader.seen)),)

    def commands_until(self, closing: str) -> Node:
        node = self.commands(frozenset({closing}))
        if not self.take(closing):
            raise Unreadable(f"`{closing}` is missing")
        return node

    def commands(self, stop: frozenset[str]) -> Node:
        """Commands up to one of ``stop`` (reserved words, ``)``, ``;;``), which is not stepped over, or up to the end."""
        parts: list[Node] = []
        self.skip_lines()
        while not self.stops(stop):
            part = self._and_or()
            ended = self._separator()
            parts.append(Group("background", (part,)) if ended == "&" else part)
            if not ended:
                break
            self.skip_lines()
        return parts[0] if len(parts) == 1 else Group("list", tuple(parts))

    def _separator(self) -> str:
        """Steps over what ends a command; "" if nothing does."""
        self.skip_blanks()
        character = self.look()
        if character == "\n":
            return character
        if character not in (";", "&") or any(self.following(other) for other in (";;", ";&", "&&")):
            return ""
        self.at += 1
        return character

    def _and_or(self) -> Node:
        left, kind, mixed = self._pipeline(), "", 0
        while True:
            self.skip_blanks()
            if not (self.following("&&") or self.following("||")):
                return left
            following = "and" if self.following("&&") else "or"
            self.at += 2
            self.skip_lines()
            right = self._pipeline()
            if following == kind and isinstance(left, Group):
                left = Group(left.kind, (*left.parts, right))
            else:
                left, kind, mixed = Group(following, (left, right)), following, mixed + 1
            if mixed > 40:
                raise Unreadable("`&&` and `||` follow each other too often")

    def _pipeline(self) -> Node:
        self.skip_blanks()
        negated = False
        while (word := self.reserved()) in ("!", "time"):
            negated = negated or word == "!"
            self.at += len(word)
            self.skip_blanks()
            if word == "time" and re.compile(r"-p(?=[ \t])").match(self.text, self.at):
                self.at += 2
                self.skip_blanks()
        parts = [self.command()]
        while True:
            self.skip_blanks()
            if not self.following("|") or self.following("||"):
                break
            self.at += 2 if self.following("|&") else 1
            self.skip_lines()
            parts.append(self.command())
        node = parts[0] if len(parts) == 1 else Group("pipe", tuple(parts))
        return Group("not", (node,)) if negated else node

    def command(self) -> Node:
        """One command with its redirections."""
        block = self.block()
        if block is None:
            return self._simple()
        redirects: list[Redirect] = []
        self.skip_blanks()
        while (redirect := self._redirect()) is not None:
            redirects.append(redirect)
            self.skip_blanks()
        if not redirects:
            return block
        return Group("list", (block,), tuple(redirects))

    def _simple(self) -> Node:
        self.look()
        start = self.at
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self.skip_blanks()
            if (redirect := self._redirect()) is not None:
                redirects.append(redirect)
                continue
            character = self.look()
            if not character or character in _ENDS:
                break
            if character == "(":
                return self.function(words, empty=not (assignments or redirects))
            word = self.word()
            if word is None:
                raise Unreadable(f"`{character}` has no meaning where it stands")
            assignment = None if words else _assignment(word)
            if assignment is None:
                words.append(word)
            else:
                assignments.append(assignment)
        if not (assignments or words or redirects):
            raise Unreadable(f"a command is missing before `{self.look() or 'the end'}`")
        node = Simple(tuple(assignments), tuple(words), tuple(redirects), self.text[start : self.at].strip())
        self.seen.append(node)
        if len(self.seen) > MOST_COMMANDS:
            raise Unreadable(f"it has more than {MOST_COMMANDS} commands")
        return node

    def _redirect(self) -> Redirect | None:
        self.look()
        found = _OPERATOR.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        self.skip_spaces()
        target = None if self.look() == "#" else self.word()
        if target is None:
            raise Unreadable(f"nothing stands behind `{found[2]}`")
        redirect = Redirect(found[2], target, found[1] or "")
        if found[2] in ("<<", "<<-"):
            self.heredocs.append((target, found[2] == "<<-"))
        return redirect


def _names(node: Node, interpreter: re.Pattern[str]) -> bool:
    """Whether an interpreter is among the words, which may take what a here-document holds as its commands."""
    return isinstance(node, Simple) and any(
        word.text is None or interpreter.match(word.text.rpartition("/")[2]) for word in node.words
    )


def _assignment(word: Word) -> Assignment | None:
    """The assignment that ``word`` is where one may stand.

    :raises Unreadable: if it sets an element of an array, whose subscript is evaluated
    """
    first = word.pieces[0]
    found = _ASSIGNS.match(first.text) if first.kind == "text" and not first.quoted else None
    if found is None:
        return None
    if found[2] == "[":
        raise Unreadable("the subscript of an array is evaluated")
    rest = first.text[found.end() :]
    pieces = ((Piece("text", rest),) if rest else ()) + word.pieces[1:]
    text = "".join(piece.text for piece in pieces) if all(piece.kind == "text" for piece in pieces) else None
    value = Word(text=text, raw=word.raw[found.end() :], plain=word.plain, pieces=pieces)
    return Assignment(found[1], value, append=found[2] == "+=")
