"""The models of a worker: what a session's own primary would do is done by the background role, if there is one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..records import Role

if TYPE_CHECKING:
    from ..agent.model.parts import Model, Models


@dataclass(frozen=True)
class WorkerModels:
    """Implements ``Models``. ``models`` are those of the session that the worker works for."""

    models: "Models"

    async def get(self, role: Role) -> "Model | None":
        """:raises ModelError: if the endpoint cannot be used; the primary does not take over then"""
        if role != "primary":
            return await self.models.get(role)
        return await self.models.get("background") or await self.models.get("primary")
