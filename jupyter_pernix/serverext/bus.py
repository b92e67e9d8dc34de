"""The bus: hands stored events and deltas to whoever listens. It lives on the event loop and never waits.

Rules:

* A frame is encoded once, however many listen.
* A listener's queue is bounded; one that does not keep up is cut, and reads again from the last ``seq`` it has seen.
* The bus remembers the text that is being written now, so that a new listener starts with all of it (``offset`` 0) and then gets
  what follows. The text is forgotten once its stored event has passed by.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import anyio

from ..events import (
    Delta,
    MessageCompleted,
    MessageDelta,
    StepFinished,
    Stored,
    ThoughtCompleted,
    ThoughtDelta,
    ToolCallDelta,
    TurnFinished,
    encode_delta,
    encode_stored,
)
from ..ids import SessionId, StepId

QUEUE_FRAMES = 20_000
QUEUE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Frame:
    """One message to a listener: a stored event (``seq``), or a delta (``seq`` is ``None``), as JSON."""

    seq: int | None
    session_id: SessionId
    data: bytes


class Subscription:
    """One listener's queue; made by ``Bus.subscribe``, used as a context manager."""

    def __init__(self, bus: "Bus", session_id: SessionId | None, *, start: int, frames: Iterable[Frame]) -> None:
        self.start = start
        """Last ``seq`` that was published before this subscription; everything after it comes through the queue."""
        self.cut = False
        """It fell behind, or the bus closed: no frame follows."""
        self.session_id = session_id
        self._bus = bus
        self._frames = list(frames)
        self._bytes = sum(len(frame.data) for frame in self._frames)
        self._wake = anyio.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bus.leave(self)

    async def frames(self) -> list[Frame]:
        """All that waits, at least one frame; an empty list once the subscription is cut."""
        if not self._frames and not self.cut:
            await self._wake.wait()
        self._wake = anyio.Event()
        frames, self._frames, self._bytes = self._frames, [], 0
        return frames

    def push(self, frame: Frame) -> None:
        """For the bus."""
        self._frames.append(frame)
        self._bytes += len(frame.data)
        if len(self._frames) > QUEUE_FRAMES or self._bytes > QUEUE_BYTES:
            self.end()
        self._wake.set()

    def end(self) -> None:
        """Cut it: what waits is dropped."""
        self.cut = True
        self._frames, self._bytes = [], 0
        self._wake.set()


_Key = tuple[SessionId, StepId, str]


class _Text:
    """What has been written so far of one message, thought or call."""

    def __init__(self, delta: Delta) -> None:
        self._last = delta
        self._chunks: list[str] = []
        self._length = 0
        self.add(delta)

    def add(self, delta: Delta) -> None:
        if delta.offset != self._length:
            # Started afresh or overlapping: what is kept ends where the new piece begins.
            self._chunks = ["".join(self._chunks)[: delta.offset]]
        self._chunks.append(delta.text)
        self._length = delta.offset + len(delta.text)
        self._last = delta

    @property
    def turn_id(self) -> str:
        return self._last.turn_id

    def whole(self) -> Delta:
        """One delta from offset 0."""
        last, text = self._last, "".join(self._chunks)
        common = {
            "session_id": last.session_id,
            "turn_id": last.turn_id,
            "step_id": last.step_id,
            "offset": 0,
            "text": text,
        }
        match last:
            case MessageDelta():
                return MessageDelta(**common)
            case ThoughtDelta():
                return ThoughtDelta(**common)
            case ToolCallDelta():
                return ToolCallDelta(**common, index=last.index, tool=last.tool)


def _kind(delta: Delta) -> str:
    match delta:
        case MessageDelta():
            return "message"
        case ThoughtDelta():
            return "thought"
        case ToolCallDelta():
            return f"call {delta.index}"


class Bus:
    """Give it what the store committed (``publish``) and what passes by (``pass_on``); take from it by ``subscribe``."""

    def __init__(self, last_seq: int = 0) -> None:
        self.last_seq = last_seq
        self._subscriptions: dict[Subscription, None] = {}
        self._texts: dict[_Key, _Text] = {}
        self._closed = False

    def subscribe(self, session_id: SessionId | None = None) -> Subscription:
        """Listen to one session, or to all. The queue begins with one delta from offset 0 for each text being written now."""
        texts = [
            text.whole() for (owner, _, _), text in self._texts.items() if session_id is None or owner == session_id
        ]
        frames = [Frame(None, delta.session_id, encode_delta(delta)) for delta in texts]
        subscription = Subscription(self, session_id, start=self.last_seq, frames=frames)
        if self._closed:
            subscription.end()
        else:
            self._subscriptions[subscription] = None
        return subscription

    def leave(self, subscription: Subscription) -> None:
        self._subscriptions.pop(subscription, None)

    @property
    def subscriptions(self) -> list[Subscription]:
        """Who listens now."""
        return list(self._subscriptions)

    def listeners(self, session_id: SessionId) -> int:
        """How many listen to this session alone."""
        return sum(subscription.session_id == session_id for subscription in self._subscriptions)

    def publish(self, group: Sequence[Stored]) -> None:
        """Hand on committed events, in order of ``seq``."""
        for stored in group:
            self.last_seq = stored.seq
            self._forget(stored)
            if self._subscriptions:
                self._send(Frame(stored.seq, stored.event.session_id, encode_stored(stored)))

    def pass_on(self, delta: Delta) -> None:
        key = (delta.session_id, delta.step_id, _kind(delta))
        text = self._texts.get(key)
        if text is None:
            self._texts[key] = _Text(delta)
        else:
            text.add(delta)
        if self._subscriptions:
            self._send(Frame(None, delta.session_id, encode_delta(delta)))

    def close(self) -> None:
        """Cut all listeners, now and later."""
        self._closed = True
        for subscription in list(self._subscriptions):
            subscription.end()
        self._subscriptions.clear()

    def _send(self, frame: Frame) -> None:
        for subscription in list(self._subscriptions):
            if subscription.session_id is None or subscription.session_id == frame.session_id:
                subscription.push(frame)
                if subscription.cut:
                    self.leave(subscription)

    def _forget(self, stored: Stored) -> None:
        event = stored.event
        match event:
            case MessageCompleted():
                self._texts.pop((event.session_id, event.step_id, "message"), None)
            case ThoughtCompleted():
                self._texts.pop((event.session_id, event.step_id, "thought"), None)
            case StepFinished():
                for key in [key for key in self._texts if key[:2] == (event.session_id, event.step_id)]:
                    del self._texts[key]
            case TurnFinished():
                for key in [key for key, text in self._texts.items() if text.turn_id == event.turn_id]:
                    del self._texts[key]
            case _:
                pass
