"""sed: its program is read command by command; what writes, reads or runs by itself is found, and what cannot be read is asked."""

from dataclasses import dataclass, field

from ..parts import EXACT, Call, Finding
from .findings import always, asks, only_reads
from .options import parse, spec

_SED = spec(
    """n e: f! E r s u z i? l: b quiet silent expression: file! regexp-extended separate unbuffered null-data in-place? line-length:
    posix debug sandbox binary follow-symlinks~""",
)
_STREAMS = frozenset(("/dev/stdout", "/dev/stderr"))
_BARE = frozenset("=dDgGhHnNpPxzF")


class _Unreadable(Exception):
    pass


@dataclass(slots=True)
class Script:
    """What a sed program does by itself. ``runs``: it starts a program."""

    reads: list[str] = field(default_factory=list[str])
    writes: list[str] = field(default_factory=list[str])
    runs: bool = False


def judge_sed(call: Call) -> Finding:
    found = parse(_SED, call.args)
    scripts = [value or "" for name, value in found.given if name in ("-e", "--expression")]
    files = found.operands
    if found.starts:
        return always("The program of sed stands in a file and is not known", "runs_code_from_file", reads=files)
    if found.unknown:
        return always(f"{found.unknown} is no option of sed that is known", "opaque", reads=files, writes=files)
    if not scripts:
        if not files:
            return asks("sed is given no program")
        if any(word.glob and word.text == files[0] for word in call.words[1:]):
            return always("The program of sed is not known", "opaque", reads=files)
        scripts, files = files[:1], files[1:]
    script = read_script("\n".join(scripts))
    in_place = found.has("-i", "--in-place")
    if script is None:
        return always(
            "The program of sed cannot be taken apart",
            "opaque",
            grave=True,
            reads=files,
            writes=files if in_place else (),
        )
    reads, writes = [*files, *script.reads], [*script.writes, *(files if in_place else ())]
    if script.runs:
        return always(
            "This sed program runs what it makes as commands",
            "runs_code_from_text",
            grave=True,
            reads=reads,
            writes=writes,
        )
    if writes:
        what = "edits files in place" if in_place else f"writes {writes[0]!r}"
        return asks(f"sed {what} here", EXACT, effects=("writes_file",), reads=reads, writes=writes)
    return only_reads("sed", reads=reads)


def read_script(text: str) -> Script | None:
    """What ``text`` does; ``None`` if it cannot be read with certainty."""
    found = Script()
    try:
        _Reader(text, found).commands()
    except _Unreadable:
        return None
    return found


class _Reader:
    def __init__(self, text: str, found: Script) -> None:
        self._text = text
        self._at = 0
        self._found = found

    def commands(self) -> None:
        depth = 0
        while True:
            self._skip(" \t\n;")
            if self._end():
                break
            if self._peek() == "}":
                self._at += 1
                depth -= 1
                continue
            self._addresses()
            depth += self._command()
        if depth != 0:
            raise _Unreadable

    def _command(self) -> int:
        letter = self._next()
        if letter == "{":
            return 1
        if letter == "#":
            self._line()
        elif letter in _BARE:
            self._closed()
        elif letter in "lLqQ":
            self._skip(" \t")
            self._skip("0123456789")
            self._closed()
        elif letter in "rR":
            self._found.reads.append(self._name())
        elif letter in "wW":
            self._writes(self._name())
        elif letter in "btT:":
            self._label()
        elif letter in "aic":
            self._lines()
        elif letter == "s":
            self._substitution()
        elif letter == "y":
            self._delimited(self._delimiter(), 2)
            self._closed()
        elif letter == "e":
            self._line()
            self._found.runs = True
        else:
            raise _Unreadable
        return 0

    def _substitution(self) -> None:
        self._delimited(self._delimiter(), 2)
        while not self._end() and self._peek() not in " \t\n;}#":
            flag = self._next()
            if flag == "w":
                self._writes(self._name())
                return
            if flag == "e":
                self._found.runs = True
            elif flag not in "gpiImM0123456789":
                raise _Unreadable
        self._closed()

    def _addresses(self) -> None:
        while not self._end():
            character = self._peek()
            if character in "0123456789$,~+! \t":
                self._at += 1
            elif character == "/":
                self._at += 1
                self._delimited("/", 1)
                self._skip("IM")
            elif character == "\\":
                self._at += 1
                self._delimited(self._delimiter(), 1)
                self._skip("IM")
            else:
                return
        raise _Unreadable

    def _delimiter(self) -> str:
        delimiter = self._next()
        if delimiter in "\\\n" or delimiter.isalnum() or delimiter.isspace() or ord(delimiter) > 126:
            raise _Unreadable
        return delimiter

    def _delimited(self, delimiter: str, parts: int) -> None:
        """Goes past ``parts`` texts that each end at ``delimiter``. A bracket that holds the delimiter is read in two ways by different
        seds, so it is not read at all."""
        for part in range(parts):
            start = self._at
            while (character := self._next()) != delimiter:
                if character == "\\":
                    self._next()
                elif character == "\n":
                    raise _Unreadable
            if part == 0 and _open_bracket(self._text[start : self._at - 1]):
                raise _Unreadable

    def _writes(self, name: str) -> None:
        if name not in _STREAMS:
            self._found.writes.append(name)

    def _name(self) -> str:
        self._skip(" \t")
        name = self._line()
        if not name:
            raise _Unreadable
        return name

    def _label(self) -> None:
        self._skip(" \t")
        while not self._end() and self._peek() not in "\n;":
            if self._next() not in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ \t":
                raise _Unreadable

    def _lines(self) -> None:
        """The text of ``a``, ``i``, ``c``: the rest of the line, or after a backslash the next one. Seds differ in what further
        backslashes in it mean."""
        line = self._line()
        if line.strip() == "\\" and not self._end():
            self._at += 1
            line = self._line()
        if "\\" in line:
            raise _Unreadable

    def _closed(self) -> None:
        self._skip(" \t")
        if not self._end() and self._peek() not in "\n;}#":
            raise _Unreadable

    def _line(self) -> str:
        end = self._text.find("\n", self._at)
        end = len(self._text) if end < 0 else end
        line, self._at = self._text[self._at : end], end
        return line

    def _skip(self, characters: str) -> None:
        while not self._end() and self._peek() in characters:
            self._at += 1

    def _next(self) -> str:
        if self._end():
            raise _Unreadable
        self._at += 1
        return self._text[self._at - 1]

    def _peek(self) -> str:
        return self._text[self._at]

    def _end(self) -> bool:
        return self._at >= len(self._text)


def _open_bracket(pattern: str) -> bool:
    """Whether ``pattern`` ends within ``[…]``."""
    place = 0
    while place < len(pattern):
        if pattern[place] == "\\":
            place += 2
        elif pattern[place] == "[":
            start = place + (2 if pattern[place + 1 : place + 2] == "^" else 1)
            close = pattern.find("]", start + 1)
            while (
                close >= 0
                and pattern[close - 1] in ":.="
                and pattern.rfind("[" + pattern[close - 1], start - 1, close - 1) >= 0
            ):
                close = pattern.find("]", close + 1)
            if close < 0:
                return True
            place = close + 1
        else:
            place += 1
    return False
