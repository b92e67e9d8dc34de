"""Write a notebook so that a reader sees the old file or the new one, never a part."""

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Any, cast

import nbformat

from .bundles import scrub_json


def write_notebook(path: Path, notebook: dict[str, Any]) -> None:
    """Validate and write ``notebook`` to ``path``; missing folders are made, the mode of an existing file is kept. Blocks.

    :raises nbformat.ValidationError: if it is no valid notebook; nothing was written
    :raises OSError: if the file cannot be written; what stood there still does
    """
    untyped = cast(Any, nbformat)
    node = untyped.from_dict(scrub_json(notebook))
    untyped.validate(node)
    text: str = untyped.writes(node, version=nbformat.NO_CONVERT)
    body = (text if text.endswith("\n") else text + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, body)


def _replace(path: Path, body: bytes) -> None:
    temporary = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(path.lstat().st_mode) & 0o777 if not path.is_symlink() else 0o644)
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
