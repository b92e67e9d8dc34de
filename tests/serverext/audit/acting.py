"""A process that stores audited events, one group after the other, and prints a line for each that is acknowledged.

Run: ``python acting.py FOLDER``.
"""

import asyncio
import sys
from pathlib import Path

from jupyter_pernix.events import ToolCallStarted
from jupyter_pernix.ids import CallId, SessionId, TurnId
from jupyter_pernix.serverext.audit.trail import Trail
from jupyter_pernix.serverext.store import EventStore


async def main(folder: Path) -> None:
    store = await EventStore.open(folder / "pernix.duckdb", auditor=Trail(folder / "audit", on=True))
    number = 0
    while True:
        event = ToolCallStarted(session_id=SessionId("ses_1"), turn_id=TurnId("trn_1"), call_id=CallId(f"cal_{number}"))
        await store.append([event])
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        number += 1
        if number % 300 == 0:
            await store.settle_audit()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
