"""Roles: opened when asked for, never one for another, and when another model is worth asking."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from jupyter_pernix.agent.model.parts import Model
from jupyter_pernix.agent.model.roles import Opener, RoleModels, is_worth_fallback
from jupyter_pernix.agent.testing import ScriptedModel
from jupyter_pernix.errors import (
    ContextOverflow,
    EndpointFailed,
    EndpointRefused,
    EndpointUnreachable,
    ModelError,
    ModelMissing,
    RateLimited,
    StreamBroken,
    ToolsUnsupported,
)
from jupyter_pernix.records import Role


class World:
    """What was opened and closed, in order."""

    def __init__(self, *broken: Role) -> None:
        self.seen: list[str] = []
        self.broken = set(broken)

    def models(self, *roles: Role) -> RoleModels:
        return RoleModels({role: self._opener(role) for role in roles})

    def _opener(self, role: Role) -> Opener:
        @asynccontextmanager
        async def opened() -> AsyncGenerator[Model]:
            self.seen.append(f"open {role}")
            await anyio.lowlevel.checkpoint()
            if role in self.broken:
                raise EndpointUnreachable(f"no {role}")
            yield ScriptedModel([], name=role)
            self.seen.append(f"close {role}")

        return opened


async def test_a_role_is_connected_only_when_it_is_asked_for_and_closed_at_the_end() -> None:
    world = World()
    async with world.models("primary", "background", "backup") as models:
        assert world.seen == []
        primary = await models.get("primary")
        assert primary is not None
        assert primary is await models.get("primary")
        assert world.seen == ["open primary"]
        await models.get("backup")
    assert world.seen == ["open primary", "open backup", "close backup", "close primary"]


async def test_a_role_that_is_not_configured_has_no_model_and_not_the_primary() -> None:
    async with World().models("primary") as models:
        assert await models.get("background") is None
        assert await models.get("backup") is None


async def test_a_role_that_is_asked_for_twice_at_once_is_opened_once() -> None:
    world = World()
    found: list[Model | None] = []
    async with world.models("background") as models:

        async def ask() -> None:
            found.append(await models.get("background"))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
    assert found[0] is found[1]
    assert world.seen == ["open background", "close background"]


async def test_a_role_whose_endpoint_is_down_is_tried_again_when_asked_again() -> None:
    world = World("backup")
    async with world.models("primary", "backup") as models:
        await models.get("primary")
        with pytest.raises(EndpointUnreachable):
            await models.get("backup")
        world.broken.clear()
        assert await models.get("backup") is not None


@pytest.mark.parametrize(
    "error",
    [
        EndpointUnreachable("down"),
        EndpointRefused("bad key, or no quota left"),
        ModelMissing("gone"),
        ToolsUnsupported("no tools"),
        RateLimited("slow down"),
        StreamBroken("dropped"),
        EndpointFailed("broken", status=500, retryable=True),
        EndpointFailed("odd", kind="protocol"),
        EndpointFailed("nothing", kind="empty_reply"),
        ModelError("the endpoint cannot be used"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_endpoint_did_not_do_another_may(error: ModelError) -> None:
    assert is_worth_fallback(error)


async def test_neither_a_cancellation_nor_a_fault_of_ours_goes_to_the_backup() -> None:
    assert not is_worth_fallback(anyio.get_cancelled_exc_class()())
    assert not is_worth_fallback(KeyError("ours"))


def test_what_a_content_filter_stopped_is_not_carried_elsewhere() -> None:
    assert not is_worth_fallback(EndpointFailed("filtered", kind="content_filter"))


@pytest.mark.parametrize(
    ("limit", "own", "backup", "worth"),
    [
        (8000, None, 32_000, True),
        (None, 8000, 32_000, True),
        (32_000, None, 8000, False),
        (8000, 128_000, 8000, False),
        (None, None, 32_000, False),
        (8000, None, None, False),
    ],
)
def test_an_overflow_goes_to_a_backup_that_is_known_to_hold_more(
    limit: int | None, own: int | None, backup: int | None, worth: bool
) -> None:
    error = ContextOverflow("too long", limit=limit)
    assert is_worth_fallback(error, context_length=own, backup_context_length=backup) is worth
