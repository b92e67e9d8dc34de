"""The least that a loop must do, for ``benchmarks/agents.py``: ask, read the stream, add, and commit every message to SQLite with
``synchronous=FULL``, two commits a step. Standard library only; environment and result as in ``agents_peer.py``."""

import http.client
import json
import os
import resource
import socket
import sqlite3
import time
import urllib.parse
from pathlib import Path
from typing import Any

STEPS, FOLDER = int(os.environ["MS_N"]), Path(os.environ["MS_TMP"])
URL = urllib.parse.urlsplit(os.environ["MS_URL"])
HEADERS = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['MS_KEY']}"}
NUMBER = {"type": "integer"}
TOOL = {
    "name": "add",
    "description": "Add two numbers",
    "parameters": {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]},
}
marks: list[float] = []


def connected() -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(str(URL.hostname), URL.port)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def database() -> sqlite3.Connection:
    found = sqlite3.connect(FOLDER / "log.db", isolation_level=None)
    found.execute("PRAGMA journal_mode=wal")
    found.execute("PRAGMA synchronous=full")
    found.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, at REAL, body TEXT)")
    return found


def answer(connection: http.client.HTTPConnection, messages: list[Any]) -> dict[str, Any]:
    tools = [{"type": "function", "function": TOOL}]
    body = json.dumps({"model": "scripted-1", "messages": messages, "tools": tools, "stream": True}).encode()
    connection.request("POST", f"{URL.path}/chat/completions", body, HEADERS)
    text, calls = "", list[dict[str, Any]]()
    with connection.getresponse() as response:
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            delta = json.loads(line[6:])["choices"][0]["delta"]
            text += delta.get("content") or ""
            for piece in delta.get("tool_calls") or ():
                if piece["index"] == len(calls):
                    calls.append({"id": piece["id"], "type": "function", "function": {"name": "add", "arguments": ""}})
                calls[piece["index"]]["function"]["arguments"] += piece["function"].get("arguments") or ""
    return {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})


def main() -> None:
    connection, store = connected(), database()
    messages: list[Any] = [
        {"role": "system", "content": "You are a helpful assistant. Use the tools."},
        {"role": "user", "content": f"Call the tool add {STEPS} times, as you see fit, then answer."},
    ]

    def keep(message: dict[str, Any]) -> None:
        messages.append(message)
        store.execute("INSERT INTO events (at, body) VALUES (?, ?)", (time.time(), json.dumps(message)))

    before, wall = time.process_time(), time.perf_counter()
    while True:
        said = answer(connection, messages)
        keep(said)
        if "tool_calls" not in said:
            break
        for call in said["tool_calls"]:
            marks.append(time.process_time())
            given = json.loads(call["function"]["arguments"])
            keep({"role": "tool", "tool_call_id": call["id"], "content": str(given["a"] + given["b"])})
    cpu, wall = time.process_time() - before, time.perf_counter() - wall
    result = {
        "answer": messages[-1]["content"],
        "calls": len(marks),
        "cpu_s": cpu,
        "run_s": wall,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "cpu_ms_at": {str(step): cpu_at(step) for step in (20, 100, 400)},
    }
    print("RESULT " + json.dumps(result), flush=True)


def cpu_at(step: int) -> float | None:
    """Milliseconds of CPU a step, over the last fifth before ``step``."""
    low = max(1, int(step * 0.8) - 1)
    return (marks[step - 1] - marks[low]) * 1e3 / (step - 1 - low) if len(marks) >= step else None


if __name__ == "__main__":
    main()
