"""A notebook as Markdown that GitHub shows: its own Markdown as it stands, code and what it printed in blocks. Pure."""

from typing import cast

from ...records import JSON
from ..markdown import code_block, one_line
from .parts import language_of, pernix_kind, plain, shown

_LONGEST = 20_000
"""Characters of one output."""


def markdown_text(notebook: JSON) -> str:
    """The whole notebook. Pictures are named with their size, since a page of Markdown cannot hold them."""
    language = language_of(notebook)
    blocks: list[str] = []
    for cell in cast(list[JSON], notebook["cells"]):
        blocks += _cell(cell, language)
    return "\n\n".join(block for block in blocks if block.strip()) + "\n"


def _cell(cell: JSON, language: str) -> list[str]:
    source = cast(str, cell["source"])
    if cell["cell_type"] == "markdown":
        names = [f"*[picture: {one_line(name)}, in the notebook]*" for name in cell.get("attachments", {})]
        return [_without_attachments(source), *names]
    if cell["cell_type"] == "raw":
        return [code_block(plain(source))] if source.strip() else []
    outputs = [block for output in cast(list[JSON], cell["outputs"]) for block in _output(output)]
    if pernix_kind(cell) in ("tool", "plan", "approval"):
        # the source only repeats what is shown
        return outputs
    return [code_block(plain(source), language), *outputs] if source.strip() else outputs


def _without_attachments(source: str) -> str:
    return "\n".join(line for line in source.split("\n") if not line.startswith("![picture](attachment:"))


def _output(output: JSON) -> list[str]:
    part = shown(output, rich=False)
    if part.form in ("image", "svg"):
        size = len(part.text) * 3 // 4 if part.form == "image" else len(part.text)
        return [f"*[{part.mime}, {max(size // 1024, 1)} KB: in the notebook]*"]
    if part.form == "markdown":
        return [part.text]
    text = part.text.rstrip("\n")
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n[… {len(text) - _LONGEST:,} more characters in the notebook]"
    return [code_block(text, "text")] if text.strip() else []
