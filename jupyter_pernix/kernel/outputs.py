"""IOPub messages of one execution → the steps that build its outputs. Pure: no clock, no I/O.

Rules. Consecutive streams of one name are one output, joined first, then shown as a terminal would (only a long log above a
line that is being rewritten is closed off first). ``clear_output(wait)`` waits for the next output and dies with its execution.
A display id addresses every output that shows it, in this and in earlier executions of the kernel. ``transient`` is dropped.
What exceeds the caps is counted, its end is shown when the execution is over, and the whole text is put aside. What ``take``
returned, applied in order with ``fold.apply_output``, always gives ``outputs``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from ..ids import ExecutionId
from ..records import JSON, OutputOp
from .bundles import Caps, clean_bundle, clean_output, scrub, scrub_json, size
from .overflow import Overflow
from .terminal import TerminalText

_LIVE_LINE = 8_000
"""Finished text longer than this is closed off before its last line is rewritten, so that a progress bar below a long log does
not repeat the log in every step."""

Place = Callable[[str], str]
"""Where a reader finds the side file of this name."""


@dataclass(frozen=True, kw_only=True)
class Spill:
    """Text to add at the end of the side file ``name``."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of building the outputs of ``execution_id``, which may be an earlier one of the same kernel."""

    execution_id: ExecutionId
    op: OutputOp


@dataclass(frozen=True, kw_only=True)
class _Shown:
    execution_id: ExecutionId
    index: int
    output_type: str
    execution_count: int | None

    def with_content(self, data: JSON, metadata: JSON) -> JSON:
        output: JSON = {"output_type": self.output_type, "data": data, "metadata": metadata}
        if self.output_type == "execute_result":
            output["execution_count"] = self.execution_count
        return output


class Displays:
    """Which outputs show which display id, over all executions of one kernel; the oldest ids are forgotten at ``limit``."""

    def __init__(self, limit: int = 10_000) -> None:
        self._shown: dict[str, list[_Shown]] = {}
        self._limit = limit

    def add(self, display_id: str, shown: _Shown) -> None:
        self._shown.setdefault(display_id, []).append(shown)
        while len(self._shown) > self._limit:
            del self._shown[next(iter(self._shown))]

    def where(self, display_id: str) -> list[_Shown]:
        return self._shown.get(display_id, [])

    def forget(self, execution_id: ExecutionId, display_ids: set[str]) -> None:
        """The outputs of this execution that showed these ids are gone."""
        for display_id in display_ids:
            left = [place for place in self._shown.pop(display_id, []) if place.execution_id != execution_id]
            if left:
                self._shown[display_id] = left


@dataclass
class _Slot:
    """One output in the list. ``told``: how much of a stream was told, -1 when nothing of the output was."""

    output: JSON
    stream: TerminalText | None = None
    told: int = -1
    changed: bool = True

    def current(self) -> JSON:
        return self.output if self.stream is None else {**self.output, "text": self.stream.text}

    def take(self, index: int) -> OutputOp | None:
        """What has to be told; it counts as told from now on."""
        if not self.changed:
            return None
        told, self.changed = self.told, False
        if self.stream is None:
            self.told = 0
            return OutputOp(op="append" if told < 0 else "replace", index=index, output=self.output)
        text, changed_from = self.stream.text, self.stream.changed_from
        self.told, self.stream.changed_from = len(text), None
        if told < 0:
            return OutputOp(op="append", index=index, output={**self.output, "text": text})
        if told > len(text) or (changed_from is not None and changed_from < told):
            return OutputOp(op="replace", index=index, output={**self.output, "text": text})
        return OutputOp(op="extend", index=index, text=text[told:]) if len(text) > told else None


def _note(text: str) -> JSON:
    return {"output_type": "display_data", "data": {"text/plain": text}, "metadata": {"pernix": {"note": "cut"}}}


def _display_id(content: JSON) -> str:
    transient = content.get("transient")
    found = cast(JSON, transient).get("display_id") if isinstance(transient, dict) else None
    return found if isinstance(found, str) else ""


