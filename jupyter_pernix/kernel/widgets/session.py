"""The widgets of a session."""

from copy import copy
from typing import Any, ClassVar

import traitlets

from ...masking import Masker
from ...records import JSON, SessionState, SessionView
from . import choose, parts, picture
from .follow import Follower, Link
from .live import LiveWidget, script, style

_QUIET = {SessionState.IDLE_READY, SessionState.PAUSED, SessionState.AWAITING_USER}
"""When the static pictures in the notebook are brought up to date: something is over, or waits for a person."""


_MASKER = Masker()
"""What a widget shows is saved with the notebook, so secrets that can be recognised are not in it."""


class SessionWidget(LiveWidget):
    """Follows a session until ``close()``. ``entries`` of the session (calls or turns) lie in the traits ``entry0`` …; ``order`` names
    them, oldest first, so that a change sends one of them and not all.

    ``session``: an id or the beginning of one; ``None``: the last one of this kernel or notebook.

    :raises ServerError: if the server cannot be asked
    :raises NotFound: if there is no such session
    """

    ENTRIES: ClassVar[int] = 0

    session = traitlets.Dict().tag(sync=True)
    order = traitlets.List(trait=traitlets.Int()).tag(sync=True)

    def __init__(self, session: str | None = None) -> None:
        client = choose.connected()
        session_id = choose.session_id(client, session)
        # Before the model is opened, so that it opens with all of them.
        empty = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
        self.add_traits(**{f"entry{at}": copy(empty) for at in range(self.ENTRIES)})
        super().__init__()
        self._quiet: bool | None = None
        self._told_last: dict[int, JSON] = {}
        self._follower: Follower | None = Follower.open(client, session_id, self._follow)

    def close(self) -> None:
        if self._follower is not None:
            self._follower.close(self._follow)
            self._follower = None
        super().close()

    def _entries(self, view: SessionView) -> list[tuple[int, JSON]]:
        raise NotImplementedError

    def _follow(self, view: SessionView, link: Link) -> None:
        entries = self._entries(view)
        with self._joined():
            self.session = _MASKER.json(parts.head(view))
            for number, entry in entries:
                if self._told_last.get(number) != entry:
                    self._told_last[number] = entry
                    self.set_trait(f"entry{number % self.ENTRIES}", _MASKER.json(entry))
            self.order = [number % self.ENTRIES for number, _ in entries]
            self.link = {"state": link.state, "text": link.text}
            self._more(view)
        for number in self._told_last.keys() - {number for number, _ in entries}:
            del self._told_last[number]
        quiet = view.state in _QUIET or link.state != "live"
        if quiet and self._quiet is not None:
            self._refresh_pictures()
        self._quiet = quiet

    def _more(self, view: SessionView) -> None:
        """Sets the traits of a subclass."""

    def _state(self) -> JSON:
        entries = {f"entry{at}": getattr(self, f"entry{at}") for at in self.order}
        return {"session": self.session, "order": self.order, **entries}

    def _told(self, state: JSON) -> list[Any]:
        return [state[f"entry{at}"] for at in state["order"]]


class ToolCalls(SessionWidget):
    """The tool calls of a session as cards: what, arguments, state, time, result. Read-only; questions are answered in the panel."""

    KIND = "tool_calls"
    ENTRIES = parts.CALLS
    _esm = script("tool_calls")
    _css = style()

    def _entries(self, view: SessionView) -> list[tuple[int, JSON]]:
        return parts.calls(view)

    def _text(self, state: JSON) -> str:
        return picture.calls_text(state["session"], self._told(state))

    def _html(self, state: JSON) -> str:
        return picture.calls_html(state["session"], self._told(state))


class Trace(SessionWidget):
    """Where the time of a turn went, and what each request to the model read, from the cache and anew."""

    KIND = "trace"
    ENTRIES = parts.TURNS
    _esm = script("trace")
    _css = style()

    def _entries(self, view: SessionView) -> list[tuple[int, JSON]]:
        return parts.turns(view)

    def _text(self, state: JSON) -> str:
        return picture.trace_text(state["session"], self._told(state))

    def _html(self, state: JSON) -> str:
        return picture.trace_html(state["session"], self._told(state))


class Budget(SessionWidget):
    """What a session and its last turn used, and what is left of their limits."""

    KIND = "budget"
    ENTRIES = 1
    _esm = script("budget")
    _css = style()

    used = traitlets.List().tag(sync=True)

    def _entries(self, view: SessionView) -> list[tuple[int, JSON]]:
        return parts.turns(view)[-1:]

    def _more(self, view: SessionView) -> None:
        self.used = parts.limits(view)

    def _state(self) -> JSON:
        return {**super()._state(), "used": self.used}

    def _text(self, state: JSON) -> str:
        return picture.budget_text(state["session"], state["used"])

    def _html(self, state: JSON) -> str:
        return picture.budget_html(state["session"], state["used"])
