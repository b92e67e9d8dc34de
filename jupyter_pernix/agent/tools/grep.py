"""Search the lines of files for a pattern. Runs as a process of its own (``python -I -S grep.py``), standard library only: a pattern
can keep Python's matcher busy for ever, and only a process can be ended then.

Reads one JSON object from its arguments: root ("": paths are whole), path, pattern, ignored, secret (patterns of paths that are not
read), hits, line; writes JSON lines: ``[path, number, text]`` and last ``{"files": …, "more": …, "large": …, "secret": …}``: how many
were searched, whether more lines match, how many were left out for their size and for their names.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

LARGEST = 5_000_000


def files_below(top: Path, ignored: set[str]) -> Iterator[Path]:
    if top.is_file():
        yield top
        return
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in ignored)
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path


def is_large(path: Path) -> bool:
    try:
        return path.stat().st_size > LARGEST
    except OSError:
        return False


def text_of(path: Path) -> str | None:
    """The text of a file; ``None`` if it is binary or cannot be read."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return None if b"\0" in content[:8192] else content.decode("utf-8", errors="replace")


def search(asked: dict[str, object], write: "Write") -> None:
    pattern = re.compile(str(asked["pattern"]))
    root, limit, longest = str(asked["root"]), int(str(asked["hits"])), int(str(asked["line"]))
    ignored = set(json.loads(str(asked["ignored"])))
    hide = [re.compile(one, re.IGNORECASE) for one in cast("list[str]", asked["secret"])]
    files = hits = large = secret = 0
    for path in files_below(Path(str(asked["path"])), ignored):
        if any(one.search(str(path)) for one in hide):
            secret += 1
            continue
        if is_large(path):
            large += 1
            continue
        text = text_of(path)
        if text is None:
            continue
        files += 1
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                hits += 1
                if hits > limit:
                    write({"files": files, "more": True, "large": large, "secret": secret})
                    return
                write([os.path.relpath(path, root) if root else str(path), number, line[:longest]])
    write({"files": files, "more": False, "large": large, "secret": secret})


class Write:
    """One JSON value a line; lone surrogates in file names stay readable as escapes."""

    def __call__(self, value: object) -> None:
        sys.stdout.write(json.dumps(value) + "\n")


if __name__ == "__main__":
    search(json.loads(sys.argv[1]), Write())