class OutputFold:
    """Folds the messages of one execution. Feed it with ``add``, call ``finish`` once at the end, collect with ``take``."""

    def __init__(
        self,
        execution_id: ExecutionId,
        *,
        displays: Displays | None = None,
        caps: Caps | None = None,
        place: Place | None = None,
    ) -> None:
        self.execution_id = execution_id
        self.urgent = False
        """Something new stands in the list that should be told without delay."""
        self.rewrites = False
        """What is to be told repeats or takes back what was told before."""
        self.error: JSON | None = None
        """The last error output."""
        self._displays = displays if displays is not None else Displays()
        self._caps = caps if caps is not None else Caps()
        self._place = place
        self._slots: list[_Slot] = []
        self._own_ids: set[str] = set()
        self._elsewhere: dict[tuple[ExecutionId, int], JSON] = {}
        self._cleared = self._clear_pending = self._finished = False
        self._stream_length = self._data_length = 0
        self._overflow: Overflow | None = None
        self._overflow_note: _Slot | None = None
        self._spills: list[Spill] = []
        self._spilled = self._side_files = 0

    @property
    def outputs(self) -> list[JSON]:
        """The list as it is now."""
        return [slot.current() for slot in self._slots]

    @property
    def size(self) -> int:
        """About how many characters are kept."""
        return self._stream_length + self._data_length

    @property
    def error_is_last(self) -> bool:
        last: str | JSON | None = self._slots[-1].output if self._slots else None
        if self._overflow is not None and self._overflow.last is not None:
            last = self._overflow.last
        return isinstance(last, dict) and last.get("output_type") == "error"

    def add(self, msg_type: str, content: JSON) -> None:
        """One IOPub message whose parent is this execution; types that are no output are ignored."""
        match msg_type:
            case "stream":
                text = content.get("text")
                if isinstance(text, str) and text:
                    self._clear_if_pending()
                    self._stream("stderr" if content.get("name") == "stderr" else "stdout", scrub(text))
            case "display_data" | "execute_result":
                self._display(msg_type, content)
            case "update_display_data":
                self._update(_display_id(content), content)
            case "error":
                self.add_error(content)
            case "clear_output":
                if content.get("wait"):
                    self._clear_pending = True
                else:
                    self._clear()
            case _:
                pass

    def add_error(self, content: JSON) -> None:
        self._clear_if_pending()
        output = clean_output({**content, "output_type": "error"}, caps=self._caps)
        self.error = output
        self._append("", output)

    def finish(self) -> None:
        """The execution is over: show the end of what was left out. Only late outputs may be added from now on."""
        self._clear_pending = False
        self._finished = True
        if self._overflow is None or self._overflow_note is None:
            return
        where = self._place(self._stream_file) if self._place is not None else ""
        self._overflow_note.output = _note(self._overflow.sentence(where))
        self._overflow_note.changed = True
        for key, item in self._overflow.items:
            if isinstance(item, str):
                self._write(key, item)
            else:
                self._put(key, item)

    def take(self) -> list[Step]:
        """The steps since the last call."""
        steps: list[Step] = []
        if self._cleared:
            steps.append(Step(execution_id=self.execution_id, op=OutputOp(op="clear")))
        for index, slot in enumerate(self._slots):
            op = slot.take(index)
            if op is not None:
                steps.append(Step(execution_id=self.execution_id, op=op))
        for (execution_id, index), output in self._elsewhere.items():
            steps.append(Step(execution_id=execution_id, op=OutputOp(op="replace", index=index, output=output)))
        self._elsewhere.clear()
        self._cleared = self.urgent = self.rewrites = False
        return steps

    def take_spills(self) -> list[Spill]:
        """What is to be put aside since the last call, in order."""
        spills, self._spills = self._spills, []
        return spills

    # ---- streams --------------------------------------------------------------------------------------------------------

    def _stream(self, name: str, text: str) -> None:
        if self._overflow is None and not self._continues(name) and len(self._slots) >= self._caps.outputs:
            self._begin_overflow()
        if self._overflow is None:
            room = self._caps.stream - self._stream_length
            self._write(name, text[:room])
            text = text[room:]
            if not text:
                return
            self._begin_overflow()
        assert self._overflow is not None
        self._spill(self._stream_file, text)
        if not self._finished:
            self._overflow.add_text(name, text)

    def _continues(self, name: str) -> bool:
        last = self._slots[-1] if self._slots else None
        return last is not None and last.stream is not None and last.output["name"] == name

    def _write(self, name: str, text: str) -> None:
        if not self._continues(name):
            self._slots.append(_Slot(output={"output_type": "stream", "name": name}, stream=TerminalText()))
            self.urgent = True
        slot = self._slots[-1]
        stream = slot.stream
        assert stream is not None
        before = len(stream)
        stream.write(text)
        self._stream_length += len(stream) - before
        slot.changed = True
        if stream.changed_from is not None and stream.changed_from < slot.told:
            self.rewrites = True
            if stream.finished_length > _LIVE_LINE:
                rest = _Slot(output=slot.output, stream=stream.split_finished())
                self._slots.append(rest)

    # ---- displays -------------------------------------------------------------------------------------------------------

    def _display(self, output_type: str, content: JSON) -> None:
        self._clear_if_pending()
        output = clean_output({**content, "output_type": output_type}, caps=self._caps, keep=self._keep)
        display_id = _display_id(content)
        if display_id:
            self._refresh(display_id, output["data"], output["metadata"])
        self._append(display_id, output)

    def _update(self, display_id: str, content: JSON) -> None:
        if display_id:
            metadata = scrub_json(content.get("metadata"))
            data = clean_bundle(content.get("data"), caps=self._caps)
            self._refresh(display_id, data, cast(JSON, metadata) if isinstance(metadata, dict) else {})

    def _refresh(self, display_id: str, data: JSON, metadata: JSON) -> None:
        for shown in self._displays.where(display_id):
            output = shown.with_content(data, metadata)
            self.rewrites = True
            if shown.execution_id == self.execution_id:
                slot = self._slots[shown.index]
                slot.output, slot.changed = output, True
            else:
                self._elsewhere[shown.execution_id, shown.index] = output
        if self._overflow is not None:
            self._overflow.update(display_id, data, metadata)

    def _append(self, display_id: str, output: JSON) -> None:
        full = len(self._slots) >= self._caps.outputs or self._data_length + size(output) > self._caps.total
        if self._overflow is None and full:
            self._begin_overflow()
        if self._overflow is None:
            self._put(display_id, output)
        elif not self._finished:
            self._overflow.add_output(display_id, output)

    def _put(self, display_id: str, output: JSON) -> None:
        if display_id:
            self._own_ids.add(display_id)
            shown = _Shown(
                execution_id=self.execution_id,
                index=len(self._slots),
                output_type=output["output_type"],
                execution_count=output.get("execution_count"),
            )
            self._displays.add(display_id, shown)
        self._slots.append(_Slot(output=output))
        self._data_length += size(output)
        self.urgent = True

    # ---- clearing, caps -------------------------------------------------------------------------------------------------

    def _clear_if_pending(self) -> None:
        if self._clear_pending:
            self._clear()

    def _clear(self) -> None:
        self._cleared = self._cleared or any(slot.told >= 0 for slot in self._slots)
        self.rewrites = True
        self.error = self._overflow = self._overflow_note = None
        self._clear_pending = False
        self._slots = []
        self._stream_length = self._data_length = 0
        self._displays.forget(self.execution_id, self._own_ids)
        self._own_ids = set()

    def _begin_overflow(self) -> None:
        self._overflow = Overflow(self._caps)
        written = "".join(slot.stream.text for slot in self._slots if slot.stream is not None)
        if written:
            self._spill(self._stream_file, written)
        self._overflow_note = _Slot(output=_note("[very long output: the rest is shown when the code has ended]"))
        self._slots.append(self._overflow_note)
        self.urgent = True

    @property
    def _stream_file(self) -> str:
        return f"{self.execution_id}.txt"

    def _keep(self, suffix: str, text: str) -> str:
        if self._place is None:
            return ""
        self._side_files += 1
        name = f"{self.execution_id}-{self._side_files}-{re.sub('[^A-Za-z0-9._-]', '-', suffix)[:60]}.txt"
        self._spill(name, text)
        return self._place(name)

    def _spill(self, name: str, text: str) -> None:
        room = self._caps.spill - self._spilled
        if self._place is not None and room > 0:
            self._spilled += len(text)
            self._spills.append(Spill(name=name, text=text[:room] + ("" if len(text) <= room else "\n[cut here]\n")))
