"""Values that events, requests and answers are made of."""

from typing import Literal

import msgspec

from ..ids import ChangeId
from .words import JSON, CellOp, CellType, ContextKind


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the JSON bodies; unknown fields are refused with their name."""


class Usage(Record, frozen=True):
    """Tokens as the endpoint reported them. ``None``: it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


class Timings(Record, frozen=True):
    """Seconds of one step."""

    first_token: float | None = None
    total: float = 0.0


class Budget(Record, frozen=True):
    """Limits of one turn, or of a whole session; ``None`` is no limit. Checked before the spend.

    ``cost`` is in the currency of the endpoint's price and needs one. ``changed_lines`` counts lines added and removed.
    """

    rounds: int | None = 60
    tokens: int | None = None
    seconds: float | None = 3600.0
    cost: float | None = None
    changed_lines: int | None = None


NO_LIMITS = Budget(rounds=None, seconds=None)


class Spent(Record, frozen=True):
    """What a worker's turn used, in the units of ``Budget``. ``cost`` ``None``: a step of it has no price."""

    rounds: int = 0
    tokens: int = 0
    cost: float | None = None
    changed_lines: int = 0


class PlanStep(Record, frozen=True):
    text: str
    status: Literal["pending", "in_progress", "completed"] = "pending"


class Plan(Record, frozen=True):
    """How a turn is meant to go. ``by``: who made it."""

    approach: str
    steps: list[PlanStep] = []
    tools: list[str] = []
    by: Literal["scout", "agent"] = "scout"


class Picture(Record, frozen=True):
    """An image that the model is shown. ``data``: base64."""

    mime: str
    data: str


class ContextItem(Record, frozen=True):
    """Told to the model once, with the message that begins the turn. ``text`` is exactly what it reads."""

    kind: ContextKind
    name: str
    text: str
    pictures: list[Picture] = []


class Mention(Record, frozen=True):
    """Something that a message is about. ``variable``: ``name`` in the session's kernel. ``cell``: the cell with the id ``name`` of the
    notebook at ``path``, relative to the server's root as in ``OpenNotebook`` ("" is the attached one)."""

    kind: Literal["variable", "cell"]
    name: str
    path: str = ""


class CellSnapshot(Record, frozen=True):
    """One cell of a notebook at one moment; ``outputs`` are nbformat 4 outputs."""

    cell_id: str
    cell_type: CellType
    source: str
    outputs: list[JSON] = []
    execution_count: int | None = None
    metadata: JSON = {}
    attachments: JSON = {}
    """Files of a markdown or raw cell."""


class CellChange(Record, frozen=True):
    """One change of one cell. ``before`` ``None``: it is inserted; ``after`` ``None``: it is deleted. ``behind``: the id of the cell
    that it stands behind afterwards, ``was_behind`` before; "" is the top, ``None`` when it is not there then."""

    change_id: ChangeId
    path: str
    """Relative to the server's root."""
    op: CellOp
    cell_id: str
    before: CellSnapshot | None
    after: CellSnapshot | None
    behind: str | None = None
    was_behind: str | None = None


class Column(Record, frozen=True):
    name: str
    dtype: str


class Variable(Record, frozen=True):
    """A variable of a kernel, looked at without running any code of its own class. ``preview``: some text of its value, or "".
    ``hidden``: its value looks like a secret and is not shown."""

    name: str
    type: str
    shape: list[int] | None = None
    dtype: str = ""
    length: int | None = None
    size_bytes: int | None = None
    preview: str = ""
    columns: list[Column] = []
    more_columns: int = 0
    hidden: bool = False


class Variables(Record, frozen=True):
    """The user's variables of a kernel. ``total`` counts those that ``variables`` leaves out too; ``busy``: code was running."""

    kernel_name: str
    language: str
    busy: bool
    total: int
    variables: list[Variable]
