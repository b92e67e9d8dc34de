"""The tools of one session: what the model was told of at its beginning, and what there is now.

The specs that are sent never change in a session, not by a restart and not by a new version of this program: they stand before the
conversation in the endpoint's prefix. A tool that came later is told in a user's message and called through ``use_tool``; one that
is gone says so when it is called. Models that are driven by actions have the tools in their prompt, always those of now; they are mostly
small, so the tools of open notebooks are told to them only while the session is attached to one.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
import msgspec
from msgspec import Meta

from ..errors import ToolRetry
from ..events import InstructionsRead, SessionAttached, SessionDetached, Stored
from ..ids import TurnId
from ..ports import TurnHost
from ..records import JSON, ModelProtocol, ToolKind
from .guards import call_key
from .keeping import kept_or_new
from .model.parts import ToolSpec
from .tools.base import Arguments, Bound, Tool, schema_of
from .tools.registry import IN_NOTEBOOKS, tool_named

USE_TOOL = "use_tool"
TOLD_AS = "The list of tools"

_encode = msgspec.json.Encoder().encode


class UseTool(Arguments, frozen=True):
    name: Annotated[str, Meta(description="Name of the tool.")]
    arguments: Annotated[JSON, Meta(description="Its arguments.")]


USE_TOOL_SPEC = ToolSpec(
    name=USE_TOOL,
    description="Call a tool that was added later and is described in a message. All other tools are called directly.",
    parameters=schema_of(UseTool),
)


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str
    parameters: JSON
    text_field: str | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """The tool that a call means, with the arguments that it is given."""

    tool: Tool[Any]
    arguments: JSON


class Toolbox:
    """``told``: the specs as the session's first turn had them."""

    def __init__(self, tools: Mapping[str, Tool[Any]], told: Sequence[ToolSpec], *, attached: bool) -> None:
        self.tools = tools
        self._told = tuple(told)
        self._now = tuple(tool.spec for name, tool in tools.items() if attached or name not in IN_NOTEBOOKS)
        self._names = {spec.name: spec for spec in self._told}

    @classmethod
    async def of(cls, host: TurnHost, tools: Mapping[str, Tool[Any]], log: Sequence[Stored]) -> "Toolbox":
        """With the specs that are kept for the host's session, whose log this is; from its first turn on they are those of ``tools``."""
        path, _ = host.side_file("tools.json")
        specs = [*(tool.spec for tool in tools.values()), USE_TOOL_SPEC]
        kept = await anyio.to_thread.run_sync(_kept_or_new, path, specs)
        return cls(tools, kept, attached=_attached(log))

    def specs(self, protocol: ModelProtocol) -> tuple[ToolSpec, ...]:
        """What a request offers; the same object each time."""
        match protocol:
            case "tools":
                return self._told
            case "actions":
                return self._now
            case "chat":
                return ()

    def find(self, name: str, arguments: JSON) -> Found:
        """:raises ToolRetry: if there is no such tool, with what to do"""
        if name == USE_TOOL and USE_TOOL not in self.tools:
            return self._used(arguments)
        if name in self._names and name not in self.tools:
            raise ToolRetry(
                f"Not done: the tool {name!r} is gone since this session began. The tools are: {', '.join(self.tools)}."
            )
        return Found(tool=tool_named(name, self.tools), arguments=arguments)

    def _used(self, arguments: JSON) -> Found:
        try:
            used = msgspec.convert(arguments, UseTool)
        except msgspec.ValidationError as exc:
            raise ToolRetry(
                f"Not done: the arguments of {USE_TOOL} are wrong: {exc}. It takes: name (string), arguments (object)."
            ) from exc
        if used.name in self._names and used.name in self.tools:
            raise ToolRetry(f"Not done: call {used.name} directly, not through {USE_TOOL}.")
        return Found(tool=tool_named(used.name, self.tools), arguments=used.arguments)

    def bind(self, name: str, arguments: JSON) -> Bound:
        """:raises ToolRetry: if there is no such tool, or its arguments are wrong"""
        found = self.find(name, arguments)
        return found.tool.bind(found.arguments)

    def kind(self, name: str, arguments: JSON) -> ToolKind:
        try:
            return self.find(name, arguments).tool.kind
        except ToolRetry:
            return "other"

    def key(self, name: str, arguments: JSON) -> str:
        """Equal for two calls that ask for the same."""
        try:
            return self.bind(name, arguments).key
        except ToolRetry:
            return call_key(name, arguments)

    # ---- what changed -------------------------------------------------------------------------------------------------------

    def news(self, last: InstructionsRead | None, *, host: TurnHost, turn_id: TurnId) -> list[InstructionsRead]:
        """What the model is to be told of tools that came, changed or went since the session began. ``last``: what it was told."""
        lines = [*self._new_lines(), *self._gone_lines()]
        text = "\n".join(lines)
        digest = hashlib.sha256(text.encode()).hexdigest() if lines else ""
        if digest == ("" if last is None else last.digest):
            return []
        return [InstructionsRead(session_id=host.session_id, turn_id=turn_id, name=TOLD_AS, digest=digest, text=text)]

    def _new_lines(self) -> list[str]:
        lines: list[str] = []
        for spec in self._now:
            told = self._names.get(spec.name)
            if told is None:
                schema = _encode(spec.parameters).decode()
                lines.append(f"- new, call it by {USE_TOOL}: {spec.name}. {spec.description} Arguments: {schema}")
            elif told.parameters != spec.parameters:
                lines.append(f"- {spec.name} takes other arguments now: {_encode(spec.parameters).decode()}")
        return lines

    def _gone_lines(self) -> list[str]:
        return [f"- gone: {name}" for name in self._names if name not in self.tools and name != USE_TOOL]


def _attached(log: Sequence[Stored]) -> bool:
    """Whether a session is attached to a notebook at the end of its log."""
    for stored in reversed(log):
        if isinstance(stored.event, SessionAttached | SessionDetached):
            return isinstance(stored.event, SessionAttached)
    return False


def _kept_or_new(path: Path, specs: Sequence[ToolSpec]) -> list[ToolSpec]:
    def new() -> str:
        kept = [
            _Kept(name=s.name, description=s.description, parameters=s.parameters, text_field=s.text_field)
            for s in specs
        ]
        return _encode(kept).decode()

    try:
        kept = msgspec.json.decode(kept_or_new(path, new), type=list[_Kept])
    except msgspec.DecodeError:
        # damaged: the prefix breaks once, which is better than a session that cannot go on
        path.unlink()
        kept = msgspec.json.decode(kept_or_new(path, new), type=list[_Kept])
    return [
        ToolSpec(name=k.name, description=k.description, parameters=k.parameters, text_field=k.text_field) for k in kept
    ]
