"""``kill -9`` of the server in the middle of the main job, then the questions that matter to the user."""

import random
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from jupyter_pernix.audit import check, day_files
from jupyter_pernix.cli.audit_known import known_to_server, known_to_store
from jupyter_pernix.client import Client
from jupyter_pernix.errors import ServerError
from jupyter_pernix.records import JSON

from .jobs import MAIN_REQUEST
from .lab import EXAMPLES, Lab
from .watch import wait_finished

JOB_EVENTS = 76
"""The job stores about as many; a kill comes a moment after a client was told of one of them, each as likely as the others."""


@dataclass(frozen=True)
class Round:
    """What one crash left. ``lost``: events that a client had been told of and the next start does not know.
    ``start_seconds``: from starting the process to the first answer; ``store_seconds``: of these, after the server listened;
    ``store_cpu_seconds``: what it worked in them, which does not depend on how busy the machine is."""

    number: int
    acknowledged: int
    lost: int
    changed: int
    start_seconds: float
    store_seconds: float
    store_cpu_seconds: float
    state: str
    code: str
    goes_on: bool
    audit_faults: int
    """In the audit's files as they were after the kill, and after the next start."""

    @property
    def good(self) -> bool:
        return (
            self.lost == self.changed == self.audit_faults == 0
            and self.state == "idle_ready"
            and self.goes_on
            and self.store_cpu_seconds < 2.0
        )


class Witness(threading.Thread):
    """Remembers every stored event that the server told a client of. ``seen`` is set at the ``until``-th, or at the turn's end."""

    def __init__(self, client: Client, session_id: str, *, until: int) -> None:
        super().__init__(daemon=True)
        self.events: dict[int, JSON] = {}
        self.seen = threading.Event()
        self._until = until
        self._client, self._session_id = client, session_id

    def run(self) -> None:
        try:
            for message in self._client.events(0, self._session_id, patience=0.0):
                if message.kind == "pernix":
                    self.events[int(message.data["seq"])] = message.data
                    if len(self.events) >= self._until or message.data["type"] == "turn.finished":
                        self.seen.set()
        except ServerError:
            pass  # the server was killed; that is what it waits for


def audit_faults(data_dir: Path, client: Client | None = None) -> int:
    """``client``: of the server that has the store; ``None``: none has."""
    known = known_to_server(client) if client is not None else known_to_store(data_dir)
    report = check(day_files(data_dir / "audit"), known=known.head, exact=client is None, unfinished=known.unfinished)
    return len(known.found(report).report.faults)


def crash_once(lab: Lab, number: int, chance: random.Random) -> Round:
    """One round on a server that runs; it runs again afterwards."""
    client = lab.client()
    data_dir = Path(client.info()["data_dir"])
    space = f"round-{number}"
    shutil.copytree(
        EXAMPLES / "csv_import", lab.root / space, ignore=shutil.ignore_patterns("turns.json", "__pycache__")
    )
    session_id = str(
        client.create_session(title=space, space_root=space, mode="auto", endpoint="scripted")["session_id"]
    )
    witness = Witness(lab.client(), session_id, until=chance.randrange(JOB_EVENTS))
    witness.start()
    accepted = client.submit(session_id, MAIN_REQUEST, origin="api", can_ask=False)
    witness.seen.wait(60)
    time.sleep(chance.uniform(0, 0.3))
    lab.kill()
    witness.join(10)
    faults = audit_faults(data_dir)

    began = time.monotonic()
    client = lab.start()
    took = time.monotonic() - began
    known = {int(event["seq"]): event for event in client.past_events(session_id)}
    turn = next(turn for turn in client.session(session_id)["turns"] if turn["turn_id"] == accepted["turn_id"])
    state = str(client.session(session_id)["state"])
    follow_up = client.submit(session_id, "Say hello", origin="api", can_ask=False)
    return Round(
        number=number,
        acknowledged=len({*witness.events, int(accepted["seq"])}),
        lost=len({*witness.events, int(accepted["seq"])} - known.keys()),
        changed=sum(known.get(seq, event) != event for seq, event in witness.events.items()),
        start_seconds=took,
        store_seconds=lab.waited,
        store_cpu_seconds=lab.worked,
        state=state,
        code=str(turn["code"]),
        goes_on=wait_finished(client, session_id, str(follow_up["turn_id"]))["code"] == "answered",
        audit_faults=faults + audit_faults(data_dir, client),
    )


def crash_rounds(folder: Path, endpoint: str, *, rounds: int, seed: int) -> list[Round]:
    """``rounds`` crashes of one server over one store."""
    chance = random.Random(seed)
    root = folder / "root"
    root.mkdir()
    with Lab(home=folder / "home", root=root, endpoint=endpoint) as lab:
        return [crash_once(lab, number, chance) for number in range(rounds)]
