"""A call between being requested and having its result, and what carrying calls out has led to."""

from dataclasses import dataclass

from ..events import ToolCallRequested
from .budget import Exceeded
from .tools.base import Bound
from .tools.delegate import DELEGATE


@dataclass(kw_only=True, eq=False)
class OpenCall:
    """A call that has no result yet. ``bound`` is ``None`` if it cannot be carried out; ``fault`` then says why. ``text``: what the model
    said in the same reply."""

    requested: ToolCallRequested
    bound: Bound | None
    fault: str
    text: str
    key: str
    started: float | None = None

    @property
    def delegates(self) -> bool:
        return self.bound is not None and self.requested.tool == DELEGATE


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """``answer``: the turn is answered. ``exceeded``: its budget is. Neither: it goes on."""

    answer: str | None = None
    exceeded: Exceeded | None = None
