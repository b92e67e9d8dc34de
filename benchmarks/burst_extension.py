"""A server extension for benchmarks alone: it makes bursts of stored events, and notes what holds the event
loop and when something comes to the bus.

``POST benchmark/burst?n=…&rate=…&size=…`` appends events to the newest session, through the product's own store;
``rate`` 0 is as fast as possible. ``GET benchmark/stat`` gives figures of the process. A burst's event holds ``"ts": time.time()``.
"""

import asyncio
import gc
import json
import os
import re
import sys
import threading
import time
import traceback
from typing import Any

import msgspec
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from real_server import cpu_seconds, rss_mb
from tornado import web

GROUP = 20
"""Events that come at once in a burst without a rate, as of so many sessions; the floor takes as many into one commit."""

STALL_SECONDS = 0.05


class _Handler(APIHandler):
    async def runtime(self) -> Any:
        assert self.serverapp is not None
        (extension,) = self.serverapp.extension_manager.extension_apps["jupyter_pernix"]
        return await extension.runtime()


class BurstHandler(_Handler):
    @web.authenticated
    async def post(self) -> None:
        runtime = await self.runtime()
        number, rate = int(self.get_argument("n")), float(self.get_argument("rate", "0"))
        pad = "x" * int(self.get_argument("size", "100"))
        begun = time.perf_counter()
        session_id = runtime.sessions.listed()[0].session_id
        if rate:
            await self._paced(runtime.store, session_id, number, rate, pad)
        else:
            await self._at_once(runtime.store, session_id, number, pad)
        self.finish({"seq": runtime.bus.last_seq, "s": time.perf_counter() - begun})

    async def _at_once(self, store: Any, session_id: str, number: int, pad: str) -> None:
        async with asyncio.TaskGroup() as group:
            for first in range(0, number, GROUP):
                events = [_event(session_id, one, pad) for one in range(first, min(first + GROUP, number))]
                group.create_task(store.append(events))
                await asyncio.sleep(0)

    async def _paced(self, store: Any, session_id: str, number: int, rate: float, pad: str) -> None:
        begun = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for one in range(number):
                wait = begun + one / rate - time.perf_counter()
                if wait > 0:
                    await asyncio.sleep(wait)
                group.create_task(store.append([_event(session_id, one, pad)]))


def _event(session_id: str, number: int, pad: str) -> Any:
    from jupyter_pernix.events import Unknown

    # Unknown, so that the text of the JSON can be written by hand: readers look for '"ts": '.
    stamp = msgspec.Raw(b'{"ts": %.6f, "i": %d}' % (time.time(), number))
    kind = "problem.noticed"
    body = {"type": kind, "session_id": session_id, "turn_id": None, "text": pad, "hint": "", "stamp": stamp}
    return Unknown(session_id=session_id, type=kind, body=body)  # type: ignore[arg-type]


class StatHandler(_Handler):
    @web.authenticated
    async def get(self) -> None:
        runtime = await self.runtime()
        if self.get_argument("watch", ""):
            _note_times(runtime.bus)
            STALLS.found.clear()
        if self.get_argument("forget", ""):
            for session in runtime.sessions.live:
                session.forget_fold()
            gc.collect()
        self.finish(
            {
                "seq": runtime.bus.last_seq,
                "rss": rss_mb(os.getpid()) * 1e6,
                "cpu": time.process_time(),
                "clients": len(runtime.bus.subscriptions),
                "held": max(map(_held, runtime.bus.subscriptions), default=0),
                "stalls": STALLS.found,
                "threads": _threads(),
            }
        )


def _threads() -> dict[str, float]:
    """Seconds of CPU by the kind of thread; one that has ended is not counted."""
    used: dict[str, float] = {}
    for thread in threading.enumerate():
        name = re.sub(r"[-_ ]?[0-9]+.*", "", thread.name)
        used[name] = used.get(name, 0.0) + cpu_seconds(f"self/task/{thread.native_id}")
    return {name: round(seconds, 2) for name, seconds in used.items() if seconds}


