"""Which hooks there are: those of the user, and those that the files of a space ask for. Reads, starts nothing."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from ...errors import ToolError
from ...records import HookPhase
from .consents import Consents, Startable, line_to_start
from .kept_file import content_of, is_exposed
from .opening import read_if_there
from .own_files import Untrusted, opened_folder
from .scope import Scope

OWN = "hooks.json"
"""Of the user, in their configuration of this program."""
OF_SPACE: tuple[str, ...] = (".pernix/hooks.json", ".claude/settings.json", ".claude/settings.local.json")
"""Of a space. Of the settings of other programs, only what stands under ``hooks`` is looked at."""

DEADLINE = 60.0
LONGEST_DEADLINE = 600.0

_LARGEST = 256_000
_LONGEST_COMMAND = 10_000
_LONGEST_MATCHER = 500
_MOST = 50
_PHASES: tuple[HookPhase, ...] = ("PreToolUse", "PostToolUse")
_NOT_OURS = frozenset(
    {
        "ConfigChange",
        "Notification",
        "PermissionRequest",
        "PostToolUseFailure",
        "PreCompact",
        "SessionEnd",
        "SessionStart",
        "Setup",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "TaskCompleted",
        "TeammateIdle",
        "UserPromptSubmit",
    }
)
"""Moments that other agents have and this one does not: hooks for them are never run."""


class Faulty(Exception):
    """A file of hooks that is there and is not what it should be."""


class _Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    type: Literal["command"]
    command: str
    timeout: float = DEADLINE


class _Matched(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    hooks: list[_Command]
    matcher: str = ""


@dataclass(frozen=True, kw_only=True)
class Hook:
    """``startable``: what its user has agreed to, ``None`` for a hook of their own. ``timeout`` in seconds."""

    phase: HookPhase
    matcher: str
    command: str
    timeout: float
    startable: Startable | None = None

    def matches(self, names: Iterable[str]) -> bool:
        """Whether it is about a tool with one of these names."""
        return self.matcher in ("", "*") or any(re.fullmatch(self.matcher, name) for name in names)


@dataclass(frozen=True, kw_only=True)
class Found:
    """``hooks``: those that may run. ``waiting``: what the space asks for and its user has not agreed to. ``faults``: files of the space
    that are not what they should be, and why; nothing of them is run. ``broken``: why the user's own hooks cannot be known."""

    hooks: tuple[Hook, ...] = ()
    waiting: tuple[Startable, ...] = ()
    faults: Mapping[str, str] = field(default_factory=dict[str, str])
    broken: str = ""


def waiting_of(consents: Consents, space: Path, *, home: str) -> tuple[Startable, ...]:
    """What the files of the space ask to start now, without its user's yes."""
    return found_hooks(own_folder=None, consents=consents, scope=Scope(space), home=home).waiting


def environ_of(space: Path) -> tuple[tuple[str, str], ...]:
    """What a hook's environment has besides: the folder, under the name that users of other agents know, and under ours."""
    return (("CLAUDE_PROJECT_DIR", str(space)), ("PERNIX_SPACE", str(space)))


def found_hooks(*, own_folder: Path | None, consents: Consents | None, scope: Scope, home: str) -> Found:
    """Those that there are now. ``own_folder``: the user's configuration of this program."""
    own, broken = _own(own_folder, str(scope.root), home)
    hooks, waiting, faults = _of_space(consents, scope)
    return Found(hooks=(*own, *hooks), waiting=waiting, faults=faults, broken=broken)


def _own(folder: Path | None, space: str, home: str) -> tuple[list[Hook], str]:
    if folder is None or not os.path.lexists(folder / OWN):
        return [], ""
    try:
        with opened_folder(folder) as fd:
            content = content_of(OWN, fd, exposed=is_exposed(folder, space, home))
        return parsed(content, whole=True), ""
    except FileNotFoundError:
        return [], ""
    except (Untrusted, Faulty) as exc:
        return [], f"{folder / OWN} {exc}"
    except OSError as exc:
        return [], f"{folder / OWN} cannot be read: {os.strerror(exc.errno or 0)}"


