"""Texts that are too long for the model, kept whole for the user."""

from pathlib import Path

import anyio.to_thread

from .base import ToolContext


async def keep(context: ToolContext, text: str) -> str:
    """Write ``text`` to the call's side file; the answer is its path as the host names it."""
    path, relative = context.host.side_file(f"{context.call_id}.txt")
    await anyio.to_thread.run_sync(_write, path, text)
    return relative


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace", newline="")
