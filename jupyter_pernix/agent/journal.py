"""The log as a Run knows it: what it stores is durable when ``add`` returns, and folded into what it thinks with."""

from collections.abc import Sequence

import anyio

from ..errors import StoreError
from ..events import Event, Stored
from ..ports import TurnHost
from .context import Transcript
from .ledger import Ledger

_STORE_DEADLINE = 30.0


class Journal:
    """``log`` is the session's log up to now."""

    def __init__(self, host: TurnHost, *, system: str, log: Sequence[Stored]) -> None:
        self._host = host
        self.transcript = Transcript.of(system, log)
        self.ledger = Ledger.of(log)

    async def add(self, *events: Event) -> None:
        """Store; cancellation waits until it is known that the events are in the log.

        :raises StoreError: if that takes too long
        """
        if not events:
            return
        with anyio.move_on_after(_STORE_DEADLINE, shield=True) as scope:
            for stored in await self._host.append(*events):
                self.transcript.add(stored)
                self.ledger.add(stored)
        if scope.cancelled_caught:
            raise StoreError(f"the store did not take {len(events)} events within {_STORE_DEADLINE:g} s")
