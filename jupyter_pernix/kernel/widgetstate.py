"""The state of a kernel's widgets, as a front end has it. Pure: messages in, state out.

A front end keeps the state of each widget model that the kernel opens, and plays a part for ``Output`` widgets: while the state
``msg_id`` of one names a request, what that request puts out goes into the widget instead of the cell.
"""

import base64
import copy
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from ..ids import ExecutionId
from ..records import JSON
from .bundles import scrub_json
from .outputs import OutputFold

WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
"""The mime type under which a notebook keeps ``WidgetStates.saved``, in its metadata."""

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
"""The mime type of an output that shows a widget; it names the model by its ``model_id``."""

_TARGET = "jupyter.widget"
_NAMED = re.compile(r'"IPY_MODEL_([^"]+)"|"model_id":"([^"]+)"')
_OUTPUT_MODEL = "OutputModel"
_PASSWORD_MODEL = "PasswordModel"
_CAPTURED = ("stream", "display_data", "execute_result", "error", "clear_output")
_MOST_MODELS = 5_000
_MOST_BYTES = 64_000_000


def as_metadata(models: Mapping[str, JSON]) -> JSON:
    """What a notebook has in its metadata under ``widgets``; ``models``: by id, each as ``WidgetStates.saved`` has it."""
    return {WIDGET_STATE: {"version_major": 2, "version_minor": 0, "state": dict(models)}}


def models_in(metadata: JSON) -> dict[str, JSON]:
    """Inverse of ``as_metadata``, of a notebook's whole metadata; what is damaged counts as none."""
    state: Any = metadata
    for key in ("widgets", WIDGET_STATE, "state"):
        state = cast(JSON, state).get(key) if isinstance(state, dict) else None
    return cast(dict[str, JSON], state) if isinstance(state, dict) else {}


def shown_by(outputs: Sequence[JSON], models: Mapping[str, JSON]) -> dict[str, JSON]:
    """Those of the models that these outputs show, and what those are made of; what was typed into a field for passwords is left out."""
    shown: dict[str, JSON] = {}
    left = [name for output in outputs if WIDGET_VIEW in output.get("data", {}) for name in _named(output["data"])]
    while left:
        name = left.pop()
        model = models.get(name)
        if model is None or name in shown:
            continue
        if model.get("model_name") == _PASSWORD_MODEL:
            model = {**model, "state": {**model["state"], "value": ""}}
        shown[name] = model
        left += _named(model["state"])
    return {name: shown[name] for name in models if name in shown}


def _named(value: JSON) -> list[str]:
    """The ids of models that occur in it."""
    return [one or two for one, two in _NAMED.findall(msgspec.json.encode(value).decode())]


@dataclass
class _Captured:
    """What an ``Output`` widget shows: ``before`` was put there by the kernel, ``fold`` came after it."""

    before: list[JSON] = field(default_factory=list[JSON])
    fold: OutputFold = field(default_factory=lambda: OutputFold(ExecutionId("")))
    clear_pending: bool = False

    @property
    def outputs(self) -> list[JSON]:
        return [*self.before, *self.fold.outputs]

    def add(self, kind: str, content: JSON) -> None:
        if kind == "clear_output":
            self.clear_pending = True
            if content.get("wait"):
                return
        if self.clear_pending:
            self.before, self.fold, self.clear_pending = [], OutputFold(ExecutionId("")), False
        if kind != "clear_output":
            self.fold.add(kind, content)


@dataclass
class _Model:
    state: JSON = field(default_factory=dict[str, Any])
    buffers: dict[tuple[str | int, ...], bytes] = field(default_factory=dict[tuple[str | int, ...], bytes])
    captured: _Captured | None = None

    def update(self, data: JSON, buffers: Sequence[bytes]) -> None:
        state = data.get("state")
        new: JSON = cast(JSON, state) if isinstance(state, dict) else {}
        self.state.update(new)
        for path in [path for path in self.buffers if path[0] in new]:
            del self.buffers[path]
        for path, content in zip(data.get("buffer_paths") or [], buffers, strict=False):
            if path:
                self.buffers[tuple(path)] = content
        if "outputs" in new and self.captured is not None:
            self.captured = _Captured(before=list(new["outputs"] or []))

    def saved(self) -> JSON:
        saved: JSON = {
            "model_name": self.state.get("_model_name"),
            "model_module": self.state.get("_model_module"),
            "model_module_version": self.state.get("_model_module_version"),
            "state": scrub_json(self.state),
        }
        if self.buffers:
            saved["buffers"] = [
                {"path": list(path), "encoding": "base64", "data": base64.b64encode(content).decode()}
                for path, content in self.buffers.items()
            ]
        return saved


