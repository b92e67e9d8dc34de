"""The parts of one running turn, put together: what asks, what carries out, what watches over them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..ids import TurnId
from ..ports import Clock, TurnHost
from ..records import Role
from .budget import Spending
from .calls import Calls, Outcome, Shares
from .guards import Guards
from .journal import Journal
from .model.parts import Model, Models
from .permission import asked_before
from .reopening import Left, left_behind
from .run_settings import RunSettings
from .sizes import Sizes
from .steps import Step, Steps
from .toolbox import Toolbox
from .tools.base import Tool
from .tools.delegate import DELEGATE, delegate_tool

_ROOM = 0.5
"""The part of the context that the results of one reply may fill."""


@dataclass(kw_only=True)
class Turn:
    """``left``: where an earlier program left it."""

    host: TurnHost
    turn_id: TurnId
    journal: Journal
    toolbox: Toolbox
    sizes: Sizes
    steps: Steps
    calls: Calls
    left: Left

    @classmethod
    async def of(
        cls,
        *,
        host: TurnHost,
        turn_id: TurnId,
        journal: Journal,
        models: Models,
        primary: Model,
        settings: RunSettings,
        spending: Spending,
        clock: Clock,
        tools: Mapping[str, Tool[Any]],
    ) -> "Turn":
        left = left_behind(journal.log, turn_id)
        desk = Shares(spending, clock)
        offered = dict(tools) if host.is_worker else {**tools, DELEGATE: delegate_tool(desk)}
        toolbox = await Toolbox.of(host, offered)
        sizes = Sizes(toolbox.specs(primary.protocol), journal.log)
        model, role = await _who_answers(models, primary, left)
        steps = Steps(
            host=host,
            turn_id=turn_id,
            journal=journal,
            models=models,
            model=model,
            role=role,
            toolbox=toolbox,
            sizes=sizes,
            spending=spending,
            retry=settings.retry,
            clock=clock,
            index=left.steps,
        )
        calls = Calls(
            host=host,
            turn_id=turn_id,
            journal=journal,
            toolbox=toolbox,
            guards=Guards.of(journal.log, turn_id, toolbox.key),
            spending=spending,
            deadlines=settings.deadlines,
            clock=clock,
            correct=lambda text: corrections(journal, turn_id, text),
            desk=desk,
            asked=asked_before(journal.log),
        )
        return cls(
            host=host,
            turn_id=turn_id,
            journal=journal,
            toolbox=toolbox,
            sizes=sizes,
            steps=steps,
            calls=calls,
            left=left,
        )

    def reopen(self) -> bool:
        """Take up what an earlier program left; whether a reply of this turn has been held to its promise already."""
        self.calls.reopen(self.left.open_calls, text=self.left.text, failed=self.left.failed)
        return self.left.promised

    async def ask(self) -> Step:
        """The next answer; see ``Steps.ask``."""
        return await self.steps.ask()

    async def carry_out(self) -> Outcome:
        """Carry out the calls of the last answer."""
        length = self.steps.model.context_length
        self.calls.room = None if length is None else self.sizes.text_bytes(self.steps.model, int(length * _ROOM))
        return await self.calls.carry_out()

    def corrections(self, text: str) -> list[str]:
        """What the host's record says against an answer, or what the answer leaves out."""
        return corrections(self.journal, self.turn_id, text)


async def _who_answers(models: Models, primary: Model, left: Left) -> tuple[Model, Role]:
    backup = await models.get("backup") if left.fell_back else None
    return (primary, "primary") if backup is None else (backup, "backup")


def corrections(journal: Journal, turn_id: TurnId, text: str) -> list[str]:
    return []
