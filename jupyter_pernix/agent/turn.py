"""The parts of one running turn, put together: what asks, what carries out, what watches over them."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ContextOverflow, ModelError
from ..ids import TurnId
from ..ports import Clock, TurnHost
from ..records import Role
from .aside import Asides
from .budget import Spending
from .calls import Calls
from .claims import corrections
from .compaction import Compactor
from .guards import Guards
from .journal import Journal
from .model.parts import Model, Models
from .open_calls import Outcome
from .permission import Permission, asked_before
from .policy.hooks import Hooks
from .policy.scope import Scope
from .reopening import Left, left_behind
from .run_settings import RunSettings
from .scout import scout
from .shares import Shares
from .sizes import Sizes
from .steps import Step, Steps
from .toolbox import Toolbox
from .tools.base import Tool
from .tools.delegate import DELEGATE, delegate_tool

log = logging.getLogger(__name__)

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
    compactor: Compactor
    asides: Asides
    models: Models
    left: Left
    hooks: Hooks

    @classmethod
    async def of(
        cls,
        *,
        host: TurnHost,
        turn_id: TurnId,
        journal: Journal,
        models: Models,
        primary: Model,
        role: Role,
        settings: RunSettings,
        spending: Spending,
        clock: Clock,
        tools: Mapping[str, Tool[Any]],
    ) -> "Turn":
        """``role``: in which ``primary`` answers, ``"backup"`` if it stands for one that cannot be had."""
        left = left_behind(journal.log, turn_id)
        desk = Shares(spending, clock)
        offered = dict(tools) if host.is_worker else {**tools, DELEGATE: delegate_tool(desk)}
        toolbox = await Toolbox.of(host, offered, journal.log)
        sizes = Sizes(toolbox.specs(primary.protocol), journal.log)
        model, role = await _who_answers(models, primary, role, left)
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
        guards = Guards.of(journal.log, turn_id, toolbox.key)
        scope = Scope(host.space)
        hooks = Hooks(
            host=host,
            turn_id=turn_id,
            journal=journal,
            scope=scope,
            spending=spending,
            clock=clock,
            on=settings.hooks,
        )
        permission = Permission(
            host=host,
            turn_id=turn_id,
            journal=journal,
            scope=scope,
            guards=guards,
            spending=spending,
            clock=clock,
            asked=asked_before(journal.log),
            hooks=hooks,
            deny=settings.deny,
        )
        calls = Calls(
            host=host,
            turn_id=turn_id,
            journal=journal,
            toolbox=toolbox,
            guards=guards,
            spending=spending,
            deadlines=settings.deadlines,
            clock=clock,
            correct=lambda text: corrections_of(text, host=host, journal=journal, turn_id=turn_id),
            desk=desk,
            permission=permission,
        )
        asides = Asides(
            session_id=host.session_id,
            turn_id=turn_id,
            store=journal.add,
            clock=clock,
            retry=settings.retry,
            spending=spending,
            index=steps.next_index,
        )
        compactor = Compactor(
            host=host,
            turn_id=turn_id,
            journal=journal,
            models=models,
            sizes=sizes,
            settings=settings.compaction,
            asides=asides,
        )
        return cls(
            host=host,
            turn_id=turn_id,
            journal=journal,
            toolbox=toolbox,
            sizes=sizes,
            steps=steps,
            calls=calls,
            compactor=compactor,
            asides=asides,
            models=models,
            left=left,
            hooks=hooks,
        )

    def reopen(self) -> bool:
        """Take up what an earlier program left; whether a reply of this turn has been held to its promise already."""
        self.calls.reopen(self.left.open_calls, text=self.left.text, failed=self.left.failed)
        return self.left.promised

    async def scout(self) -> None:
        """Plan the turn, if it is worth a plan and there is a model to make it."""
        await scout(
            host=self.host,
            turn_id=self.turn_id,
            journal=self.journal,
            models=self.models,
            asides=self.asides,
            tools=self.toolbox.tools,
        )

    async def ask(self) -> Step:
        """The next answer; see ``Steps.ask``. An input that is too long is made shorter, and sent once more."""
        if await self.compactor.before_request(self.steps.model):
            self.calls.guards.compacted()
        try:
            return await self.steps.ask()
        except ContextOverflow as exc:
            if not await self.compactor.after_overflow(exc, self.steps.model):
                raise
            self.calls.guards.compacted()
        return await self.steps.ask(last_try=True)

    async def carry_out(self) -> Outcome:
        """Carry out the calls of the last answer."""
        length = self.steps.model.context_length
        self.calls.room = None if length is None else self.sizes.text_bytes(self.steps.model, int(length * _ROOM))
        return await self.calls.carry_out()

    def corrections(self, text: str) -> list[str]:
        """What the host's record says against an answer, or what the answer leaves out."""
        return corrections_of(text, host=self.host, journal=self.journal, turn_id=self.turn_id)


async def _who_answers(models: Models, primary: Model, role: Role, left: Left) -> tuple[Model, Role]:
    """The backup if it had taken over and can still be had."""
    if not left.fell_back or role == "backup":
        return primary, role
    try:
        backup = await models.get("backup")
    except ModelError as exc:
        log.info("the backup cannot be had any more: %s", exc)
        backup = None
    return (primary, role) if backup is None else (backup, "backup")


def corrections_of(text: str, *, host: TurnHost, journal: Journal, turn_id: TurnId) -> list[str]:
    """``claims.corrections`` of an answer of this turn."""
    request, before = journal.request(turn_id), journal.request_before(turn_id)
    try:
        return corrections(text, journal.ledger, turn_id, request, before, host.mode)
    except Exception:
        # an answer that is there is not lost because it could not be checked
        log.exception("an answer of turn %s could not be checked", turn_id)
        return []
