"""What a tool is. Arguments are msgspec structs: the schema that the model sees and the check of what it sends are made from one class."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Generic, Protocol, TypeVar, cast

import msgspec

from ...config import Deadlines
from ...errors import ToolError, ToolRetry
from ...events import Event
from ...ids import CallId, TurnId
from ...ports import Clock, TurnHost
from ...records import JSON, CellChangeView, FileChange, Picture, ToolKind
from ..guards import call_key, without_descriptions
from ..ledger import Ledger
from ..model.parts import ToolSpec
from ..policy.broker import Intent, Targets
from ..policy.modes import Action
from ..policy.plain import one_line
from ..policy.scope import Located, Scope

RESULT_LIMIT = 16_000
"""Characters of a result that the model reads; the whole of a longer one is kept in a side file."""


class Store(Protocol):
    """Stores events of the running call; returns once they are durable."""

    async def __call__(self, *events: Event) -> None: ...


class Keep(Protocol):
    """Keeps a file as it is before it is changed; ``before`` ``None``: it is about to be made. Returns once that is stored.

    :raises ToolFailed: if it cannot be kept; then it must not be changed
    """

    async def __call__(self, located: Located, before: bytes | None) -> None: ...


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the arguments of a tool. Numbers may come as text; ``null`` for an optional one means that it was not given."""


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """What a tool may use while it carries out one call. ``seconds_left``: what the turn's budget leaves, ``None`` without a limit."""

    host: TurnHost
    turn_id: TurnId
    call_id: CallId
    scope: Scope
    ledger: Ledger
    deadlines: Deadlines
    clock: Clock
    store: Store
    keep: Keep
    seconds_left: float | None = None

    def deadline(self, seconds: float) -> float:
        """``seconds``, or less if the turn's time ends before."""
        return seconds if self.seconds_left is None else max(0.0, min(seconds, self.seconds_left))


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """``text`` is what the model reads. ``failed``: the call was carried out and its outcome is a failure. ``answer``: ends the turn.
    ``seen``: files whose content the model knows now, path → sha256 digest. ``changes``: of a reconciled call only, what it is now
    known to have changed; to be stored as ``file.changed`` before the result (a call that is carried out stores its own)."""

    text: str
    failed: bool = False
    side_file: str = ""
    seen: dict[str, str] = field(default_factory=dict[str, str])
    answer: str | None = None
    changes: tuple[FileChange, ...] = ()
    pictures: tuple[Picture, ...] = ()
    """To be shown to a model that sees."""


@dataclass(frozen=True, kw_only=True)
class ReconcileContext:
    """What a tool may look at to find out what became of a call during which the program ended. ``ledger``: of the log up to there.
    ``changes``, ``cells``: what the log says already that this call has changed."""

    scope: Scope
    ledger: Ledger
    changes: tuple[FileChange, ...] = ()
    cells: tuple[CellChangeView, ...] = ()
    space_root: str = ""
    """The space, relative to the server's root."""


@dataclass(frozen=True, kw_only=True)
class PrepareContext:
    """What a tool may look at to find out what a call would do; it changes nothing."""

    host: TurnHost
    scope: Scope
    ledger: Ledger


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A call whose effect is known: what it touches, what a person is asked about it, and how exactly that is carried out."""

    targets: Targets
    question: str
    carry_out: "Callable[[ToolContext], Awaitable[ToolResult]]"


Reconcile = Callable[[JSON, ReconcileContext], Awaitable[ToolResult | None]]


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[A]):
    """One tool, as data. ``carry_out`` raises ``ToolRetry`` or ``ToolFailed`` with a sentence for the model."""

    name: str
    description: str
    kind: ToolKind
    action: Action
    arguments: type[A]
    title: Callable[[A], str]
    targets: Callable[[A], Targets]
    carry_out: Callable[[ToolContext, A], Awaitable[ToolResult]]
    text_field: str | None = None
    prepare: Callable[[PrepareContext, A], Awaitable[Prepared | ToolResult]] | None = None
    """Looks at what the call is about before it is decided and asked; ``carry_out`` is not used then. A result: it cannot be carried
    out, and why."""
    reconcile: Reconcile | None = None
    """Arguments of a call that had begun → its result: that it was carried out, or (``failed``) that it was not. ``None``: that
    cannot be told, and then the call must never be made again by itself. Changes nothing, raises nothing."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=schema_of(self.arguments),
            text_field=self.text_field,
        )

    def bind(self, arguments: JSON) -> "Bound":
        """This tool with these arguments, checked.

        :raises ToolRetry: naming the place of the fault and what the tool takes
        """
        names, optional = _names_of(self.arguments)
        given = {name: value for name, value in arguments.items() if value is not None or name not in optional}
        given = {**without_descriptions(given), **{name: value for name, value in given.items() if name in names}}
        try:
            args = msgspec.convert(given, self.arguments, strict=False)
        except msgspec.ValidationError as exc:
            raise ToolRetry(f"Not done: the arguments of {self.name} are wrong: {exc}. {_takes(self.spec)}") from exc
        intent = Intent(
            action=self.action, title=one_line(self.title(args), 120), targets=self.targets(args), tool=self.name
        )
        key = call_key(self.name, msgspec.to_builtins(args))
        prepare = self.prepare
        return Bound(
            intent=intent,
            key=key,
            carry_out=lambda context: self.carry_out(context, args),
            prepare=None if prepare is None else lambda context: prepare(context, args),
        )


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A tool with checked arguments. ``key`` is equal for two calls that ask for the same."""

    intent: Intent
    key: str
    carry_out: Callable[[ToolContext], Awaitable[ToolResult]]
    prepare: Callable[[PrepareContext], Awaitable[Prepared | ToolResult]] | None = None

    async def prepared(self, context: PrepareContext) -> "Bound | ToolResult":
        """With what there is to prepare done; a result, if it cannot be carried out."""
        if self.prepare is None:
            return self
        try:
            found = await self.prepare(context)
        except ToolError as exc:
            return ToolResult(text=str(exc), failed=True)
        if isinstance(found, ToolResult):
            return found
        intent = replace(self.intent, targets=found.targets, question=found.question)
        return Bound(intent=intent, key=self.key, carry_out=found.carry_out)


@cache
def _names_of(arguments: type[Arguments]) -> tuple[frozenset[str], frozenset[str]]:
    """The names of all arguments, and of those that need not be given."""
    fields = msgspec.structs.fields(arguments)
    return frozenset(field.name for field in fields), frozenset(field.name for field in fields if not field.required)


@cache
def schema_of(arguments: type[Arguments]) -> JSON:
    """JSON Schema of a flat struct, without references and titles; the same object each time, not to be changed."""
    _, definitions = msgspec.json.schema_components([arguments])
    whole = cast(JSON, definitions[arguments.__name__])
    properties: dict[str, Any] = whole["properties"]
    return {
        "type": "object",
        "properties": properties,
        "required": list(whole.get("required", [])),
        "additionalProperties": False,
    }


def _takes(spec: ToolSpec) -> str:
    required = set(spec.parameters["required"])
    parts = [
        f"{name} ({schema.get('type', 'any')}{'' if name in required else ', optional'})"
        for name, schema in spec.parameters["properties"].items()
    ]
    return f"It takes: {', '.join(parts)}."
