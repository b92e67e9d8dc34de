"""The errors of the user's own cells, kept as text for ``Err[n]`` and ``%pernix fix``."""

import traceback
from dataclasses import dataclass
from typing import Any

_KEPT = 50
_FRAMES = 12
_TEXT = 8_000


@dataclass(frozen=True)
class Failure:
    """``number``: of the cell; ``text``: its traceback, bounded."""

    number: int
    source: str
    name: str
    text: str


class Failures:
    """The last ones, by the number of their cell."""

    def __init__(self) -> None:
        self._kept: dict[int, Failure] = {}

    def add(self, number: int, source: str, error: BaseException) -> None:
        self._kept.pop(number, None)
        self._kept[number] = Failure(number, source, type(error).__name__, _text(error))
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]

    @property
    def last(self) -> Failure | None:
        return next(reversed(self._kept.values()), None)

    @property
    def texts(self) -> dict[int, str]:
        return {number: failure.text for number, failure in self._kept.items()}

    def saw(self, result: Any) -> None:
        """For IPython's ``post_run_cell``: keep what a cell of the user's raised."""
        error = result.error_before_exec or result.error_in_exec
        number = result.execution_count
        info = result.info
        if number is None or error is None or info is None or not info.store_history:
            return
        # What the user stopped, and what a magic says in a sentence, has no fault to be mended.
        if not isinstance(error, KeyboardInterrupt | SystemExit) and not hasattr(error, "_render_traceback_"):
            self.add(int(number), str(info.raw_cell), error)


def _text(error: BaseException) -> str:
    """As Python prints it, without IPython's own frames; a line that holds a secret is left out."""
    # Imported here: only once something has failed.
    from ..inspecting import secret_text

    try:
        told = traceback.TracebackException.from_exception(error, limit=-_FRAMES)
        lines = "".join(told.format()).splitlines()
    except Exception:  # the error's own class may raise when it is asked for its text
        lines = [type(error).__name__]
    text = "\n".join("(a line that looks like a secret)" if secret_text(line) else line for line in lines)
    return text if len(text) <= _TEXT else f"{text[: _TEXT // 3]}\n…\n{text[-_TEXT * 2 // 3 :]}"
