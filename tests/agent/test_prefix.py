"""What goes over the wire in a long session: each request repeats the one before it to the byte, whatever happens in between."""

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from agent.test_cancelling import assert_legal_messages
from agent.test_toolbox import WEIGH
from support.model_server import ModelServer

from jupyter_pernix.agent.model.client import ChatModel, Endpoint
from jupyter_pernix.agent.model.parts import Part
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel, RunSettings
from jupyter_pernix.agent.testing import Executes, FakeExecutor, MemoryHost, printed
from jupyter_pernix.agent.tools.base import Tool
from jupyter_pernix.agent.tools.registry import TOOLS
from jupyter_pernix.events import ApprovalResolved, StepFinished, StepStarted, ToolCallFinished
from jupyter_pernix.records import JSON, ApprovalAnswer, Budget, Mode, TerminalCode

TURNS = 8
STEPS = 25
"""Requests of each turn, its answer included."""


def work(number: int) -> JSON:
    """What the model asks for in its request with this number: code, files, shell, thoughts, several at once, failures."""
    kinds: list[list[tuple[str, JSON]]] = [
        [("write_file", {"path": f"f{number}.py", "content": f"x = {number}\n# é\u2028\n" * 5})],
        [("run_code", {"code": f"print({number})"})],
        [("read_file", {"path": f"f{number - 2}.py"}), ("list_files", {"path": f"none-{number}"})],
        [("run_shell", {"command": f"echo {number}; exit {number % 3}"})],
        [("edit_file", {"path": f"f{number - 4}.py", "old_text": "nowhere", "new_text": "x"})],
    ]
    calls = [{"name": name, "arguments": arguments} for name, arguments in kinds[number % len(kinds)]]
    return {"text": f"Now step {number}." if number % 4 else "", "reasoning": "hm" * (number % 2), "tool_calls": calls}


def turn_of(number: int) -> list[JSON]:
    first = number * STEPS
    done: JSON = {"text": f"Turn {number} is done."}
    return [*(work(first + step) for step in range(STEPS - 1)), done]


class Recording(Endpoint):
    """Keeps the bytes of each request."""

    def __init__(self, base_url: str, bodies: list[bytes]) -> None:
        super().__init__(base_url)
        self.bodies = bodies

    def post(self, body: bytes, **named: Any) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        self.bodies.append(body)
        return super().post(body, **named)


@dataclass(kw_only=True)
class Session:
    """One session through several programs: ``restart`` makes everything anew but what is stored."""

    root: Path
    url: str
    bodies: list[bytes] = field(default_factory=list[bytes])
    tools: dict[str, Tool[Any]] = field(default_factory=lambda: dict(TOOLS))

    def __post_init__(self) -> None:
        (self.root / "space").mkdir()
        self.host = self._host([])
        self.endpoint = Recording(self.url, self.bodies)

    def _host(self, log: list[Any]) -> MemoryHost:
        executor = FakeExecutor([Executes(ops=(printed(f"{number}\n"),)) for number in range(200)])
        return MemoryHost(space=self.root / "space", side=self.root / "side", executor=executor, log=log)

    async def restart(self) -> None:
        await self.endpoint.aclose()
        self.host = self._host(self.host.log)
        self.endpoint = Recording(self.url, self.bodies)

    async def say(self, text: str, *, mode: Mode = "auto") -> None:
        self.host.mode = mode
        self.host.can_ask = True
        self.host._answers = [ApprovalAnswer(choice="allow_once")] * STEPS
        model = ChatModel(self.endpoint, name="m", endpoint_name="wire")
        turn_id = self.host.submit(text)
        settings = RunSettings(budget=Budget(rounds=None))
        run = Run(self.host, turn_id, list(self.host.log), OneModel(model), settings, tools=self.tools)
        finished = await run.carry()
        assert finished.code == TerminalCode.ANSWERED, finished.detail


def parts(body: bytes) -> tuple[bytes, bytes, bytes]:
    """What stands before the messages, the messages without their last bracket, and what stands behind them."""
    start = body.index(b'"messages":') + len(b'"messages":')
    messages = json.dumps(json.loads(body)["messages"], ensure_ascii=False, separators=(",", ":")).encode()
    assert body[start:].startswith(messages)
    return body[:start], messages[:-1], body[start + len(messages) :]


@pytest.mark.timeout(240)
async def test_two_hundred_steps_of_a_mixed_task_repeat_each_other_to_the_byte(tmp_path: Path) -> None:
    script = {"default": {"turns": [step for number in range(TURNS) for step in turn_of(number)]}}
    with ModelServer(script=script) as server:
        session = Session(root=tmp_path, url=server.url)
        await session.say("Begin.")
        await session.say("Go on, asking me.", mode="edit")
        (session.host.space / "AGENTS.md").write_text("Use tabs.\n")
        await session.say("With instructions.")
        await session.restart()
        await session.say("After a restart.")
        session.tools["weigh"] = WEIGH
        await session.say("With another tool.")
        (session.host.space / "AGENTS.md").write_text("Use spaces.\n")
        del session.tools["search_files"]
        await session.say("Once more.", mode="edit")
        await session.restart()
        (session.host.space / "AGENTS.md").unlink()
        await session.say("Nearly done.")
        await session.say("The last one.")
        await session.endpoint.aclose()
        stats = server.stats(session.host.session_id)

    bodies = [parts(body) for body in session.bodies]
    assert len(bodies) == TURNS * STEPS
    assert len({(head, tail) for head, _, tail in bodies}) == 1
    assert all(later.startswith(earlier) for (_, earlier, _), (_, later, _) in itertools.pairwise(bodies))
    assert stats["breaks"] == 0
    assert stats["retained_min"] == 1.0
    assert stats["cache_hit_share"] >= 0.99
    assert_legal_messages(json.loads(session.bodies[-1])["messages"])
    _assert_measured(session, bodies)


def _assert_measured(session: Session, bodies: list[tuple[bytes, bytes, bytes]]) -> None:
    """What is stored with each step is what the wire has seen."""
    started = [event for event in session.host.events if isinstance(event, StepStarted)]
    finished = [event for event in session.host.events if isinstance(event, StepFinished)]
    sizes = [len(messages) - 1 for _, messages, _ in bodies]
    assert [step.prompt_bytes for step in started] == sizes
    assert [step.prefix_bytes for step in started] == [0, *sizes[:-1]]
    assert finished[0].prefix_share is None
    repeated = sum(step.prefix_bytes for step in started[1:]) / sum(step.prompt_bytes for step in started[1:])
    assert repeated >= 0.99
    kinds = {event.status for event in session.host.events if isinstance(event, ToolCallFinished)}
    assert kinds == {"completed", "failed"}
    assert sum(isinstance(event, ApprovalResolved) for event in session.host.events) >= 10
