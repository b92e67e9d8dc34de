"""What a cell would do, told before it runs. Advice: reading code proves nothing, so a cell is never less than asked about.

Shell lines in it are judged as command lines are; the rest by names and literal texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..judgement import Effect, Judgement
from .cell import LONGEST, read_cell
from .found import RUN_CODE, Found, TooMuch

__all__ = ["LONGEST", "RUN_CODE", "CellJudgement", "judge_cell"]


@dataclass(frozen=True, kw_only=True)
class CellJudgement:
    """``magic_shell``: the command lines that the cell would run, as bash or a process would get them; what Python puts into one
    before stands in it as ``{…}`` or ``$name``. ``obvious_effects``: what a person is shown; ``judgement.effects`` are all."""

    judgement: Judgement
    magic_shell: tuple[str, ...] = ()
    obvious_effects: tuple[Effect, ...] = ()


def judge_cell(
    code: str,
    *,
    language: str = "python",
    root: str,
    home: str,
    folder: str | None = None,
    automagic: bool = False,
    deny: Sequence[str] = (),
) -> CellJudgement:
    """``root``, ``home``: absolute and canonical; ``folder``: where the kernel works, the root if not given. ``automagic``: IPython takes
    a bare line ``rm x`` for a magic. Never raises: what cannot be read is asked about each time."""
    found = Found(root=root, home=home, folder=folder or root, deny=deny)
    nothing = "runs code in the kernel"
    try:
        read_cell(code, found, language=language, automagic=automagic)
    except (TooMuch, RecursionError, MemoryError):
        found.see("opaque", why="it is too long or too deeply nested to be read", grave=True)
    except Exception as exc:  # the edge to text of any kind: whatever goes wrong with it, it is not unasked
        found.see("opaque", why=f"it cannot be read ({type(exc).__name__})", grave=True)
    return CellJudgement(
        judgement=found.judgement(nothing=nothing),
        magic_shell=tuple(found.lines),
        obvious_effects=tuple(found.obvious),
    )
