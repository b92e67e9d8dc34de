"""Many sessions on one real server: fifty turns at once before three panels, then a thousand idle sessions.

``python benchmarks/sessions.py [TURNS] [IDLE]``. The model is scripted, in a process of its own, and writes at a model's pace; the
tools are real. Prints a table, and ends with 1 if a limit is not held; what held the event loop is said below it.
"""

import asyncio
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from real_server import HERE, Server, cpu_seconds, real_server, rss_mb
from sse import Client, Target

sys.path.insert(0, str(HERE.parent))
from tests.support.model_server import ModelServer

PANELS = 3
KERNELS = 3
LATENCY_MS = 250.0
IDLE_MB = 2.0
ANSWER_MS = 250.0
STALL_MS = 50.0
TURN_SECONDS = 240
RUN_EACH = 5
"""Of the idle sessions one in so many runs a turn first."""

_LATE = """
import json, select, sys, time
late = []
while not select.select([sys.stdin], [], [], 0)[0]:
    begun = time.perf_counter()
    time.sleep(0.005)
    late.append((time.perf_counter() - begun) * 1e3 - 5)
print(json.dumps(late))
"""
"""How long a process that wants almost nothing has to wait for a CPU: what no server here can be faster than."""

_EVENT = re.compile(rb'^id: (\d+)\nevent: pernix\ndata: \{"seq":\d+,"recorded_at":"([^"]+)"', re.MULTILINE)
_DELTA = re.compile(rb"^event: delta\ndata: (\{.*\})$", re.MULTILINE)


class Panel(Client):
    """A client that looks at its stream as the panel's twin of the fold does: each event once, in order."""

    def texts(self) -> tuple[bytes, list[int]]:
        """Everything, and where each piece ends in it. A write holds whole messages, so the framing is never inside of one."""
        return b"".join(piece for _, piece in self.pieces), list(accumulate(len(piece) for _, piece in self.pieces))

    def came(self, pattern: re.Pattern[bytes]) -> Iterable[tuple[re.Match[bytes], float]]:
        text, ends = self.texts()
        for found in pattern.finditer(text):
            yield found, self.pieces[bisect_left(ends, found.end())][0]


