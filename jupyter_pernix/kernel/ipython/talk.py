"""What ``%pernix`` does in this kernel; made when it is first used, so that loading the magics costs next to nothing."""

import atexit
import getpass
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ... import client as _client
from ...asked import drop_typed_ahead
from ...client import Client
from ...errors import PernixError, ServerError
from ...headless import Headless, connect
from ...livetext import neutral
from . import commands
from .failures import Failures
from .incell import InCell
from .notebook import own_kernel_id, space_root
from .options import CellOptions, Wishes, cell_options
from .question import Kept, ask
from .turn import CellFailed, CellTurn
from .view import CellView

_FIX = """\
Mend this error. The cell In[{number}] is:

```python
{source}
```

It raised:

```
{text}
```

Find the cause, say it in a sentence, and show the cell as it should be; try it first."""


class Talk:
    """``session_id``: the session that the cells go on with; "": none yet. ``active``: the agent is at work in a cell."""

    def __init__(self, shell: Any, failures: Failures) -> None:
        self.session_id = ""
        self.wishes = Wishes()
        self.active = False
        self._shell = shell
        self._failures = failures
        self._client: Client | None = None
        self._server: Headless | None = None
        self._incell: InCell | None = None

    def magic(self, line: str, cell: str | None) -> Any:
        """:raises CellFailed: with a sentence, whatever went wrong"""
        try:
            if cell is None:
                return self._line(line)
            word, _, rest = line.strip().partition(" ")
            if word == "sql":
                return commands.sql(self, f"{rest}\n{cell}")
            self._ask(cell_options(line), cell)
        except PernixError as exc:
            hint = f"\n{exc.hint}" if isinstance(exc, ServerError) and exc.hint else ""
            raise CellFailed(f"{exc}{hint}") from None
        return None

    def _line(self, line: str) -> Any:
        word, _, rest = line.strip().partition(" ")
        command = commands.COMMANDS.get(word or "status")
        if command is None:
            there = ", ".join(commands.COMMANDS)
            raise CellFailed(
                f"there is no %pernix {word}; there is {there}. To ask the agent, begin the cell with %%pernix"
            )
        shown = command(self, rest.strip())
        if not isinstance(shown, str):
            return shown
        print(neutral(shown))  # noqa: T201 — the output of a line magic is what it prints
        return None

    def fix(self, more: str) -> None:
        """``%pernix fix``: asks about the last error of a cell."""
        failure = self._failures.last
        if failure is None:
            raise CellFailed("no cell has failed since the magics were loaded; there is nothing to mend")
        text = _FIX.format(number=failure.number, source=failure.source.rstrip(), text=failure.text)
        self._submit(CellOptions(), f"{text}\n\n{more}".rstrip())

    # ---- %%pernix -------------------------------------------------------------------------------------------------------

    def _ask(self, options: CellOptions, cell: str) -> None:
        written = "\n".join(text for text in (options.question, cell.strip()) if text)
        if not written:
            raise CellFailed("write the request below %%pernix; %pernix help shows what else there is")
        shell = self._shell
        sources = shell.user_ns.get("In", [])
        kept = Kept(
            sources=lambda number: sources[number] if 0 < number < len(sources) else None,
            values=shell.user_ns.get("Out", {}),
            errors=self._failures.texts,
        )
        question = ask(written, shell.user_ns, kept)
        for note in question.notes:
            print(neutral(note))  # noqa: T201 — as above
        self._submit(options, question.text)

    def _submit(self, options: CellOptions, text: str) -> None:
        if self.active:
            raise CellFailed("the agent's own code cannot start another request in the same cell")
        client = self.connected()
        after = self._choose_session(client, options)
        shell = self._shell
        kernel = getattr(shell, "kernel", None)
        ask, ask_password = _askers(kernel)
        panel = client.address.pid == _parent_pid()
        can_ask = ask is not None or panel
        ids = {"kernel_id": own_kernel_id()} if panel else {}  # another server does not know this kernel
        turn = client.submit(self.session_id, text, origin="magic", can_ask=can_ask, budget=options.budget, **ids)
        self._incell = self._incell or InCell(shell, client)
        follow = CellTurn(
            client,
            session_id=self.session_id,
            turn_id=turn["turn_id"],
            after=after,
            view=CellView(shell.display_pub, live=kernel is not None),
            incell=self._incell,
            ask=ask,
            ask_password=ask_password,
            panel=panel,
        )
        self.active = True
        try:
            follow.follow()
        finally:
            self.active = False
            answer = shell.user_ns["_pernix"] = follow.answer()
        # The value of the cell, which stands under it already: it goes to Out and _, and is not shown once more.
        shell.displayhook.update_user_ns(answer)
        shell.displayhook.fill_exec_result(answer)

    def _choose_session(self, client: Client, options: CellOptions) -> int:
        """Makes ``session_id`` the session to use; gives the last ``seq`` before the new turn."""
        if options.session == "new":
            self.session_id = ""
        elif options.session:
            self.session_id = commands.full_id(client, options.session)
        endpoint = commands.endpoint_of(client, options.model) if options.model else None
        changes = {"mode": options.mode, "endpoint": endpoint}
        wanted = {name: value for name, value in changes.items() if value}
        if not self.session_id:
            fields = commands.given(self.wishes) | wanted
            created = client.create_session(space_root=space_root(client), origin="magic", place="in_cell", **fields)
            self.session_id = created["session_id"]
            return int(created["last_seq"])
        commands.check_not_busy_here(client.session(self.session_id))
        if wanted:
            client.change_session(self.session_id, **wanted)
        return int(client.session(self.session_id)["last_seq"])

    # ---- the server -----------------------------------------------------------------------------------------------------

    def connected(self) -> Client:
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

    def found(self) -> Client | None:
        """The server that is there, without starting one."""
        return _client.find() if self._client is None else self._client


def _askers(kernel: Any) -> tuple[Callable[[str], str] | None, Callable[[str], str] | None]:
    """How a line and a password are asked for at the cell; ``None`` where nobody is."""
    if kernel is None:
        return (
            (_fresh(input), _fresh(getpass.getpass)) if sys.stdin is not None and sys.stdin.isatty() else (None, None)
        )
    return (kernel.raw_input, kernel.getpass) if getattr(kernel, "_allow_stdin", False) else (None, None)


def _fresh(read: Callable[[str], str]) -> Callable[[str], str]:
    """As ``read``; what was typed into the terminal before is dropped."""

    def fresh(prompt: str) -> str:
        drop_typed_ahead(sys.stdin)
        return read(prompt)

    return fresh


def _parent_pid() -> int:
    parent = os.environ.get("JPY_PARENT_PID", "")
    return int(parent) if parent.isdigit() else 0
