"""Gathers what is odd about a notebook, one sentence a kind, however many cells have it."""

from .result import Note

_NAMED = 4


class Notes:
    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._repairs: dict[str, bool] = {}
        self._cells: dict[str, list[int]] = {}
        self.repairs = 0
        """Counts up with each repair, so that a caller sees whether there was one."""

    def add(self, kind: str, text: str, *, cell: int | None = None, repair: bool = True) -> None:
        """``cell`` counts from 1; ``text`` then follows the words ``In cell 3,``."""
        self.repairs += repair
        self._texts.setdefault(kind, text)
        self._repairs[kind] = self._repairs.get(kind, False) or repair
        if cell is not None:
            cells = self._cells.setdefault(kind, [])
            if cell not in cells[-1:]:
                cells.append(cell)

    def all(self) -> tuple[Note, ...]:
        return tuple(
            Note(kind=kind, text=_sentence(text, self._cells.get(kind, [])), repair=self._repairs[kind])
            for kind, text in self._texts.items()
        )


def _sentence(text: str, cells: list[int]) -> str:
    if not cells:
        return text
    if len(cells) == 1:
        return f"In cell {cells[0]}, {text}"
    named, more = [str(cell) for cell in cells[:_NAMED]], len(cells) - _NAMED
    if more > 0:
        return f"In cells {', '.join(named)} and {more} more, {text}"
    return f"In cells {', '.join(named[:-1])} and {named[-1]}, {text}"
