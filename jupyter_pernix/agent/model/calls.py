"""Structured calls out of stream fragments. Which call a fragment belongs to is decided by id, index, name and by whether the
JSON so far is a finished object, since each server leaves out a different one of them.
"""

import json
import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, cast

from ...records import JSON
from .arguments import Unreadable, is_object, read_objects
from .parts import CallPart, ModelCall


class _Shape:
    """Follows JSON text as it grows: has an object begun, is it closed?"""

    _MARKS = re.compile(r'["\\{}\[\]]')

    def __init__(self) -> None:
        self.begun = False
        self._depth = 0
        self._in_string = False
        self._escaped_at = -1
        self._length = 0

    @property
    def closed(self) -> bool:
        return self.begun and self._depth == 0

    def feed(self, text: str) -> None:
        self.begun = self.begun or bool(text.strip())
        for match in self._MARKS.finditer(text):
            place = self._length + match.start()
            if place == self._escaped_at:
                continue
            mark = match[0]
            if self._in_string:
                if mark == "\\":
                    self._escaped_at = place + 1
                elif mark == '"':
                    self._in_string = False
            elif mark == '"':
                self._in_string = True
            elif mark in "{[":
                self._depth += 1
            elif mark in "}]":
                self._depth -= 1
        self._length += len(text)


@dataclass(kw_only=True)
class _Call:
    number: int
    index: int | None
    wire_id: str
    name: str
    pieces: list[str] = field(default_factory=list[str])
    shape: _Shape = field(default_factory=_Shape)

    @property
    def is_open(self) -> bool:
        """Its arguments have begun and are not finished."""
        return self.shape.begun and not self.shape.closed


def as_object(value: object) -> JSON:
    """``value`` if it is a JSON object, else an empty one."""
    return cast(JSON, value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def new_wire_id() -> str:
    return f"call_{uuid.uuid4().hex[:16]}"


class CallCollector:
    """Joins the fragments of one reply. ``tools`` are the names that were offered; it may be empty."""

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = tools
        self._calls: list[_Call] = []

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, fragment: JSON) -> CallPart | None:
        """Take one element of ``delta.tool_calls``; the part that a reader may show, if there is one."""
        function = as_object(fragment.get("function")) or fragment
        name = _text(function.get("name")).strip()
        arguments: Any = function.get("arguments")
        if arguments is None:
            arguments = function.get("parameters")
        text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
        index = fragment.get("index")
        if isinstance(index, str) and index.isdecimal():
            index = int(index)
        return self.take(
            index=index if isinstance(index, int) else None, wire_id=_text(fragment.get("id")), name=name, text=text
        )

    def take(self, *, index: int | None, wire_id: str, name: str, text: str) -> CallPart | None:
        """The same for a fragment that was looked at already."""
        call = self._call_for(index=index, wire_id=wire_id, name=name, has_text=bool(text))
        if call is None:
            return None
        if text:
            call.pieces.append(text)
            call.shape.feed(text)
        return CallPart(index=call.number, name=call.name, text=text)

    def _call_for(self, *, index: int | None, wire_id: str, name: str, has_text: bool) -> _Call | None:
        call = self._addressed(index, wire_id)
        if call is None or self._begins_another(call, index=index, wire_id=wire_id, name=name, has_text=has_text):
            if not (name or has_text or wire_id):
                return None
            call = _Call(number=len(self._calls), index=index, wire_id=wire_id, name=name)
            self._calls.append(call)
            return call
        if name:
            call.name = self._joined_name(call, name)
        call.wire_id = call.wire_id or wire_id
        return call

    def _addressed(self, index: int | None, wire_id: str) -> _Call | None:
        newest_first = self._calls[::-1]
        if wire_id:
            same_id = next((call for call in newest_first if call.wire_id == wire_id), None)
            if same_id is not None:
                return same_id
        if index is not None:
            return next((call for call in newest_first if call.index in (index, None)), None)
        return newest_first[0] if newest_first else None

    def _begins_another(self, call: _Call, *, index: int | None, wire_id: str, name: str, has_text: bool) -> bool:
        new_id = bool(wire_id and call.wire_id and wire_id != call.wire_id)
        if call.is_open:
            # A fresh id alone is what some proxies stamp on every fragment.
            return new_id and bool(name) and (index is None or name != call.name)
        if call.shape.closed:
            elsewhere = None not in (index, call.index) and index != call.index
            return bool(name) and (new_id or has_text or elsewhere or name != call.name)
        return bool(name) and (new_id or (bool(call.name) and self._is_other_name(call.name, name)))

    def _is_other_name(self, known: str, name: str) -> bool:
        return known in self._tools and name in self._tools and name != known and not name.startswith(known)

    def _joined_name(self, call: _Call, name: str) -> str:
        if not call.name or name.startswith(call.name):
            return name
        if call.shape.begun or call.name in self._tools:
            return call.name
        return call.name + name

    def finish(self, *, cut: bool) -> tuple[ModelCall, ...]:
        """The calls in the order they began. ``cut``: the reply ended at its length limit, so the last one may lack its end."""
        done: list[ModelCall] = []
        for call in self._calls:
            last = call is self._calls[-1]
            for one in _complete(call, self._tools, cut=cut and last):
                if not any(_is_same(one, other) for other in done):
                    taken = any(one.wire_id == other.wire_id for other in done)
                    done.append(_with_id(one, new_wire_id()) if taken else one)
        return tuple(done)


def _is_same(one: ModelCall, other: ModelCall) -> bool:
    """One call that was sent twice: the same id and the same content."""
    return one.wire_id == other.wire_id and one.name == other.name and one.raw == other.raw and one.fault == other.fault


def _with_id(call: ModelCall, wire_id: str) -> ModelCall:
    return ModelCall(wire_id=wire_id, name=call.name, arguments=call.arguments, raw=call.raw, fault=call.fault)


def tool_name(written: str, tools: Collection[str]) -> str:
    """The offered name that was meant; ``written`` itself if there is none."""
    if written in tools:
        return written
    bare = re.sub(r"^(functions?|tools?)[.:]|<\|.*$|:\d+$", "", written).strip()
    return bare if bare in tools else written


def _complete(call: _Call, tools: Collection[str], *, cut: bool) -> list[ModelCall]:
    text = "".join(call.pieces).strip()
    name = tool_name(call.name, tools)
    wire_id = call.wire_id or new_wire_id()
    if cut and not call.shape.closed:
        fault = "the call was cut off at the length limit; write less at once"
        return [ModelCall(wire_id=wire_id, name=name, arguments=None, raw="{}", fault=fault)]
    try:
        objects = read_objects(text)
    except Unreadable as exc:
        return [ModelCall(wire_id=wire_id, name=name, arguments=None, raw="{}", fault=str(exc))]
    if len(objects) == 1:
        return [read_call(name, objects[0], written=text, wire_id=wire_id)]
    ids = [wire_id, *(new_wire_id() for _ in objects[1:])]
    return [read_call(name, item, wire_id=one) for one, item in zip(ids, objects, strict=True)]


def read_call(name: str, arguments: JSON, *, written: str = "", wire_id: str = "") -> ModelCall:
    """A call whose arguments are known; what the model wrote is kept byte for byte where it can go back as it stands."""
    raw = written if written and is_object(written) else json.dumps(arguments, ensure_ascii=False)
    return ModelCall(wire_id=wire_id or new_wire_id(), name=name, arguments=arguments, raw=raw)
