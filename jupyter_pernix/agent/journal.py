"""The log as a Run knows it: what it stores is durable when ``add`` returns, and folded into what it thinks with."""

from collections.abc import Sequence
from datetime import UTC, datetime

import anyio

from ..errors import StoreError
from ..events import Event, Stored, TurnEdited, TurnStarted, TurnSubmitted
from ..ids import TurnId
from ..masking import masked_event
from ..ports import TurnHost
from .context import Transcript
from .ledger import Ledger

_STORE_DEADLINE = 30.0
_UNSTORED = datetime.min.replace(tzinfo=UTC)


class Journal:
    """``log`` is the session's log up to now, and grows with what is stored here.

    ``defer`` is for what is already done and need not be durable before the next ``add``, which stores it first. Whatever waits on
    the outside (a model, a tool, a person) has an ``add`` or a ``settle`` before it, so nothing deferred can get lost by waiting.
    What the model thinks with is what is stored: without the secrets that tools brought back.
    """

    def __init__(self, host: TurnHost, *, system: str, log: Sequence[Stored]) -> None:
        self._host = host
        self._deferred: list[Event] = []
        self.log = list(log)
        self.transcript = Transcript.of(system, log)
        self.ledger = Ledger.of(log)

    def defer(self, *events: Event) -> None:
        """Fold into the model's input at once; store with the next ``add``."""
        for event in (masked_event(event, self._host.masker) for event in events):
            self._deferred.append(event)
            self.transcript.add(Stored(seq=0, recorded_at=_UNSTORED, event=event))

    async def settle(self) -> None:
        """Store what was deferred."""
        await self.add()

    async def add(self, *events: Event) -> None:
        """Store, behind what was deferred; cancellation waits until it is known that the events are in the log.

        :raises StoreError: if that takes too long
        """
        deferred = self._deferred
        if not events and not deferred:
            return
        self._deferred = []
        count = len(deferred) + len(events)
        with anyio.move_on_after(_STORE_DEADLINE, shield=True) as scope:
            for place, stored in enumerate(await self._host.append(*deferred, *events)):
                self.log.append(stored)
                self.ledger.add(stored)
                if place >= len(deferred):
                    self.transcript.add(stored)
        if scope.cancelled_caught:
            raise StoreError(f"the store did not take {count} events within {_STORE_DEADLINE:g} s")

    def witness(self, *events: Event) -> None:
        """What the host has stored by itself, and the agent thinks with. It is no part of the model's input."""
        for event in events:
            last = self.log[-1].seq if self.log else 0
            stored = Stored(seq=last, recorded_at=_UNSTORED, event=event)
            self.log.append(stored)
            self.ledger.add(stored)

    # ---- what was asked -----------------------------------------------------------------------------------------------------

    def request(self, turn_id: TurnId) -> str:
        """The message of a turn."""
        for stored in reversed(self.log):
            if isinstance(stored.event, TurnSubmitted | TurnEdited) and stored.event.turn_id == turn_id:
                return stored.event.text
        return ""

    def request_before(self, turn_id: TurnId) -> str:
        """The message of the turn that began before this one; "" for the first."""
        before: TurnId | None = None
        for stored in self.log:
            if isinstance(stored.event, TurnStarted):
                if stored.event.turn_id == turn_id:
                    break
                before = stored.event.turn_id
        return "" if before is None else self.request(before)