class Caller:
    """Requests as the panel makes them, over kept connections, one for each thread."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._local = threading.local()

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[float, Any]:
        """Milliseconds, and the answer's JSON."""
        url = urlsplit(self._server.api)
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=120)
        headers = self._server.headers | {"Content-Type": "application/json"}
        begun = time.perf_counter()
        connection.request(method, url.path + path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        data = answer.read()
        took = (time.perf_counter() - begun) * 1e3
        if answer.status >= 400:
            raise SystemExit(f"{method} {path}: {answer.status} {data[:300]!r}")
        return took, json.loads(data or b"null")


class Table:
    def __init__(self) -> None:
        self.held = True

    def line(self, what: str, *values: float | str, limit: tuple[float, float] | None = None) -> None:
        """``limit``: the value and what it must be below."""
        shown = "".join(f"{value:>11,.1f}" if isinstance(value, float) else f"{value:>11}" for value in values)
        print(f"{what:<46}{shown:<34}", end="")
        if limit is not None:
            held = limit[0] < limit[1]
            self.held = self.held and held
            print(f"< {limit[1]:g} {'PASS' if held else 'FAIL'}", end="")
        print(flush=True)

    def spread(self, what: str, values: Sequence[float], *, limit: float | None = None) -> None:
        """p50, p99 and the largest; the limit is for the p99."""
        ordered = sorted(values)
        p99 = ordered[int(len(ordered) * 0.99)]
        self.line(what, ordered[len(ordered) // 2], p99, ordered[-1], limit=None if limit is None else (p99, limit))


async def wait_for_panels(panels: list[Panel], turns: int) -> None:
    """Until each has been shown the end of every turn."""
    begun = time.monotonic()
    seen = [0] * len(panels)
    looked = [0] * len(panels)
    while min(seen) < turns:
        await asyncio.sleep(0.2)
        for number, panel in enumerate(panels):
            fresh, looked[number] = panel.pieces[looked[number] :], len(panel.pieces)
            seen[number] += sum(piece.count(b'"reason":"turn_ended"') for _, piece in fresh)
        if time.monotonic() - begun > TURN_SECONDS:
            raise SystemExit(f"after {TURN_SECONDS} s the panels have seen the ends of {seen} turns")


async def at_work(server: Server, call: Caller, turns: int, table: Table) -> None:
    start = server.request("GET", server.url + "/benchmark/stat?watch=1")["seq"]
    events = server.api + "/stream?after={after}"
    target = Target(name="product", events=events, burst="", stat="", headers=server.headers)
    panels = [Panel(target, start, last=0) for _ in range(PANELS)]
    for panel in panels:
        await panel.open()
    before, begun = cpu_seconds(server.pid), time.perf_counter()
    machine = await asyncio.to_thread(watch_machine)
    async with asyncio.TaskGroup() as group:
        reading = [group.create_task(panel.read()) for panel in panels]
        accepted = await asyncio.to_thread(submit, call, turns)
        await wait_for_panels(panels, turns)
        took = time.perf_counter() - begun
        for task in reading:
            task.cancel()
    for panel in panels:
        panel.close()
    used = cpu_seconds(server.pid) - before
    late, _ = await asyncio.to_thread(machine.communicate, "")
    stored = server.request("GET", f"{server.api}/events?after={start}")
    table.line(f"{turns} turns at once: s, events, deltas", took, float(len(stored)), float(count_deltas(panels[0])))
    table.line("  the server's CPU: s, ms a turn; RSS MB", used, used * 1e3 / turns, rss_mb(server.pid))
    table.spread("  a message's acceptance, ms: p50, p99, max", accepted, limit=ANSWER_MS)
    table.spread("  the machine: a sleep of another process is late, ms", json.loads(late))
    times = server.request("GET", server.url + "/benchmark/times")
    events_in_time(table, times["events"], panels, stored)
    deltas_in_time(table, times["deltas"], panels)
    codes = Counter(one["code"] for one in stored if one["type"] == "turn.finished")
    table.line("  turns that were not answered", str(dict(codes)), limit=(turns - codes["answered"], 1))
    calls = Counter(one["status"] for one in stored if one["type"] == "tool_call.finished")
    table.line("  calls that were not completed", str(dict(calls)), limit=(calls.total() - calls["completed"], 1))
    held_loop(table, server)


def watch_machine() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", _LATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def submit(call: Caller, turns: int) -> list[float]:
    def one(number: int) -> float:
        _, session = call("POST", "/sessions", {"title": f"Session {number}", "mode": "auto"})
        text = f"Task {number}: add the numbers up" + (" in the kernel" if number < KERNELS else "")
        return call("POST", f"/sessions/{session['session_id']}/turns", {"text": text})[0]

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(one, range(turns)))


def count_deltas(panel: Panel) -> int:
    return panel.texts()[0].count(b"event: delta\n")


def events_in_time(
    table: Table, published: dict[str, float], panels: list[Panel], stored: list[dict[str, Any]]
) -> None:
    wanted = [one["seq"] for one in stored]
    wrong = 0
    late: list[float] = []
    durable = [
        (published[str(one["seq"])] - stamp(one["recorded_at"])) * 1e3 for one in stored if str(one["seq"]) in published
    ]
    for panel in panels:
        came = [(int(found[1]), found[2], at) for found, at in panel.came(_EVENT)]
        wrong += [seq for seq, _, _ in came] != wanted[: len(came)] or len(came) < len(wanted) - 5
        late += [(at - stamp(recorded.decode())) * 1e3 for _, recorded, at in came]
    table.line("  panels not shown each event once, in order", str(wrong), limit=(wrong, 1))
    table.spread("  recorded -> durable and published, ms", durable)
    table.spread("  recorded -> panel, ms: p50, p99, max", late, limit=LATENCY_MS)


def stamp(recorded_at: str) -> float:
    return datetime.fromisoformat(recorded_at).timestamp()


def deltas_in_time(table: Table, noted: list[list[Any]], panels: list[Panel]) -> None:
    passed = {tuple(key): at for *key, at in noted}
    late: list[float] = []
    places: defaultdict[tuple[Any, ...], int] = defaultdict(int)
    torn = 0
    for found, at in panels[0].came(_DELTA):
        delta = json.loads(found[1])
        text = (delta["step_id"], delta["type"], delta.get("index"))
        torn += delta["offset"] not in (0, places[text])
        places[text] = delta["offset"] + len(delta["text"])
        since = passed.get((delta["step_id"], delta["type"], delta["offset"]))
        if since is not None:
            late.append((at - since) * 1e3)
    table.line("  deltas that do not follow the one before", str(torn), limit=(torn, 1))
    table.spread("  delta -> panel, ms: p50, p99, max", late, limit=LATENCY_MS)


def held_loop(table: Table, server: Server) -> None:
    """Only what the loop's own thread computed counts: what a busy machine adds is not the product's."""
    told = server.request("GET", server.url + "/benchmark/stat")
    stalls = told["stalls"]
    own = [one for one in stalls if one["cpu"] * 1e3 > STALL_MS]
    longest = max((one["cpu"] * 1e3 for one in own), default=0.0)
    table.line(
        f"  callbacks over {STALL_MS:g} ms: wall, CPU, longest CPU ms", float(len(stalls)), float(len(own)), longest
    )
    print(f"    CPU by thread, s: {told['threads']}")
    for one in sorted(stalls, key=lambda one: -one["cpu"])[:6]:
        print(f"    {one['s'] * 1e3:.0f} ms, CPU {one['cpu'] * 1e3:.0f} ms, {one['of']}")
        for place in one["at"]:
            print(f"      {place}")


def idle(server: Server, call: Caller, count: int, table: Table) -> None:
    first = rss_mb(server.pid)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: call("POST", "/sessions", {"title": f"Idle {n}", "mode": "auto"}), range(count)))
        table.spread(f"create {count} sessions, ms: p50, p99, max", [ms for ms, _ in made], limit=ANSWER_MS)
        created = rss_mb(server.pid)
        ids = [session["session_id"] for _, session in made]
        chosen = ids[::RUN_EACH]
        list(pool.map(lambda one: call("POST", f"/sessions/{one}/turns", {"text": f"quick {one}"}), chosen))
    wait_idle(call)
    ran = rss_mb(server.pid)
    listed = [call("GET", "/sessions")[0] for _ in range(50)]
    table.spread("list them, ms: p50, p99, max", listed, limit=ANSWER_MS)
    opened = [call("GET", f"/sessions/{one}")[0] for one in [*ids[:: max(1, count // 100)], *chosen[:50]]]
    table.spread("open one, ms: p50, p99, max", opened, limit=ANSWER_MS)
    server.request("GET", server.url + "/benchmark/stat?forget=1")
    after = rss_mb(server.pid)
    table.line("server's RSS, MB: before, created, turns run", first, created, ran)
    each = (created - first) / count
    table.line("  an idle session, MB", f"{each:.3f}", limit=(each, IDLE_MB))
    each = (ran - created) / len(chosen)
    table.line("  one that has run a turn, MB more", f"{each:.3f}", limit=(each, IDLE_MB))
    each = (after - first) / count
    table.line("  folds forgotten: of all, MB each", f"{each:.3f}", limit=(each, IDLE_MB))


def wait_idle(call: Caller) -> None:
    begun = time.monotonic()
    while any(one["state"] != "idle_ready" or not one["turns"] for one in call("GET", "/sessions")[1] if one["turns"]):
        if time.monotonic() - begun > TURN_SECONDS:
            raise SystemExit("the quick turns do not end")
        time.sleep(0.5)


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    table = Table()
    with ModelServer(program=f"{HERE / 'sessions_model.py'}:decide") as model:
        settings = f'endpoint = "scripted"\n[endpoints.scripted]\nbase_url = "{model.url}"\nmodel = "scripted-1"\n'
        with serving(settings, table, stalls=True) as (server, call):
            asyncio.run(at_work(server, call, turns, table))
        if count:
            with serving(settings, table, stalls=False) as (server, call):
                idle(server, call, count, table)
    raise SystemExit(not table.held)


@contextmanager
def serving(settings: str, table: Table, *, stalls: bool) -> Iterator[tuple[Server, Caller]]:
    """A fresh server with two files to read; what its log has of errors is said at the end."""
    with tempfile.TemporaryDirectory() as name, real_server(Path(name), settings=settings, stalls=stalls) as server:
        root = Path(name) / "root"
        (root / "numbers.txt").write_text("".join(f"{number}\n" for number in range(200)))
        (root / "more.txt").write_text("more numbers\n" * 50)
        call = Caller(server)
        warm_up(call)
        yield server, call
        said = [line for line in server.log.read_text().splitlines() if line.startswith(("[E", "Traceback"))]
        table.line("errors in the server's log", str(len(said)), limit=(len(said), 1))
        print("\n".join(said[:5]), end="")


def warm_up(call: Caller) -> None:
    """The first turn loads the agent, the first kernel its libraries: not what is measured here."""
    _, session = call("POST", "/sessions", {"title": "warm", "mode": "auto"})
    call("POST", f"/sessions/{session['session_id']}/turns", {"text": "quick"})
    time.sleep(1)
    wait_idle(call)


if __name__ == "__main__":
    main()
