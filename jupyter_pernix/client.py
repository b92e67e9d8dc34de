"""A small synchronous client of the HTTP API, for whatever is not the panel: the command line and the magics.

Standard library only and quick to import, since kernels load it. Every failure is a ``ServerError`` whose text is a sentence; the
token is sent in a header and appears in no message and no ``repr``.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from .client_wire import JSON, Address, Message, Wire
from .errors import RequestFailed, ServerAway

__all__ = ["JSON", "Address", "Client", "Message", "TurnEnd", "data_dir", "find", "parent_address", "read_address"]

_PROBE_TIMEOUT = 240.0
"""A probe lets a slow model answer twice."""


class Client(Wire):
    """Speaks to one server, over a fresh connection for each request; may be used from several threads."""

    def info(self) -> JSON:
        return self.request("GET", "/", timeout=10)

    def settings(self) -> list[JSON]:
        """Each setting as the server has it: ``key``, ``value``, ``source``."""
        return self.request("GET", "/config")

    def sessions(self, archived: str = "", *, parent: str = "", workers: bool = False) -> list[JSON]:
        """Newest first. ``archived``: "" only live ones, "true" only archived ones, "all" both. Workers only with ``workers``, or those
        of one ``parent``."""
        given = {"archived": archived, "parent": parent, "workers": "true" if workers else ""}
        query = urlencode({name: value for name, value in given.items() if value})
        return self.request("GET", "/sessions" + (f"?{query}" if query else ""))

    def create_session(self, **fields: Any) -> JSON:
        return self.request("POST", "/sessions", fields)

    def session(self, session_id: str) -> JSON:
        """The whole folded session."""
        return self.request("GET", f"/sessions/{quote(session_id, safe='')}")

    def export(self, session_id: str, form: str) -> bytes:
        """The session as a file: ``ipynb``, ``html``, ``md`` or ``json``."""
        return self.download(
            f"/sessions/{quote(session_id, safe='')}/export?format={quote(form, safe='')}", timeout=300
        )

    def import_record(self, path: str) -> JSON:
        """A new session that goes on from the run notebook at ``path``, relative to the server's root: its summary."""
        return self.request("POST", "/records/import", {"path": path})

    def change_session(self, session_id: str, **fields: Any) -> JSON:
        return self.request("PATCH", f"/sessions/{quote(session_id, safe='')}", fields)

    def submit(
        self,
        session_id: str,
        text: str,
        *,
        origin: str,
        can_ask: bool,
        budget: JSON | None = None,
        kernel_id: str = "",
    ) -> JSON:
        """``{"turn_id", "seq"}`` of the stored turn; it waits in the queue when the session is busy. ``can_ask`` false: nobody
        is there to answer questions, what would be asked is refused. ``budget``: instead of the one in the settings. ``kernel_id``:
        of the cell that asks, if its session's code runs there."""
        body = {
            "text": text,
            "origin": origin,
            "can_ask": can_ask,
            **({"budget": budget} if budget is not None else {}),
            **({"kernel_id": kernel_id} if kernel_id else {}),
        }
        return self.request("POST", f"/sessions/{quote(session_id, safe='')}/turns", body)

    def edit(self, session_id: str, turn_id: str, text: str) -> JSON:
        """Change a message that still waits for its turn."""
        path = f"/sessions/{quote(session_id, safe='')}/turns/{quote(turn_id, safe='')}"
        return self.request("PATCH", path, {"text": text})

    def cancel(self, session_id: str, turn_id: str) -> None:
        self.request("POST", f"/sessions/{quote(session_id, safe='')}/turns/{quote(turn_id, safe='')}/cancel")

    def pause(self, session_id: str) -> JSON:
        """The session's summary; the turn pauses at its next step."""
        return self.request("POST", f"/sessions/{quote(session_id, safe='')}/pause")

    def resume(self, session_id: str) -> JSON:
        """``{"turn_id", "seq"}`` of the turn that goes on: the paused one, or a new one after one that was interrupted."""
        return self.request("POST", f"/sessions/{quote(session_id, safe='')}/resume")

    def stop(self, session_id: str) -> JSON:
        """Stop what runs: the turn, or a compaction."""
        return self.request("POST", f"/sessions/{quote(session_id, safe='')}/stop")

    def compact(self, session_id: str) -> JSON:
        """Begin to make the conversation shorter for the model."""
        return self.request("POST", f"/sessions/{quote(session_id, safe='')}/compact")

    def files(self, session_id: str, *, diff: bool = False) -> list[JSON]:
        """The files that the session has changed; ``diff``: with their differences."""
        query = "?diff=1" if diff else ""
        return self.request("GET", f"/sessions/{quote(session_id, safe='')}/files{query}")

    def undo_files(self, session_id: str, *, turn_id: str | None, paths: list[str]) -> list[JSON]:
        """Put files back; ``{"path", "reason"}`` of each, the reason "" if it was."""
        body = {"turn_id": turn_id, "paths": paths}
        return self.request("POST", f"/sessions/{quote(session_id, safe='')}/undo", body, timeout=_PROBE_TIMEOUT)

    def approvals(self, session_id: str) -> list[JSON]:
        """The open questions of the session and of its workers."""
        return self.request("GET", f"/approvals?session={quote(session_id, safe='')}")

    def answer(self, approval_id: str, choice: str, text: str = "") -> JSON:
        return self.request("POST", f"/approvals/{quote(approval_id, safe='')}", {"choice": choice, "text": text})

    def inputs(self, session_id: str) -> list[JSON]:
        """The lines that running code of the session waits for."""
        items = [item for turn in self.session(session_id)["turns"] for item in turn["items"]]
        executions = [item["execution"] for item in items if item.get("execution")]
        return [each for execution in executions for each in execution["inputs"] if not each["by"]]

    def answer_input(self, input_id: str, text: str | None) -> JSON:
        """Give running code the line that it asked for; ``None``: it gets none and is interrupted."""
        return self.request("POST", f"/inputs/{quote(input_id, safe='')}", {"text": text})

    def endpoints(self) -> JSON:
        """``{"endpoints": […], "discoveries": […]}``"""
        return self.request("GET", "/endpoints")

    def discover(self) -> JSON:
        return self.request("POST", "/endpoints/discover")

    def add_endpoint(self, **fields: Any) -> JSON:
        return self.request("POST", "/endpoints", fields, timeout=_PROBE_TIMEOUT)

    def remove_endpoint(self, name: str) -> None:
        self.request("DELETE", f"/endpoints/{quote(name, safe='')}")

    def probe_endpoint(self, name: str) -> JSON:
        return self.request("POST", f"/endpoints/{quote(name, safe='')}/probe", timeout=_PROBE_TIMEOUT)

    def default_endpoint(self, name: str) -> JSON:
        return self.request("POST", f"/endpoints/{quote(name, safe='')}/default")

    def start_tour(self) -> JSON:
        return self.request("POST", "/tour")

    def local(self) -> JSON:
        return self.request("GET", "/local")

    def start_local(self, path: str, context_length: int) -> JSON:
        return self.request("POST", "/local", {"path": path, "context_length": context_length})

    def stop_local(self) -> None:
        self.request("DELETE", "/local")

    def audit(self) -> JSON:
        """How far the audit goes: ``n``, ``hash`` and ``day`` of its last line, ``problem``."""
        return self.request("GET", "/audit", timeout=60)

    def doctor(self) -> list[JSON]:
        return self.request("GET", "/doctor")

    def post_outputs(self, execution_id: str, ops: list[JSON]) -> None:
        self.request("POST", f"/executions/{quote(execution_id, safe='')}/outputs", {"ops": ops})

    def finish_execution(self, execution_id: str, result: JSON) -> None:
        self.request("POST", f"/executions/{quote(execution_id, safe='')}/finish", result)

    def past_events(self, session_id: str, after: int = 0) -> Iterator[JSON]:
        """The stored events of a session, oldest first, to the end of the log as it is now."""
        while True:
            query = urlencode({"after": after, "session": session_id, "limit": 500})
            page: list[JSON] = self.request("GET", f"/events?{query}")
            yield from page
            if len(page) < 500:
                return
            after = int(page[-1]["seq"])


