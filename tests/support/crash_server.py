"""``kill -9`` of a real server, over HTTP, in the middle of several jobs at once; the same is asked afterwards as in ``crash_lines``."""

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from jupyter_pernix.client import Client
from jupyter_pernix.errors import ServerError
from jupyter_pernix.events import Stored, decode_stored

from .crash import Witness
from .crash_checks import effects_in, illegal, unexplained
from .crash_script import STEPS, request
from .lab import Lab
from .watch import wait_finished

_SESSIONS = 2
_JOB_EVENTS = 90
_REST_SECONDS = 120.0
_ENDED = ("interrupted", "cancelled")


@dataclass(kw_only=True)
class ServerRound:
    """What one crash left; see ``crash.Round`` for the times. ``wrong``: all that must not be, in words."""

    number: int
    told: int
    start_seconds: float
    store_seconds: float
    store_cpu_seconds: float
    left: list[str]
    wrong: list[str]


class ServerCrashes:
    """Rounds on one server over one store; ``lab`` runs before and after each."""

    def __init__(self, lab: Lab, folder: Path, chance: random.Random) -> None:
        self._lab = lab
        self._ledger = folder / "ledger"
        self._chance = chance
        self._jobs = 0

    def round(self, number: int) -> ServerRound:
        client = self._lab.client()
        mode = self._chance.choice(["edit", "auto"])
        sessions = [
            str(client.create_session(title=f"Crash {number}", mode=mode)["session_id"]) for _ in range(_SESSIONS)
        ]
        witnesses = [
            Witness(self._lab.client(), session_id, until=self._chance.randrange(_JOB_EVENTS))
            for session_id in sessions
        ]
        for witness in witnesses:
            witness.start()
        self._begin(client, sessions)
        self._watch(client, sessions, witnesses[0])
        self._lab.kill()
        for witness in witnesses:
            witness.join(10)
        began = time.monotonic()
        client = self._lab.start()
        took = time.monotonic() - began
        waited, worked = self._lab.waited, self._lab.worked
        wrong: list[str] = []
        for session_id, witness in zip(sessions, witnesses, strict=True):
            known = {int(event["seq"]): event for event in client.past_events(session_id)}
            wrong += [f"{seq} is lost" for seq in witness.events.keys() - known.keys()]
            wrong += [f"{seq} is changed" for seq, event in witness.events.items() if known.get(seq, event) != event]
        wrong += self._wrong(client, sessions)
        left = [str(client.session(session_id)["state"]) for session_id in sessions]
        for session_id in sessions:
            wrong += self._go_on(client, session_id)
        wrong += self._wrong(client, sessions)
        return ServerRound(
            number=number,
            told=sum(len(witness.events) for witness in witnesses),
            start_seconds=took,
            store_seconds=waited,
            store_cpu_seconds=worked,
            left=[state for state in left if state != "idle_ready"],
            wrong=wrong,
        )

    def _begin(self, client: Client, sessions: list[str]) -> None:
        for session_id in sessions:
            for _ in range(self._chance.randint(1, 2)):
                self._jobs += 1
                steps = self._chance.choices(STEPS, k=self._chance.randint(3, 6))
                text = request(f"j{self._jobs}", steps, str(self._ledger))
                client.submit(session_id, text, origin="api", can_ask=True)

    def _watch(self, client: Client, sessions: list[str], witness: Witness) -> None:
        """Until the moment of the kill: questions are answered, now and then somebody pauses or stops a turn."""
        deadline = time.monotonic() + 20
        doing = self._chance.choice(["nothing", "pause", "stop"])
        while not witness.seen.wait(0.05) and time.monotonic() < deadline:
            if doing != "nothing" and witness.events and self._chance.random() < 0.2:
                _try(client.pause if doing == "pause" else client.stop, sessions[0])
                doing = "nothing"
            if self._chance.random() < 0.5:
                asked = [one for session_id in sessions for one in client.approvals(session_id)]
                if not asked and all(_rests(client, session_id) for session_id in sessions):
                    break
                for one in asked:
                    _try(client.answer, one["approval_id"], "allow_once")
        time.sleep(self._chance.uniform(0, 0.2))

    def _logs(self, client: Client, sessions: list[str]) -> Iterator[Stored]:
        workers = [str(one["session_id"]) for own in sessions for one in client.sessions("all", parent=own)]
        for session_id in (*sessions, *workers):
            yield from (decode_stored(json.dumps(event)) for event in client.past_events(session_id))

    def _wrong(self, client: Client, sessions: list[str]) -> list[str]:
        log = sorted(self._logs(client, sessions), key=lambda stored: stored.seq)
        mine = {str(stored.event.session_id) for stored in log}
        files = [self._ledger, *self._lab.root.glob("notes-*.txt")]
        effects = effects_in(file.read_text(encoding="utf-8") for file in files if file.exists())
        asked = {token for stored in log for token in effects_in([str(stored.event)])}
        effects = {token: count for token, count in effects.items() if token in asked}
        assert mine
        return [*illegal(log), *unexplained(log, effects), *self._unreadable()]

    def _unreadable(self) -> list[str]:
        """Run notebooks are whole or not there."""
        wrong: list[str] = []
        for path in self._lab.root.rglob("*.ipynb"):
            try:
                json.loads(path.read_text(encoding="utf-8"))
            except ValueError as exc:
                wrong.append(f"{path.name}: {exc}")
        return wrong

    def _go_on(self, client: Client, session_id: str) -> list[str]:
        """As a user does who finds the session like this, to its end."""
        deadline = time.monotonic() + _REST_SECONDS
        resumed = False
        while time.monotonic() < deadline:
            for one in client.approvals(session_id):
                _try(client.answer, one["approval_id"], self._chance.choice(["allow_once", "reject_once"]))
            view = client.session(session_id)
            turns = view["turns"]
            if view["state"] == "paused":
                client.resume(session_id)
            elif _rests(client, session_id) and turns and turns[-1]["code"] in _ENDED and not resumed:
                client.resume(session_id)
                resumed = True
            elif _rests(client, session_id):
                break
            time.sleep(0.05)
        turn = client.submit(session_id, "Say hello", origin="api", can_ask=True)
        code = wait_finished(client, session_id, str(turn["turn_id"]))["code"]
        while not _rests(client, session_id) and time.monotonic() < deadline:
            time.sleep(0.02)
        return [] if code == "answered" else [f"{session_id} does not go on: {code}"]


def _rests(client: Client, session_id: str) -> bool:
    view = client.session(session_id)
    return view["state"] == "idle_ready" and all(turn["code"] is not None for turn in view["turns"])


def _try(doing: Callable[..., object], *given: str) -> None:
    """What the server refuses in words is no fault."""
    with suppress(ServerError):
        doing(*given)
