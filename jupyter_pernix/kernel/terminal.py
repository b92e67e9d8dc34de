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
        self._column: int | None = None
        """Where the next character goes, in cells of the line; ``None``: at its end."""
        self._partial = ""
        """The beginning of an escape sequence whose rest has not come yet."""
        self.changed_from: int | None = None
        """Smallest offset at which a character was overwritten or erased since this was last set to ``None``."""

    def __len__(self) -> int:
        return self._finished_length + len(self._line)

    @property
    def text(self) -> str:
        if len(self._finished) > 1:
            self._finished = ["".join(self._finished)]
        return (self._finished[0] if self._finished else "") + self._line

    @property
    def finished_length(self) -> int:
        """Characters that can no longer change."""
        return self._finished_length

    def split_finished(self) -> "TerminalText":
        """Keep the finished lines here and hand the unfinished one, with its cursor, to a new text."""
        rest = TerminalText()
        rest._line, rest._column, rest._partial = self._line, self._column, self._partial
        self._line, self._column, self._partial = "", None, ""
        return rest

    def write(self, text: str) -> None:
        text = (self._partial + text).replace("\r\n", "\n")
        partial = _PARTIAL.search(text) if "\x1b" in text[-12:] else None
        self._partial = partial.group(0) if partial else ""
        text = text[: len(text) - len(self._partial)]
        if self._column is None and not ("\r" in text or "\b" in text or "\x1b[" in text):
            self._append(text)
            return
        for piece in _MOVES.split(text):
            if piece == "\n":
                self._finish_line()
            elif piece == "\r":
                self._column = 0 if self._line else None
            elif piece == "\b":
                self._column = max(0, (len(_cells(self._line)) if self._column is None else self._column) - 1)
            elif piece.startswith("\x1b[") and piece.endswith("K"):
                self._erase(piece[2:-1])
            elif piece:
                self._put(piece)

    def _append(self, text: str) -> None:
        finished, newline, self_line = text.rpartition("\n")
        if newline:
            done = self._line + finished + newline
            self._finished.append(done)
            self._finished_length += len(done)
            self._line = self_line
        else:
            self._line += text

    def _finish_line(self) -> None:
        self._finished.append(self._line + "\n")
        self._finished_length += len(self._line) + 1
        self._line, self._column = "", None

    def _put(self, piece: str) -> None:
        if self._column is None:
            self._line += piece
            return
        old, new = _cells(self._line), _cells(piece)
        end = self._column + len(new)
        self._note_change(old[: self._column])
        self._line = "".join(old[: self._column] + new + old[end:])
        self._column = end if end < len(old) else None

    def _erase(self, how: str) -> None:
        cells = _cells(self._line)
        column = len(cells) if self._column is None else self._column
        kept = cells[:column] if how in ("", "0") else [" "] * column + (cells[column:] if how == "1" else [])
        self._note_change(cells[:column] if how in ("", "0") else [])
        self._line = "".join(kept)
        self._column = column if column < len(kept) else None

    def _note_change(self, untouched: list[str]) -> None:
        offset = self._finished_length + sum(map(len, untouched))
        self.changed_from = offset if self.changed_from is None else min(self.changed_from, offset)
