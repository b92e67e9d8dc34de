"""A long job of one tool, ``add``, whose effect is a line in an outside ledger: a program that can be killed and started again.

``python adding.py`` reads what to do from the environment: ``MS_URL`` and ``MS_KEY`` of the scripted model, ``MS_N`` calls, the
``MS_LEDGER``, a folder ``MS_TMP`` of its own, and ``MS_RESUME`` ``1`` to go on. It prints ``RESULT {"answer": …}`` at the end.
``MS_BLIND`` ``1``: the tool cannot tell what became of a call; ``MS_CAN_ASK`` ``0``: nobody is there to ask, and ``MS_DIE_AT``: the
program kills itself between the effect of this call and its result.
"""

import json
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from jupyter_pernix.agent.model.client import ChatModel, Endpoint
from jupyter_pernix.agent.model.conversation import Conversation
from jupyter_pernix.agent.model.parts import Part, ToolSpec
from jupyter_pernix.agent.policy.broker import Targets
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel, RunSettings
from jupyter_pernix.agent.tools.base import Arguments, ReconcileContext, Tool, ToolContext, ToolResult
from jupyter_pernix.agent.tools.registry import TOOLS
from jupyter_pernix.config import Settings
from jupyter_pernix.events import Stored
from jupyter_pernix.ids import SessionId, TurnId
from jupyter_pernix.ports import TurnHost
from jupyter_pernix.records import JSON, CallView, MessageView, SessionCreate, TurnCreate, TurnView
from jupyter_pernix.serverext.bus import Bus
from jupyter_pernix.serverext.sessions import Sessions
from jupyter_pernix.serverext.side_files import SideFiles
from jupyter_pernix.serverext.store import EventStore
from jupyter_pernix.serverext.surroundings import Surroundings


@dataclass(frozen=True, kw_only=True)
class Job:
    url: str
    key: str
    calls: int
    folder: Path
    ledger: Path
    resume: bool = False
    blind: bool = False
    can_ask: bool = True
    die_at: int | None = None

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Job":
        return cls(
            url=environ["MS_URL"],
            key=environ["MS_KEY"],
            calls=int(environ["MS_N"]),
            folder=Path(environ["MS_TMP"]),
            ledger=Path(environ["MS_LEDGER"]),
            resume=environ.get("MS_RESUME") == "1",
            blind=environ.get("MS_BLIND") == "1",
            can_ask=environ.get("MS_CAN_ASK", "1") == "1",
            die_at=int(environ["MS_DIE_AT"]) if environ.get("MS_DIE_AT") else None,
        )

    def environ(self) -> dict[str, str]:
        """The inverse of ``of``."""
        return {
            "MS_URL": self.url,
            "MS_KEY": self.key,
            "MS_N": str(self.calls),
            "MS_TMP": str(self.folder),
            "MS_LEDGER": str(self.ledger),
            "MS_RESUME": str(int(self.resume)),
            "MS_BLIND": str(int(self.blind)),
            "MS_CAN_ASK": str(int(self.can_ask)),
            "MS_DIE_AT": "" if self.die_at is None else str(self.die_at),
        }


def decide(request: Any, n: str = "20") -> dict[str, Any]:
    """The scripted model (``adding.py:decide?n=5``): it asks for exactly what the results in its input lack, and says so when a call is
    refused."""
    results = [str(message.get("content")) for message in request.messages if message.get("role") == "tool"]
    done = sum("sum=" in result for result in results)
    if request.messages[-1].get("role") == "tool" and results[-1].startswith("Not done:"):
        return {"text": f"I could not. {results[-1]}"}
    if done < int(n):
        return {
            "tool_calls": [{"name": "add", "arguments": {"a": done, "b": 1}, "id": f"call_{done:04d}_{request.index}"}]
        }
    return {"text": f"done {n}"}


# ---- the tool ---------------------------------------------------------------------------------------------------------------


class Add(Arguments, frozen=True):
    a: int
    b: int


def written(ledger: Path) -> list[int]:
    """The calls that had their effect, in order, once for each time."""
    lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
    return [int(json.loads(line)["a"]) for line in lines]


def write(ledger: Path, a: int) -> None:
    """Durable when it returns."""
    handle = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, (json.dumps({"a": a, "t": time.time()}) + "\n").encode())
    os.fsync(handle)
    os.close(handle)


