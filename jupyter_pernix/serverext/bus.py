"""The bus: hands stored events and deltas to whoever listens. It lives on the event loop and never waits.

Rules:

* A message is encoded once and joined with its neighbours once, however many listen: listeners with the same filter share one
  queue, each has a place in it, and those at the same place are given the same bytes.
* A listener is told at most once in ``PAUSE_SECONDS`` that something waits, and at once when it has been quiet; what comes between
  goes out together.
* One that is ``QUEUE_BYTES`` behind is cut. What it has not got is in the store, above ``seen``.
* The bus remembers the text that is being written now, so that a new listener starts with all of it (``offset`` 0) and then gets
  what follows. The text is forgotten once its stored event has passed by.
"""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import anyio

from ..events import (
    Delta,
    MessageCompleted,
    MessageDelta,
    PageRequest,
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

log = logging.getLogger(__name__)

PAUSE_SECONDS = 0.005
QUEUE_BYTES = 1024 * 1024
CHUNK_BYTES = 64 * 1024
"""A chunk ends with the message that fills it; so much, or one message, is what a listener has in hand."""


def event_message(seq: int, data: bytes) -> bytes:
    """A stored event as server-sent event."""
    return b"id: %d\nevent: pernix\ndata: %b\n\n" % (seq, data)


def page_message(data: bytes) -> bytes:
    """A request to one page as server-sent event; the others ignore it."""
    return b"event: page\ndata: %b\n\n" % data


def delta_message(data: bytes) -> bytes:
    """A delta as server-sent event: it has no id."""
    return b"event: delta\ndata: %b\n\n" % data


class _Queue:
    """What listeners with one filter wait for. Places are counted from the first message there ever was."""

    def __init__(self) -> None:
        self.listeners: dict[Subscription, None] = {}
        self.end = 0
        """The place of the next message."""
        self.size = 0
        """Bytes of all messages there ever were."""
        self._first = 0
        self._messages: list[bytes] = []
        self._sizes: list[int] = []
        self._marks: list[int] = []
        self._last: tuple[int, int, bytes] | None = None

    def add(self, message: bytes, mark: int) -> None:
        """``mark``: the last ``seq`` that has passed, with this message."""
        self.end += 1
        self.size += len(message)
        self._messages.append(message)
        self._sizes.append(self.size)
        self._marks.append(mark)

    def chunk(self, place: int) -> tuple[int, bytes]:
        """Messages that wait at a place, joined, and the place behind them; there must be something."""
        if self._last is None or self._last[0] != place:
            low = place - self._first
            before = self._sizes[low] - len(self._messages[low])
            high = bisect_left(self._sizes, before + CHUNK_BYTES, lo=low) + 1
            messages = self._messages[low:high]
            self._last = place, place + len(messages), b"".join(messages)
        return self._last[1], self._last[2]

    def at(self, place: int) -> tuple[int, int]:
        """The mark of the message before this place, and the size up to there; the message must be one that is kept."""
        index = place - self._first - 1
        return self._marks[index], self._sizes[index]

    def trim(self) -> None:
        """Forget what all have got."""
        done = min((listener.place for listener in self.listeners), default=self.end) - self._first
        if done:
            self._first += done
            del self._messages[:done], self._sizes[:done], self._marks[:done]
            self._last = None


class Subscription:
    """One listener; made by ``Bus.subscribe``, used as a context manager."""

    def __init__(self, bus: "Bus", session_id: SessionId | None, queue: _Queue, *, start: int, texts: bytes) -> None:
        self.start = self.seen = start
        """``start``: the last ``seq`` that was published before; everything after it comes. ``seen``: the last one that was taken."""
        self.cut = False
        """It fell behind, it was ended, or the bus closed: nothing follows."""
        self.fell_behind = False
        self.session_id = session_id
        self.place = queue.end
        self.ready: Callable[[], None] = self._wake
        """Called when there is something to ``take``, or the subscription was cut; until it is replaced, it wakes ``wait``."""
        self._bus = bus
        self._queue = queue
        self._taken = queue.size
        self._texts = texts
        self._changed = anyio.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bus.leave(self)

    @property
    def behind(self) -> int:
        """Bytes that wait for it in the queue."""
        return self._queue.size - self._taken

    def take(self) -> bytes:
        """What comes next, whole messages; empty: nothing waits, or it was cut."""
        if self.cut:
            return b""
        if self._texts:
            texts, self._texts = self._texts, b""
            return texts
        if self.place == self._queue.end:
            return b""
        self.place, chunk = self._queue.chunk(self.place)
        self.seen, self._taken = self._queue.at(self.place)
        return chunk

    async def wait(self) -> None:
        """Until there is something to take, or it was cut."""
        while not (self.cut or self._texts or self.place != self._queue.end):
            self._changed = anyio.Event()
            await self._changed.wait()

    def end(self) -> None:
        """Cut it: what waits is dropped."""
        if not self.cut:
            self.cut = True
            self._bus.leave(self)
            self.ready()

    def silence(self) -> None:
        """Call what is to be told no more."""
        self.ready = self._wake

    def _wake(self) -> None:
        self._changed.set()


class _Text:
    """What has been written so far of one message, thought or call."""

    _MOST_CHUNKS = 256

    def __init__(self, delta: Delta) -> None:
        self._last = delta
        self._chunks: list[str] = []
        self._length = 0
        self.add(delta)

    def add(self, delta: Delta) -> None:
        if delta.offset != self._length:
            # Started afresh or overlapping: what is kept ends where the new piece begins.
            self._chunks = ["".join(self._chunks)[: delta.offset]]
        elif len(self._chunks) == self._MOST_CHUNKS:
            self._chunks = ["".join(self._chunks)]
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


class _Texts:
    """The texts that are being written now."""

    def __init__(self) -> None:
        self._of: dict[SessionId, dict[tuple[StepId, str], _Text]] = {}

    def add(self, delta: Delta) -> None:
        texts = self._of.setdefault(delta.session_id, {})
        key = delta.step_id, _kind(delta)
        text = texts.get(key)
        if text is None:
            texts[key] = _Text(delta)
        else:
            text.add(delta)

    def whole(self, session_id: SessionId | None) -> list[Delta]:
        """One delta from offset 0 for each text of this session, or of all."""
        sessions = self._of.values() if session_id is None else [self._of.get(session_id, {})]
        return [text.whole() for texts in sessions for text in texts.values()]

    def forget(self, stored: Stored) -> None:
        """Those that this event holds or ends."""
        event = stored.event
        texts = self._of.get(event.session_id)
        if texts is None:
            return
        match event:
            case MessageCompleted():
                texts.pop((event.step_id, "message"), None)
            case ThoughtCompleted():
                texts.pop((event.step_id, "thought"), None)
            case StepFinished():
                for key in [key for key in texts if key[0] == event.step_id]:
                    del texts[key]
            case TurnFinished():
                for key in [key for key, text in texts.items() if text.turn_id == event.turn_id]:
                    del texts[key]
            case _:
                pass
        if not texts:
            del self._of[event.session_id]


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
        self.closed = False
        self._queues: dict[SessionId | None, _Queue] = {}
        self._fresh: dict[_Queue, None] = {}
        self._texts = _Texts()
        self._timer: asyncio.TimerHandle | None = None
        self._quiet_from = 0.0

    def subscribe(self, session_id: SessionId | None = None) -> Subscription:
        """Listen to one session, or to all. It begins with one delta from offset 0 for each text being written now."""
        texts = b"".join(delta_message(encode_delta(delta)) for delta in self._texts.whole(session_id))
        queue = self._queues.setdefault(session_id, _Queue()) if not self.closed else _Queue()
        subscription = Subscription(self, session_id, queue, start=self.last_seq, texts=texts)
        queue.listeners[subscription] = None
        if self.closed:
            subscription.end()
        return subscription

    def leave(self, subscription: Subscription) -> None:
        queue = self._queues.get(subscription.session_id)
        if queue is not None:
            queue.listeners.pop(subscription, None)
            if not queue.listeners:
                del self._queues[subscription.session_id]

    @property
    def subscriptions(self) -> list[Subscription]:
        """Who listens now."""
        return [listener for queue in self._queues.values() for listener in queue.listeners]

    def listeners(self, session_id: SessionId) -> int:
        """How many listen to this session alone."""
        queue = self._queues.get(session_id)
        return len(queue.listeners) if queue is not None else 0

    def publish(self, group: Sequence[Stored]) -> None:
        """Hand on committed events, in order of ``seq``."""
        for stored in group:
            self.last_seq = stored.seq
            self._texts.forget(stored)
            queues = self._queues_of(stored.event.session_id)
            if queues:
                self._add(queues, event_message(stored.seq, encode_stored(stored)))
        self._stir()

    def pass_on(self, delta: Delta) -> None:
        self._texts.add(delta)
        queues = self._queues_of(delta.session_id)
        if queues:
            self._add(queues, delta_message(encode_delta(delta)))
            self._stir()

    def ask_page(self, request: PageRequest) -> None:
        """Send it to those who listen to all sessions; the page whose id it names acts."""
        queue = self._queues.get(None)
        if queue is not None:
            self._add([queue], page_message(encode_delta(request)))
            self._stir()

    def close(self) -> None:
        """Cut all listeners, now and later; they are offered what waits first."""
        self._tell()
        self.closed = True
        for subscription in self.subscriptions:
            subscription.end()

    def _queues_of(self, session_id: SessionId) -> list[_Queue]:
        found = (self._queues.get(None), self._queues.get(session_id)) if self._queues else ()
        return [queue for queue in found if queue is not None]

    def _add(self, queues: list[_Queue], message: bytes) -> None:
        for queue in queues:
            queue.add(message, self.last_seq)
            self._fresh[queue] = None

    def _stir(self) -> None:
        """Tell now, and not at the end of a turn of the loop that may be long; soon, if it was done just before."""
        if self._fresh:
            loop = asyncio.get_running_loop()
            if loop.time() >= self._quiet_from:
                self._tell()
            elif self._timer is None:
                self._timer = loop.call_at(self._quiet_from, self._tell)

    def _tell(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        fresh, self._fresh = self._fresh, {}
        for queue in fresh:
            for listener in list(queue.listeners):
                self._offer(listener)
            queue.trim()
        if fresh:
            self._quiet_from = asyncio.get_running_loop().time() + PAUSE_SECONDS

    def _offer(self, listener: Subscription) -> None:
        try:
            listener.ready()
        except Exception:  # The edge between listeners: what is wrong with one must not reach the others.
            log.exception("a listener failed and is cut")
            listener.silence()
            listener.end()
        if listener.behind > QUEUE_BYTES:
            listener.fell_behind = True
            listener.end()
