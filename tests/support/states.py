"""Leading a real server into each of the ten states of a session and holding it there, with a scripted model.

The model server loads this file as well (``--program …/states.py:decide``), so nothing else is imported at its top.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_pernix.client import Client

HELD = 120_000
"""Milliseconds that the model keeps silent where a state is to be held."""

_SLOW_START = """
import importlib.abc, sys, time

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "jupyter_pernix.kernel.record":
            time.sleep(60)

sys.meta_path.insert(0, Slow())
"""
"""As ``sitecustomize``: writing the first run notebook takes a minute, so a turn stays ``finalizing``."""


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


STUBBORN = (
    "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(600)"
)

JOBS: dict[str, list[dict[str, Any]]] = {
    "be silent": [{"text": "Never said.", "first_token_ms": HELD}],
    "two steps": [
        {"text": "One.", "tool_calls": [call("list_files", path=".")], "first_token_ms": 1500},
        {"text": "Two."},
    ],
    "ask me": [
        {"text": "May I?", "tool_calls": [call("run_shell", command="echo yes > asked.txt")]},
        {"text": "Done."},
    ],
    "have a worker": [{"tool_calls": [call("delegate", title="Part", task="be silent")]}, {"text": "Done."}],
    "be deaf": [{"tool_calls": [call("run_code", code=STUBBORN)]}, {"text": "Done."}],
    "talk": [{"text": " ".join(f"word{number}" for number in range(500))}],
    "Say hello": [{"text": "Hello from the scripted model."}],
}


def decide(request: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = request.messages
    system = str(messages[0].get("content") or "")
    if system.startswith(("You plan the work", "You write the summary")):
        return {"text": "Never said.", "first_token_ms": HELD}
    users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    for index in reversed(users):
        text = str(messages[index].get("content") or "")
        for words, turns in JOBS.items():
            if words in text:
                said = sum(message.get("role") == "assistant" for message in messages[index:])
                return turns[min(said, len(turns) - 1)]
    return {"text": "Nothing to do."}


Lead = Callable[["Client", str], None]


def _says(text: str, *, until: str) -> Lead:
    def lead(client: "Client", session_id: str) -> None:
        client.submit(session_id, text, origin="api", can_ask=True)
        reach(client, session_id, until)

    return lead


def _idle(client: "Client", session_id: str) -> None:
    client.submit(session_id, "Say hello", origin="api", can_ask=True)
    reach(client, session_id, "idle_ready")


def _pause_asked(client: "Client", session_id: str) -> None:
    client.submit(session_id, "be silent", origin="api", can_ask=True)
    for message in client.events(0, session_id):
        if message.data.get("type") == "step.started":
            break  # from now on it waits for the model, and a pause for the end of that
    client.pause(session_id)
    reach(client, session_id, "pause_requested")


def _paused(client: "Client", session_id: str) -> None:
    client.submit(session_id, "two steps", origin="api", can_ask=True)
    reach(client, session_id, "processing")
    client.pause(session_id)
    reach(client, session_id, "paused")


def _compacting(client: "Client", session_id: str) -> None:
    for _ in range(4):
        after = int(client.session(session_id)["last_seq"])
        client.submit(session_id, "talk", origin="api", can_ask=True)
        reach(client, session_id, "idle_ready", after=after)
    client.compact(session_id)
    reach(client, session_id, "compacting")
    for message in client.events(0, session_id):
        if message.data.get("type") == "step.started" and message.data.get("purpose") == "summary":
            return


def _cancelling(client: "Client", session_id: str) -> None:
    turn = client.submit(session_id, "be deaf", origin="api", can_ask=True)
    for message in client.events(0, session_id):
        if message.data.get("type") == "execution.output":
            break
    client.cancel(session_id, turn["turn_id"])
    reach(client, session_id, "cancelling")


LEADS: dict[str, Lead] = {
    "idle_ready": _idle,
    "scouting": _says("be silent while a plan is made for all of this work", until="scouting"),
    "processing": _says("be silent", until="processing"),
    "pause_requested": _pause_asked,
    "paused": _paused,
    "awaiting_user": _says("ask me", until="awaiting_user"),
    "awaiting_workers": _says("have a worker", until="awaiting_workers"),
    "compacting": _compacting,
    "finalizing": _says("Say hello", until="finalizing"),
    "cancelling": _cancelling,
}
"""How each state is reached; it lasts until the server ends."""


def reach(client: "Client", session_id: str, state: str, *, after: int = 0) -> None:
    """Wait until the session has come into this state behind ``after``."""
    for message in client.events(after, session_id):
        if message.kind == "pernix" and message.data.get("after") == state:
            return
    raise AssertionError("a stream has no end")


def slow_to_finish() -> str:
    """Text of a ``sitecustomize.py`` that holds a server in ``finalizing``."""
    return _SLOW_START
