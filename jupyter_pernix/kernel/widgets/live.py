"""What all widgets are: an anywidget with a static picture of itself beside it in the notebook."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets
from IPython.core.getipython import get_ipython

from ...records import JSON

STATIC = Path(__file__).parent / "static"
MIME = "application/vnd.pernix.widget+json"
"""``{"kind", "model_id", "kernel_id", "taken_at", "state"}``: ``state`` is the widget's own, in the shape of its traits. Our extension shows the live
widget for it, or, without a kernel, the same picture from ``state``."""
_DISPLAYS = 8


def script(name: str) -> str:
    """The built module of a widget; without it, one that says so."""
    path = STATIC / f"{name}.js"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    return "export default { render({ el }) { el.textContent = 'The front end of this widget was not built.'; } };"


def style() -> str:
    path = STATIC / "widgets.css"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _kernel_id() -> str:
    """As the server names this kernel; "" when it cannot be said."""
    kernel = getattr(get_ipython(), "kernel", None)
    name = Path(str(getattr(getattr(kernel, "parent", None), "connection_file", ""))).name
    return name.removeprefix("kernel-").removesuffix(".json") if name.startswith("kernel-") else ""


class LiveWidget(anywidget.AnyWidget):
    """``link``: ``state`` and ``text``, how it stands with the server. The traits that a subclass adds are plain JSON."""

    KIND: ClassVar[str] = ""

    link = traitlets.Dict({"state": "live", "text": ""}).tag(sync=True)
    kernel_pid = traitlets.Int().tag(sync=True)

    @traitlets.default("kernel_pid")
    def _default_kernel_pid(self) -> int:
        return os.getpid()

    def __init__(self) -> None:
        super().__init__()
        self._publisher: Any = None
        self._displays: list[str] = []
        self._shown: JSON = {}
        self.on_msg(self._asked)

    def _asked(self, _: Any, content: JSON, __: Any) -> None:
        """A new view asks whether there is a kernel behind what it shows."""
        if content.get("ask") == "live":
            self.send({"live": True})

    # ---- in a subclass --------------------------------------------------------------------------------------------------

    def _state(self) -> JSON:
        """What the static picture is made of."""
        raise NotImplementedError

    def _text(self, state: JSON) -> str:
        raise NotImplementedError

    def _html(self, state: JSON) -> str:
        raise NotImplementedError

    # ---- showing --------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self._text(self._state())

    def _bundle(self, state: JSON) -> JSON:
        taken = datetime.now(UTC).isoformat(timespec="seconds")
        still: JSON = {"kind": self.KIND, "model_id": self.model_id, "kernel_id": _kernel_id(), "taken_at": taken}
        still["state"] = state
        data, _ = super()._repr_mimebundle_() or ({}, {})
        return {**data, MIME: still, "text/html": self._html(state), "text/plain": self._text(state)}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[JSON, JSON]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._bundle(self._state()), {}

    def _ipython_display_(self) -> None:
        """Shown under an id of its own, so that the static picture can follow what happens later."""
        shell: Any = get_ipython()
        if shell is None:
            print(self)  # noqa: T201 — outside IPython this is what showing means
            return
        state = self._state()
        display_id = uuid.uuid4().hex
        self._publisher = shell.display_pub
        self._displays = [*self._displays, display_id][-_DISPLAYS:]
        self._shown = state
        self._publisher.publish(self._bundle(state), {}, transient={"display_id": display_id})

    def _refresh_pictures(self) -> None:
        """Bring the static pictures in the notebook up to date, if anything is new."""
        state = self._state()
        if not self._displays or state == self._shown:
            return
        self._shown = state
        bundle = self._bundle(state)
        for display_id in self._displays:
            self._publisher.publish(bundle, {}, transient={"display_id": display_id}, update=True)

    @contextmanager
    def _joined(self) -> Iterator[None]:
        """Changes of several traits go out as one message."""
        with self.hold_sync():
            yield
