"""``%pernix`` and ``%%pernix``."""

import argparse
import atexit
import os
import shlex
from pathlib import Path
from typing import Any

from IPython.core.magic import Magics, line_cell_magic, magics_class

from ... import client as _client
from ...client import JSON, Client
from ...errors import PernixError, ServerError
from ...headless import Headless, connect
from ...livetext import neutral, one_line, state_word
from .incell import InCell
from .turn import CellFailed, CellTurn
from .view import CellView

MODES = ("ask", "plan", "edit", "auto")
ACTIONS = ("status", "sessions", "open", "stop", "help")

HELP = """\
%%pernix [--mode ask|plan|edit|auto] [--session ID|new] [--endpoint NAME]
request           ask the agent; it works in this kernel, with your variables
%pernix status    which server and session this kernel talks to
%pernix sessions  all sessions, newest first
%pernix open ID   go on with that session in the next %%pernix cell
%pernix stop      stop what this kernel's session is doing
The answer is left in the variable _pernix."""


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise CellFailed(f"%pernix: {message}\n{HELP}")


def cell_arguments() -> argparse.ArgumentParser:
    parser = _Arguments(prog="%%pernix", add_help=False)
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--session", default="")
    parser.add_argument("--endpoint")
    return parser


@magics_class
class PernixMagics(Magics):
    """One per kernel; remembers the session that its cells go on with."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.session_id = ""
        self._client: Client | None = None
        self._server: Headless | None = None
        self._incell: InCell | None = None
        self._active = False

    @line_cell_magic
    def pernix(self, line: str, cell: str | None = None) -> None:
        """Ask the agent (``%%pernix``), or see what it does (``%pernix help``)."""
        try:
            if cell is not None:
                self._cell(line, cell)
            else:
                self._line(line)
        except PernixError as exc:
            hint = f"\n{exc.hint}" if isinstance(exc, ServerError) and exc.hint else ""
            raise CellFailed(f"{exc}{hint}") from None

    # ---- %%pernix -------------------------------------------------------------------------------------------------------

    def _cell(self, line: str, cell: str) -> None:
        options = cell_arguments().parse_args(shlex.split(line))
        if not cell.strip():
            raise CellFailed(HELP)
        if self._active:
            raise CellFailed("the agent's own code cannot start another request in the same cell")
        client = self._connected()
        after = self._choose_session(client, options)
        shell: Any = self.shell
        kernel = getattr(shell, "kernel", None)
        asks = bool(getattr(kernel, "_allow_stdin", False))
        panel = client.address.pid == _parent_pid()
        turn = client.submit(self.session_id, cell.strip(), origin="magic", can_ask=asks or panel)
        view = CellView(shell.display_pub, live=kernel is not None)
        self._incell = self._incell or InCell(shell, client)
        follow = CellTurn(
            client,
            session_id=self.session_id,
            turn_id=turn["turn_id"],
            after=after,
            view=view,
            incell=self._incell,
            ask=kernel.raw_input if asks and kernel is not None else None,
            panel=panel,
        )
        self._active = True
        try:
            shell.user_ns["_pernix"] = follow.follow()
        finally:
            self._active = False

    def _choose_session(self, client: Client, options: argparse.Namespace) -> int:
        """Makes ``session_id`` the session to use; gives the last ``seq`` before the new turn."""
        if options.session == "new":
            self.session_id = ""
        elif options.session:
            self.session_id = _full_id(client.sessions("all"), options.session)
        if not self.session_id:
            created = client.create_session(
                space_root=_space_root(client),
                mode=options.mode,
                endpoint=options.endpoint,
                origin="magic",
                place="in_cell",
            )
            self.session_id = created["session_id"]
            return int(created["last_seq"])
        changes = {"mode": options.mode, "endpoint": options.endpoint}
        wanted = {name: value for name, value in changes.items() if value}
        if wanted:
            client.change_session(self.session_id, **wanted)
        return int(client.session(self.session_id)["last_seq"])

    # ---- %pernix --------------------------------------------------------------------------------------------------------

    def _line(self, line: str) -> None:
        action, *arguments = shlex.split(line) or ["status"]
        if action == "help" or action not in ACTIONS:
            self._say(HELP if action == "help" else f"there is no %pernix {action}\n{HELP}")
        elif action == "sessions":
            self._sessions()
        elif action == "open":
            self._open(arguments)
        elif action == "stop":
            self._stop()
        else:
            self._status()

    def _say(self, text: str) -> None:
        print(neutral(text))  # noqa: T201 — the output of a line magic is what it prints

    def _status(self) -> None:
        client = _client.find() if self._client is None else self._client
        if client is None:
            self._say("No Jupyter server with jupyter_pernix is running; the next %%pernix cell starts one.")
            return
        info = client.info()
        lines = [f"server: {client.address.url}, root {info.get('server_root') or client.address.root}"]
        for endpoint in client.endpoints()["endpoints"]:
            star = " (default)" if endpoint["default"] else ""
            lines.append(
                f"endpoint: {endpoint['name']}, {endpoint['model'] or 'no model yet'}, {endpoint['status']}{star}"
            )
        if self.session_id:
            view = client.session(self.session_id)
            lines += [
                f"session: {self.session_id}, {state_word(view['state'])}, mode {view['mode']}, {view['title'] or '(untitled)'}"
            ]
            lines += [f"notebook: {view['record_path']}"]
        else:
            lines.append("session: none yet; the next %%pernix cell makes one")
        self._say("\n".join(lines))

    def _sessions(self) -> None:
        sessions = self._connected().sessions()
        for session in sessions:
            here = "*" if session["session_id"] == self.session_id else " "
            title = one_line(session["title"], 70) or "(untitled)"
            self._say(f"{here} {session['session_id']}  {state_word(session['state'])}  {title}")
        if not sessions:
            self._say("There are no sessions yet.")

    def _open(self, arguments: list[str]) -> None:
        if len(arguments) != 1:
            raise CellFailed("%pernix open ID; %pernix sessions lists them")
        client = self._connected()
        view = client.session(_full_id(client.sessions("all"), arguments[0]))
        self.session_id = view["session_id"]
        self._say(
            f"the next %%pernix cell goes on with {view['title'] or '(untitled)'}; notebook {view['record_path']}"
        )

    def _stop(self) -> None:
        if not self.session_id:
            self._say("this kernel has no session yet")
            return
        client = self._connected()
        open_turns = [turn for turn in client.session(self.session_id)["turns"] if turn["code"] is None]
        for turn in open_turns:
            client.cancel(self.session_id, turn["turn_id"])
        self._say("stopping" if open_turns else "nothing is running in this session")

    # ---- the server -----------------------------------------------------------------------------------------------------

    def _connected(self) -> Client:
        """The server that was used before, if it is still there; else the one that is, else a new one."""
        if self._client is not None:
            try:
                self._client.info()
                return self._client
            except ServerError:
                self._client = self._incell = None
        self._client, server = connect(Path())
        if server is not None:
            self._server = server
            atexit.register(server.stop_unless_busy, patience=2.0)
        return self._client

    def complete(self, shell: Any, event: Any) -> list[str]:
        """For Tab behind ``%pernix`` and ``%%pernix``."""
        words = event.line.split()
        if event.line[:1].isspace() or words[:1] == ["%%pernix"]:
            return list(MODES) if words[-1:] == ["--mode"] else ["--mode", "--session", "--endpoint"]
        if "open" in words[1:]:
            client = self._client or _client.find()
            return [session["session_id"] for session in client.sessions()] if client is not None else []
        return list(ACTIONS)


def _parent_pid() -> int:
    parent = os.environ.get("JPY_PARENT_PID", "")
    return int(parent) if parent.isdigit() else 0


def _space_root(client: Client) -> str:
    """This kernel's folder, relative to the server's root; the root itself when it lies elsewhere."""
    root = Path(client.info().get("server_root") or client.address.root).expanduser().resolve()
    here = Path.cwd().resolve()
    return here.relative_to(root).as_posix() if here != root and here.is_relative_to(root) else ""


def _full_id(sessions: list[JSON], given: str) -> str:
    matches = [session["session_id"] for session in sessions if session["session_id"].startswith(given)]
    return matches[0] if len(matches) == 1 else given
