"""Write a notebook so that a reader sees the old file or the new one, never a part."""

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Any

import msgspec

from ..records import JSON

_encode = msgspec.json.Encoder(order="sorted").encode
_LINED = {"application/javascript", "image/svg+xml"}
"""Types beside ``text/…`` that nbformat keeps as lists of lines."""


def write_notebook(path: Path, notebook: JSON) -> None:
    """Write ``notebook``, an nbformat 4.5 notebook as ``run_notebook`` gives it, to ``path``; missing folders are made, the mode of an
    existing file is kept. Blocks.

    The bytes are those that nbformat writes, but for the spelling of very large and very small numbers; they are made without it,
    since its check and its encoder take ten times as long. That what ``run_notebook`` gives is valid is for the tests to show.

    :raises OSError: if the file cannot be written; what stood there still does
    """
    body = notebook_bytes(notebook)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, body)


def notebook_bytes(notebook: JSON) -> bytes:
    """What ``write_notebook`` writes."""
    lined = {**notebook, "cells": [_lined(cell) for cell in notebook["cells"]]}
    return msgspec.json.format(_encode(lined), indent=1) + b"\n"


def _lined(cell: JSON) -> JSON:
    """The cell with its texts as lists of lines, which is how they stand in a file."""
    lined = {**cell, "source": cell["source"].splitlines(True)}
    if "outputs" in cell:
        lined["outputs"] = [_lined_output(output) for output in cell["outputs"]]
    return lined


def _lined_output(output: JSON) -> JSON:
    if output["output_type"] == "stream":
        return {**output, "text": output["text"].splitlines(True)}
    if "data" not in output:
        return output
    data: dict[str, Any] = output["data"]
    return {**output, "data": {mime: _lined_value(mime, value) for mime, value in data.items()}}


def _lined_value(mime: str, value: Any) -> Any:
    has_lines = isinstance(value, str) and (mime.startswith("text/") or mime in _LINED)
    return value.splitlines(True) if has_lines else value


def replace_file(path: Path, body: bytes) -> None:
    """Write ``body`` to ``path``, whose folder exists, at once or not at all; the mode of an existing file is kept. Blocks.

    :raises OSError: if it cannot be written; what stood there still does
    """
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
