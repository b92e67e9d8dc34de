"""Calls of the file tools, in short."""

from typing import Any

from agent.acting import Acting, answer

from jupyter_pernix.agent.testing import Says, call


async def did(acting: Acting, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """Carry out calls, one a reply; the results of this turn."""
    before = len(acting.results)
    await acting.say([*(Says(calls=(call(tool, **arguments),)) for tool, arguments in calls), answer()])
    return acting.results[before:]


def read(path: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "read_file", {"path": path, **more}


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "edit_file", {"path": path, "old_text": old, "new_text": new}


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": content}
