"""One session in memory to act on: a space, a host, and a Run for each message."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import RunSettings
from jupyter_pernix.agent.testing import (
    FakeClock,
    FakeExecutor,
    MemoryHost,
    Says,
    Script,
    ScriptedModel,
    ScriptedModels,
    Works,
)
from jupyter_pernix.events import ToolCallFinished, TurnFinished, event_type
from jupyter_pernix.ids import TurnId
from jupyter_pernix.records import ApprovalAnswer, Budget, Mode


@dataclass(kw_only=True)
class Acting:
    """``say`` carries one turn; what is stored is in ``host``, what was sent in ``model``."""

    root: Path
    mode: Mode = "auto"
    answers: Sequence[ApprovalAnswer] = ()
    can_ask: bool | None = None
    executor: FakeExecutor = field(default_factory=FakeExecutor)
    clock: FakeClock = field(default_factory=FakeClock)
    workers: Sequence[Works] = ()
    instructions_folder: Path | None = None
    background: ScriptedModel | None = None
    backup: ScriptedModel | None = None
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
            workers=self.workers,
            instructions_folder=self.instructions_folder,
        )
        self.model = ScriptedModel([])

    def run(
        self, script: Sequence[Script] | ScriptedModel | None, *, text: str = "Do it", budget: Budget | None = None
    ) -> Run:
        """A Run of a new turn; ``None`` for a script: there is no model."""
        turn_id = self.host.submit(text)
        return self.go_on(turn_id, script, budget=budget)

    def go_on(
        self, turn_id: TurnId, script: Sequence[Script] | ScriptedModel | None, *, budget: Budget | None = None
    ) -> Run:
        """A Run of a turn that was submitted, and may have begun."""
        model = ScriptedModel(script) if isinstance(script, (list, tuple)) else script
        if isinstance(model, ScriptedModel):
            self.model = model
        models = ScriptedModels(model, background=self.background, backup=self.backup)  # type: ignore[arg-type]
        settings = self.settings if budget is None else replace(self.settings, budget=budget)
        return Run(self.host, turn_id, list(self.host.log), models, settings, self.clock)

    async def say(
        self, script: Sequence[Script] | ScriptedModel | None, *, text: str = "Do it", budget: Budget | None = None
    ) -> TurnFinished:
        return await self.run(script, text=text, budget=budget).carry()

    @property
    def results(self) -> list[str]:
        """What the model read, call by call."""
        return [event.result for event in self.host.events if isinstance(event, ToolCallFinished)]

    @property
    def statuses(self) -> list[str]:
        return [event.status for event in self.host.events if isinstance(event, ToolCallFinished)]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.host.events if isinstance(event, kind)]

    def types_after(self, tag: str) -> list[str]:
        """The tags behind the last event of this tag."""
        types = self.host.types
        return types[len(types) - types[::-1].index(tag) :]


def answer(text: str = "Done.") -> Says:
    return Says(text=text)


def tags(events: Sequence[Any]) -> list[str]:
    return [event_type(event) for event in events]
