"""The state of the widgets that a session shows, stored at the end of each turn that ran code: a record shows them without their kernel."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..events import ProblemNoticed, WidgetsSaved
from ..fold import SessionFold
from ..ids import TurnId
from ..records import JSON, CallView, ProblemView
from .session_log import SessionLog

if TYPE_CHECKING:
    from .session_kernel import SessionKernel

LIMIT = 2_000_000
"""Bytes of JSON, of all widgets of a session together."""

TOO_LARGE = "The state of the widgets is too large to be kept, so the record of this session shows them as text."


class SessionWidgets:
    def __init__(self, log: SessionLog, kernel: "SessionKernel") -> None:
        self._log = log
        self._kernel = kernel

    async def save(self, turn_id: TurnId) -> None:
        """Store what is new; nothing if no code ran in this turn, or nothing of it is shown."""
        fold = await self._log.fold()
        turn = fold.turn(turn_id)
        if turn is None or not any(isinstance(item, CallView) and item.execution is not None for item in turn.items):
            return
        outputs = [output for execution in fold.executions() for output in execution.outputs]
        kept = fold.view.widgets
        shown = shown_models(outputs, self._kernel.widgets())
        new = {name: model for name, model in shown.items() if kept.get(name) != model}
        if not new:
            return
        if len(msgspec.json.encode({**kept, **new})) <= LIMIT:
            await self._log.append(WidgetsSaved(session_id=self._log.session_id, turn_id=turn_id, models=new))
        elif not _said(fold):
            await self._log.append(ProblemNoticed(session_id=self._log.session_id, turn_id=turn_id, text=TOO_LARGE))


def shown_models(outputs: Sequence[JSON], models: Mapping[str, JSON]) -> dict[str, JSON]:
    """A copy, as JSON has it, of the state of those of the ``models`` that these outputs show."""
    # Imported here: the start of the server does not need it.
    from ..kernel.widgetstate import shown_by

    return msgspec.json.decode(msgspec.json.encode(shown_by(outputs, models)))


def widgets_of(outputs: Sequence[JSON], models: Mapping[str, JSON]) -> dict[str, JSON]:
    """As ``shown_models``; none if that is too much to be kept."""
    shown = shown_models(outputs, models) if models else {}
    return shown if len(msgspec.json.encode(shown)) <= LIMIT else {}


def _said(fold: SessionFold) -> bool:
    return any(
        isinstance(item, ProblemView) and item.text == TOO_LARGE for turn in fold.view.turns for item in turn.items
    )
