"""Text as a terminal would show it: ``\\r`` and ``\\b`` move back and what follows overwrites; ``ESC[K`` erases.

Only the line that is being written can change; finished lines never do. Colours (``ESC[…m``) take no room and are kept.
"""

import re

_MOVES = re.compile(r"(\n|\r|\x08|\x1b\[[0-2]?K)")
_ESCAPE = r"\x1b\[[0-9;?]*[A-Za-z]"
_CELL = re.compile(rf"(?:{_ESCAPE})*(?!{_ESCAPE}).(?:(?:{_ESCAPE})+\Z)?|(?:{_ESCAPE})+", re.DOTALL)

_PARTIAL = re.compile(r"\x1b(?:\[[0-9;?]{0,10})?\Z")


def _cells(line: str) -> list[str]:
    """The line in characters; an escape sequence belongs to the character after it, the last one to the last character."""
    return _CELL.findall(line)


class TerminalText:
    """Text that grows by ``write``."""

    def __init__(self) -> None:
        self._finished: list[str] = []
        self._finished_length = 0
        self._line = ""
        self._line_length = 0
        self._cells: list[str] | None = None
        """The line in cells, instead of ``_line``, from the first move on it until it is finished."""
        self._column = 0
        """In cells, where the next character goes."""
        self._partial = ""
        """The beginning of an escape sequence whose rest has not come yet."""
        self.changed_from: int | None = None
        """No character before this offset was overwritten or erased since it was last set to ``None``."""

    def __len__(self) -> int:
        return self._finished_length + self._line_length

    @property
    def text(self) -> str:
        if len(self._finished) > 1:
            self._finished = ["".join(self._finished)]
        line = self._line if self._cells is None else "".join(self._cells)
        return (self._finished[0] if self._finished else "") + line

    @property
    def finished_length(self) -> int:
        """Characters that can no longer change."""
        return self._finished_length

    def split_finished(self) -> "TerminalText":
        """Keep the finished lines here and hand the unfinished one, with its cursor, to a new text."""
        rest = TerminalText()
        rest._line, rest._line_length = self._line, self._line_length
        rest._cells, rest._column, rest._partial = self._cells, self._column, self._partial
        self._begin_line()
        self._partial = ""
        return rest

    def write(self, text: str) -> None:
        text = self._partial + text
        if "\r" in text:  # far quicker to find in a flood than the pair
            text = text.replace("\r\n", "\n")
        partial = _PARTIAL.search(text) if "\x1b" in text[-12:] else None
        self._partial = partial.group(0) if partial else ""
        text = text[: len(text) - len(self._partial)]
        if self._cells is None and not ("\r" in text or "\b" in text or ("\x1b" in text and "\x1b[" in text)):
            self._append(text)
            return
        for piece in _MOVES.split(text):
            if piece == "\n":
                self._finish_line()
            elif piece == "\r":
                if self._line_length:
                    self._in_cells()
                    self._column = 0
            elif piece == "\b":
                self._in_cells()
                self._column = max(0, self._column - 1)
            elif piece.startswith("\x1b[") and piece.endswith("K"):
                self._erase(piece[2:-1])
            elif piece:
                self._put(piece)

    def _append(self, text: str) -> None:
        end = text.rfind("\n") + 1
        if end:
            done = self._line + text[:end]
            self._finished.append(done)
            self._finished_length += len(done)
            self._begin_line(text[end:])
        else:
            self._line += text
            self._line_length += len(text)

    def _begin_line(self, line: str = "") -> None:
        self._line, self._line_length = line, len(line)
        self._cells, self._column = None, 0

    def _finish_line(self) -> None:
        self._finished.append((self._line if self._cells is None else "".join(self._cells)) + "\n")
        self._finished_length += self._line_length + 1
        self._begin_line()

    def _in_cells(self) -> list[str]:
        if self._cells is None:
            self._cells = _cells(self._line)
            self._column = len(self._cells)
        return self._cells

    def _put(self, piece: str) -> None:
        if self._cells is None:
            self._line += piece
            self._line_length += len(piece)
        else:
            new = _cells(piece)
            self._replace(self._column, self._column + len(new), new)
            self._column += len(new)

    def _erase(self, how: str) -> None:
        cells = self._in_cells()
        if how in ("", "0", "2"):
            self._replace(self._column, len(cells), [])
        if how in ("1", "2"):
            self._replace(0, self._column, [" "] * self._column)

    def _replace(self, start: int, end: int, new: list[str]) -> None:
        cells = self._in_cells()
        old = cells[start:end]
        cells[start:end] = new
        self._line_length += sum(map(len, new)) - sum(map(len, old))
        if old:  # a cell has at least one character, so the offset is at most what it says
            offset = self._finished_length + start
            self.changed_from = offset if self.changed_from is None else min(self.changed_from, offset)
