"""The event stream beside its floor: fan-out, latency, replay, and what a client that does not read costs.

``python benchmarks/sse.py [REPEATS]``. Both servers are up at once and measured in turn, with the same client code, so that what else
the machine does meets both. Prints a table, and ends with 1 if a limit is not held. ``--config FILE`` prints where things are for
another program, and serves until it is interrupted.
"""

import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from real_server import HERE, TOKEN, real_server

FLOOR_SHARE = 0.7
STALLED_MB = 2.0
BURSTS = ((1, 5000), (10, 2000), (100, 500))
PACED_EVENTS, PACED_RATE = 300, 100
REPLAYED = 10_000
STALLED_EVENTS, STALLED_RATE = 5000, 1000
_ID = re.compile(rb"^id: (\d+)\n", re.MULTILINE)
_STAMP = re.compile(rb'"ts": ([0-9.]+)')


@dataclass(frozen=True, kw_only=True)
class Target:
    """Addresses of a server under test; ``{after}``, ``{n}`` and so on are filled in."""

    name: str
    events: str
    burst: str
    stat: str
    headers: dict[str, str] = field(default_factory=dict)

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(urllib.request.Request(self.stat, headers=self.headers), timeout=60) as response:
            return json.load(response)

    async def make(self, n: int, *, rate: float = 0, size: int = 100) -> None:
        url = self.burst.format(n=n, rate=rate) + f"&size={size}"
        request = urllib.request.Request(url, data=b"{}", method="POST", headers=self.headers)
        await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=300).read())


class Client:
    """Reads a stream and only notes what came when; what it means is found out after the measurement."""

    def __init__(self, target: Target, after: int, *, last: int) -> None:
        self.target, self.after = target, after
        self.pieces: list[tuple[float, bytes]] = []
        self.done = asyncio.Event()
        self.done_at = 0.0
        self._mark = b"id: %d\n" % last

    async def open(self) -> None:
        url = urlsplit(self.target.events.format(after=self.after))
        self._reader, self._writer = await asyncio.open_connection(url.hostname, url.port, limit=1 << 24)
        headers = {"Host": url.netloc, "Accept": "text/event-stream", "Last-Event-ID": str(self.after)}
        lines = "".join(f"{key}: {value}\r\n" for key, value in (headers | self.target.headers).items())
        self._writer.write(f"GET {url.path}?{url.query} HTTP/1.1\r\n{lines}\r\n".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head.partition(b"\r\n")[0], head

    def stall(self) -> None:
        """Read no more, whatever comes."""
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]

    async def read(self) -> None:
        tail = b""
        with suppress(ConnectionError):
            while piece := await self._reader.read(1 << 18):
                self.pieces.append((time.time(), piece))
                tail = tail[-32:] + piece
                if self._mark in tail and not self.done.is_set():
                    self.done_at = time.perf_counter()
                    self.done.set()

    def close(self) -> None:
        self._writer.close()

    @property
    def ids(self) -> list[int]:
        return [int(one) for one in _ID.findall(b"".join(_unchunked(piece for _, piece in self.pieces)))]

    @property
    def latencies(self) -> list[float]:
        """Of the events whose stamp came in one piece, all but a few."""
        return [at - float(stamp) for at, piece in self.pieces for stamp in _STAMP.findall(piece)]


