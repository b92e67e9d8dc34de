"""What the host tells the model beside a message, once, before the turn's first step: that the kernel was restarted, in what it works,
what a notebook's kernel holds when the session has just been attached to it, and the variables and cells that the message is about.

All of it is looked up in bounded time, and a turn never waits longer, nor fails, because something could not be looked up.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import anyio

from ..errors import KernelError, NotebookRefused
from ..events import (
    ExecutionFinished,
    FileChanged,
    FileRestored,
    KernelRestarted,
    SessionAttached,
    SessionConfigured,
    SessionDetached,
    Stored,
    TurnContextAdded,
    TurnEdited,
    TurnResumed,
    TurnSubmitted,
)
from ..ids import TurnId
from ..ports import Executor, TurnHost
from ..records import ContextItem, Mention, Picture
from .describing import cell_text, counted, restored_text, surroundings_text, variable_text, variables_text
from .tools.pictures import MOST_PICTURES, pictures_of
from .wellformed import wellformed

log = logging.getLogger(__name__)

WITHIN = 6.0
"""Seconds for all of it."""
INVENTORY_LIMIT = 1_500
MOST_VARIABLES = 8
MOST_CELLS = 4

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_NAME = re.compile(r"(?<![\w@./\\:=-])@([^\W\d]\w{0,99})(?![\w@]|:\S|/|\.\w+\.)")
_ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+")
_TOLD_BELOW = re.compile(r"^@([^\W\d]\w{0,99}):(?:\n```| not shown, )", re.MULTILINE)
"""How a cell tells a variable below its question (``kernel/ipython/question.py``)."""


@dataclass(kw_only=True)
class _Told:
    """What the log says of what the model knows and has to know. ``attached``: the notebook whose kernel it was not yet told of."""

    environment: str = ""
    knows_environment: bool = False
    attached: str = ""
    kernel_id: str = ""
    restarted: str = ""
    restored: dict[str, None] = field(default_factory=dict[str, None])
    """Files that the user put back and the model was not told of."""

    def add(self, stored: Stored) -> None:
        match stored.event:
            case SessionAttached():
                if stored.event.kernel_id != self.kernel_id:  # else it was renamed
                    self.attached, self.knows_environment = stored.event.path, False
                self.kernel_id = stored.event.kernel_id
            case SessionDetached():
                self.attached, self.kernel_id, self.knows_environment = "", "", False
            case SessionConfigured(kernel_name=str()) | TurnResumed():
                self.knows_environment = False
            case KernelRestarted():
                self.restarted, self.knows_environment = stored.event.text, False
            case ExecutionFinished():
                self.restarted = ""  # its result says so
            case FileRestored():
                self.restored[stored.event.path] = None
            case FileChanged():
                self.restored.pop(stored.event.change.path, None)
            case TurnContextAdded():
                self._take(stored.event.item)
            case _:
                pass

    def _take(self, item: ContextItem) -> None:
        match item.kind:
            case "environment":
                self.environment, self.knows_environment = item.text, True
            case "inventory":
                self.attached = ""
            case "kernel":
                self.restarted = ""
            case "files":
                self.restored.clear()
            case "variable" | "cell" | "notebook":
                pass


def mentioned_names(text: str) -> list[str]:
    """The ``@name``s of a message, each once: no addresses, no decorators in code, no paths, nothing that the message itself tells."""
    plain, told = _ADDRESS.sub(" ", _CODE.sub(" ", text)), set(_TOLD_BELOW.findall(text))
    return [name for name in dict.fromkeys(_NAME.findall(plain)) if name not in told]


async def context_events(host: TurnHost, events: Sequence[Stored], turn_id: TurnId) -> list[TurnContextAdded]:
    """What is to be stored for this turn."""
    items: list[ContextItem] = []
    with anyio.move_on_after(WITHIN) as scope:
        await _Gathering(host, events, turn_id, items).gather()
    if scope.cancelled_caught:
        log.warning("turn %s goes on without all of its context: it was not there within %g s", turn_id, WITHIN)
    return [TurnContextAdded(session_id=host.session_id, turn_id=turn_id, item=item) for item in items]


class _Gathering:
    """``items``: where what is found is put as soon as it is."""

    def __init__(self, host: TurnHost, events: Sequence[Stored], turn_id: TurnId, items: list[ContextItem]) -> None:
        self._host = host
        self._items = items
        self._told = _Told()
        self._text, self._mentions = "", list[Mention]()
        for stored in events:
            self._told.add(stored)
            event = stored.event
            if isinstance(event, TurnSubmitted | TurnEdited) and event.turn_id == turn_id:
                self._text = event.text
                self._mentions = event.mentions if isinstance(event, TurnSubmitted) else self._mentions

    async def gather(self) -> None:
        told, pointed = self._told, [each.name for each in self._mentions if each.kind == "variable"]
        if told.restarted:
            self._add("kernel", "", f"({told.restarted})")
        if told.restored:
            self._add("files", "", restored_text(list(told.restored)))
        names = [name for name in mentioned_names(self._text) if name not in pointed]
        if not told.knows_environment or told.attached or names or pointed:
            executor = await self._executor()
            if executor is not None:
                await self._of_kernel(executor, pointed, names)
            else:
                for name in pointed[:MOST_VARIABLES]:
                    self._add("variable", name, f"(The message is about the variable {name}, but there is no kernel.)")
        for mention in [each for each in self._mentions if each.kind == "cell"][:MOST_CELLS]:
            await self._cell(mention)

    def _add(self, kind: str, name: str, text: str, pictures: Iterable[Picture] = ()) -> None:
        item = ContextItem(kind=kind, name=name, text=wellformed(text), pictures=list(pictures))  # type: ignore[arg-type]
        self._items.append(item)

    async def _executor(self) -> Executor | None:
        try:
            return await self._host.running_executor()
        except KernelError as exc:
            log.info("the kernel is not looked into: %s", exc)
            return None

    async def _of_kernel(self, executor: Executor, pointed: list[str], names: list[str]) -> None:
        try:
            if not self._told.knows_environment:
                await self._environment(executor)
            if self._told.attached:
                await self._inventory(executor)
            if pointed or names:
                await self._variables(executor, pointed, names)
        except KernelError as exc:
            log.info("the kernel is not looked into: %s", exc)
            for name in pointed[:MOST_VARIABLES]:
                self._add(
                    "variable", name, f"(The message is about the variable {name}; it cannot be looked at: {exc}.)"
                )

    async def _environment(self, executor: Executor) -> None:
        text = surroundings_text(await executor.surroundings(), self._host.space)
        if text != self._told.environment:
            self._add("environment", executor.kernel_name, text)

    async def _inventory(self, executor: Executor) -> None:
        found, path = await executor.variables(), self._told.attached
        listed = (
            f"{counted(found)}:\n{variables_text(found, limit=INVENTORY_LIMIT)}" if found.total else "no variables."
        )
        text = f"(You are attached to the notebook {path}: run_code runs in its kernel, which holds {listed})"
        self._add("inventory", path, text)

    async def _variables(self, executor: Executor, pointed: list[str], names: list[str]) -> None:
        wanted = [*pointed, *names][:MOST_VARIABLES]
        found = {variable.name: variable for variable in (await executor.variables(wanted)).variables}
        for name in wanted:
            if name in found:
                self._add(
                    "variable",
                    name,
                    f"(The message is about this variable of the kernel:)\n{variable_text(found[name])}",
                )
            elif name in pointed:
                self._add(
                    "variable",
                    name,
                    f"(The message is about the variable {name}, but the kernel has none of that name.)",
                )

    async def _cell(self, mention: Mention) -> None:
        where = mention.path or "the attached notebook"
        try:
            notebook = await self._host.notebooks.read(mention.path, from_root=True)
        except NotebookRefused as exc:
            self._add("cell", mention.name, f"(The message is about a cell of {where}, which cannot be read: {exc}.)")
            return
        cell = next((cell for cell in notebook.cells if cell.cell_id == mention.name), None)
        if cell is None:
            self._add("cell", mention.name, f"(The message is about a cell of {where} that is not there any more.)")
            return
        room = MOST_PICTURES - sum(len(item.pictures) for item in self._items)
        pictures = pictures_of(cell.outputs)[:room] if room > 0 else ()
        self._add("cell", mention.name, cell_text(cell, path=notebook.name), pictures)
