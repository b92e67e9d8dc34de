"""A small synchronous client of the HTTP API, for whatever is not the panel: the command line and the magics.

Standard library only and quick to import, since kernels load it. Every failure is a ``ServerError`` whose text is a sentence; the
token is sent in a header and appears in no message and no ``repr``.
"""

import http.client
import json
import os
import secrets
import ssl
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urlencode, urlsplit

from .errors import RequestFailed, ServerAway, ServerRefused

JSON = dict[str, Any]

_HEARTBEAT = 15.0
_READ_TIMEOUT = 3 * _HEARTBEAT
_REQUEST_TIMEOUT = 60.0
_PROBE_TIMEOUT = 240.0
"""A probe lets a slow model answer twice."""
_LOOPBACK = {"127.0.0.1", "localhost", "::1", "[::1]"}
_UNREACHABLE = (OSError, http.client.HTTPException)


class Address(NamedTuple):
    """Where a server is. ``root`` is the folder it serves; "" when that is not known."""

    url: str
    token: str
    pid: int
    root: str

    def __repr__(self) -> str:
        return f"Address(url={self.url!r}, pid={self.pid}, root={self.root!r})"


class Message(NamedTuple):
    """One message of the stream: ``pernix`` (a stored event), ``delta`` (passing text), ``hello`` or ``heartbeat``."""

    kind: str
    data: JSON


class Client:
    """Speaks to one server, over a fresh connection for each request; may be used from several threads."""

    def __init__(self, address: Address) -> None:
        self.address = address
        parts = urlsplit(address.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServerAway(f"the server's address {address.url!r} is not one that can be spoken to over HTTP")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if self._secure else 80)
        self._base = parts.path.rstrip("/") + "/pernix/api"

    def __repr__(self) -> str:
        return f"Client({self.address!r})"

    # ---- any route ------------------------------------------------------------------------------------------------------

    def request(self, method: str, path: str, body: Any = None, *, timeout: float = _REQUEST_TIMEOUT) -> Any:
        """The decoded answer; ``None`` when it has no body. Redirects are not followed: they lead to a login page.

        :raises ServerAway: if nobody answers
        :raises ServerRefused: if the token is not accepted
        :raises RequestFailed: if the answer is an error
        """
        data = self._exchange(method, path, body, timeout)
        return json.loads(data) if data else None

    def download(self, path: str, *, timeout: float = _REQUEST_TIMEOUT) -> bytes:
        """What ``path`` gives, as it is; errors as in ``request``."""
        return self._exchange("GET", path, None, timeout)

    def _exchange(self, method: str, path: str, body: Any, timeout: float) -> bytes:
        connection = self._connect(timeout)
        try:
            response = self._send(connection, method, path, body)
            data = response.read()
        except _UNREACHABLE as exc:
            raise self._away(exc) from exc
        finally:
            connection.close()
        if response.status >= 300:
            raise _failure(response.status, data, f"{method} {path}")
        return data

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        context = ssl.create_default_context()
        if self._host in _LOOPBACK:
            # A certificate for a machine's name, or a self-signed one, says nothing about loopback.
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=context)

    def _send(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any, extra: Mapping[str, str] = {}
    ) -> http.client.HTTPResponse:
        headers = {"Accept": "application/json, text/event-stream", **extra}
        if self.address.token:
            headers["Authorization"] = f"token {self.address.token}"
        else:
            # A server without a token still checks that cookie and header agree.
            twin = secrets.token_hex(16)
            headers |= {"Cookie": f"_xsrf={twin}", "X-XSRFToken": twin}
        payload = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        if payload is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, self._base + path, body=payload, headers=headers)
        return connection.getresponse()

    def _away(self, exc: BaseException) -> ServerAway:
        return ServerAway(
            f"the Jupyter server at {self.address.url} does not answer: {exc or type(exc).__name__}",
            hint="start it again, or leave it stopped and let this command start its own",
        )

    # ---- the routes -----------------------------------------------------------------------------------------------------

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

    def events(self, after: int, session: str = "", *, patience: float = 30.0) -> Iterator[Message]:
        """All messages from ``after`` on, without end; after a broken connection it goes on behind the last event it gave.

        :raises ServerAway: if the server stays away for ``patience`` seconds
        """
        last, lost_since, pause = after, None, 0.1
        while True:
            try:
                for message in self._read_stream(last, session):
                    last = max(last, int(message.data.get("seq", 0)))
                    lost_since, pause = None, 0.1
                    yield message
                raise http.client.HTTPException("it closed the stream")
            except _UNREACHABLE as exc:
                lost_since = lost_since or time.monotonic()
                if time.monotonic() - lost_since > patience:
                    raise self._away(exc) from exc
            time.sleep(pause)
            pause = min(pause * 2, 2.0)

    def _read_stream(self, after: int, session: str) -> Iterator[Message]:
        query = urlencode({"after": after, **({"session": session} if session else {})})
        connection = self._connect(_READ_TIMEOUT)
        try:
            response = self._send(connection, "GET", f"/stream?{query}", None, {"Last-Event-ID": str(after)})
            if response.status >= 300:
                raise _failure(response.status, response.read(), "the event stream")
            yield from _messages(response)
        finally:
            connection.close()


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


def _messages(response: http.client.HTTPResponse) -> Iterator[Message]:
    """Server-sent events, decoded; an unfinished one at the end is dropped."""
    kind, data = "message", list[str]()
    while line := response.readline():
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            if data:
                yield Message(kind, json.loads("\n".join(data)))
            kind, data = "message", []
            continue
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if not name:
            yield Message("heartbeat", {})
        elif name == "event":
            kind = value
        elif name == "data":
            data.append(value)


def _failure(status: int, data: bytes, what: str) -> ServerRefused | RequestFailed:
    known = _problem(data)
    if status < 400 or status in (401, 403):
        return ServerRefused(
            f"the server refuses us ({status}): {known.get('message') or 'the token is not accepted'}",
            hint="the token in its server file may be old; restart the Jupyter server",
        )
    if status == 404 and "message" not in known:
        return RequestFailed(
            "this Jupyter server has no jupyter_pernix extension", status=status, hint="jupyter server extension list"
        )
    field = str(known.get("place") or "").removeprefix("$").removeprefix(".")
    place = f"{field}: " if field else ""
    message = known.get("message") or f"{what} was answered with HTTP {status}"
    return RequestFailed(f"{place}{message}", status=status, hint=str(known.get("hint", "")))


def _problem(data: bytes) -> JSON:
    try:
        body: Any = json.loads(data)
    except ValueError:
        return {}
    return cast(JSON, body) if isinstance(body, dict) else {}


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
