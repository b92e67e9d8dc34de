"""The permission bits of a space's files, which git keeps one of: told in the message of the commit. Pure, but for looking at them."""

import json
import os
import stat
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

_MOST = 20_000
_BEGINS = "\nmodes "
_EXECUTABLE = 0o100


@dataclass(frozen=True, kw_only=True)
class Modes:
    """``plain`` and ``executable``: what most files have; ``others``: path relative to the space → bits."""

    plain: int = 0o644
    executable: int = 0o755
    others: dict[str, int] = field(default_factory=dict[str, int])

    def of(self, path: str, *, executable: bool) -> int:
        """The bits of a file that is in the commit."""
        return self.others.get(path, self.executable if executable else self.plain)

    def in_message(self) -> str:
        body = {"plain": self.plain, "executable": self.executable, "others": self.others}
        return f"{_BEGINS}{json.dumps(body, separators=(',', ':'))}\n"


def modes_of(space: Path, names: Iterable[bytes]) -> Modes:
    """Of the regular files with these names below ``space``; of very many unusual ones not all."""
    root = os.fsencode(space)
    found: dict[bytes, int] = {}
    for name in names:
        try:
            status = os.lstat(root + b"/" + name)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            found[name] = stat.S_IMODE(status.st_mode)
    counted = Counter(found.values()).most_common()
    plain = next((mode for mode, _ in counted if not mode & _EXECUTABLE), 0o644)
    executable = next((mode for mode, _ in counted if mode & _EXECUTABLE), 0o755)
    others = {os.fsdecode(name): mode for name, mode in found.items() if mode not in (plain, executable)}
    return Modes(plain=plain, executable=executable, others=dict(list(others.items())[:_MOST]))


def modes_in(message: str) -> Modes:
    """Those that a commit's message tells; what is usual if it tells none."""
    _, begins, rest = message.partition(_BEGINS)
    try:
        body = cast("dict[str, Any]", json.loads(rest)) if begins else {}
        return Modes(**body)
    except (ValueError, TypeError):
        return Modes()
