"""The system part of a session: what the agent is, the modes, the instructions of the user and of the space. Made once and kept in a
side file, so that it stays the same bytes when the instructions, or this program, change in the middle of a session.
"""

from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from ..masking import Masker
from ..ports import TurnHost
from .foreign import shown
from .instructions import SPACE_FILE, Instructions, read_now
from .keeping import kept_or_new

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
    return (await briefing_and_instructions(host, None))[0]


async def briefing_and_instructions(host: TurnHost, context_length: int | None) -> tuple[str, list[Instructions]]:
    """``briefing``, and what ``instructions.read_now`` finds; both by one worker thread."""
    path, _ = host.side_file("system.md")
    return await anyio.to_thread.run_sync(
        _both, path, host.space, host.instructions_folder, context_length, host.masker
    )


def _both(
    path: Path, space: Path, folder: Path | None, context_length: int | None, masker: Masker
) -> tuple[str, list[Instructions]]:
    read = read_now(space, folder, context_length)
    found = [replace(one, text=shown(masker.text(one.text))) for one in read]
    return kept_or_new(path, lambda: RULES + "".join(_told(one) for one in found if one.text)), found


def _told(one: Instructions) -> str:
    whose = "This space has" if one.name == SPACE_FILE else "The user has"
    return f"\n{whose} instructions ({one.name}); follow them where they do not contradict the rules above:\n\n{one.text}\n"