class WidgetStates:
    """Of the models that were opened while somebody listened. The oldest are forgotten when there are very many."""

    def __init__(self) -> None:
        self._models: OrderedDict[str, _Model] = OrderedDict()
        self._capturing: dict[str, list[str]] = {}
        """Request → the models that take its outputs; the last one does, the others when that has ended."""
        self._changed: dict[str, None] = {}

    def take(self, kind: str, content: JSON, buffers: Sequence[bytes]) -> None:
        """A ``comm_open``, ``comm_msg`` or ``comm_close`` of the kernel."""
        comm_id = str(content.get("comm_id", ""))
        data = content.get("data")
        body: JSON = cast(JSON, data) if isinstance(data, dict) else {}
        if kind == "comm_open" and content.get("target_name") == _TARGET:
            self._models[comm_id] = _Model()
            self._update(comm_id, body, buffers)
            self._forget_oldest()
        elif kind == "comm_close":
            self._drop(comm_id)
        elif kind == "comm_msg" and body.get("method") in ("update", "echo_update") and comm_id in self._models:
            self._update(comm_id, body, buffers)

    def capture(self, parent_id: str, kind: str, content: JSON) -> bool:
        """Whether this output of the request ``parent_id`` goes to an ``Output`` widget; it is there then."""
        taking = self._capturing.get(parent_id)
        if not taking or kind not in _CAPTURED:
            return False
        comm_id = taking[-1]
        model = self._models[comm_id]
        model.captured = model.captured or _Captured(before=list(model.state.get("outputs") or []))
        model.captured.add(kind, content)
        model.state["outputs"] = tuple(model.captured.outputs)
        self._changed[comm_id] = None
        return True

    def take_changes(self) -> Mapping[str, JSON]:
        """What the kernel does not know yet: by the id of the model, its new state. To be sent there as ``update``."""
        changed, self._changed = self._changed, {}
        return {
            comm_id: {"outputs": copy.deepcopy(list(self._models[comm_id].state["outputs"]))}
            for comm_id in changed
            if comm_id in self._models
        }

    def saved(self) -> JSON:
        """For a notebook's metadata under ``WIDGET_STATE``: shows the widgets without their kernel."""
        return {
            "version_major": 2,
            "version_minor": 0,
            "state": {comm_id: model.saved() for comm_id, model in self._models.items()},
        }

    def __bool__(self) -> bool:
        return bool(self._models)

    def _update(self, comm_id: str, data: JSON, buffers: Sequence[bytes]) -> None:
        model = self._models[comm_id]
        model.update(data, buffers)
        new = data.get("state")
        if model.state.get("_model_name") == _OUTPUT_MODEL and isinstance(new, dict) and "msg_id" in new:
            self._stop_capturing(comm_id)
            if model.state["msg_id"]:
                self._capturing.setdefault(str(model.state["msg_id"]), []).append(comm_id)

    def _drop(self, comm_id: str) -> None:
        if self._models.pop(comm_id, None) is not None:
            self._stop_capturing(comm_id)

    def _stop_capturing(self, comm_id: str) -> None:
        left = {
            parent_id: [each for each in taking if each != comm_id] for parent_id, taking in self._capturing.items()
        }
        self._capturing = {parent_id: taking for parent_id, taking in left.items() if taking}

    def _forget_oldest(self) -> None:
        size = sum(len(content) for model in self._models.values() for content in model.buffers.values())
        while len(self._models) > 1 and (len(self._models) > _MOST_MODELS or size > _MOST_BYTES):
            comm_id, model = next(iter(self._models.items()))
            size -= sum(map(len, model.buffers.values()))
            self._drop(comm_id)
