"""The system part of a session: what the agent is, the modes, the space's own instructions. Made once and kept in a side file,
so that it stays the same bytes when the instructions, or this program, change in the middle of a session.
"""

import os
from pathlib import Path

import anyio.to_thread

from ..errors import ToolError
from ..ports import TurnHost
from .policy.opening import read_bytes
from .policy.scope import Scope

INSTRUCTIONS = "AGENTS.md"
LONGEST_INSTRUCTIONS = 16_000

RULES = """\
You are the agent of a Jupyter workspace. You work in one folder, the space, with the tools that you are given.

- Look before you act: read a file before you edit it, run the code or the test that shows the problem before you fix it.
- Paths are relative to the space's folder. Nothing outside of it can be reached.
- run_code runs in this session's own kernel; its variables stay from call to call. Plots and tables that it shows are seen by the user.
- run_shell runs one command line with bash, without a terminal and without input.
- edit_file replaces a text that occurs exactly once; copy that text exactly from read_file, without the line numbers.
- A result is what really happened. If it says that something failed, it failed: read it, then do something else about it.
- Never claim what no result shows. After a change, run the tests or the code again.
- When the work is done, give a short answer with what you did and found: call finish, or reply with plain text and no call.

The mode stands at the end of each request. ask and plan: only reading is allowed. edit: you may change files; code and shell \
commands are shown to the user first. auto: all tools run.
"""


async def briefing(host: TurnHost) -> str:
    """The system text of the host's session: the one that was kept, or a new one that is kept from now on."""
    path, _ = host.side_file("system.md")
    return await anyio.to_thread.run_sync(_kept_or_new, path, Scope(host.space))


def _kept_or_new(path: Path, scope: Scope) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = RULES + _instructions(scope)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8", newline="")
    temporary.replace(path)
    return text


def _instructions(scope: Scope) -> str:
    """What the space's AGENTS.md says, bounded; "" if there is none that can be read."""
    try:
        raw = read_bytes(scope.locate(INSTRUCTIONS), limit=10_000_000)
    except ToolError:
        return ""
    text = raw.decode("utf-8-sig", errors="replace").strip()
    if not text:
        return ""
    if len(text) > LONGEST_INSTRUCTIONS:
        text = text[:LONGEST_INSTRUCTIONS] + f"\n[… the rest of {INSTRUCTIONS} is cut; read_file shows it]"
    return f"\nThis space has instructions of its own ({INSTRUCTIONS}); follow them where they do not contradict the rules above:\n\n{text}\n"
