"""``endpoints.json``: what the user added and what was found on loopback, with keys; readable by its user alone."""

import json
import logging
import os
import tempfile
from pathlib import Path

import msgspec

from ..config import EndpointSettings

log = logging.getLogger(__name__)


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """What the file holds."""

    default: str = ""
    endpoints: dict[str, EndpointSettings] = {}
    found: dict[str, EndpointSettings] | None = None
    """What the last look around loopback found; ``None``: nobody has looked yet."""


def read_saved(path: Path) -> Saved:
    """Nothing, if there is no file or it cannot be read; it is left alone then."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Saved)
    except FileNotFoundError:
        return Saved()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as exc:
        log.warning("%s cannot be read and is left alone: %s", path, exc)
        return Saved()


def write_saved(path: Path, saved: Saved) -> None:
    """Atomic, and never readable by others (``mkstemp`` makes 0600)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".endpoints-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(msgspec.to_builtins(saved), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
