"""What every owner of a notebook can do: a page that has it open, the server's shared document, the file."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ...ids import ExecutionId
from ...records import JSON, CellChange, CellSnapshot, NotebookOwner


class Held(NamedTuple):
    """The cells as the owner has them. ``language`` "": the owner does not know."""

    cells: list[CellSnapshot]
    language: str = ""


class OwnerGone(Exception):
    """It does not hold the notebook any more, and has done nothing: whoever holds it now is to be asked."""


class Outputs(NamedTuple):
    """What a cell is to show of its execution."""

    cell_id: str
    execution_id: ExecutionId
    outputs: list[JSON]
    execution_count: int | None
    trusted: bool
    running: bool = False
    """More may come."""
    widgets: Mapping[str, JSON] = {}
    """The state of the widgets that they show, by the id of the model; for an owner that has no state of its own."""


class Owner(Protocol):
    """One notebook, as one owner holds it. Each method raises ``NotebookRefused`` when it did nothing, ``OwnerGone`` when another
    is to be asked."""

    @property
    def kind(self) -> NotebookOwner: ...

    async def read(self) -> Held: ...

    async def change(self, change: CellChange) -> None:
        """As ``ports.Notebooks.change``; the change's own path is not looked at."""
        ...

    async def begin_run(self, cell: CellSnapshot, execution_id: ExecutionId, *, trusted: bool) -> None: ...

    async def put_outputs(self, outputs: Outputs) -> None: ...
