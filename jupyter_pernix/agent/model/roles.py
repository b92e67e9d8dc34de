"""Which model does what: ``primary`` carries turns, ``background`` does what is beside them, ``backup`` takes over.

Nothing falls from one role to another here: a role that is not configured has no model, so a title or a worker never uses the
primary by accident. Who wants the backup asks for it, and says so aloud.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Protocol, Self

import anyio

from ...errors import ContextOverflow, EndpointFailed, ModelError
from ...records import Role
from .parts import Model

_PASSED_ON = frozenset(
    {"server", "protocol", "too_large", "empty_reply", "bad_history", "bad_tool_schema", "unsupported_param"}
)


class Opener(Protocol):
    """Connects a role's model, and probes its endpoint first where nothing is known of it.

    Calling it does nothing yet; entering raises ``ModelError`` if the endpoint cannot be used.
    """

    def __call__(self) -> AbstractAsyncContextManager[Model]: ...


class RoleModels:
    """Implements ``parts.Models``. Each role is opened when it is first asked for; leaving the context closes what was opened."""

    def __init__(self, openers: Mapping[Role, Opener]) -> None:
        self._openers = openers
        self._models: dict[Role, Model] = {}
        self._locks: dict[Role, anyio.Lock] = {role: anyio.Lock() for role in openers}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def get(self, role: Role) -> Model | None:
        opener = self._openers.get(role)
        if opener is None:
            return None
        async with self._locks[role]:
            if role not in self._models:
                self._models[role] = await self._stack.enter_async_context(opener())
            return self._models[role]


def is_worth_fallback(
    error: BaseException, *, context_length: int | None = None, backup_context_length: int | None = None
) -> bool:
    """Whether another model may do what this one, all retries included, did not.

    ``context_length`` is the failed model's. After an overflow only a backup that is known to hold more helps; what the content
    filter stopped is not carried to another endpoint, and a cancellation is no failure.
    """
    match error:
        case ContextOverflow():
            limit = error.limit or context_length
            return limit is not None and backup_context_length is not None and backup_context_length > limit
        case EndpointFailed():
            return error.kind in _PASSED_ON
        case ModelError():
            return True
        case _:
            return False