def _unchunked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The bodies of chunked transfer coding."""
    data = b"".join(pieces)
    at = 0
    while (end := data.find(b"\r\n", at)) >= 0:
        length = int(data[at:end], 16)
        yield data[end + 2 : end + 2 + length]
        at = end + 4 + length


@dataclass(kw_only=True)
class Case:
    """What one run gave. ``cpu``: µs of the server an event delivered. ``held``: MB that were kept for one client at most, seen ten
    times a second."""

    rate: float
    p50: float
    p99: float
    cpu: float
    rss: float
    held: float
    whole: bool


async def case(
    target: Target, clients: int, n: int, *, rate: float = 0, size: int = 100, stalled: bool = False
) -> Case:
    """``n`` events to so many clients, and one more that never reads if ``stalled``."""
    before = target.stats()
    seq, last = before["seq"], before["seq"] + n
    seen = [0.0]
    good = [Client(target, seq, last=last) for _ in range(clients)]
    bad = Client(target, seq, last=last)
    for client in good:
        await client.open()
    if stalled:
        await bad.open()
        bad.stall()
    async with asyncio.TaskGroup() as group:
        reading = [group.create_task(client.read()) for client in good]
        await asyncio.sleep(0.3)
        before = target.stats()
        begun = time.perf_counter()
        watching = group.create_task(_watch(target, seen)) if stalled else None
        await target.make(n, rate=rate, size=size)
        with suppress(TimeoutError):
            async with asyncio.timeout(60):
                for client in good:
                    await client.done.wait()
        after = target.stats()
        if watching is not None:
            watching.cancel()
        for task in reading:
            task.cancel()
    for client in [*good, bad] if stalled else good:
        client.close()
    await asyncio.sleep(0.2)
    took = max(client.done_at or begun + 60 for client in good) - begun
    latencies = sorted(one for client in good for one in client.latencies)
    return Case(
        rate=n * clients / took,
        p50=latencies[len(latencies) // 2] * 1e3,
        p99=latencies[int(len(latencies) * 0.99)] * 1e3,
        cpu=(after["cpu"] - before["cpu"]) * 1e6 / (n * clients),
        rss=(after["rss"] - before["rss"]) / 1e6,
        held=max(seen),
        whole=all(client.ids == list(range(seq + 1, last + 1)) for client in good),
    )


async def _watch(target: Target, held: list[float]) -> None:
    while True:
        held.append((await asyncio.to_thread(target.stats)).get("held", 0) / 1e6)
        await asyncio.sleep(0.1)


async def replay(target: Target) -> Case:
    missing = REPLAYED - target.stats()["seq"]
    if missing > 0:
        await target.make(missing)
    last = target.stats()["seq"]
    client = Client(target, last - REPLAYED, last=last)
    begun = time.perf_counter()
    await client.open()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(client.read())
        async with asyncio.timeout(60):
            await client.done.wait()
        task.cancel()
    client.close()
    took = client.done_at - begun
    whole = client.ids == list(range(last - REPLAYED + 1, last + 1))
    return Case(rate=REPLAYED / took, p50=0, p99=0, cpu=0, rss=0, held=0, whole=whole)


def middle(cases: list[Case]) -> Case:
    """The median of each figure by itself."""
    figures = {
        key: statistics.median(getattr(one, key) for one in cases)
        for key in ("rate", "p50", "p99", "cpu", "rss", "held")
    }
    return Case(**figures, whole=all(one.whole for one in cases))


class Table:
    """Prints a line for each figure, and remembers whether all limits are held."""

    def __init__(self) -> None:
        self.held = True
        print(f"{'what':<44}{'floor':>12}{'product':>12}{'ratio':>8}  limit")

    def line(self, what: str, floor: float, product: float, *, least: float | None = None) -> None:
        ratio = product / floor if floor else 0
        print(f"{what:<44}{floor:>12,.2f}{product:>12,.2f}{ratio:>8.2f}", end="")
        self.limit(f">= {least}", ratio >= least) if least is not None else print()

    def fact(self, what: str, value: str, limit: str, held: bool) -> None:
        print(f"{what:<44}{'':>12}{value:>12}{'':>8}", end="")
        self.limit(limit, held)

    def limit(self, words: str, held: bool) -> None:
        self.held = self.held and held
        print(f"  {words} {'PASS' if held else 'FAIL'}", flush=True)


async def measure(floor: Target, product: Target, repeats: int) -> bool:
    table = Table()
    whole = True
    for target in (floor, product):  # warm up: imports, first pages of the files
        await case(target, 2, 200)
    for clients, n in BURSTS:
        runs: dict[str, list[Case]] = {floor.name: [], product.name: []}
        for _ in range(repeats):
            for target in (floor, product):
                runs[target.name].append(await case(target, clients, n))
        one, other = middle(runs[floor.name]), middle(runs[product.name])
        whole = whole and one.whole and other.whole
        least = FLOOR_SHARE if clients == 100 else None
        table.line(f"burst, {clients} clients: events/s delivered", one.rate, other.rate, least=least)
        table.line("  CPU of the server, us a delivery", one.cpu, other.cpu)
    for clients, _ in BURSTS:
        one, other = [await case(target, clients, PACED_EVENTS, rate=PACED_RATE) for target in (floor, product)]
        whole = whole and one.whole and other.whole
        table.line(f"{PACED_RATE} events/s, {clients} clients: p50 ms", one.p50, other.p50)
        table.line("  p99 ms", one.p99, other.p99)
    replays = [middle([await replay(target) for _ in range(repeats)]) for target in (floor, product)]
    whole = whole and all(one.whole for one in replays)
    table.line(f"replay of {REPLAYED:,}: events/s", replays[0].rate, replays[1].rate)
    await stalled(table, floor, product)
    table.fact("every event once, in order, at every client", str(whole), "", whole)
    return table.held


async def stalled(table: Table, floor: Target, product: Target) -> None:
    """To ten clients that read, without and with one that does not."""
    held = 0.0
    for target in (floor, product):
        await case(target, 10, STALLED_EVENTS, rate=STALLED_RATE, size=2000)  # what the store takes once
        without = await case(target, 10, STALLED_EVENTS, rate=STALLED_RATE, size=2000)
        with_ = await case(target, 10, STALLED_EVENTS, rate=STALLED_RATE, size=2000, stalled=True)
        held = with_.held
        print(
            f"  {target.name}, {STALLED_EVENTS * 2 / 1e3:.0f} MB to 10 clients: p99 {without.p99:.1f} ms, grown {without.rss:.1f} MB; ",
            end="",
        )
        print(f"beside a stalled one p99 {with_.p99:.1f} ms, grown {with_.rss:.1f} MB, whole: {with_.whole}")
    table.fact("kept for a stalled client at most, MB", f"{held:.2f}", f"< {STALLED_MB}", held < STALLED_MB)


@contextmanager
def floor_server(folder: Path) -> Iterator[Target]:
    command = [sys.executable, str(HERE / "sse_floor.py"), str(folder / "floor.sqlite")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        try:
            yield Target(
                name="floor",
                events=url + "/events?after={after}",
                burst=url + "/burst?n={n}&rate={rate}",
                stat=url + "/stat",
            )
        finally:
            process.terminate()


@contextmanager
def product_server(folder: Path) -> Iterator[Target]:
    with real_server(folder) as server:
        server.request("POST", f"{server.api}/sessions", {"title": "burst"})
        yield Target(
            name="product",
            events=server.api + "/stream?after={after}",
            burst=server.url + "/benchmark/burst?n={n}&rate={rate}",
            stat=server.url + f"/benchmark/stat?token={TOKEN}",
            headers=server.headers,
        )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if sys.argv[1:2] == ["--config"]:
            with product_server(folder) as product, suppress(KeyboardInterrupt):
                config = {key: getattr(product, key) for key in ("name", "events", "burst", "stat", "headers")}
                Path(sys.argv[2]).write_text(json.dumps(config))
                print(f"serving; {sys.argv[2]} says where. Stop it with Ctrl-C.", flush=True)
                while True:
                    time.sleep(3600)
            return
        repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
        with floor_server(folder) as floor, product_server(folder / "product") as product:
            held = asyncio.run(measure(floor, product, repeats))
    raise SystemExit(not held)


if __name__ == "__main__":
    main()
