"""Reading one word as bash reads it: quotes, escapes, continued lines, expansions. What is read exactly becomes text; every expansion
becomes a piece of its own, and what is run inside of one is read too."""

import re
from dataclasses import dataclass, field

from .lookalike import hidden
from .parts import Node, Piece, Word
from .reader_ansi import Undecodable, decode

DEEPEST = 24
"""How many commands within commands are read."""

_BREAKS = frozenset(" \t\n;&|()")
_RUN = re.compile(r"[^ \t\n;&|()<>\\'\"$`]+")
_QUOTED_RUN = re.compile(r"[^\\\"$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SPECIAL = frozenset("0123456789*@#?$!-")
_VALUE_START = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=", re.ASCII)
_GLOB = re.compile(r"[*?]|\[.*\]", re.DOTALL)
_APOSTROPHE = re.compile(r"(?:s|t|re|ve|ll|d|m)(?![\w'])")
_TILDE = re.compile(r"~[^/:]*")


class Unreadable(Exception):
    """The line, or a part of it, cannot be taken apart with certainty; the message is a sentence's end."""


@dataclass(slots=True)
class Work:
    """Steps that may still be made for one line, whatever it nests."""

    left: int = 80_000


@dataclass(slots=True)
class _Pieces:
    """Pieces as they are read; neighbours of one kind are joined."""

    done: list[Piece] = field(default_factory=list[Piece])

    def text(self, text: str, *, quoted: bool) -> None:
        last = self.done[-1] if self.done else None
        if last is not None and last.kind == "text" and last.quoted == quoted:
            self.done[-1] = Piece("text", last.text + text, quoted)
        else:
            self.done.append(Piece("text", text, quoted))


class WordReader:
    """A place in a text, and the words from there on. ``seen``: every simple command that was read, also within others.
    ``doubt``: why the text may mean something else than was meant."""

    def __init__(self, text: str, *, depth: int = 0, work: Work | None = None) -> None:
        self.text = text
        self.at = 0
        self.depth: int = depth
        self.work = work or Work()
        self.seen: list[Node] = []
        self.doubt = ""

    def look(self) -> str:
        """The next character, "" at the end; a backslash before a line end, and that line end, are nothing."""
        self.work.left -= 1
        if self.work.left < 0:
            raise Unreadable("it takes too long to read")
        character = self.text[self.at : self.at + 1]
        while character == "\\" and self.text.startswith("\\\n", self.at):
            self.at += 2
            character = self.text[self.at : self.at + 1]
        return character

    def following(self, text: str) -> bool:
        self.look()
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Steps over ``text`` if it is next."""
        if not self.following(text):
            return False
        self.at += len(text)
        return True

    def commands_until(self, closing: str) -> Node:
        """The commands up to ``closing``, which is stepped over."""
        raise NotImplementedError

    def commands_of(self, text: str) -> tuple[Node, ...]:
        """The commands of a text of its own; none if it cannot be read."""
        raise NotImplementedError

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unreadable("it is nested too deeply")

    def word(self) -> Word | None:
        """The word that starts here; ``None`` if none does."""
        self.look()
        start, pieces = self.at, _Pieces()
        while (character := self.look()) and character not in _BREAKS:
            if character in "<>":
                if not self.text.startswith("(", self.at + 1):
                    break
                self._process_substitution(pieces)
            elif character == "\\":
                self._escaped(pieces)
            elif character == "'":
                pieces.text(self._single_quoted(self.at + 1), quoted=True)
                self._check_apostrophe()
            elif character == '"':
                self.at += 1
                self._double_quoted(pieces)
            elif character == "$":
                self._dollar(pieces, quoted=False)
            elif character == "`":
                self._backticks(pieces, quoted=False)
            else:
                self._run(pieces)
        return make_word(pieces.done, self.text[start : self.at]) if pieces.done else None

    def _run(self, pieces: _Pieces) -> None:
        found = _RUN.match(self.text, self.at)
        if found is None:
            raise Unreadable("a character has no meaning here")
        self.at = found.end()
        pieces.text(found[0], quoted=False)

    def _escaped(self, pieces: _Pieces) -> None:
        self.at += 1
        if self.at >= len(self.text):
            raise Unreadable("it ends in a backslash")
        pieces.text(self.text[self.at], quoted=True)
        self.at += 1

    def _check_apostrophe(self) -> None:
        """In ``'it's`` the quote ends where an apostrophe was meant, and all quotes after it are turned inside out."""
        if self.text[self.at - 2].isalpha() and _APOSTROPHE.match(self.text, self.at):
            self.doubt = "a quote ends where an apostrophe may be meant"

    def _single_quoted(self, start: int) -> str:
        end = self.text.find("'", start)
        if end < 0:
            raise Unreadable("a quote is not closed")
        self.at = end + 1
        return self.text[start:end]

    def _double_quoted(self, pieces: _Pieces) -> None:
        pieces.text("", quoted=True)
        if not self._expanded(pieces, until='"'):
            raise Unreadable("a quote is not closed")

    def expansions(self) -> list[Piece]:
        """The pieces of a text that is expanded as in double quotes, up to its end, where quotes are letters."""
        pieces = _Pieces()
        self._expanded(pieces, until="")
        return pieces.done

    def _expanded(self, pieces: _Pieces, *, until: str) -> bool:
        """Steps behind ``until``, or to the end if it does not come."""
        while character := self.look():
            if character == until:
                self.at += 1
                return True
            if character == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                kept = "" if following in ("$", "`", '"', "\\") else "\\"
                pieces.text(kept + following, quoted=True)
                self.at += 1 + len(following)
            elif character == "$":
                self._dollar(pieces, quoted=True)
            elif character == "`":
                self._backticks(pieces, quoted=True)
            else:
                found = _QUOTED_RUN.match(self.text, self.at)
                end = found.end() if found is not None else self.at + 1
                pieces.text(self.text[self.at : end], quoted=True)
                self.at = end
        return False

    def _dollar(self, pieces: _Pieces, *, quoted: bool) -> None:
        self.at += 1
        character = self.look()
        if character == "'" and not quoted:
            pieces.done.append(self._ansi_c())
        elif character == '"' and not quoted:
            self.at += 1
            self._double_quoted(pieces)
        elif character == "{":
            pieces.done.append(self._parameter(quoted))
        elif character == "(":
            pieces.done.append(self._substitution(quoted))
        elif character == "[":
            pieces.done.append(self._old_arithmetic(quoted))
        elif character in _SPECIAL and character:
            self.at += 1
            pieces.done.append(Piece("unknown", f"`${character}` is not known before it runs", quoted))
        elif character == "_" or (character.isascii() and character.isalpha()):
            pieces.done.append(Piece("variable", self._name(), quoted))
        else:
            pieces.text("$", quoted=True)

    def _name(self) -> str:
        name = ""
        while (found := _NAME.match(self.text, self.at)) or (
            name and (found := re.compile(r"\w+", re.ASCII).match(self.text, self.at))
        ):
            name += found[0]
            self.at = found.end()
            self.look()
        return name

    def _ansi_c(self) -> Piece:
        start = at = self.at + 1
        while (character := self.text[at : at + 1]) != "'":
            if not character:
                raise Unreadable("a quote is not closed")
            at += 2 if character == "\\" else 1
        self.at = at + 1
        try:
            value = decode(self.text[start:at])
        except Undecodable as exc:
            return Piece("unknown", str(exc), True)
        fault = hidden(value)
        return Piece("unknown", fault, True) if fault else Piece("text", value, True)

    def _parameter(self, quoted: bool) -> Piece:
        start = self.at
        self.at += 1
        self.look()
        name = self._name()
        if name and self.take("}"):
            return Piece("variable", name, quoted)
        inner = self._matched("{", "}", start)
        shown = self.text[start : self.at]
        why = f"`${shown}` is not known before it runs" if len(shown) < 60 else "a `${…}` is not known before it runs"
        return Piece("unknown", why, quoted, inner)

    def _substitution(self, quoted: bool) -> Piece:
        """``$(…)`` or ``$((…))``; which of the two the second is does not matter: neither is known before it runs."""
        start = self.at
        if self.text.startswith("((", self.at):
            inner = self._matched("(", ")", start)
            inner = self.commands_of(self.text[start + 1 : self.at - 1]) + inner
            return Piece("unknown", "arithmetic is not known before it runs", quoted, inner)
        self.at += 1
        self.deeper()
        node = self.commands_until(")")
        self.depth -= 1
        return Piece("unknown", "what `$(…)` gives is not known before it runs", quoted, (node,))

    def _old_arithmetic(self, quoted: bool) -> Piece:
        inner = self._matched("[", "]", self.at)
        return Piece("unknown", "arithmetic is not known before it runs", quoted, inner)

    def _matched(self, opening: str, closing: str, start: int) -> tuple[Node, ...]:
        """Steps behind the bracket that closes the one at ``start``; what would be run between them."""
        self.at, level, found = start, 0, _Pieces()
        self.deeper()
        while True:
            character = self.look()
            if not character:
                raise Unreadable(f"a `{opening}` is not closed")
            if character == "\\":
                self.at += 2
            elif character == "'":
                self._single_quoted(self.at + 1)
            elif character == '"':
                self.at += 1
                self._double_quoted(found)
            elif character == "$":
                self._dollar(found, quoted=True)
            elif character == "`":
                self._backticks(found, quoted=True)
            else:
                self.at += 1
                level += (character == opening) - (character == closing)
                if not level:
                    self.depth -= 1
                    return tuple(node for piece in found.done for node in piece.inner)

    def _backticks(self, pieces: _Pieces, *, quoted: bool) -> None:
        start = at = self.at + 1
        while (character := self.text[at : at + 1]) != "`":
            if not character:
                raise Unreadable("a backtick is not closed")
            at += 2 if character == "\\" else 1
        self.at = at + 1
        escaped = r"\\([$`\\\"])" if quoted else r"\\([$`\\])"
        self.deeper()
        inner = self.commands_of(re.sub(escaped, r"\1", self.text[start:at]))
        self.depth -= 1
        pieces.done.append(Piece("unknown", "what backticks give is not known before it runs", quoted, inner))

    def _process_substitution(self, pieces: _Pieces) -> None:
        self.at += 2
        self.deeper()
        node = self.commands_until(")")
        self.depth -= 1
        pieces.done.append(Piece("unknown", "a process substitution runs a command", False, (node,)))


def make_word(pieces: list[Piece], raw: str) -> Word:
    """The word of ``pieces``: braces that expand make it unknown, an unquoted ``~`` becomes a piece of its own."""
    if _expands_braces(pieces):
        inner = tuple(node for piece in pieces for node in piece.inner)
        pieces = [Piece("unknown", "a brace list makes several words of one", False, inner)]
    pieces = _with_tildes(pieces)
    glob = _GLOB.search(_mask(pieces)) is not None
    plain = len(pieces) == 1 and pieces[0].kind == "text" and not pieces[0].quoted
    text = "".join(piece.text for piece in pieces) if all(piece.kind == "text" for piece in pieces) else None
    return Word(text=text, raw=raw, glob=glob, plain=plain, pieces=tuple(pieces))


def _mask(pieces: list[Piece]) -> str:
    """What stands unquoted, with a letter for each other piece."""
    return "".join("x" if piece.kind != "text" or piece.quoted else piece.text for piece in pieces)


def _expands_braces(pieces: list[Piece]) -> bool:
    mask = _mask(pieces)
    first, last = mask.find("{"), mask.rfind("}")
    return 0 <= first < last and ("," in mask[first:last] or ".." in mask[first:last])


def _with_tildes(pieces: list[Piece]) -> list[Piece]:
    """A ``~`` that bash expands: at the beginning, and in the value of what looks like an assignment, there also after each colon."""
    if not any("~" in piece.text for piece in pieces if piece.kind == "text" and not piece.quoted):
        return pieces
    first = pieces[0]
    value = _VALUE_START.match(first.text) if first.kind == "text" and not first.quoted else None
    out: list[Piece] = []
    for index, piece in enumerate(pieces):
        if piece.kind != "text" or piece.quoted or "~" not in piece.text:
            out.append(piece)
            continue
        last = index == len(pieces) - 1
        starts = {value.end()} if value is not None and index == 0 else {0} if index == 0 else set[int]()
        if value is not None:
            colons = range(len(piece.text) - 1)
            starts |= {at + 1 for at in colons if piece.text[at] == ":" and (index > 0 or at >= value.end())}
        out += _split_tildes(piece.text, starts, last=last)
    return out


def _split_tildes(text: str, starts: set[int], *, last: bool) -> list[Piece]:
    out, done = _Pieces(), 0
    for start in sorted(starts):
        found = _TILDE.match(text, start)
        if found is None:
            continue
        if start > done:
            out.text(text[done:start], quoted=False)
        if found.end() == len(text) and not last:
            # what follows the tilde is quoted or expanded: bash takes it as it stands
            out.text(found[0], quoted=True)
        elif text[found.end() : found.end() + 1] == ":" and not (last and start):
            # whether bash expands this hangs on quotes that come much later
            out.done.append(Piece("unknown", "what a `~` before a colon becomes is not certain"))
        else:
            out.done.append(Piece("tilde", found[0][1:], True))
        done = found.end()
    if done < len(text):
        out.text(text[done:], quoted=False)
    return out.done
