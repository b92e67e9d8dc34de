"""The state of the widgets that a session shows, stored at the end of each turn that ran code: a record shows them without their kernel."""

import msgspec

from ..events import ProblemNoticed, WidgetsSaved
from ..fold import SessionFold
from ..ids import TurnId
from ..records import JSON, CallView, ProblemView
from .session_kernel import SessionKernel
from .session_log import SessionLog

LIMIT = 2_000_000
"""Bytes of JSON, of all widgets of a session together."""

TOO_LARGE = "The state of the widgets is too large to be kept, so the record of this session shows them as text."


class SessionWidgets:
    def __init__(self, log: SessionLog, kernel: SessionKernel) -> None:
        self._log = log
        self._kernel = kernel

    async def save(self, turn_id: TurnId) -> None:
        """Store what is new; nothing if no code ran in this turn, or nothing of it is shown."""
        fold = await self._log.fold()
        turn = fold.turn(turn_id)
        if turn is None or not any(isinstance(item, CallView) and item.execution is not None for item in turn.items):
            return
        # Imported here: the start of the server does not need it.
        from ..kernel.widgetstate import shown_by

        outputs = [output for execution in fold.executions() for output in execution.outputs]
        kept = fold.view.widgets
        shown: dict[str, JSON] = msgspec.json.decode(msgspec.json.encode(shown_by(outputs, self._kernel.widgets())))
        new = {name: model for name, model in shown.items() if kept.get(name) != model}
        if not new:
            return
        if len(msgspec.json.encode({**kept, **new})) <= LIMIT:
            await self._log.append(WidgetsSaved(session_id=self._log.session_id, turn_id=turn_id, models=new))
        elif not _said(fold):
            await self._log.append(ProblemNoticed(session_id=self._log.session_id, turn_id=turn_id, text=TOO_LARGE))


def _said(fold: SessionFold) -> bool:
    return any(
        isinstance(item, ProblemView) and item.text == TOO_LARGE for turn in fold.view.turns for item in turn.items
    )
