"""The floor of ``sse.py``: the least that a durable stream of server-sent events can be. Not the product, and it does nothing else.

Tornado, one event loop; SQLite with ``synchronous=FULL``; all events of one turn of the loop are one transaction; all events that a
client has not got are one write. ``python benchmarks/sse_floor.py DATABASE`` prints its port.
"""

import asyncio
import json
import os
import sqlite3
import sys
import time
from typing import Any

from real_server import rss_mb
from tornado import web
from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets

GROUP = 20
MOST_IN_A_WRITE = 500


class Log:
    def __init__(self, path: str) -> None:
        self.lines: list[bytes] = []
        self.changed = asyncio.Event()
        self._waiting: list[tuple[int, bytes]] = []
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("CREATE TABLE log (seq INTEGER PRIMARY KEY, body BLOB)")

    def append(self, data: dict[str, Any]) -> None:
        seq = len(self.lines) + len(self._waiting) + 1
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._commit)
        self._waiting.append((seq, b"id: %d\ndata: %b\n\n" % (seq, json.dumps(data).encode())))

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._database.execute("BEGIN")
        self._database.executemany("INSERT INTO log VALUES (?, ?)", waiting)
        self._database.execute("COMMIT")
        self.lines += [line for _, line in waiting]
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class Handler(web.RequestHandler):
    def initialize(self, log: Log) -> None:
        self.log = log


class BurstHandler(Handler):
    async def post(self) -> None:
        number, rate = int(self.get_argument("n")), float(self.get_argument("rate", "0"))
        pad = "x" * int(self.get_argument("size", "100"))
        begun = time.perf_counter()
        for one in range(number):
            if rate:
                wait = begun + one / rate - time.perf_counter()
                if wait > 0:
                    await asyncio.sleep(wait)
            elif one % GROUP == 0:
                await asyncio.sleep(0)
            self.log.append({"ts": time.time(), "i": one, "pad": pad})
        self.write({"seq": len(self.log.lines), "s": time.perf_counter() - begun})


class StreamHandler(Handler):
    async def get(self) -> None:
        self.set_header("Content-Type", "text/event-stream")
        stream: Any = getattr(self.request.connection, "stream", None)
        stream.set_nodelay(True)
        position = int(self.request.headers.get("Last-Event-ID") or self.get_argument("after", "0"))
        try:
            await self.flush()
            while True:
                changed = self.log.changed
                if position == len(self.log.lines):
                    await changed.wait()
                    continue
                lines = self.log.lines[position : position + MOST_IN_A_WRITE]
                position += len(lines)
                self.write(b"".join(lines))
                await self.flush()
        except StreamClosedError:
            pass


class StatHandler(Handler):
    async def get(self) -> None:
        self.write({"rss": rss_mb(os.getpid()) * 1e6, "seq": len(self.log.lines), "cpu": time.process_time()})


async def main() -> None:
    log = {"log": Log(sys.argv[1])}
    app = web.Application(
        [("/events", StreamHandler, log), ("/burst", BurstHandler, log), ("/stat", StatHandler, log)]  # type: ignore[list-item]
    )
    sockets = bind_sockets(0, "127.0.0.1")
    HTTPServer(app).add_sockets(sockets)
    print(sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
