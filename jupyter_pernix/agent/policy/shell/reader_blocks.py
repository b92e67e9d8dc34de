"""The blocks of bash's grammar: groups, conditions and loops, which are taken apart, and those that are not: functions, ``case``,
``select``, ``coproc``, ``[[``, ``((``. Also blanks, comments and here-documents, since they stand between all others."""

import re

from .parts import For, Group, Node, Opaque, Word
from .reader_words import Unreadable, WordReader, Work

_IF, _LOOP = ("if", "then", "else", "elif", "fi"), ("for", "select", "while", "until", "do", "done", "in")
RESERVED = frozenset((*_IF, *_LOOP, "case", "esac", "function", "time", "coproc", "{", "}", "!", "[[", "]]"))
_LEXEME = re.compile(r"(?:[a-z!{}\[\]]|\\\n)+(?=[ \t\n;&|()]|[<>](?!\()|\Z)")
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_DO, _DONE, _THEN, _ELSE, _CASE_END = (
    frozenset(words.split()) for words in ("do", "done", "then", "elif else fi", ";; ;& ;;& esac")
)


class BlockReader(WordReader):
    """``heredocs``: here-documents whose text begins at the next line end, each with whether its tabs are cut. ``expanded``: what
    is run while the texts of those before, ``bodies``, are expanded."""

    def __init__(self, text: str, *, depth: int = 0, work: Work | None = None) -> None:
        super().__init__(text, depth=depth, work=work)
        self.heredocs: list[tuple[Word, bool]] = []
        self.expanded: list[Node] = []
        self.bodies: list[str] = []

    def commands(self, stop: frozenset[str]) -> Node:
        """Commands up to one of ``stop``, which is not stepped over."""
        raise NotImplementedError

    def command(self) -> Node:
        """One command with its redirections."""
        raise NotImplementedError

    def skip_spaces(self) -> None:
        while (character := self.look()) and character in " \t":
            self.at += 1

    def skip_blanks(self) -> None:
        """Blanks, then a comment up to its line end. Only called where a word may begin."""
        self.skip_spaces()
        if self.look() == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def skip_lines(self) -> None:
        """Line ends, blanks and comments, and the texts of here-documents."""
        self.skip_blanks()
        while self.look() == "\n":
            self.at += 1
            self.read_heredocs()
            self.skip_blanks()

    def read_heredocs(self, *, at_end: bool = False) -> None:
        """The texts of the here-documents that begin here; bash takes one without an end up to the end of the line."""
        waiting, self.heredocs = self.heredocs, []
        for word, cut in waiting:
            if at_end:
                raise Unreadable("a here-document has no text")
            self._heredoc(word, cut)

    def _heredoc(self, word: Word, cut: bool) -> None:
        if any(piece.kind == "unknown" for piece in word.pieces):
            raise Unreadable("the end of a here-document is not plain")
        end = word.text if word.text is not None else word.raw
        joined = all(not piece.quoted for piece in word.pieces)
        body: list[str] = []
        while self.at < len(self.text):
            line = self._text_line(joined)
            if (line.lstrip("\t") if cut else line) == end:
                break
            body.append(line)
        self.bodies.append("\n".join(body))
        if joined:
            self.expanded += self.commands_in("\n".join(body))

    def _text_line(self, joined: bool) -> str:
        parts: list[str] = []
        while True:
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop
            part, self.at = self.text[self.at : stop], min(stop + 1, len(self.text))
            continued = joined and (len(part) - len(part.rstrip("\\"))) % 2 == 1 and self.at < len(self.text)
            parts.append(part[:-1] if continued else part)
            if not continued:
                return "".join(parts)

    def commands_in(self, text: str) -> tuple[Node, ...]:
        """The commands that are run while the text of a here-document is expanded."""
        raise NotImplementedError

    def reserved(self) -> str:
        """The reserved word that is next, "" if none is."""
        self.look()
        found = _LEXEME.match(self.text, self.at)
        if found is None:
            return ""
        word = found[0].replace("\\\n", "")
        if word != found[0] and word in RESERVED:
            raise Unreadable("a reserved word is continued on the next line")
        return word if word in RESERVED else ""

    def stops(self, stop: frozenset[str]) -> bool:
        character = self.look()
        if not character or (character == ")" and ")" in stop):
            return True
        if character == ";" and ";;" in stop:
            return self.following(";;") or self.following(";&")
        return self.reserved() in stop

    def expect(self, word: str) -> None:
        """Steps over the reserved word that must be next."""
        self.skip_blanks()
        if self.reserved() != word:
            raise Unreadable(f"`{word}` is missing")
        self.at += len(word)

    def block(self) -> Node | None:
        """The block that begins here, without its redirections; ``None`` if a simple command does."""
        if self.look() == "(":
            return self._arithmetic() if self.text.startswith("((", self.at) else self._within("subshell", "(", ")")
        word = self.reserved()
        if not word:
            return None
        reads = {
            "{": lambda: self._within("braces", "{", "}"),
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "case": self._case,
            "select": self._for,
            "function": self._function,
            "coproc": self._coproc,
            "[[": self._condition,
        }.get(word)
        if reads is None:
            raise Unreadable(f"`{word}` has no meaning where it stands")
        self.deeper()
        node = reads()
        self.depth -= 1
        return node

    def _body(self, stop: frozenset[str]) -> Node:
        node = self.commands(stop)
        if isinstance(node, Group) and node.kind == "list" and not node.parts:
            raise Unreadable("a command is missing")
        return node

    def _within(self, kind: str, opening: str, closing: str) -> Node:
        self.at += len(opening)
        self.deeper()
        body = self._body(frozenset({closing}))
        self.depth -= 1
        if closing == ")" and not self.take(")"):
            raise Unreadable("`)` is missing")
        if closing == "}":
            self.expect("}")
        return Group("subshell" if kind == "subshell" else "braces", (body,))

    def _if(self) -> Node:
        self.expect("if")
        parts = [self._body(_THEN)]
        self.expect("then")
        parts.append(self._body(_ELSE))
        while self.reserved() == "elif":
            self.expect("elif")
            parts.append(self._body(_THEN))
            self.expect("then")
            parts.append(self._body(_ELSE))
        if self.reserved() == "else":
            self.expect("else")
            parts.append(self._body(frozenset({"fi"})))
        self.expect("fi")
        return Group("if", tuple(parts))

    def _while(self) -> Node:
        self.at += 5
        condition = self._body(_DO)
        return Group("while", (condition, self._do()))

    def _do(self) -> Node:
        self.expect("do")
        body = self._body(_DONE)
        self.expect("done")
        return body

    def _for(self) -> Node:
        selects = self.reserved() == "select"
        self.at += 6 if selects else 3
        self.skip_spaces()
        if self.text.startswith("((", self.at):
            self._matched("(", ")", self.at)
            self.skip_blanks()
            self._end_of_words()
            return Opaque("an arithmetic loop is not known before it runs", (self._do(),))
        name = self.word()
        if name is None or not name.plain or not _NAME.match(name.text or ""):
            raise Unreadable("the name of a loop is not plain")
        words = self._for_words()
        body = self._do()
        if selects:
            return Opaque("`select` waits for keys", (body,))
        if words is None:
            return Opaque("a loop over the arguments of the shell is not known before it runs", (body,))
        return For(name.text or "", words, body)

    def _for_words(self) -> tuple[Word, ...] | None:
        """The words behind ``in``; ``None`` without it."""
        self.skip_lines()
        if self.reserved() != "in":
            self._end_of_words()
            return None
        self.expect("in")
        words: list[Word] = []
        self.skip_blanks()
        while (word := self.word()) is not None:
            words.append(word)
            self.skip_blanks()
        if self.look() not in (";", "\n"):
            raise Unreadable("the words of a loop have no end")
        self._end_of_words()
        return tuple(words)

    def _end_of_words(self) -> None:
        self.take(";")
        self.skip_lines()

    def _case(self) -> Node:
        self.expect("case")
        self.skip_spaces()
        subject = self.word()
        self.skip_lines()
        self.expect("in")
        self.skip_lines()
        inner: list[Node] = [node for piece in (subject.pieces if subject else ()) for node in piece.inner]
        while self.reserved() != "esac":
            self.take("(")
            while not self.take(")"):
                self.skip_spaces()
                if not self.take("|") and self.word() is None:
                    raise Unreadable("a pattern of `case` has no end")
                self.skip_spaces()
            inner.append(self.commands(_CASE_END))
            for ending in (";;&", ";;", ";&"):
                if self.take(ending):
                    break
            self.skip_lines()
            if not self.look():
                raise Unreadable("`esac` is missing")
        self.expect("esac")
        return Opaque("`case` is not taken apart", tuple(inner))

    def function(self, words: list[Word], *, empty: bool) -> Node:
        """``name () body``, the ``(`` being next."""
        if len(words) != 1 or not empty:
            raise Unreadable("`(` has no meaning where it stands")
        self.at += 1
        self.skip_spaces()
        if not self.take(")"):
            raise Unreadable("`(` has no meaning where it stands")
        return self._function_body()

    def _function(self) -> Node:
        self.expect("function")
        self.skip_spaces()
        if self.word() is None:
            raise Unreadable("a function has no name")
        self.skip_spaces()
        if self.take("("):
            self.skip_spaces()
            if not self.take(")"):
                raise Unreadable("`(` has no meaning where it stands")
        return self._function_body()

    def _function_body(self) -> Node:
        self.skip_lines()
        self.deeper()
        body = self.command()
        self.depth -= 1
        return Opaque("a function gives a name another meaning", (body,))

    def _coproc(self) -> Node:
        self.expect("coproc")
        self.skip_blanks()
        named = re.compile(r"[A-Za-z_]\w*[ \t]+(?=[({]|if\b|for\b|while\b|until\b)").match(self.text, self.at)
        if named is not None:
            self.at = named.end()
        return Opaque("`coproc` runs in the background", (self.command(),))

    def _arithmetic(self) -> Node:
        start = self.at
        inner = self._matched("(", ")", start)
        within = self.text[start + 1 : self.at - 1]
        return Opaque("arithmetic is not known before it runs", (*inner, *self.commands_of(within)))

    def _condition(self) -> Node:
        self.expect("[[")
        inner: list[Node] = []
        while self.reserved() != "]]":
            self.skip_lines()
            if self.reserved() == "]]":
                break
            character = self.look()
            if not character:
                raise Unreadable("`]]` is missing")
            if character in "<>&|()":
                self.at += 1
                continue
            word = self.word()
            if word is None:
                raise Unreadable("`[[` cannot be taken apart")
            inner += [node for piece in word.pieces for node in piece.inner]
            self.skip_spaces()
        self.expect("]]")
        return Opaque("`[[` is not taken apart", tuple(inner))