def _held(subscription: Any) -> int:
    """Bytes that are kept for one client: what waits, and what its socket has not taken."""
    handler = getattr(subscription.ready, "__self__", None)
    stream = getattr(getattr(getattr(handler, "request", None), "connection", None), "stream", None)
    return subscription.behind + (len(stream._write_buffer) if stream is not None else 0)


class TimesHandler(_Handler):
    @web.authenticated
    async def get(self) -> None:
        """When each delta, and each event, came to the bus."""
        self.finish(json.dumps({"deltas": PASSED, "events": PUBLISHED}))


PASSED: list[tuple[str, str, int, float]] = []
PUBLISHED: dict[int, float] = {}


def _note_times(bus: Any) -> None:
    pass_on, publish = bus.pass_on, bus.publish

    def noting(delta: Any) -> None:
        PASSED.append((delta.step_id, type(delta).__struct_config__.tag, delta.offset, time.time()))
        pass_on(delta)

    def noting_events(group: Any) -> None:
        PUBLISHED.update((stored.seq, time.time()) for stored in group)
        publish(group)

    # ``publish`` is looked up anew for each group by the runtime's function around it.
    bus.pass_on, bus.publish = noting, noting_events


class Stalls:
    """Callbacks of the loop that ran longer than ``STALL_SECONDS``; ``cpu`` of the loop's thread tells its own work from waiting for
    the machine."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self._since: float | None = None
        self._looked_at: float | None = None
        """Which callback the watching thread saw last, by its begin; ``_cpu`` of the loop's thread then, and where it was seen later."""
        self._cpu = 0.0
        self._seen: list[str] = []

    def watch(self) -> None:
        run = asyncio.Handle._run
        main = threading.get_ident()

        def timed(handle: asyncio.Handle) -> None:
            self._since = begun = time.perf_counter()
            run(handle)
            self._since = None
            took = time.perf_counter() - begun
            if took > STALL_SECONDS:
                same = self._looked_at == begun
                used = time.thread_time() - self._cpu if same else 0.0
                at = self._seen if same else []
                self.found.append({"s": round(took, 3), "cpu": round(used, 3), "at": at, "of": _name(handle)})

        clock = time.pthread_getcpuclockid(main)

        def look() -> None:
            while True:
                time.sleep(0.01)
                since = self._since
                if since is None:
                    continue
                if since != self._looked_at:
                    self._looked_at, self._cpu, self._seen = since, time.clock_gettime(clock), []
                elif time.perf_counter() - since > STALL_SECONDS * 0.6 and len(self._seen) < 3:
                    self._seen.append(_place(traceback.extract_stack(sys._current_frames()[main])))

        asyncio.Handle._run = timed  # type: ignore[method-assign]
        threading.Thread(target=look, daemon=True).start()


def _place(stack: traceback.StackSummary) -> str:
    """The innermost frames, and those of the product."""
    frames = list(stack)
    kept = [one for place, one in enumerate(frames) if place >= len(frames) - 3 or "jupyter_pernix" in one.filename]
    kept = [one for one in kept if "importlib" not in one.filename]
    return " < ".join(f"{one.filename.rpartition('/')[2]}:{one.lineno} {one.name}" for one in reversed(kept[-9:]))


def _name(handle: asyncio.Handle) -> str:
    task = getattr(getattr(handle, "_callback", None), "__self__", None)
    return task.get_name() if isinstance(task, asyncio.Task) else repr(handle)[:120]


STALLS = Stalls()


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "burst_extension"}]


def _load_jupyter_server_extension(serverapp: Any) -> None:
    base = serverapp.web_app.settings["base_url"]
    serverapp.web_app.add_handlers(
        ".*",
        [
            (url_path_join(base, "benchmark/burst"), BurstHandler),
            (url_path_join(base, "benchmark/stat"), StatHandler),
            (url_path_join(base, "benchmark/times"), TimesHandler),
        ],
    )
    if os.environ.get("BENCHMARK_STALLS"):
        STALLS.watch()