def _of_space(consents: Consents | None, scope: Scope) -> tuple[list[Hook], tuple[Startable, ...], Mapping[str, str]]:
    hooks: list[Hook] = []
    waiting: dict[str, Startable] = {}
    asked, faults = _asked_for(scope)
    given = consents.digests() if consents is not None and asked else frozenset[str]()
    for origin, hook in asked:
        startable = line_to_start(hook.command, origin=origin, scope=scope, environ=environ_of(scope.root))
        if startable.digest in given:
            hooks.append(replace(hook, startable=startable))
        else:
            waiting.setdefault(startable.digest, startable)
    return hooks, tuple(waiting.values()), faults


def _asked_for(scope: Scope) -> tuple[list[tuple[str, Hook]], Mapping[str, str]]:
    """What the files of the space ask for, with the name of the file; and those that are not what they should be."""
    asked: list[tuple[str, Hook]] = []
    faults: dict[str, str] = {}
    for name in OF_SPACE:
        try:
            content = read_if_there(scope.locate(name), limit=_LARGEST)
            if content is not None:
                asked += [(name, hook) for hook in parsed(content, whole=name.startswith(".pernix/"))]
        except Faulty as exc:
            faults[name] = str(exc)
        except ToolError as exc:
            faults[name] = f"cannot be read: {exc}"
    return asked, faults


def parsed(content: bytes, *, whole: bool) -> list[Hook]:
    """The hooks of a file. ``whole``: it is about hooks alone, and another key in it is a mistake.

    :raises Faulty: if any of it is not what it should be; the reason ends a sentence that begins with the file's name
    """
    try:
        settings = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        raise Faulty(f"is no JSON object: {exc}") from exc
    unknown = [key for key in settings if key not in ("hooks", "$schema", "disableAllHooks")]
    if whole and unknown:
        raise Faulty(f"has the key {unknown[0][:100]!r}, which is not known")
    if settings.get("disableAllHooks", False) is not False:
        return []
    try:
        return _of_moments(msgspec.convert(settings.get("hooks", {}), dict[str, Any]))
    except msgspec.ValidationError as exc:
        raise Faulty(f"has hooks that are not what they should be: {exc}") from exc


def _of_moments(moments: dict[str, Any]) -> list[Hook]:
    strange = [name for name in moments if name not in _PHASES and name not in _NOT_OURS]
    if strange:
        raise Faulty(f"has hooks for {strange[0][:100]!r}, which is not known")
    found: list[Hook] = []
    for phase in _PHASES:
        matched = msgspec.convert(moments.get(phase, []), list[_Matched])
        found += [_hook(phase, one.matcher, command) for one in matched for command in one.hooks]
    if len(found) > _MOST:
        raise Faulty(f"has more than {_MOST} hooks")
    return list(dict.fromkeys(found))


def _hook(phase: HookPhase, matcher: str, given: _Command) -> Hook:
    if not given.command.strip() or "\0" in given.command or len(given.command) > _LONGEST_COMMAND:
        raise Faulty(f"has a command that is empty, too long or no text: {given.command[:100]!r}")
    if not 0 < given.timeout <= LONGEST_DEADLINE:
        raise Faulty(f"has a timeout that is not between 0 and {LONGEST_DEADLINE:g} seconds: {given.timeout}")
    try:
        if len(matcher) > _LONGEST_MATCHER:
            raise ValueError("too long")
        re.compile(matcher if matcher != "*" else "")
    except (ValueError, OverflowError, RecursionError, re.error) as exc:
        raise Faulty(f"has a matcher that is no regular expression: {matcher[:100]!r}: {exc}") from exc
    return Hook(phase=phase, matcher=matcher, command=given.command, timeout=given.timeout)
