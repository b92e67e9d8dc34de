"""Follows one session of the server: a thread reads its events and folds them, another hands the fold on, not too often.

Both threads sleep while nothing happens. Widgets of the same session share them; they end with the last of these widgets.
"""

import atexit
import json
import threading
from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple

from ... import client as _client
from ...client import Client
from ...errors import RequestFailed, ServerAway, ServerError
from ...events import decode_stored
from ...fold import SessionFold
from ...ids import SessionId
from ...records import SessionView

PAUSE = 0.2
"""Seconds between two hand-outs."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 15.0
"""Seconds before a server that is away is looked for again; doubled each time."""


class Link(NamedTuple):
    """``away``: the server does not answer and is looked for; ``lost``: it will not, ``text`` says why."""

    state: Literal["live", "away", "lost"]
    text: str = ""


Listener = Callable[[SessionView, Link], None]


class Follower:
    """``open`` gives the one of a session. Listeners are called in its thread, never two at once, with a view that they must not keep."""

    _open: ClassVar[dict[str, "Follower"]] = {}
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self._session_id = session_id
        self._fold = SessionFold(SessionId(session_id))
        self._link = Link("live")
        self._lock = threading.RLock()
        self._listeners: list[Listener] = []
        self._changed = threading.Event()
        self._stop = threading.Event()

    @classmethod
    def open(cls, client: Client, session_id: str, listener: Listener) -> "Follower":
        """Returns when ``listener`` has been called with the session as it is now.

        :raises ServerError: if its events cannot be had
        """
        while True:
            with cls._guard:
                follower = cls._open.get(session_id)
                if follower is None or follower._stop.is_set():
                    follower = cls(client, session_id)
                    follower._begin()
                    cls._open[session_id] = follower
            with follower._lock:
                if not follower._stop.is_set():
                    follower._listeners.append(listener)
                    listener(follower._fold.view, follower._link)
                    return follower

    def close(self, listener: Listener) -> None:
        """``listener`` is not called any more. Twice does no harm."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)
            if not self._listeners:
                self._end()

    def _begin(self) -> None:
        for event in self._client.past_events(self._session_id):
            self._fold.add(decode_stored(json.dumps(event)))
        for work, name in ((self._read, "reads"), (self._hand_out, "hands out")):
            threading.Thread(target=work, name=f"pernix {name} {self._session_id}", daemon=True).start()
        atexit.register(self._end)

    def _end(self) -> None:
        self._stop.set()
        self._changed.set()
        atexit.unregister(self._end)

    # ---- the thread that reads ------------------------------------------------------------------------------------------

    def _read(self) -> None:
        wait = _FIRST_WAIT
        while not self._stop.is_set():
            try:
                self._read_on()
                return
            except ServerAway as exc:
                self._say(Link("away", str(exc)))
            except ServerError as exc:
                self._say(Link("lost", str(exc)))
                return
            if self._stop.wait(wait):
                return
            wait = min(2 * wait, _LONGEST_WAIT)
            if self._found_again():
                wait = _FIRST_WAIT

    def _read_on(self) -> None:
        """Until the server goes away or nobody listens."""
        for message in self._client.events(self._fold.view.last_seq, self._session_id, patience=0.0):
            if self._stop.is_set():
                return
            if message.kind == "pernix":
                with self._lock:
                    self._fold.add(decode_stored(json.dumps(message.data)))
                self._changed.set()
            self._say(Link("live"))

    def _found_again(self) -> bool:
        """Whether a server answers that knows the session, perhaps a new one at another address.

        :raises RequestFailed: if the server knows it no more
        """
        try:
            client = _client.find() or self._client
            client.session(self._session_id)
        except RequestFailed as exc:
            self._say(Link("away", str(exc)))
            return False
        except ServerError:
            return False
        self._client = client
        return True

    def _say(self, link: Link) -> None:
        if link != self._link:
            with self._lock:
                self._link = link
            self._changed.set()

    # ---- the thread that hands out --------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        while not self._stop.is_set():
            self._changed.wait()
            self._changed.clear()
            with self._lock:
                for listener in [] if self._stop.is_set() else list(self._listeners):
                    listener(self._fold.view, self._link)
            self._stop.wait(PAUSE)
