"""Lines of a text that arrives in blocks, as from a file, a socket or a decompressor."""

from collections.abc import Iterable, Iterator
from typing import TextIO

BLOCK_SIZE = 8192


def read_blocks(stream: TextIO, size: int = BLOCK_SIZE) -> Iterator[str]:
    """The text of ``stream``, at most ``size`` characters at a time."""
    while block := stream.read(size):
        yield block


def split_lines(blocks: Iterable[str]) -> Iterator[str]:
    """Lines with their line ends; a line may begin in one block and end in a later one."""
    rest = ""
    for block in blocks:
        *lines, rest = (rest + block).split("\n")
        for line in lines:
            yield line + "\n"
