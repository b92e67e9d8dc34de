"""Texts that are too long for the model, kept whole for the user."""

from pathlib import Path

import anyio.to_thread

from ...masking import Masker
from .base import ToolContext


async def keep(context: ToolContext, text: str) -> str:
    """Write ``text`` without its secrets to the call's side file; the answer is its path as the host names it."""
    path, relative = context.host.side_file(f"{context.call_id}.txt")
    await anyio.to_thread.run_sync(_write, path, text, context.host.masker)
    return relative


def _write(path: Path, text: str, masker: Masker) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(masker.text(text), encoding="utf-8", errors="replace", newline="")
