"""Side files: texts that are too long to show, kept whole beside the store, by session and name."""

import re
from pathlib import Path

from ..errors import InvalidInput
from ..ids import SessionId

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


class SideFiles:
    """Below one folder, which is made when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, session_id: SessionId, name: str) -> Path:
        """:raises InvalidInput: if ``name`` may not stand in a path"""
        if not _NAME.fullmatch(name):
            raise InvalidInput("name", f"{name[:40]!r} is no name of a side file")
        return self._folder / session_id / name

    def new(self, session_id: SessionId, name: str) -> tuple[Path, str]:
        """Where to write, and the path below ``/pernix/api/`` that serves it.

        :raises InvalidInput: if ``name`` may not stand in a path
        """
        path = self.path(session_id, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path, f"side-files/{session_id}/{name}"