def adder(job: Job) -> Tool[Add]:
    def effect(a: int) -> None:
        write(job.ledger, a)
        if job.die_at == a:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.05)

    async def carry_out(context: ToolContext, args: Add) -> ToolResult:
        await anyio.to_thread.run_sync(effect, args.a)
        return ToolResult(text=f"sum={args.a + args.b}")

    async def reconcile(arguments: JSON, context: ReconcileContext) -> ToolResult:
        if int(arguments["a"]) in written(job.ledger):
            return ToolResult(text=f"sum={int(arguments['a']) + int(arguments['b'])}")
        return ToolResult(text="It was not added.", failed=True)

    return Tool(
        name="add",
        description="Add two numbers.",
        kind="execute",
        action="execute",
        arguments=Add,
        title=lambda args: f"Add {args.a} and {args.b}",
        targets=lambda args: Targets(),
        carry_out=carry_out,
        reconcile=None if job.blind else reconcile,
    )


# ---- a server's sessions without its HTTP --------------------------------------------------------------------------------------


class _Keyed(ChatModel):
    """The scripted server knows the conversation by the job's key."""

    def __init__(self, job: Job, endpoint: Endpoint) -> None:
        super().__init__(endpoint, name="m", endpoint_name="scripted", context_length=131_072)
        self._key = SessionId(job.key)

    def stream(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, session_id: SessionId
    ) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        return super().stream(conversation, tools, session_id=self._key)


class _NoKernels:
    async def start(self, *args: object, **fields: object) -> Any:
        raise AssertionError("this job runs no code")


class Work:
    """``until`` waits for what an event makes true."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.tools: dict[str, Tool[Any]] = {name: tool for name, tool in TOOLS.items() if name != "finish"}
        self.tools["add"] = adder(job)
        self._changed = anyio.Event()

    @asynccontextmanager
    async def sessions(self) -> AsyncGenerator[Sessions]:
        root = self.job.folder / "root"
        root.mkdir(exist_ok=True)
        late: list[Sessions] = []

        def publish(group: list[Stored]) -> None:
            for each in late:
                each.saw(group)
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

        store = await EventStore.open(self.job.folder / "store" / "pernix.duckdb", publish=publish)
        try:
            async with anyio.create_task_group() as tasks:
                around = Surroundings(
                    store=store,
                    bus=Bus(),
                    settings=Settings(),
                    root=root.resolve(),
                    side_files=SideFiles(self.job.folder / "side"),
                    kernels=_NoKernels(),
                    carry=self._carry,
                    write_record=lambda session_id, log, path: None,
                    tasks=tasks,
                )
                sessions = Sessions(around)
                late.append(sessions)
                await sessions.recover(self.tools)
                yield sessions
                around.stopping = True
                tasks.cancel_scope.cancel()
        finally:
            await store.aclose()

    async def _carry(self, host: TurnHost, turn_id: TurnId, log: Sequence[Stored]) -> None:
        endpoint = Endpoint(self.job.url, key=self.job.key)
        try:
            model = _Keyed(self.job, endpoint)
            await Run(host, turn_id, log, OneModel(model), RunSettings(), tools=self.tools).carry()
        finally:
            await endpoint.aclose()

    async def session(self, sessions: Sessions) -> SessionId:
        """The one there is, else a new one."""
        found = sessions.listed()
        return found[0].session_id if found else (await sessions.create(SessionCreate(mode="auto"))).session_id

    async def go(self, sessions: Sessions) -> TurnView:
        """The job, or what is left of it; returns when the turn has ended or asks."""
        session_id = await self.session(sessions)
        view = await sessions.view(session_id)
        if not view.turns:
            text = f"Call the tool add {self.job.calls} times, then answer."
            await sessions.submit(session_id, TurnCreate(text=text, can_ask=self.job.can_ask))
        elif view.state == "idle_ready" and view.turns[-1].code != "answered":
            if self.job.can_ask:
                await sessions.resume(session_id)
            else:
                await sessions.submit(session_id, TurnCreate(text="Go on.", can_ask=False))
        while sessions.summary(session_id).state != "awaiting_user" and (
            sessions.busy or sessions.summary(session_id).state != "idle_ready"
        ):
            await self._changed.wait()
        return (await sessions.view(session_id)).turns[-1]


def answer_of(turn: TurnView) -> str:
    """What was said, what is asked, or how it ended otherwise."""
    texts = [item.text for item in turn.items if isinstance(item, MessageView)]
    questions = [item.approval.question for item in turn.items if isinstance(item, CallView) and item.approval]
    if turn.code is None:
        return f"asks: {questions[-1]}"
    return texts[-1] if texts and turn.code == "answered" else f"({turn.code})"


async def main(job: Job) -> None:
    work = Work(job)
    async with work.sessions() as sessions:
        turn = await work.go(sessions)
        print("RESULT " + json.dumps({"answer": answer_of(turn)}), flush=True)


if __name__ == "__main__":
    sys.exit(anyio.run(main, Job.of(os.environ)))