class TurnEnd:
    """Tells from the events of a session when one of its turns is over and its run notebook written, which is when the session
    is idle again."""

    def __init__(self, turn_id: str) -> None:
        self._turn_id = turn_id
        self._started = False
        self.finished: JSON | None = None
        """The ``turn.finished`` event, once it has come."""

    def reached(self, event: JSON) -> bool:
        """True from the event on after which nothing more belongs to the turn. A turn that never started has no idle state to
        come back to."""
        if event.get("turn_id") != self._turn_id:
            return False
        if event["type"] in ("turn.started", "session.state_changed"):
            self._started = True  # of a turn that was paused only the change is seen
        if event["type"] == "turn.finished":
            self.finished = event
            return not self._started
        idle = event["type"] == "session.state_changed" and event["after"] == "idle_ready"
        return idle and self.finished is not None


# ---- finding a server -------------------------------------------------------------------------------------------------------


def data_dir() -> Path:
    """The folder of the store: ``PERNIX_DATA_DIR``, the ``data_dir`` of the settings file, or ``<jupyter data dir>/pernix``."""
    # Imported here: the client alone is useful without Jupyter's paths.
    from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir

    given = os.environ.get("PERNIX_DATA_DIR", "")
    settings = Path(jupyter_config_dir()) / "pernix" / "config.toml"
    if not given and settings.exists():
        # Imported here: few people have the file.
        import tomllib

        try:
            given = str(tomllib.loads(settings.read_text(encoding="utf-8")).get("data_dir", ""))
        except (OSError, ValueError):
            given = ""
    return Path(given).expanduser() if given else Path(jupyter_data_dir()) / "pernix"


def parent_address(pid: int) -> Address | None:
    """The Jupyter server that runs as process ``pid``, e.g. the one that started this kernel."""
    from jupyter_core.paths import jupyter_runtime_dir

    return read_address(Path(jupyter_runtime_dir()) / f"jpserver-{pid}.json")


def read_address(path: Path) -> Address | None:
    """``None`` if the file is absent, unreadable, or its process has ended."""
    try:
        data: JSON = json.loads(path.read_text(encoding="utf-8"))
        address = Address(str(data["url"]), str(data["token"]), int(data["pid"]), str(data.get("root_dir", "")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return address if _alive(address.pid) else None


def _alive(pid: int) -> bool:
    if os.name == "nt":
        return True  # signal 0 would end the process there; an old file is found out by asking the address
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def find() -> Client | None:
    """The server that is there: in a kernel its own, else the one that holds the store. ``None``: there is none."""
    candidates: list[Address | None] = []
    if os.environ.get("JPY_PARENT_PID", "").isdigit():
        candidates.append(parent_address(int(os.environ["JPY_PARENT_PID"])))
    candidates.append(read_address(data_dir() / "server.json"))
    for address in candidates:
        if address is None:
            continue
        client = Client(address)
        try:
            client.info()
        except ServerAway:
            continue
        except RequestFailed as exc:
            if exc.status == 404:
                continue
            raise
        return client
    return None
