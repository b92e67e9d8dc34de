"""A process that appends events one group after the other and prints each ``seq`` once it is told that it is stored.

Run: ``python appending.py FILE``.
"""

import asyncio
import sys
from pathlib import Path

from jupyter_pernix.events import MessageCompleted
from jupyter_pernix.ids import SessionId, StepId, TurnId
from jupyter_pernix.serverext.store import EventStore


def message(number: int) -> MessageCompleted:
    return MessageCompleted(
        session_id=SessionId("ses_1"), turn_id=TurnId("trn_1"), step_id=StepId("stp_1"), text=f"text {number}"
    )


async def main(path: Path) -> None:
    store = await EventStore.open(path)

    async def append_for_ever(lane: int) -> None:
        number = 0
        while True:
            stored = await store.append([message(lane), message(number)])
            sys.stdout.write(f"{stored[-1].seq}\n")
            sys.stdout.flush()
            number += 1

    await asyncio.gather(*(append_for_ever(lane) for lane in range(4)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
