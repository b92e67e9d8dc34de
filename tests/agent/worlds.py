"""Short logs of one session, by name: what happened in them is known, so a reply can be held against it."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from jupyter_pernix.agent.ledger import Ledger
from jupyter_pernix.events import (
    ApprovalResolved,
    ExecutionFinished,
    ExecutionStarted,
    FileChanged,
    PolicyDecided,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from jupyter_pernix.ids import ApprovalId, CallId, ExecutionId, SessionId, StepId, TurnId
from jupyter_pernix.records import FileChange

EARLIER, TURN = TurnId("turn-0"), TurnId("turn-1")
_SESSION = SessionId("session")


class World:
    """A log that is told in words."""

    def __init__(self, turn_id: TurnId = TURN) -> None:
        self.log: list[Stored] = []
        self.turn_id = turn_id
        self._count = 0

    def tell(self, event: Any) -> None:
        seq = len(self.log) + 1
        self.log.append(Stored(seq=seq, recorded_at=datetime(2026, 1, 1, tzinfo=UTC), event=event))

    def call(
        self, tool: str, result: str, *, status: Any = "completed", started: bool = True, **arguments: Any
    ) -> CallId:
        """A call from its request to its result."""
        ids = self.begin(tool, started=started, **arguments)
        self.end(ids["call_id"], result, status=status)
        return ids["call_id"]

    def begin(self, tool: str, *, started: bool = True, **arguments: Any) -> dict[str, Any]:
        self._count += 1
        ids: dict[str, Any] = {
            "session_id": _SESSION,
            "turn_id": self.turn_id,
            "call_id": CallId(f"call-{self._count}"),
        }
        title = f"{tool} {next(iter(arguments.values()), '')}"
        self.tell(
            ToolCallRequested(
                **ids, step_id=StepId("step"), wire_id="w", tool=tool, kind="other", title=title, arguments=arguments
            )
        )
        if started:
            self.tell(ToolCallStarted(**ids))
        return ids

    def end(self, call_id: CallId, result: str, *, status: Any = "completed") -> None:
        self.tell(
            ToolCallFinished(
                session_id=_SESSION, turn_id=self.turn_id, call_id=call_id, status=status, result=result, duration=0.1
            )
        )

    def change(self, path: str, *, created: bool = False) -> None:
        ids = self.begin("edit_file", path=path)
        after = sha256(f"{path}{self._count}".encode()).hexdigest()
        change = FileChange(
            path=path, before=None if created else "b" * 64, after=after, added_lines=2, removed_lines=1
        )
        self.tell(FileChanged(**ids, change=change))
        self.end(ids["call_id"], f"Edited {path} (+2 -1 lines).")

    def shell(self, command: str, exit_code: int | None = 0, output: str = "") -> None:
        head = "timeout: it did not end" if exit_code is None else f"exit code {exit_code}"
        self.call("run_shell", f"{head}\n{output}", status="completed" if exit_code == 0 else "failed", command=command)

    def cell(self, code: str, status: Any = "ok", ename: str = "") -> None:
        ids = self.begin("run_code", code=code)
        run = {"session_id": _SESSION, "turn_id": self.turn_id, "execution_id": ExecutionId(f"x-{self._count}")}
        self.tell(
            ExecutionStarted(**ids, execution_id=run["execution_id"], place="own", kernel_name="python3", code=code)
        )
        self.tell(
            ExecutionFinished(
                **run, status=status, execution_count=self._count, ename=ename, evalue="", detail="", duration=0.1
            )
        )
        self.end(ids["call_id"], f"{status} [{self._count}]", status="completed" if status == "ok" else "failed")

    def decline(self, tool: str, **arguments: Any) -> None:
        ids = self.begin(tool, started=False, **arguments)
        self.tell(ApprovalResolved(**ids, approval_id=ApprovalId("a"), choice="reject_once", text="", by="panel"))
        self.end(ids["call_id"], "Not done: the user declined this.", status="failed")

    def refuse(self, rule: str, tool: str, **arguments: Any) -> None:
        ids = self.begin(tool, started=False, **arguments)
        self.tell(PolicyDecided(**ids, action="write", verdict="refuse", rule=rule, mode="edit", targets=[]))
        self.end(ids["call_id"], "Not done.", status="failed")

    def worker(self) -> None:
        self.call("delegate", "done", task="it")

    @property
    def ledger(self) -> Ledger:
        return Ledger.of(self.log)


Told = Callable[[World], object]


def _in_order(*told: Told) -> Told:
    def tell(world: World) -> None:
        for one in told:
            one(world)

    return tell


def _earlier(told: Told) -> Told:
    def tell(world: World) -> None:
        world.turn_id = EARLIER
        told(world)
        world.turn_id = TURN

    return tell


_edit: Told = lambda world: world.change("src/a.py")  # noqa: E731
_read: Told = lambda world: world.call("read_file", "src/a.py: lines 1-3 of 3.", path="src/a.py")  # noqa: E731
_pass: Told = lambda world: world.shell("pytest -q")  # noqa: E731
_fail: Told = lambda world: world.shell("pytest -q", 1, "1 failed, 3 passed in 0.2s")  # noqa: E731

WORLDS: dict[str, Told] = {
    "nothing": lambda world: None,
    "read": _read,
    "edited": _edit,
    "created notes.md": lambda world: world.change("notes.md", created=True),
    "edited, tests passed": _in_order(_edit, _pass),
    "edited, tests failed": _in_order(_edit, _fail),
    "tests passed, edited": _in_order(_pass, _edit),
    "tests passed, notes edited": _in_order(_pass, lambda world: world.change("notes.md")),
    "tests failed, fixed, passed": _in_order(_fail, _edit, _pass),
    "tests passed": _pass,
    "tests timed out": _in_order(_edit, lambda world: world.shell("pytest -q", None)),
    "tests failed behind a pipe": _in_order(
        _edit, lambda world: world.shell("pytest -q 2>&1 | tail -3", 0, "FAILED test_a.py\n2 failed, 1 passed in 1s")
    ),
    "cell ok": lambda world: world.cell("print(1 + 1)"),
    "cell wrote data.csv": lambda world: world.cell("df.to_csv('data.csv')"),
    "cell failed to write data.csv": lambda world: world.cell("df.to_csv('data.csv')", "error", "NameError"),
    "cell failed": lambda world: world.cell("1 / 0", "error", "ZeroDivisionError"),
    "cell failed, then ok": _in_order(
        lambda world: world.cell("1 / 0", "error", "ZeroDivisionError"), lambda world: world.cell("1 / 1")
    ),
    "kernel died": lambda world: world.cell("big()", "dead"),
    "tests in a cell": _in_order(_edit, lambda world: world.cell("assert load('x') == 3")),
    "script ran": lambda world: world.shell("python make.py"),
    "script failed": lambda world: world.shell("python make.py", 2),
    "sed": lambda world: world.shell("sed -i s/a/b/ src/a.py"),
    "looked": lambda world: world.shell("ls -la && cat src/a.py"),
    "installed": lambda world: world.shell("pip install pandas"),
    "install failed": lambda world: world.shell("pip install pandas", 1),
    "committed": _in_order(_edit, lambda world: world.shell("git add -A && git commit -m x")),
    "commit failed": _in_order(_edit, lambda world: world.shell("git commit -m x", 1)),
    "downloaded": lambda world: world.shell("curl -O https://example.org/data.csv"),
    "declined": lambda world: world.decline("run_shell", command="rm -r build"),
    "refused by mode": lambda world: world.refuse("mode:edit:shell", "edit_file", path="a.py"),
    "refused by scope": lambda world: world.refuse("scope", "edit_file", path="../a.py"),
    "worker": lambda world: world.worker(),
    "another tool": lambda world: world.call("use_tool", "sent", name="mail", arguments={}),
    "edited earlier": _earlier(_edit),
    "edited and tested earlier": _earlier(_in_order(_edit, _pass)),
    "edited earlier, notes now": _in_order(_earlier(_edit), lambda world: world.change("notes.md")),
}


def world_of(name: str) -> World:
    world = World()
    WORLDS[name](world)
    return world


def names() -> Sequence[str]:
    return list(WORLDS)
