"""Real Runs against a scripted model server over HTTP; files and processes are real, a kernel is if it is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.model_server import ModelServer

from jupyter_pernix.agent.model.client import ChatModel, Endpoint
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel, RunSettings
from jupyter_pernix.agent.testing import FakeClock, FakeExecutor, MemoryHost
from jupyter_pernix.config import Deadlines
from jupyter_pernix.events import MessageCompleted, ToolCallFinished, ToolCallStarted, TurnFinished
from jupyter_pernix.records import JSON, ApprovalAnswer, Budget, Mode

KEY = "sk-very-secret-key-0123456789"


def calls(*asked: tuple[str, JSON], text: str = "") -> JSON:
    """A reply that calls tools."""
    return {"text": text, "tool_calls": [{"name": name, "arguments": arguments} for name, arguments in asked]}


def does(tool: str, **arguments: Any) -> JSON:
    """A reply with one call."""
    return calls((tool, arguments))


def says(text: str) -> JSON:
    return {"text": text}


@dataclass(kw_only=True)
class Stage:
    """One session. ``play`` says what the model will answer, request by request, and ``say`` carries a turn."""

    server: ModelServer
    root: Path
    mode: Mode = "auto"
    answers: Sequence[ApprovalAnswer] = ()
    can_ask: bool | None = None
    executor: Any = field(default_factory=FakeExecutor)
    clock: FakeClock = field(default_factory=FakeClock)
    settings: RunSettings = field(default_factory=RunSettings)

    def __post_init__(self) -> None:
        self.space = self.root / "space"
        self.space.mkdir(exist_ok=True)
        self.host = MemoryHost(
            space=self.space,
            side=self.root / "side",
            mode=self.mode,
            answers=self.answers,
            can_ask=self.can_ask,
            agrees=self.mode == "auto" and not self.answers and self.can_ask is None,
            executor=self.executor,
        )

    def play(self, *turns: JSON, on_end: str = "last") -> None:
        """From now on the model gives these replies, and then the last one again."""
        self.server.ctl("reset", {})
        self.server.ctl("script", {"turns": list(turns), "advance": "counter", "on_end": on_end})

    def fault(self, kind: str, **values: Any) -> None:
        self.server.ctl("fault", {"kind": kind, **values})

    async def say(
        self, text: str = "Go on", *, budget: Budget | None = None, before: Callable[[Run], Any] | None = None
    ) -> TurnFinished:
        model = ChatModel(
            Endpoint(self.server.url, key=KEY, deadlines=Deadlines()), name="scripted-1", endpoint_name="scripted"
        )
        settings = self.settings if budget is None else RunSettings(budget=budget, scout=False)
        turn_id = self.host.submit(text)
        try:
            return await Run(self.host, turn_id, list(self.host.log), OneModel(model), settings, self.clock).carry()
        finally:
            await model.aclose()

    @property
    def requests(self) -> list[list[JSON]]:
        """The messages of each request that came, oldest first."""
        return [record["body"]["messages"] for record in self.server.ctl("requests", bodies=1) if "body" in record]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.host.events if isinstance(event, kind)]

    @property
    def results(self) -> list[str]:
        return [event.result for event in self.of(ToolCallFinished)]

    @property
    def ran(self) -> int:
        """How many calls were carried out."""
        return len(self.of(ToolCallStarted))

    @property
    def reply(self) -> MessageCompleted:
        """The last thing that the model said, with what the host says against it."""
        last = self.of(MessageCompleted)[-1]
        assert isinstance(last, MessageCompleted)
        return last


def assert_valid(messages: Sequence[JSON]) -> None:
    """What a strict server asks for: each call has one result behind it, in order, and no result is without its call."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert waiting and message["tool_call_id"] == waiting.pop(0)
            continue
        assert waiting == []
        waiting = [call["id"] for call in message.get("tool_calls") or []]
        assert not seen & set(waiting) and len(set(waiting)) == len(waiting)
        seen |= set(waiting)
    assert waiting == []
