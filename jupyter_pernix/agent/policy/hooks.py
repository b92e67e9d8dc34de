"""Hooks: commands that are run before and after the agent's calls, and may forbid them.

A hook can only make the gate narrower: it denies, or turns a yes into a question. Whatever does not end as a hook should (another exit
code, a deadline, an answer that cannot be understood) denies a call that is still to come.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO

import anyio
import anyio.to_thread

from ...errors import ToolError
from ...events import HookEnded, ToolCallRequested
from ...ids import TurnId
from ...ports import Clock, TurnHost
from ...records import JSON, HookPhase
from ..budget import Spending
from ..journal import Journal
from ..tools.base import ToolResult
from ..tools.environment import cleaned
from ..tools.finish import FINISH
from ..tools.process import Ended, run_process
from .consents import BASH, Consents, scripts_named
from .hooks_config import Found, Hook, environ_of, found_hooks
from .hooks_words import Said, failed, names_of, said, told
from .plain import visible
from .scope import Scope

_LARGEST_ANSWER = 100_000

NOTHING = Said(decision="allow")


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What the user is to be told."""

    text: str
    hint: str


class _Start:
    """The start of what comes; the rest is only counted."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.cut = False

    async def add(self, chunk: bytes) -> None:
        room = _LARGEST_ANSWER - len(self.content)
        self.content += chunk[:room]
        self.cut = self.cut or len(chunk) > room


class Hooks:
    """Those for the calls of one turn. Which there are is read once, so that nothing that the turn does takes one away. ``on``: the user
    wants any."""

    def __init__(
        self,
        *,
        host: TurnHost,
        turn_id: TurnId,
        journal: Journal,
        scope: Scope,
        spending: Spending,
        clock: Clock,
        on: bool = True,
    ) -> None:
        self._host = host
        self._turn_id = turn_id
        self._journal = journal
        self._scope = scope
        self._spending = spending
        self._clock = clock
        self._found: Found | None = None if on else Found()
        self._run = 0

    async def found(self) -> Found:
        if self._found is None:
            self._found = await anyio.to_thread.run_sync(self._find)
        return self._found

    def _find(self) -> Found:
        folder, home = self._host.permissions_folder, str(self._host.home)
        return found_hooks(
            own_folder=None if folder is None else folder.parent,
            consents=None if folder is None else Consents(folder, self._scope.root, home=home),
            scope=self._scope,
            home=home,
        )

    async def notices(self) -> list[Notice]:
        """What waits for a yes, and what is not as it should be."""
        found = await self.found()
        told: list[Notice] = []
        for one in found.waiting:
            scripts = f" It runs {', '.join(visible(name) for name in one.scripts)}." if one.scripts else ""
            told.append(
                Notice(
                    text=f"{one.origin} in this folder asks to start a command around the agent's calls. It is not started: "
                    f"{visible(one.command)}{scripts}",
                    hint="If you want it, allow it in the panel's permissions, or with "
                    f"`jupyter pernix permissions consents --give {one.digest[:16]}`.",
                )
            )
        for origin, fault in found.faults.items():
            told.append(Notice(text=f"The hooks of {origin} are not run: it {visible(fault)}", hint="Mend the file."))
        if found.broken:
            text = f"Your own hooks cannot be run, so everything is asked about: {visible(found.broken)}"
            told.append(Notice(text=text, hint="Mend the file, or move it away."))
        return told

    async def before(self, call: ToolCallRequested) -> Said:
        """What the hooks say of a call that is about to be carried out or asked about; the first that denies ends it."""
        strictest = NOTHING
        for hook in await self._about("PreToolUse", call):
            answer = await self._ask(hook, call)
            if answer.decision in ("deny", "failed"):
                return answer
            if answer.decision == "ask" and strictest.decision != "ask":
                strictest = answer
        return strictest

    async def after(self, call: ToolCallRequested, result: ToolResult) -> ToolResult:
        """``result`` with what the hooks say of a call that was carried out; nothing is undone."""
        lines: list[str] = []
        for hook in await self._about("PostToolUse", call):
            answer = await self._ask(hook, call, {"result": result.text, "success": not result.failed})
            if answer.decision != "allow":
                lines.append(f"[A hook says of this call: {answer.reason}]")
            if answer.context:
                lines.append(f"[A hook adds: {answer.context}]")
        return replace(result, text="\n".join([result.text, *lines])) if lines else result

    async def _about(self, phase: HookPhase, call: ToolCallRequested) -> Sequence[Hook]:
        if call.tool == FINISH:
            # an answer has no effect, and a turn must be able to end
            return ()
        names = names_of(call.tool)
        return [hook for hook in (await self.found()).hooks if hook.phase == phase and hook.matches(names)]

    async def _ask(self, hook: Hook, call: ToolCallRequested, response: JSON | None = None) -> Said:
        await self._journal.settle()
        since = self._clock.monotonic()
        exit_code: int | None = None
        answer = failed("the turn was stopped while it ran")
        try:
            exit_code, answer = await self._carried(hook, call, response)
        finally:
            self._journal.defer(
                HookEnded(
                    session_id=self._host.session_id,
                    turn_id=self._turn_id,
                    call_id=call.call_id,
                    phase=hook.phase,
                    command=visible(hook.command),
                    decision=answer.decision,
                    reason=answer.reason,
                    exit_code=exit_code,
                    duration=self._clock.monotonic() - since,
                )
            )
        await self._journal.settle()
        return answer

    async def _carried(self, hook: Hook, call: ToolCallRequested, response: JSON | None) -> tuple[int | None, Said]:
        if not await anyio.to_thread.run_sync(self._as_agreed, hook):
            return None, failed("a script that it runs was changed; it needs a new consent")
        out, err = _Start(), _Start()
        left = self._spending.left(self._clock.monotonic())
        deadline = hook.timeout if left is None else max(0.0, min(hook.timeout, left))
        try:
            ended = await self._started(hook, call, response, out, err, deadline)
        except (OSError, ToolError) as exc:
            return None, failed(f"it could not be started: {exc}")
        if ended.exit_code is None:
            return None, failed(f"it did not end within {deadline:g} s and was ended")
        return ended.exit_code, said(hook.phase, ended.exit_code, bytes(out.content), bytes(err.content), cut=out.cut)

    def _as_agreed(self, hook: Hook) -> bool:
        given = hook.startable
        if given is None:
            return True
        return scripts_named(hook.command, self._scope, given.environ) == given.scripts

    async def _started(
        self, hook: Hook, call: ToolCallRequested, response: JSON | None, out: _Start, err: _Start, deadline: float
    ) -> Ended:
        bash = shutil.which(BASH[0])
        if bash is None:
            raise OSError("there is no bash on this machine")
        command = [bash, *BASH[1:], hook.command]
        if self._host.sandbox and hook.startable is not None:
            # what a folder brings along stays behind the wall that the folder is kept behind
            walled = partial(self._host.sandboxed, command, network=self._host.network)
            command = await anyio.to_thread.run_sync(walled)
        self._run += 1
        mark = f"{call.call_id}-hook-{self._run}"
        with tempfile.TemporaryFile() as given:
            await anyio.to_thread.run_sync(_fill, given, self._told(hook.phase, call, response))
            return await run_process(
                command,
                cwd=self._scope.root,
                env={**cleaned(os.environ), **dict(environ_of(self._scope.root))},
                mark=mark,
                deadline=deadline,
                output=out,
                errors=err,
                stdin=given.fileno(),
            )

    def _told(self, phase: HookPhase, call: ToolCallRequested, response: JSON | None) -> bytes:
        return told(
            phase,
            session_id=self._host.session_id,
            cwd=str(self._scope.root),
            mode=self._host.mode,
            tool=call.tool,
            arguments=call.arguments,
            response=response,
        )


def _fill(file: IO[bytes], content: bytes) -> None:
    file.write(content)
    file.seek(0)
